"""Functions of a labeled Gram matrix that call the compiled engine."""

from bayespoint._core import InfeasibleError, __version__

__all__ = ["InfeasibleError", "__version__"]
