"""How the ball moves: what `VersionSpace.sample` takes as ``dynamics``."""

from bayespoint.engine.dynamics import Chord, Flipper, Geodesic, Scattered

__all__ = ["Chord", "Flipper", "Geodesic", "Scattered"]
