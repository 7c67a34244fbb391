"""The Bayes point in the plane: convex polygons, the lines that halve them, and billiards in them.

Section 18.2 of Ruján and Marchand explains the Bayes point with a polygon in the plane. A line that
halves the polygon's area is a Bayes line. The Bayes lines of all directions do not meet in one
point unless the polygon is point-symmetric; the Bayes point is as close as possible to all of them.
It is approximated by the centers of the largest circle and of the largest ellipse in the polygon,
and by the center of mass, which the mean position of a billiard ball approaches.

All functions raise ValueError for numbers out of range and arrays of another shape, and TypeError
for what does not hold real numbers.

References
----------
P. Ruján, M. Marchand, "Computing the Bayes kernel classifier", in Advances in Large Margin
Classifiers, MIT Press, 2000.
"""

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
