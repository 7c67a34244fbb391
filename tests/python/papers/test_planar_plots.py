"""The pictures show what was computed, where it is, and say what is what."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from bayespoint.papers.planar import (
    BayesLineDisplay,
    BayesLinesDisplay,
    InscribedDisplay,
    Polygon,
    TrajectoryDisplay,
    bayes_line,
    bayes_lines,
    bayes_point,
    billiard,
    largest_circle,
    largest_ellipse,
)
from helpers import seed

matplotlib_figure = pytest.importorskip("matplotlib.figure")

POLYGON = Polygon([[0.0, 0.2], [5.0, 0.0], [5.6, 1.4], [4.5, 1.9], [0.3, 1.7]])


@pytest.fixture
def ax():
    return matplotlib_figure.Figure().add_subplot()


def lines_by_label(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def place(line):
    [point] = line.get_xydata()
    return point


def shoelace(corners):
    x, y = np.asarray(corners).T
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


ALL = {
    BayesLineDisplay: lambda **how: BayesLineDisplay.from_polygon(POLYGON, 0.4, **how),
    BayesLinesDisplay: lambda **how: BayesLinesDisplay.from_polygon(POLYGON, 20, **how),
    InscribedDisplay: lambda **how: InscribedDisplay.from_polygon(POLYGON, **how),
    TrajectoryDisplay: lambda **how: TrajectoryDisplay.from_polygon(
        POLYGON, 30, random_state=seed(0), **how
    ),
}


@pytest.mark.parametrize("display", ALL)
def test_frame(display, ax):
    """Equal scales, labeled axes, all of the polygon's outline inside the window."""
    drawn = ALL[display](ax=ax)
    assert isinstance(drawn, display)
    assert drawn.ax_ is ax
    assert drawn.figure_ is ax.figure
    assert ax.get_aspect() == 1
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x1", "x2")
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])
    assert (low < POLYGON.vertices.min(axis=0)).all()
    assert (high > POLYGON.vertices.max(axis=0)).all()
    outlines = [line.get_xydata() for line in ax.lines if len(line.get_xydata()) == 6]
    closed = np.vstack([POLYGON.vertices, POLYGON.vertices[:1]])
    assert any(np.array_equal(outline, closed) for outline in outlines)


@pytest.mark.parametrize("display", ALL)
def test_a_new_figure_is_made_without_ax(display):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawn = ALL[display]()
    try:
        assert drawn.figure_.number in pyplot.get_fignums()
        drawn.figure_.canvas.draw()
        again = drawn.plot()
        assert again is drawn
        assert len(pyplot.get_fignums()) == 2
    finally:
        pyplot.close("all")


def test_halves(ax):
    """Two filled areas, of half the polygon each, on their sides of the dashed line."""
    line = bayes_line(POLYGON, 2.0)
    BayesLineDisplay(POLYGON, line).plot(ax=ax)
    above, below = (patch.get_xy()[:-1] for patch in ax.patches[:2])
    assert shoelace(above) == pytest.approx(POLYGON.area / 2)
    assert shoelace(below) == pytest.approx(POLYGON.area / 2)
    assert (above @ line.normal >= line.offset - 1e-12).all()
    assert (below @ line.normal <= line.offset + 1e-12).all()
    [drawn] = [x for x in ax.lines if x.get_linestyle() == "--"]
    np.testing.assert_array_equal(drawn.get_xydata(), line.segment)
    names = {text.get_text(): text for text in ax.texts}
    assert np.array(names["A₁"].get_position()) @ line.normal > line.offset
    assert np.array(names["A₂"].get_position()) @ line.normal < line.offset
    [arrow] = [text for text in ax.texts if text.get_text() == ""]
    flight = np.subtract(arrow.xy, arrow.xyann)
    np.testing.assert_allclose(flight / np.hypot(*flight), line.normal)
    assert np.array(arrow.xyann) @ line.normal == pytest.approx(line.offset)


def test_set_of_lines(ax):
    BayesLinesDisplay.from_polygon(POLYGON, 20, ax=ax)
    [drawn] = ax.collections
    np.testing.assert_array_equal(drawn.get_segments(), bayes_lines(POLYGON, 20).segments)
    marks = lines_by_label(ax)
    np.testing.assert_array_equal(place(marks["Bayes point"]), bayes_point(POLYGON).point)
    np.testing.assert_array_equal(place(marks["center of mass"]), POLYGON.centroid)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "Bayes lines",
        "Bayes point",
        "center of mass",
    ]


def test_zoom(ax):
    """The window is that much smaller, around the Bayes point."""
    found = BayesLinesDisplay.from_polygon(POLYGON, 20, ax=ax)
    wide = np.ptp([ax.get_xlim(), ax.get_ylim()], axis=1)
    found.plot(zoom=5.0, ax=ax)
    window = np.array([ax.get_xlim(), ax.get_ylim()])
    np.testing.assert_allclose(np.ptp(window, axis=1), wide / 5)
    np.testing.assert_allclose(window.mean(axis=1), found.point.point)
    with pytest.raises(ValueError, match=r"zoom must be a finite number in \[1, inf\); got 0.5"):
        found.plot(zoom=0.5, ax=ax)


def test_circle_and_ellipse(ax):
    InscribedDisplay.from_polygon(POLYGON, ax=ax)
    circle, ellipse = largest_circle(POLYGON), largest_ellipse(POLYGON)
    drawn = lines_by_label(ax)
    round_one = drawn["largest circle"].get_xydata()
    np.testing.assert_allclose(np.hypot(*(round_one - circle.center).T), circle.radius)
    oval = drawn["largest ellipse"].get_xydata()
    assert shoelace(oval) == pytest.approx(ellipse.area, rel=1e-3)
    assert POLYGON.clearance(oval).min() > -1e-9
    np.testing.assert_allclose(oval[:-1].mean(axis=0), ellipse.center)
    np.testing.assert_array_equal(place(drawn["center of mass"]), POLYGON.centroid)


@pytest.mark.parametrize(("n_bounces", "style"), [(30, "--"), (400, "-")])
def test_path(ax, n_bounces, style):
    path = billiard(POLYGON, n_bounces, random_state=seed(4))
    TrajectoryDisplay.from_polygon(POLYGON, n_bounces, random_state=seed(4), ax=ax)
    drawn = lines_by_label(ax)
    flight = drawn[f"{n_bounces} bounces"]
    np.testing.assert_array_equal(flight.get_xydata(), path.positions)
    assert flight.get_linestyle() == style
    np.testing.assert_array_equal(place(drawn["start"]), path.positions[0])
    np.testing.assert_array_equal(place(drawn["mean position"]), path.mean_position)


def test_start_and_angle_are_passed_on(ax):
    given = {"start": [2.0, 1.0], "angle": 0.3}
    drawn = TrajectoryDisplay.from_polygon(POLYGON, 10, ax=ax, **given)
    path = billiard(POLYGON, 10, **given)
    np.testing.assert_array_equal(drawn.trajectory.positions, path.positions)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in ALL.values():
        with pytest.raises(ImportError, match=r"pip install 'bayespoint\[plot\]'"):
            draw()


def test_the_module_does_without_matplotlib():
    """Nothing is imported from it before something is drawn."""
    program = "import sys, bayespoint.papers.planar; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
