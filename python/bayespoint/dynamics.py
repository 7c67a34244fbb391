"""Dynamics of the ball, for the parameter ``dynamics`` of `SampleOptions`."""

from bayespoint.engine.dynamics import Chord, Flipper, Geodesic, Scattered

__all__ = ["Chord", "Flipper", "Geodesic", "Scattered"]
