"""The drawings of the papers' mechanisms are right."""

import re
from pathlib import Path

import numpy as np
import pytest

from bayespoint.papers import drawings
from bayespoint.papers.__main__ import main
from bayespoint.papers.drawings import flights, scenes
from helpers import SHIFT as SEED

figure = pytest.importorskip("matplotlib.figure")

POINTS, LABELS = scenes.POINTS, scenes.LABELS


@pytest.fixture
def ax():
    return figure.Figure().add_subplot()


def problem(index, m=9):
    """Planes in three dimensions around a version space that is well inside a half-sphere."""
    rng = np.random.default_rng([SEED, index])
    x = np.vstack([rng.standard_normal((m, 3)), np.eye(3) + 0.3])
    return x, np.where(x @ [1.0, 0.9, 1.1] > 0, 1, -1)


@pytest.fixture(scope="module")
def path():
    return drawings.fly(*problem(0), random_state=SEED)


def lines(ax):
    return {line.get_label(): np.array(line.get_xydata()) for line in ax.lines}


def names(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


# --- flights ---


@pytest.mark.parametrize("transparency", [0.0, 0.5])
def test_flights_are_those_of_the_engine(transparency):
    x, y = problem(1)
    found = drawings.fly(x, y, length=30.0, transparency=transparency, random_state=SEED)
    assert len(found.legs) > 5
    for leg in found.legs:
        normal = x[leg.wall]
        assert np.linalg.norm(leg.start) == pytest.approx(1.0)
        assert leg.start @ leg.direction == pytest.approx(0.0, abs=1e-9)
        assert leg.end @ normal == pytest.approx(0.0, abs=1e-9)
        # No other plane on the way.
        inside = leg.at(np.linspace(0.01, 0.99, 50) * leg.arc) @ x.T
        assert (np.sign(inside) == np.sign(inside[0])).all()
        assert leg.satisfied == (y[leg.wall] * (leg.at(0.5 * leg.arc) @ normal) > 0)
        assert leg.satisfied or leg.passed
    for leg, after in zip(found.legs[:-1], found.legs[1:], strict=True):
        np.testing.assert_allclose(after.start, leg.end)
        change = after.direction - leg.arrival
        if leg.passed:
            np.testing.assert_allclose(change, 0.0, atol=1e-12)
        else:
            normal = x[leg.wall]
            assert after.direction @ normal == pytest.approx(-(leg.arrival @ normal))
            np.testing.assert_allclose(np.cross(change, normal), 0.0, atol=1e-9)
    passed = [leg.passed for leg in found.legs]
    assert any(passed) == (transparency > 0)
    assert not all(passed)
    # The engine counts the same events, except for the last, incomplete flight.
    counted = int(found.run.bounces.sum() + found.run.crossings.sum())
    assert abs(len(found.legs) - counted) <= 2
    # The draws lie on them.
    draws = found.run.draws[0] @ x
    arcs = np.cumsum([0.0] + [leg.arc for leg in found.legs])
    first = int(np.abs(draws - found.legs[0].start).sum(axis=1).argmin())
    times = (np.arange(first, len(draws)) - first) * found.run.length / len(draws)
    for draw, time in list(zip(draws[first:], times, strict=True))[::97]:
        if time < arcs[-1]:
            k = int(np.searchsorted(arcs, time, side="right")) - 1
            np.testing.assert_allclose(found.legs[k].at(time - arcs[k]), draw, atol=1e-7)


@pytest.mark.parametrize("width", [0.01, 0.003])
def test_a_transparent_corner_between_two_draws(width):
    """Through one wall, off the other and back before the next draw looks like a reflection."""
    x = np.array([
        [1.0, 0.0, 0.0],
        [-np.cos(width), np.sin(width), 0.0],
        [np.cos(2 * width), -np.sin(2 * width), 0.1],
        [0.0, 0.2, 1.0],
        [0.0, 0.3, -1.0],
    ])  # fmt: skip
    for seed in range(40):
        found = drawings.fly(x, [1] * 5, length=30.0, transparency=0.5, random_state=seed)
        counted = int(found.run.bounces.sum() + found.run.crossings.sum())
        assert abs(len(found.legs) - counted) <= 2


def test_draws_off_the_path_are_noticed(path):
    draws = path.run.draws[0] @ path.X
    spacing = path.run.length / len(draws)
    assert len(flights._legs(path.X, path.y, draws, spacing)) == len(path.legs)
    turned = draws.copy()
    turned[len(draws) // 2 :] = -turned[len(draws) // 2 :]
    with pytest.raises(RuntimeError, match="not on a path of great circles and reflections"):
        flights._legs(path.X, path.y, turned, spacing)
    with pytest.raises(RuntimeError, match=r"not on a path|no flight is longer"):
        flights._legs(path.X, path.y, draws, 1.1 * spacing)


# --- the page ---


def test_command(tmp_path, capsys):
    main(["drawings", "--out", str(tmp_path), "arc_sum", "cone"])
    written = sorted(file.name for file in (tmp_path / "drawings").iterdir())
    assert written == ["arc_sum.png", "cone.png"]
    for file in (tmp_path / "drawings").iterdir():
        assert file.read_bytes().startswith(b"\x89PNG")
        assert file.stat().st_size < 100_000
    assert not (tmp_path / "drawings.md").exists()
    assert "arc_sum.png" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["drawings", "--out", str(tmp_path), "mona_lisa"])
    assert "no picture named mona_lisa" in capsys.readouterr().err


def test_page():
    """The page in the repository is the one that the code writes, with its pictures."""
    text = scenes.page()
    for name in scenes.SCENES:
        assert f"(drawings/{name}.png)" in text
    for number in [f"18.{k}" for k in range(1, 11)] + ["3", "4", "7", "8", "9", "10"]:
        assert f"\n### Figure {number}" in text
    headings = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert headings == ["Ruján and Marchand", "Herbrich, Graepel and Campbell"]
    docs = Path(__file__).parents[3] / "docs"
    assert (docs / "drawings.md").read_text(encoding="utf-8") == text
    pictures = {file.name: file.stat().st_size for file in (docs / "drawings").glob("*.png")}
    assert set(pictures) == {f"{name}.png" for name in scenes.SCENES}
    assert max(pictures.values()) < 100_000


@pytest.mark.filterwarnings("ignore:More than 20 figures")
def test_the_commands_of_the_page_work():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    head, *blocks = re.findall(r"```python\n(.*?)```", scenes.page(), flags=re.DOTALL)
    assert len(blocks) == len(scenes.SCENES)
    names = {}
    exec(head, names)
    try:
        for block in blocks:
            found = dict(names)
            exec(block, found)
            assert isinstance(found["figure"], figure.Figure)
            assert found["figure"].axes
    finally:
        pyplot.close("all")
