"""The base class of the kernels, with the parameter interface of scikit-learn."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from bayespoint.base import validation
from bayespoint.kernels.protocol import Bounds, Floats, Inputs, Parameter

if TYPE_CHECKING:
    from typing_extensions import Self


class KernelObject:
    """A kernel whose parameters can be read, set and tuned.

    Kernels are frozen dataclasses: they are equal and have the same hash if their fields are
    equal. Only `set_params` can change one. A parameter that is given is kept. One that is left
    out, None, is declared by `parameters` and found in a fit; until then the kernel has no values.
    """

    requires_vector_input: bool | None = True
    """Whether inputs are rows of a numeric array (True), other objects (False), or either
    (None)."""

    accepts_sparse: bool = False
    """Whether inputs may be rows of a sparse matrix."""

    semidefinite = True
    """Whether the kernel is known to be positive semidefinite."""

    def __call__(self, X: Inputs, Y: Inputs | None = None) -> Floats:
        """Return the (n, n') matrix of kernel values; ``Y=None`` stands for `X`."""
        raise NotImplementedError

    def diag(self, X: Inputs) -> Floats:
        """Return the values ``k(x, x)``.

        Parameters
        ----------
        X : array of shape (n, n_features), or a sequence of n examples
            Inputs.

        Returns
        -------
        ndarray of shape (n,)
            One value for each example.
        """
        raise NotImplementedError

    def parameters(self, X: Inputs) -> tuple[Parameter, ...]:
        """Return the parameters that were left out, to be found by a search.

        Parameters
        ----------
        X : array of shape (n, n_features), or a sequence of n examples
            Training inputs, whose scale determines bounds and starts.

        Returns
        -------
        tuple of Parameter
            Their names, bounds and starting values.
        """
        return ()

    def with_values(self, values: Mapping[str, float]) -> Self:
        """Return the kernel with the given values.

        Parameters
        ----------
        values : mapping of str to float
            Values by the names in `parameters`.

        Returns
        -------
        kernel object
            A new kernel, in which these parameters are given and have no bounds.
        """
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        bounds = {each.name: None for each in fields if each.metadata.get("bounds_of") in values}
        return dataclasses.replace(self, **values, **bounds)  # type: ignore[type-var]

    def derivatives(self, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
        """Return the derivatives of the kernel matrix with respect to log parameters.

        Parameters
        ----------
        X : array of shape (n, n_features), or a sequence of n examples
            Inputs.
        gram : ndarray of shape (n, n)
            The matrix ``k(X)``.

        Returns
        -------
        mapping of str to ndarray of shape (n, n)
            Derivatives by name of the parameter, each computed on access. For missing ones the
            search uses finite differences.
        """
        return {}

    def slopes(
        self, X: Inputs, gram: Floats, by_gram: Floats, Y: Inputs | None = None
    ) -> Mapping[str, float]:
        """Return the derivatives of a function of the kernel matrix with respect to log parameters.

        Parameters
        ----------
        X : array of shape (n, n_features), or a sequence of n examples
            Inputs.
        gram : ndarray of shape (n, n')
            The matrix ``k(X, Y)``.
        by_gram : ndarray of shape (n, n')
            Derivatives of the function with respect to the entries of the matrix; symmetric for
            ``Y=None``.
        Y : array of shape (n', n_features), default=None
            Other inputs. None: `X`.

        Returns
        -------
        mapping of str to float
            ``sum(by_gram * derivative)`` for each of `derivatives`. With `Y` kernels may know fewer
            of them.
        """
        if Y is not None:
            found = self.weighted_slopes(X, gram, by_gram, Y)
            return {} if found is None else found[0]
        known = self.derivatives(X, gram) if callable(self.derivatives) else {}
        return {name: float(np.vdot(by_gram, known[name])) for name in known}

    def weighted_slopes(
        self, X: Floats, gram: Floats, by_gram: Floats, Y: Floats | None = None
    ) -> tuple[Mapping[str, float], Floats] | None:
        """Return `slopes`, and those with respect to the logarithms of weights of the features.

        Parameters
        ----------
        X, gram, by_gram, Y
            As for `slopes`.

        Returns
        -------
        pair of a mapping of str to float and an ndarray of shape (n_features,), or None
            `slopes`, and those at weights of 1, by which the features are multiplied (see
            :class:`Weighted`). None if the kernel does not know them.
        """
        return None

    def __repr__(self) -> str:
        given = {k: v for k, v in _fields(self).items() if v is not None and v is not False}
        return f"{type(self).__name__}({', '.join(f'{k}={shown(v)}' for k, v in given.items())})"

    # --- parameters by name, so that a grid can search ``kernel__sigma`` ---

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor.

        Parameters
        ----------
        deep : bool, default=True
            Include the parameters of nested kernels: ``kernel__sigma`` in a multiple, ``0`` and
            ``0__sigma`` for the first part of a sum or product.

        Returns
        -------
        dict
            Values by name.
        """
        own = _fields(self)
        if not deep:
            return own
        found: dict[str, Any] = {}
        for name, value in {**own, **_numbered(own)}.items():
            found[name] = value
            if _has_params(value):
                found.update({f"{name}__{key}": each for key, each in value.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this kernel.

        Nested kernels are replaced by new objects. The copy in ``kernel_`` of a fitted classifier
        does not change. Do not change a kernel that is in a set or a key of a dictionary.

        Parameters
        ----------
        **params : dict
            Values by the names in `get_params`.

        Returns
        -------
        kernel object
            The kernel itself.

        Raises
        ------
        ValueError
            If there is no such parameter, or a value is out of range; nothing is then changed.
        """
        validation.set_fields(self, **_fields(_changed(self, params)))
        return self

    def __sklearn_clone__(self) -> Self:
        if not dataclasses.is_dataclass(self):
            return copy.deepcopy(self)
        return type(self)(**{k: clone(value, safe=False) for k, value in _fields(self).items()})


def given(kernel: KernelObject, name: str) -> Any:
    """Return a parameter of a kernel; raise ValueError if it was left out."""
    value = getattr(kernel, name)
    if value is None:
        raise ValueError(
            f"{name} of {kernel!r} must be given outside a fit; got None: give a number, or take "
            "the rule of thumb of bayespoint.kernels.at_start(kernel, X)"
        )
    return value


def check_optional(
    kernel: KernelObject,
    name: str,
    bounds: str = "bounds",
    *,
    check: Callable[[str, Any], Any] = validation.positive,
    check_bound: Callable[[str, Any], float] = validation.positive,
) -> None:
    """Check and set a parameter that may be left out, and its bounds."""
    value, pair = getattr(kernel, name), getattr(kernel, bounds)
    if value is not None:
        value = check(name, value)
        if pair is not None:
            raise ValueError(f"{bounds} must be None with {name} given, {value!r}; got {pair!r}")
    elif pair is not None:
        low, high = pair = validation.pair(bounds, pair, check_bound)
        if not low < high:
            raise ValueError(f"{bounds} must be in order, the lower one first; got {pair!r}")
    validation.set_fields(kernel, **{name: value, bounds: pair})


def within(
    bounds: Bounds | None,
    name: str,
    start: float,
    reach: tuple[float, float],
    spread: float = Parameter.spread,
) -> Parameter:
    """Return a parameter to be searched within the user's bounds, or from and to start * reach.

    A start out of bounds is replaced by the geometric mean of the bounds.
    """
    low, high = bounds or (start * reach[0], start * reach[1])
    if not low < start < high:
        start = math.sqrt(low) * math.sqrt(high)
    return Parameter(name, low, high, start, spread)


def shown(value: object) -> str:
    """Return the repr of a value, with four significant digits."""
    if isinstance(value, float):
        return repr(float(f"{value:.4g}"))
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))}{',' * (len(value) == 1)})"
    return repr(value)


