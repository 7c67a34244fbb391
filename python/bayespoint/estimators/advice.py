"""Advice in errors: what to write instead, in the words of the estimators."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from bayespoint.engine import InfeasibleError

# For a kernel matrix that does not fit into memory.
TOO_MANY = (
    "Ways out: BayesPointClassifier with approximation='landmarks'; fewer examples; or "
    "VersionSpace, which takes a kernel matrix of singles (float32): see the guide on large data"
)
_ENGINES = "Use softness > 0, or label noise (transparency > 0)"  # in the words of `VersionSpace`
_MOST_NAMES = 6  # largest number of columns that a message names


@contextlib.contextmanager
def infeasible_advice(advice: str) -> Iterator[None]:
    """Replace the advice of the engine's InfeasibleError, which names settings of VersionSpace."""
    try:
        yield
    except InfeasibleError as error:
        error.args = (str(error).replace(_ENGINES, advice),)
        raise


def of_columns(estimator: object, X: Any) -> str | None:
    """Return which columns of `X` hold text or lack values, and the lines that cure it, or None."""
    columns = _columns(X)
    if columns is None:
        return None
    faults = {name: _faults(values) for name, values in columns.items()}
    text = [name for name, (no_number, _) in faults.items() if no_number]
    lacking = [name for name, (no_number, missing) in faults.items() if missing and not no_number]
    if not (text or lacking):
        return None
    found, steps = [], []
    if text:
        found.append(f"{_listed(text)} of X must hold numbers, not text or other objects")
        steps.append(f'(OneHotEncoder(handle_unknown="ignore", sparse_output=False), {text!r})')
    if lacking:
        found.append(f"{_listed(lacking)} of X must not lack values (NaN)")
        steps.append(f"(SimpleImputer(), {lacking!r})")
    if max(len(text), len(lacking)) > 10 * _MOST_NAMES:  # too long for a message
        return "; ".join(found)
    return (
        f"{'; '.join(found)}. With scikit-learn's transformers:\n"
        f'columns = make_column_transformer({", ".join(steps)}, remainder="passthrough")\n'
        f"model = make_pipeline(columns, {type(estimator).__name__}())"
    )


def _columns(X: Any) -> dict[Any, Any] | None:
    """Return the columns of a frame by name, those of an array by number; None for others."""
    if sparse.issparse(X):
        return None
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        names = list(X.columns)
        return {name: X[name] for name in names} if len(set(names)) == len(names) else None
    try:
        array = np.asarray(X)
        if array.dtype.kind in "US":  # of mixed rows
            array = np.asarray(X, dtype=object)
    except ValueError:  # rows of several lengths
        return None
    return dict(enumerate(array.T)) if array.ndim == 2 else None


def _faults(column: Any) -> tuple[bool, bool]:
    """Return whether a column has entries that are no numbers, and whether it lacks values."""
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        return False, bool(np.isnan(values).any())
    no_number = missing = False
    for value in values.tolist():
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            missing = True
            continue
        try:
            missing |= np.isnan(float(value))
        except (TypeError, ValueError):
            no_number = True
    return no_number, bool(missing)


def _listed(names: Sequence[Any]) -> str:
    """Return for instance ``column 'age'`` or ``columns 0, 3 and 5 more``."""
    shown = ", ".join(map(repr, names[:_MOST_NAMES]))
    rest = len(names) - _MOST_NAMES
    return f"column{'s'[: len(names) > 1]} {shown}{f' and {rest} more' if rest > 0 else ''}"
