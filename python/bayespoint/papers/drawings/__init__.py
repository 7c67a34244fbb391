"""Drawings of the papers' mechanisms, computed with the package.

The functions take points of two classes in a few dimensions. ``python -m bayespoint.papers
drawings`` makes all pictures, including those of :mod:`bayespoint.papers.planar`. They need the
extra ``plot`` (matplotlib). Arguments that do not fit raise ValueError or TypeError, and classes
that cannot be separated InfeasibleError.

References
----------
P. Ruján, M. Marchand, "Computing the Bayes Kernel Classifier", in Advances in Large Margin
Classifiers, MIT Press, 2000: Figures 18.1 to 18.10.

R. Herbrich, T. Graepel, C. Campbell, "Bayesian Learning in Reproducing Kernel Hilbert Spaces",
Technical Report 99-11, Technical University of Berlin, 1999: Figures 3, 4, 7 to 10.
"""

from bayespoint.papers.drawings.appendix import (
    plot_chord_and_arc,
    plot_flight,
    plot_point_mirror,
    plot_reflection,
)
from bayespoint.papers.drawings.flights import Leg, Path, fly
from bayespoint.papers.drawings.mechanisms import (
    plot_arc_sum,
    plot_bounce,
    plot_cone,
    plot_connector,
    plot_half_mirror,
    plot_projected_flight,
    plot_version_space,
)

__all__ = [
    "Leg",
    "Path",
    "fly",
    "plot_arc_sum",
    "plot_bounce",
    "plot_chord_and_arc",
    "plot_cone",
    "plot_connector",
    "plot_flight",
    "plot_half_mirror",
    "plot_point_mirror",
    "plot_projected_flight",
    "plot_reflection",
    "plot_version_space",
]
