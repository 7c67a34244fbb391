"""Plots of version spaces, runs and searches (optional extra ``plot``: matplotlib).

The classes are displays as in scikit-learn: ``from_estimator``, ``from_result``, ``from_space`` or
``from_predictions`` computes and draws, ``plot(ax=...)`` draws again; ``ax_`` and ``figure_`` are
the axes and figure of the last drawing. Of an average the first model is drawn.

Displays raise ``ImportError`` without matplotlib, ``NotFittedError`` for estimators not fitted and
``TypeError`` for other objects. ``from_estimator`` also raises the errors of ``from_result``.

Decision boundaries, reliability diagrams and histograms are scikit-learn's and matplotlib's:
``sklearn.inspection.DecisionBoundaryDisplay``, ``sklearn.calibration.CalibrationDisplay``, and
``ax.hist`` of :func:`bayespoint.papers.bounds.normalized_margins`. ArviZ draws the traces of a run,
from the ``to_datatree()`` of a result. `bayespoint.papers.displays` has
pictures of version spaces, walls, layers and evidences.
"""

from bayespoint.plotting.rejection import RejectionDisplay
from bayespoint.plotting.relevance import RelevanceDisplay
from bayespoint.plotting.tuning import TuningDisplay

__all__ = ["RejectionDisplay", "RelevanceDisplay", "TuningDisplay"]
