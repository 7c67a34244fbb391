"""Matrices that do not fit into memory are refused before they are allocated."""

import numpy as np
import pytest

from bayespoint import BayesPointClassifier, BayesPointOrdinalClassifier, VersionSpace, kernels
from bayespoint.base import memory


def test_a_matrix_of_60_000_examples_is_refused(monkeypatch):
    """However much memory the machine has."""
    monkeypatch.setattr(memory, "available", lambda: 8 * 2**30)
    X = np.zeros((60_000, 1))
    X[0] = 1.0
    calls = {
        "the kernel matrix of 60000 examples": lambda: kernels.gram_matrix(X, kernels.RBF(1.0)),
        "fitting 60000 examples": lambda: BayesPointClassifier(approximation=None).fit(
            X, X[:, 0] > 0
        ),
        "a copy of gram": lambda: VersionSpace(np.broadcast_to(np.eye(1), (60_000, 60_000)), X),
    }
    for text, call in calls.items():
        with pytest.raises(MemoryError, match=f"{text}.* needs .* GiB, but only 8.0 GiB"):
            call()


def test_ordered_classes_have_another_matrix(monkeypatch):
    X = np.arange(2000.0)[:, None]
    given = {"kernel": kernels.RBF(1.0), "softness": 0.1, "approximation": None}
    monkeypatch.setattr(memory, "available", lambda: int(2.9 * 8 * 2000**2))
    with pytest.raises(MemoryError, match="fitting 2000 examples"):
        BayesPointOrdinalClassifier(**given).fit(X, np.arange(2000) // 700)


def test_control_groups_count(monkeypatch, tmp_path):
    """The tightest limit of a group or its parents holds; idle file pages do not count."""
    parent, group = tmp_path / "slice", tmp_path / "slice" / "job"
    group.mkdir(parents=True)
    for folder, limit in ((parent, "10000"), (group, "max")):
        (folder / "memory.max").write_text(limit)
        (folder / "memory.current").write_text("4000")
        (folder / "memory.stat").write_text("anon 1\ninactive_file 500\n")
    (tmp_path / "own").write_text("4:memory:/elsewhere\n0::/slice/job\n")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path)
    monkeypatch.setattr(memory, "_OWN_CGROUP", tmp_path / "own")
    assert memory.available() == 6500
    (group / "memory.max").write_text("3000")
    assert memory.available() == 0
    for text in ("0::/\n", "4:memory:/elsewhere\n", ""):
        (tmp_path / "own").write_text(text)
        assert memory.available() > 2**20
    monkeypatch.setattr(memory, "_OWN_CGROUP", tmp_path / "none")
    assert memory.available() > 2**20
