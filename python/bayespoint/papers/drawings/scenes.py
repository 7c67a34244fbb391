"""The pictures of docs/drawings.md: ``python -m bayespoint.papers drawings``.

The page shows the code of each function as the commands for its picture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any

import numpy as np

from bayespoint.papers import drawings, pictures, planar, soft_boundary
from bayespoint.papers.elongated import make_elongated

__all__ = ["SCENES", "main", "page"]

TABLE = planar.Polygon([[0.0, 0.2], [5.0, 0.0], [5.6, 1.4], [4.5, 1.9], [0.3, 1.7]])
POINTS = np.array(
    [[0, 0], [1, 0.2], [0.4, 1.2], [-0.5, 0.6], [2.4, 1.3], [3.1, 0.4], [3.4, 1.8], [2.9, 2.2]]
)
LABELS = np.repeat([-1, 1], 4)


def bayes_line() -> Any:
    """Draw Figure 18.1 of Ruján and Marchand."""
    return planar.plot_bayes_line(TABLE, 0.4).figure


def bayes_lines() -> Any:
    """Draw Figure 18.2 of Ruján and Marchand."""
    polygon = planar.Polygon([[0.0, 0.0], [5.6, 0.4], [5.5, 0.8], [0.9, 3.2], [0.5, 3.0]])
    return planar.plot_bayes_lines(polygon, 60).figure


def inscribed() -> Any:
    """Draw Figure 18.3 of Ruján and Marchand."""
    return planar.plot_inscribed(TABLE).figure


def trajectory() -> Any:
    """Draw Figure 18.4 of Ruján and Marchand."""
    path = planar.billiard(TABLE, 1000, random_state=0)
    return planar.plot_trajectory(TABLE, path).figure


def connector() -> Any:
    """Draw Figure 18.5 of Ruján and Marchand."""
    return drawings.plot_connector(POINTS, LABELS).figure


def cone() -> Any:
    """Draw Figure 18.6 of Ruján and Marchand."""
    return drawings.plot_cone(POINTS - POINTS.mean(axis=0), LABELS).figure


def bounce() -> Any:
    """Draw Figure 18.7 of Ruján and Marchand."""
    return drawings.plot_bounce(TABLE, start=[1.5, 1.4], angle=-0.8).figure


def arc_sum() -> Any:
    """Draw Figure 18.8 of Ruján and Marchand."""
    return drawings.plot_arc_sum(1.2, (1.0, 2.0)).figure


def half_mirror() -> Any:
    """Draw Figure 18.9 of Ruján and Marchand."""
    problem = make_elongated(random_state=3)
    path = drawings.fly(problem.data, problem.target, length=60.0, transparency=0.4, random_state=0)
    return drawings.plot_half_mirror(path).figure


def projected_flight() -> Any:
    """Draw Figure 18.10 of Ruján and Marchand."""
    problem = make_elongated(random_state=12)
    path = drawings.fly(problem.data, problem.target, random_state=0)
    return drawings.plot_projected_flight(path, 12).figure


def parameter_space() -> Any:
    """Draw Figure 3 of Herbrich, Graepel and Campbell."""
    x = np.array([[1.0, 0.2], [0.3, 0.9], [-0.5, 0.6]])
    spaces = {
        softness: soft_boundary.parameter_space(x @ x.T, softness=softness)
        for softness in (0.0, 0.05, 0.5, 2.5)
    }
    return soft_boundary.plot_parameter_space(spaces)[0].figure


def regular_space() -> Any:
    """Draw Figure 4 of Herbrich, Graepel and Campbell, left."""
    problem = make_elongated(random_state=13)
    return drawings.plot_version_space(problem.data, problem.target, random_state=0).figure


def elongated_space() -> Any:
    """Draw Figure 4 of Herbrich, Graepel and Campbell, right."""
    problem = make_elongated(random_state=209)
    return drawings.plot_version_space(problem.data, problem.target, random_state=0).figure


def flight() -> Any:
    """Draw Figure 7 of Herbrich, Graepel and Campbell."""
    problem = make_elongated(random_state=3)
    path = drawings.fly(problem.data, problem.target, random_state=0)
    longest = max(range(len(path.legs)), key=lambda leg: min(path.legs[leg].arc, 0.9))
    return drawings.plot_flight(path, longest).figure


def chord_and_arc() -> Any:
    """Draw Figure 8 of Herbrich, Graepel and Campbell."""
    problem = make_elongated(random_state=3)
    path = drawings.fly(problem.data, problem.target, random_state=0)
    longest = max(range(len(path.legs)), key=lambda leg: min(path.legs[leg].arc, 0.9))
    return drawings.plot_chord_and_arc(path, longest).figure


def reflection() -> Any:
    """Draw Figure 9 of Herbrich, Graepel and Campbell."""
    problem = make_elongated(random_state=3)
    path = drawings.fly(problem.data, problem.target, random_state=0)
    return drawings.plot_reflection(path, 1)[0].figure


def point_mirror() -> Any:
    """Draw Figure 10 of Herbrich, Graepel and Campbell."""
    x = np.array([[1.0, 0.3], [0.2, 1.0]])
    return drawings.plot_point_mirror(x, [1, 1], [0.6, 0.8]).figure


SCENES: dict[str, Callable[[], Any]] = {
    draw.__name__: draw
    for draw in (
        bayes_line,
        bayes_lines,
        inscribed,
        trajectory,
        connector,
        cone,
        bounce,
        arc_sum,
        half_mirror,
        projected_flight,
        parameter_space,
        regular_space,
        elongated_space,
        flight,
        chord_and_arc,
        reflection,
        point_mirror,
    )
}
"""The pictures by name, in the order of the page."""


def page() -> str:
    """Return the page in Markdown: `pages/drawings.md` with the commands for its pictures."""
    codes = {name: pictures.code_of(draw, "figure") for name, draw in SCENES.items()}
    path = resources.files("bayespoint.papers") / "pages" / "drawings.md"
    return pictures.page(path.read_text("utf-8"), pictures.preamble(bayes_line, "TABLE = "), codes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pictures and their page."""
    return pictures.command(
        "python -m bayespoint.papers drawings",
        "Draw the mechanisms of the papers.",
        SCENES,
        {name: f"drawings/{name}.png" for name in SCENES},
        ("drawings.md", page),
        arguments,
    )
