"""The pictures show the computed values at their places, with labels."""

from __future__ import annotations

import numpy as np
import pytest

from bayespoint.papers.planar import (
    Polygon,
    billiard,
    plot_bayes_line,
    plot_bayes_lines,
    plot_inscribed,
    plot_trajectory,
)
from helpers import seed

matplotlib_figure = pytest.importorskip("matplotlib.figure")

POLYGON = Polygon([[0.0, 0.2], [5.0, 0.0], [5.6, 1.4], [4.5, 1.9], [0.3, 1.7]])


@pytest.fixture
def ax():
    return matplotlib_figure.Figure().add_subplot()


ALL = {
    "line": lambda **how: plot_bayes_line(POLYGON, 0.4, **how),
    "lines": lambda **how: plot_bayes_lines(POLYGON, 20, **how),
    "inscribed": lambda **how: plot_inscribed(POLYGON, **how),
    "path": lambda **how: plot_trajectory(
        POLYGON, billiard(POLYGON, 30, random_state=seed(0)), **how
    ),
}


@pytest.mark.parametrize("name", ALL)
def test_frame(name, ax):
    """Equal scales, labeled axes, all of the polygon's outline inside the window."""
    assert ALL[name](ax=ax) is ax
    assert ax.get_aspect() == 1
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x1", "x2")
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])
    assert (low < POLYGON.vertices.min(axis=0)).all()
    assert (high > POLYGON.vertices.max(axis=0)).all()
    outlines = [line.get_xydata() for line in ax.lines if len(line.get_xydata()) == 6]
    closed = np.vstack([POLYGON.vertices, POLYGON.vertices[:1]])
    assert any(np.array_equal(outline, closed) for outline in outlines)
