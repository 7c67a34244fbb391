"""Plots of version spaces, runs and searches (optional extra ``plot``: matplotlib).

The classes are displays as in scikit-learn: ``from_estimator``, ``from_result``, ``from_space`` or
``from_predictions`` computes and draws, ``plot(ax=...)`` draws again; ``ax_`` and ``figure_`` are
the axes and figure of the last drawing. For multiclass="one_vs_rest" and more than two classes
``from_estimator`` returns `Panels`: a display for each class; `label` draws a single one. Lines and
texts have the text color of the matplotlib style.

Without matplotlib all displays raise ``ImportError``. They raise ``NotFittedError`` for estimators
that are not fitted, ``TypeError`` for objects of another type, and ``ValueError`` if `label` is not
one of the classes of panels. ``from_estimator`` also raises the errors of ``from_result``.

Decision boundaries, reliability diagrams and histograms are scikit-learn's and matplotlib's:
``sklearn.inspection.DecisionBoundaryDisplay``, ``sklearn.calibration.CalibrationDisplay``, and
``ax.hist`` of :func:`bayespoint.bounds.normalized_margins`.
"""

from __future__ import annotations

from bayespoint.plotting.billiard import BilliardDisplay
from bayespoint.plotting.convergence import ConvergenceDisplay
from bayespoint.plotting.evidence import EvidenceDisplay
from bayespoint.plotting.onion import OnionDisplay
from bayespoint.plotting.panels import Panels
from bayespoint.plotting.rejection import RejectionDisplay
from bayespoint.plotting.relevance import RelevanceDisplay
from bayespoint.plotting.tuning import TuningDisplay
from bayespoint.plotting.walls import WallsDisplay

__all__ = [
    "BilliardDisplay",
    "ConvergenceDisplay",
    "EvidenceDisplay",
    "OnionDisplay",
    "Panels",
    "RejectionDisplay",
    "RelevanceDisplay",
    "TuningDisplay",
    "WallsDisplay",
]
