"""Displays of version spaces and of runs in them (optional extra ``plot``: matplotlib).

They are displays as those of `bayespoint.plotting`, with the same constructors and errors.
"""

from bayespoint.papers.displays.billiard import BilliardDisplay
from bayespoint.papers.displays.evidence import EvidenceDisplay
from bayespoint.papers.displays.onion import OnionDisplay
from bayespoint.papers.displays.walls import WallsDisplay

__all__ = ["BilliardDisplay", "EvidenceDisplay", "OnionDisplay", "WallsDisplay"]
