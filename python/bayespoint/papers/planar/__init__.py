"""The Bayes point in the plane: convex polygons, the lines that halve them, and billiards in them.

Section 18.2 of Ruján and Marchand tells what version space is about with a polygon in the plane. A
line of a given direction that halves the polygon's area is a Bayes decision line. The Bayes lines
of all directions do not meet in one point, unless the polygon is point-symmetric, and the Bayes
point is the one that misses them least. Its stand-ins are the centers of the largest circle and of
the largest ellipse in the polygon, and, better, its center of mass, which the mean position of a
billiard ball comes near.

References
----------
P. Ruján, M. Marchand, "Computing the Bayes kernel classifier", in Advances in Large Margin
Classifiers, MIT Press, 2000.
"""

from __future__ import annotations

from bayespoint.papers.planar.exact_center import (
    BayesLine,
    BayesLines,
    BayesPoint,
    area_difference,
    bayes_line,
    bayes_lines,
    bayes_objective,
    bayes_point,
)
from bayespoint.papers.planar.flight import Trajectory, billiard
from bayespoint.papers.planar.inscribed import Circle, Ellipse, largest_circle, largest_ellipse
from bayespoint.papers.planar.plots import (
    plot_bayes_line,
    plot_bayes_lines,
    plot_inscribed,
    plot_trajectory,
)
from bayespoint.papers.planar.polygon import Polygon

__all__ = [
    "BayesLine",
    "BayesLines",
    "BayesPoint",
    "Circle",
    "Ellipse",
    "Polygon",
    "Trajectory",
    "area_difference",
    "bayes_line",
    "bayes_lines",
    "bayes_objective",
    "bayes_point",
    "billiard",
    "largest_circle",
    "largest_ellipse",
    "plot_bayes_line",
    "plot_bayes_lines",
    "plot_inscribed",
    "plot_trajectory",
]
