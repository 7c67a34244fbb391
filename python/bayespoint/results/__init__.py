"""What a run returns: arrays and plain values, with a summary."""

from bayespoint.results._billiard import BilliardResult
from bayespoint.results._evidence import Estimate, Evidence
from bayespoint.results._points import LightTrap, MaxMargin
from bayespoint.results._search import Search

__all__ = ["BilliardResult", "Estimate", "Evidence", "LightTrap", "MaxMargin", "Search"]
