"""Pictures of version spaces, runs and searches (optional extra ``plot``: matplotlib).

Each display is a class in the manner of scikit-learn's: ``from_estimator``, ``from_result``,
``from_space`` or ``from_predictions`` computes what is drawn and keeps it in attributes,
``plot(ax=...)`` draws it (again), ``ax_`` and ``figure_`` are where it was drawn. Lines and texts
take the color of text of the matplotlib style in use, so that pictures can be read on dark pages.

Without matplotlib every display raises ``ImportError``, which names the extra; of an estimator that
is not fitted ``NotFittedError``; of an object of another type than the one named ``TypeError``.

Decision boundaries, reliability diagrams and histograms are scikit-learn's and matplotlib's:
``sklearn.inspection.DecisionBoundaryDisplay``, ``sklearn.calibration.CalibrationDisplay``, and
``ax.hist`` of :func:`bayespoint.bounds.normalized_margins`.
"""

from __future__ import annotations

from bayespoint.plotting.billiard import BilliardDisplay
from bayespoint.plotting.convergence import ConvergenceDisplay
from bayespoint.plotting.evidence import EvidenceDisplay
from bayespoint.plotting.onion import OnionDisplay
from bayespoint.plotting.rejection import RejectionDisplay
from bayespoint.plotting.tuning import TuningDisplay
from bayespoint.plotting.walls import WallsDisplay

__all__ = [
    "BilliardDisplay",
    "ConvergenceDisplay",
    "EvidenceDisplay",
    "OnionDisplay",
    "RejectionDisplay",
    "TuningDisplay",
    "WallsDisplay",
]
