"""The compiled engine's calls as functions of a labeled Gram matrix: its only importers."""

from bayespoint._core import InfeasibleError, __version__

__all__ = ["InfeasibleError", "__version__"]
