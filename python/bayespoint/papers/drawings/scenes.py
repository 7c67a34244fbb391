"""The pictures of docs/drawings.md: ``python -m bayespoint.papers drawings``.

The page shows the code of each function as the commands for its picture. The first paragraph of its
docstring is the heading and the picture's alternative text, the second the caption.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bayespoint.datasets import make_elongated
from bayespoint.kernels import RBF
from bayespoint.papers import drawings, pictures, planar, soft_boundary
from bayespoint.papers.elongated import center_errors, plot_center_errors

__all__ = ["SCENES", "main", "page"]

TABLE = planar.Polygon([[0.0, 0.2], [5.0, 0.0], [5.6, 1.4], [4.5, 1.9], [0.3, 1.7]])
POINTS = np.array(
    [[0, 0], [1, 0.2], [0.4, 1.2], [-0.5, 0.6], [2.4, 1.3], [3.1, 0.4], [3.4, 1.8], [2.9, 2.2]]
)
LABELS = np.repeat([-1, 1], 4)


def bayes_line() -> Any:
    """Ruján and Marchand, Figure 18.1.

    A *Bayes line* halves the area of a polygon.
    """
    return planar.plot_bayes_line(TABLE, 0.4).figure


def bayes_lines() -> Any:
    """Ruján and Marchand, Figure 18.2.

    The Bayes lines of all directions do not meet in one point.
    """
    return planar.plot_bayes_lines(TABLE, 60).figure


def inscribed() -> Any:
    """Ruján and Marchand, Figure 18.3.

    The largest circle and ellipse, and the center of mass.
    """
    return planar.plot_inscribed(TABLE).figure


def trajectory() -> Any:
    """Ruján and Marchand, Figure 18.4.

    The path of a billiard ball through 60 bounces. Its mean position is near the center of mass.
    """
    path = planar.billiard(TABLE, 60, random_state=0)
    return planar.plot_trajectory(TABLE, path).figure


def connector() -> Any:
    """Ruján and Marchand, Figure 18.5.

    The maximal margin and the shortest connection between the convex hulls have the same length. A,
    B and C are the support vectors.
    """
    return drawings.plot_connector(POINTS, LABELS).figure


def cone() -> Any:
    """Ruján and Marchand, Figure 18.6.

    The version space of these points is a cone in the space of weights and bias, cut by the
    unit sphere. The ray is the weight vector of maximal margin.
    """
    return drawings.plot_cone(POINTS - POINTS.mean(axis=0), LABELS).figure


def bounce() -> Any:
    """Ruján and Marchand, Figure 18.7.

    A bounce at a plane: the flight time is minus the ratio of two distances from the plane, that of
    the position and that of the direction.
    """
    return drawings.plot_bounce(TABLE, start=[1.5, 1.4], angle=-0.8).figure


def arc_sum() -> Any:
    """Ruján and Marchand, Figure 18.8.

    The sum of two weighted unit vectors divides the arc between them by their weights.
    """
    return drawings.plot_arc_sum(1.2, (1.0, 2.0)).figure


def half_mirror() -> Any:
    """Ruján and Marchand, Figure 18.9.

    A half-transparent wall. From the side where its example is satisfied it reflects the ball or
    lets it pass; from the other side the ball always passes.
    """
    problem = make_elongated(random_state=3)
    path = drawings.fly(problem.data, problem.target, length=60.0, transparency=0.4, random_state=0)
    return drawings.plot_half_mirror(path).figure


def projected_flight() -> Any:
    """Ruján and Marchand, Figure 18.10.

    A path in version space, continued beyond its walls: the numbers count the violated examples.
    """
    problem = make_elongated(random_state=12)
    path = drawings.fly(problem.data, problem.target, random_state=0)
    return drawings.plot_projected_flight(path, 12).figure


def parameter_space() -> Any:
    """Herbrich, Graepel and Campbell, Figure 3.

    The parameter space of three examples in two dimensions, in plane coordinates: flat without
    softness, a pancake with little, nearly a ball with much.
    """
    x = np.array([[1.0, 0.2], [0.3, 0.9], [-0.5, 0.6]])
    spaces = {
        softness: soft_boundary.parameter_space(x @ x.T, softness=softness)
        for softness in (0.0, 0.05, 0.5, 2.5)
    }
    return soft_boundary.plot_parameter_space(spaces)[0].figure


def regular_space() -> Any:
    """Herbrich, Graepel and Campbell, Figure 4, left.

    A version space of regular shape: the two centers nearly agree. The dots are the bounces of 20
    balls. Great circles are drawn as straight lines, so that regions far from the maximal margin
    look larger than they are.
    """
    problem = make_elongated(random_state=12)
    return drawings.plot_version_space(problem.data, problem.target, random_state=0).figure


def elongated_space() -> Any:
    """Herbrich, Graepel and Campbell, Figure 4, right.

    A long and thin version space with errors like those in the paper: on 10 000 points the maximal
    margin has 15.5 % errors, the Bayes point about 8 %.
    """
    problem = make_elongated(random_state=209)
    return drawings.plot_version_space(problem.data, problem.target, random_state=0).figure


def elongated_errors() -> Any:
    """Herbrich, Graepel and Campbell, Figure 4, on 200 random problems.

    The paper's example is a favorable one.
    """
    return plot_center_errors(center_errors(200)).figure


def center_angles() -> Any:
    """Herbrich, Graepel and Campbell, Section 5.

    With growing softness the maximal margin tends to the center of mass.
    """
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 2))
    gram, y = RBF(1.0)(x), np.where(x[:, 0] + x[:, 1] ** 2 > 0.8, 1, -1)
    table = soft_boundary.center_angles(gram, y, np.logspace(-2, 3, 11), random_state=0)
    return soft_boundary.plot_center_angles(table).figure


def flight() -> Any:
    """Herbrich, Graepel and Campbell, Figure 7.

    A straight flight to a plane, and the projection back to the sphere.
    """
    problem = make_elongated(random_state=3)
    path = drawings.fly(problem.data, problem.target, random_state=0)
    longest = max(range(len(path.legs)), key=lambda leg: min(path.legs[leg].arc, 0.9))
    return drawings.plot_flight(path, longest).figure


def chord_and_arc() -> Any:
    """Herbrich, Graepel and Campbell, Figure 8.

    The length of the same flight in Euclidean space and on the sphere.
    """
    problem = make_elongated(random_state=3)
    path = drawings.fly(problem.data, problem.target, random_state=0)
    longest = max(range(len(path.legs)), key=lambda leg: min(path.legs[leg].arc, 0.9))
    return drawings.plot_chord_and_arc(path, longest).figure


def reflection() -> Any:
    """Herbrich, Graepel and Campbell, Figure 9.

    A reflection changes the direction along the plane's normal.
    """
    problem = make_elongated(random_state=3)
    path = drawings.fly(problem.data, problem.target, random_state=0)
    return drawings.plot_reflection(path, 1)[0].figure


def point_mirror() -> Any:
    """Herbrich, Graepel and Campbell, Figure 10.

    The mirror image of a plane at a point w'.
    """
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
        elongated_errors,
        center_angles,
        flight,
        chord_and_arc,
        reflection,
        point_mirror,
    )
}
"""The pictures by name, in the order of the page."""

_HEAD = """# The papers' drawings

These are the papers' pictures of how the method works, drawn with this package. The
[glossary](glossary.md) explains the terms. `make drawings` makes all pictures and writes
this page. Each picture is made by the lines below it, after these:

```python
{preamble}
```
"""


def page() -> str:
    """Return the page in Markdown: a heading for each paper, and for each picture."""
    parts = [_HEAD.format(preamble=pictures.preamble(bayes_line, "TABLE = "))]
    previous = None
    for name, draw in SCENES.items():
        source, text = pictures.caption(draw).split("\n\n", 1)
        paper, title = re.split(r", (?=Figure|Section)", source.rstrip("."), maxsplit=1)
        if paper != previous:
            parts.append(f"## {paper}\n")
        previous = paper
        code = pictures.code_of(draw, "figure")
        parts.append(
            f"### {title}\n\n![{paper}, {title}](drawings/{name}.png)\n\n{text}\n\n"
            f"```python\n{code}\n```\n"
        )
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pictures and their page."""
    return pictures.command(
        "drawings",
        "Draw the mechanisms of the papers.",
        SCENES,
        {name: f"drawings/{name}.png" for name in SCENES},
        ("drawings.md", page),
        arguments,
    )