def _fields(kernel: KernelObject) -> dict[str, Any]:
    """Return the fields of a kernel; empty for a user's class that is not a dataclass."""
    known: tuple[Any, ...] = dataclasses.fields(kernel) if dataclasses.is_dataclass(kernel) else ()
    return {each.name: getattr(kernel, each.name) for each in known}


def _numbered(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a sum or product by their numbers."""
    return {str(number): part for number, part in enumerate(fields.get("parts", ()))}


def _has_params(value: object) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)


def _changed(kernel: KernelObject, params: Mapping[str, Any]) -> KernelObject:
    """Return a kernel with other parameters, named as in `get_params`."""
    whole: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for key, value in params.items():
        name, nested, rest = key.partition("__")
        if nested:
            inner.setdefault(name, {})[rest] = value
        else:
            whole[name] = value
    fields = _fields(kernel)
    fields.update({name: whole[name] for name in whole.keys() & fields.keys()})
    numbered = _numbered(fields)
    known = {**fields, **numbered}
    for name in (*whole, *inner):
        if name not in known:
            valid = ", ".join(sorted(known)) or "none"
            raise ValueError(f"the parameters of {kernel!r} are: {valid}; got {name!r}")
    known.update(whole)
    for name, values in inner.items():
        value = known[name]
        if isinstance(value, KernelObject):
            known[name] = _changed(value, values)
        elif _has_params(value):
            known[name] = clone(value, safe=False).set_params(**values)
        else:
            raise ValueError(
                f"{name} of {kernel!r} has no parameters to set; got {', '.join(values)}"
            )
    if numbered:
        known["parts"] = tuple(known[number] for number in numbered)
    return type(kernel)(**{name: known[name] for name in fields}) if fields else kernel
