"""Pictures of classifiers and of what runs return (optional extra ``plot``: matplotlib).

Each display is a class after scikit-learn's manner: ``from_estimator``, ``from_result`` or
``from_predictions`` computes what is drawn and keeps it in attributes, ``plot(ax=...)`` draws it
(again), ``ax_`` and ``figure_`` are where it was drawn. What is not colored takes the color of text
of the matplotlib style in use, so that pictures can be read on dark pages too.
"""

from __future__ import annotations

from bayespoint.plotting.billiard import BilliardDisplay
from bayespoint.plotting.convergence import ConvergenceDisplay
from bayespoint.plotting.decision import DecisionDisplay, plot_decision_function
from bayespoint.plotting.evidence import EvidenceDisplay
from bayespoint.plotting.margins import MarginDisplay
from bayespoint.plotting.onion import OnionDisplay
from bayespoint.plotting.rejection import RejectionDisplay
from bayespoint.plotting.reliability import ReliabilityDisplay
from bayespoint.plotting.tuning import TuningDisplay
from bayespoint.plotting.walls import WallsDisplay

__all__ = [
    "BilliardDisplay",
    "ConvergenceDisplay",
    "DecisionDisplay",
    "EvidenceDisplay",
    "MarginDisplay",
    "OnionDisplay",
    "RejectionDisplay",
    "ReliabilityDisplay",
    "TuningDisplay",
    "WallsDisplay",
    "plot_decision_function",
]
