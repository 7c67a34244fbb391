"""The guide's pages on diagnostics and pictures: their examples run, their pictures are there."""

import re
import sys
from pathlib import Path

import pytest

from bayespoint import plotting
from bayespoint.papers import displays

figure = pytest.importorskip("matplotlib.figure")
pyplot = pytest.importorskip("matplotlib.pyplot")

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import _guide_pictures as scenes  # noqa: E402


def test_pictures_page_is_the_one_that_the_code_writes():
    text = scenes.page()
    assert (DOCS / "guide" / "plots.md").read_text(encoding="utf-8") == text
    for name in scenes.SCENES:
        path = DOCS / scenes.FILES[name]
        assert f"(../{scenes.FILES[name]})" in text
        assert path.stat().st_size < 100_000, name
    assert {path.name for path in (DOCS / "images" / "displays").iterdir()} == {
        Path(file).name for file in scenes.FILES.values()
    }


def test_every_display_is_on_the_page():
    text = scenes.page()
    for name in plotting.__all__:
        assert f"{name}." in text
    for name in displays.__all__:
        assert f"`{name}`" in text


@pytest.mark.long
def test_the_commands_of_the_page_work():
    pyplot.switch_backend("agg")
    *blocks, first = re.findall(r"```python\n(.*?)```", scenes.page(), flags=re.DOTALL)
    assert len(blocks) == len(scenes.SCENES)
    names = {}
    exec(first, names)
    try:
        for block in blocks:
            found = dict(names)
            exec(block, found)
            drawn = found["display"].figure_ if "display" in found else found["figure"]
            assert isinstance(drawn, figure.Figure)
            pyplot.close("all")
    finally:
        pyplot.close("all")
