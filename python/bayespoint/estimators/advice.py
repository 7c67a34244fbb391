"""Advice in errors: what to write instead, in the words of the estimators."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from bayespoint.engine import InfeasibleError

# For a kernel matrix that does not fit into memory.
TOO_MANY = (
    "Ways out: BayesPointClassifier with approximation='landmarks'; fewer examples; or "
    "VersionSpace, which takes a kernel matrix of singles (float32): see the guide on large data"
)
_ENGINES = "Use softness > 0, or label noise (transparency > 0)"  # in the words of `VersionSpace`


@contextlib.contextmanager
def infeasible_advice(advice: str) -> Iterator[None]:
    """Replace the advice of the engine's InfeasibleError, which names settings of VersionSpace."""
    try:
        yield
    except InfeasibleError as error:
        error.args = (str(error).replace(_ENGINES, advice),)
        raise
