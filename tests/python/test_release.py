"""The files that describe a release agree: version, title, license, dependencies."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / ".ci"))
import release

sys.path.pop(0)

NAMES = [*release.versions()][1:]


def test_descriptions_agree():
    assert release.disagreements() == []


@pytest.mark.parametrize("name", NAMES)
def test_another_version_is_found(name, monkeypatch):
    read, version = release.read, release.versions()["Cargo.toml"]

    def changed(of):
        return read(of).replace(version, "9.9.9") if of == name else read(of)

    monkeypatch.setattr(release, "read", changed)
    assert [name in one for one in release.disagreements()] == [True]
