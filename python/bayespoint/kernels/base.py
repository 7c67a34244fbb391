"""The base class of kernels, functions of kernels of any origin, and sums, products and multiples.

They are one file, since ``+`` and ``*`` of the base class make sums and products, whose parts may
be kernels of this package, of scikit-learn's Gaussian processes, or callables.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone

from bayespoint.base import validation
from bayespoint.kernels import gaussian_process
from bayespoint.kernels.parameters import (
    check_optional,
    fields_of,
    given,
    has_params,
    numbered,
    shown,
    within,
)
from bayespoint.kernels.products import count, counts, in_rows
from bayespoint.kernels.protocol import (
    Bounds,
    ByName,
    Floats,
    Inputs,
    KernelGradient,
    Other,
    Parameter,
    Slopes,
    deferred,
    prefixed,
)

if TYPE_CHECKING:
    from typing_extensions import Self

_REACH = (math.exp(-7), math.exp(7))
"""Bounds of a factor or constant."""

_DIAGONAL = 100
"""Examples in a square block of the kernel matrix, of which only the diagonal counts."""


class Kernel:
    """A kernel that can be added to and multiplied with others, tuned, and read and set by name.

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

    def __call__(self, X: Inputs, Y: Other = None) -> Floats:
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

    def with_values(self, values: ByName) -> Self:
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
        new: dict[str, Any] = {}
        for name, value in values.items():
            own, indexed, k = name.removesuffix("]").partition("[")
            if indexed:  # one for each feature, as "sigma[0]"
                new.setdefault(own, dict(enumerate(getattr(self, own) or ())))[int(k)] = value
            else:
                new[own] = value
        for name, value in new.items():
            if isinstance(value, dict):
                new[name] = tuple(value[k] for k in sorted(value))
        for each in dataclasses.fields(self):  # type: ignore[arg-type]
            # Bounds and `per_feature` have no meaning once the parameter is given.
            if each.metadata.get("until") in new:
                new[each.name] = each.default
        return dataclasses.replace(self, **new)  # type: ignore[type-var]

    def derivatives(self, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
        """Return the derivatives of the kernel matrix with respect to log parameters.

        Parameters
        ----------
        X, gram : inputs as for `diag`, and ndarray of shape (n, n)
            Inputs, and the matrix ``k(X)``.

        Returns
        -------
        mapping of str to ndarray of shape (n, n)
            Derivatives by name of the parameter, each computed on access. For missing ones the
            search uses finite differences.
        """
        return {}

    def slopes(self, X: Inputs, gram: Floats, by_gram: Floats, Y: Other = None) -> ByName:
        """Return the derivatives of a function of the kernel matrix with respect to log parameters.

        Parameters
        ----------
        X, Y : arrays of shape (n, n_features) and (n', n_features), or sequences of examples
            Inputs. ``Y=None`` stands for `X`.
        gram, by_gram : ndarrays of shape (n, n')
            The matrix ``k(X, Y)``, and the derivatives of the function with respect to its entries;
            symmetric for ``Y=None``.

        Returns
        -------
        mapping of str to float
            ``sum(by_gram * derivative)`` for each of `derivatives`. With `Y` kernels may know fewer
            of them.
        """
        if Y is None:
            return _summed(derivatives(self, X, gram), by_gram)
        found = self.weighted_slopes(X, gram, by_gram, Y)
        return {} if found is None else found[0]

    def weighted_slopes(self, X: Floats, gram: Floats, by_gram: Floats, Y: Other = None) -> Slopes:
        """Return `slopes`, and those by log weights of the features; None if it knows none.

        Parameters
        ----------
        X, gram, by_gram, Y
            As for `slopes`.

        Returns
        -------
        pair of a mapping of str to float and an ndarray of shape (n_features,), or None
            `slopes`, and those at weights of 1, by which the features are multiplied (`Weighted`).
        """
        return None

    def diag_slopes(self, X: Floats, by_diag: Floats) -> Slopes:
        """Return what `weighted_slopes` does for a function of the values ``k(x, x)``.

        Parameters
        ----------
        X : array of shape (n, n_features)
            Inputs.
        by_diag : ndarray of shape (n,)
            Derivatives of the function with respect to the values.

        Returns
        -------
        pair of a mapping of str to float and an ndarray of shape (n_features,), or None
            As `weighted_slopes`.
        """
        known, total = dict[str, float](), np.zeros(X.shape[1])
        for rows in validation.blocks(len(by_diag), _DIAGONAL):
            some = X[rows]
            found = weighted_slopes(self, some, evaluate(self, some), np.diag(by_diag[rows]))
            if found is None:
                return None
            known = {name: known.get(name, 0.0) + slope for name, slope in found[0].items()}
            total += found[1]
        return known, total

    __array_ufunc__ = None  # lets NumPy scalars defer to the methods here

    def __add__(self, other: object) -> Sum:
        return Sum((self, _operand("added to", other)))

    def __radd__(self, other: object) -> Kernel:
        if isinstance(other, int) and not isinstance(other, bool) and other == 0:
            return self  # the start of the builtin sum
        return Sum((_operand("added to", other), self))

    def __mul__(self, other: object) -> Kernel:
        factor = _operand("multiplied with", other)
        return self.__rmul__(factor) if isinstance(factor, Constant) else Product((self, factor))

    def __rmul__(self, other: object) -> Kernel:
        factor = _operand("multiplied with", other)
        if not isinstance(factor, Constant):
            return Product((factor, self))
        if isinstance(self, Scaled) and self.factor is not None and factor.value is not None:
            return Scaled(self.kernel, factor.value * self.factor)
        return Scaled(self, factor.value, bounds=factor.bounds)

    # --- parameters by name: a grid can search ``kernel__sigma`` ---

    def __repr__(self) -> str:
        shows = {k: v for k, v in fields_of(self).items() if v is not None and v is not False}
        return f"{type(self).__name__}({', '.join(f'{k}={shown(v)}' for k, v in shows.items())})"

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
        own = fields_of(self)
        if not deep:
            return own
        found: dict[str, Any] = {}
        for name, value in {**own, **numbered(own)}.items():
            found[name] = value
            if has_params(value):
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
            The kernel itself. An unknown name or a value out of range raises ValueError, and
            nothing is changed.
        """
        fields = fields_of(self)
        fields.update({name: params[name] for name in params.keys() & fields.keys()})
        parts = numbered(fields)
        known = {**fields, **parts}
        inner: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, nested, rest = key.partition("__")
            if name not in known:
                valid = ", ".join(sorted(known)) or "none"
                raise ValueError(f"the parameters of {self!r} are: {valid}; got {name!r}")
            if nested:
                inner.setdefault(name, {})[rest] = value
            else:
                known[name] = value
        for name, values in inner.items():
            if not has_params(known[name]):
                raise ValueError(
                    f"{name} of {self!r} has no parameters to set; got {', '.join(values)}"
                )
            known[name] = clone(known[name], safe=False).set_params(**values)
        if parts:
            known["parts"] = tuple(known[number] for number in parts)
        if fields:
            checked = type(self)(**{name: known[name] for name in fields})
            validation.set_fields(self, **fields_of(checked))
        return self

    def __sklearn_clone__(self) -> Self:
        if not dataclasses.is_dataclass(self):
            return copy.deepcopy(self)
        return type(self)(**{k: clone(value, safe=False) for k, value in fields_of(self).items()})


def _operand(verb: str, other: object) -> Any:
    """Return the other operand of a sum or product as a kernel; a number becomes a constant."""
    if isinstance(other, (int, float, np.integer, np.floating)) and not isinstance(other, bool):
        return Constant(validation.positive("a number + or * a kernel", other))
    if callable(other) and not isinstance(other, type):
        return other
    raise TypeError(f"a kernel can be {verb} kernels and positive numbers; got {other!r}")


def _summed(known: Mapping[str, Floats], by_gram: Floats) -> ByName:
    """Return ``sum(by_gram * derivative)`` for each derivative."""
    return {name: float(np.vdot(by_gram, known[name])) for name in known}


def parameters(kernel: object, X: Inputs) -> tuple[Parameter, ...]:
    """Return the parameters that a kernel declares, to be found by a search."""
    if gaussian_process.is_gp(kernel):
        return gaussian_process.parameters(kernel)
    declare = getattr(kernel, "parameters", None)
    return tuple(declare(X)) if callable(declare) else ()


def replace(kernel: Any, values: ByName) -> Any:
    """Return the kernel with other values of its declared parameters."""
    if not values:
        return kernel
    if hasattr(kernel, "with_values"):
        return kernel.with_values(values)
    if gaussian_process.is_gp(kernel):
        return gaussian_process.replace(kernel, values)
    return dataclasses.replace(kernel, **values)


def derivatives(kernel: object, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
    """Return the known derivatives of ``gram = kernel(X)`` with respect to log parameters."""
    if gaussian_process.is_gp(kernel):
        return gaussian_process.derivatives(kernel, X)
    known = getattr(kernel, "derivatives", None)
    return known(X, gram) if callable(known) else {}


def slopes(kernel: object, X: Inputs, gram: Floats, by_gram: Floats, Y: Other = None) -> ByName:
    """Return ``sum(by_gram * derivative)`` for each of the known derivatives."""
    if isinstance(kernel, Kernel):
        return kernel.slopes(X, gram, by_gram, Y)
    return _summed(derivatives(kernel, X, gram), by_gram) if Y is None else {}


def weighted_slopes(
    kernel: object, X: Floats, gram: Floats, by_gram: Floats, Y: Other = None
) -> Slopes:
    """Return a kernel's `weighted_slopes`; None if it does not know them."""
    known = getattr(kernel, "weighted_slopes", None)
    others = () if Y is None else (Y,)
    return known(X, gram, by_gram, *others) if callable(known) else None


def diag_slopes(kernel: object, X: Floats, by_diag: Floats) -> Slopes:
    """Return a kernel's `diag_slopes`; None if it does not know them."""
    return kernel.diag_slopes(X, by_diag) if isinstance(kernel, Kernel) else None


def requires_vectors(kernel: object) -> bool | None:
    """Return whether a kernel takes the rows of a numeric array; None if it takes any inputs."""
    value = getattr(kernel, "requires_vector_input", True)
    if value is None or (not value and gaussian_process.is_gp(kernel)):
        return None
    return bool(value)


def accepts_sparse(kernel: object) -> bool:
    """Return whether a kernel takes sparse matrices, as its attribute `accepts_sparse` says."""
    return bool(getattr(kernel, "accepts_sparse", False))


def is_semidefinite(kernel: object) -> bool:
    """Return whether a kernel is known to be positive semidefinite: only those of this package."""
    return isinstance(kernel, Kernel) and kernel.semidefinite


def is_reproducible(kernel: object) -> bool:
    """Return whether a second evaluation surely gives the same values: not for callables."""
    return is_semidefinite(kernel) or gaussian_process.is_gp(kernel)


def evaluate(kernel: Callable[..., Any], X: Inputs, Y: Other = None) -> Floats:
    """Return ``kernel(X, Y)``, checked; callables of other origins get `X` twice for ``Y=None``."""
    if not callable(kernel) or isinstance(kernel, type):
        raise TypeError(f"kernel must be a kernel object or a callable k(X, Y); got {kernel!r}")
    if Y is None and not isinstance(kernel, Kernel) and not gaussian_process.is_gp(kernel):
        value: Any = kernel(X, X)
    else:
        value = kernel(X, Y)
    return _checked("kernel(X, Y)", value, counts(X, Y))


def diagonal(kernel: Callable[..., Any], X: Inputs) -> Floats:
    """Return the checked values ``k(x, x)``, by the kernel's method ``diag`` if it has one."""
    if hasattr(kernel, "diag"):
        with np.errstate(over="ignore", invalid="ignore"):
            found = kernel.diag(X)
        return np.asarray(_checked("kernel.diag(X)", found, (count(X),)), dtype=np.float64)
    X = in_rows(X)
    values = np.empty(count(X))
    for rows in validation.blocks(len(values), 32):
        values[rows] = evaluate(kernel, X[rows], X[rows]).diagonal()
    return values


def _checked(name: str, value: Any, shape: tuple[int, ...]) -> Floats:
    """Return the values of a kernel, checked for shape and finiteness."""
    array = validation.dense(f"the value of {name}", value)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}; got shape {array.shape}")
    validation.finite(name, array, verb="returned")
    return array


@dataclass(frozen=True, repr=False)
class Constant(Kernel):
    """The constant kernel ``k(x, x') = value`` of any inputs, as in ``k + 1``.

    Parameters
    ----------
    value : float, default=None
        Positive. None: found.
    bounds : pair of floats, default=None
        Bounds of a value that is found. None: exp(-7) and exp(7).
    """

    value: float | None = None
    bounds: Bounds | None = field(default=None, kw_only=True, metadata={"until": "value"})

    requires_vector_input = None
    accepts_sparse = True

    def __post_init__(self) -> None:
        check_optional(self, "value")

    def __call__(self, X: Inputs, Y: Other = None) -> Floats:
        return np.full(counts(X, Y), given(self, "value"))

    def diag(self, X: Inputs) -> Floats:
        return np.full(count(X), given(self, "value"))

    def parameters(self, X: Inputs) -> tuple[Parameter, ...]:
        return (within(self.bounds, "value", 1.0, _REACH),) if self.value is None else ()

    def derivatives(self, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
        """Return dK / d ln(value) = K."""
        return KernelGradient({"value": gram.copy})

    def weighted_slopes(self, X: Floats, gram: Floats, by_gram: Floats, Y: Other = None) -> Slopes:
        return {"value": float(np.vdot(by_gram, gram))}, np.zeros(X.shape[1])


class CompoundKernel(Kernel):
    """Base class of kernels made of others, with the same inputs."""

    @property
    def _inner(self) -> dict[str, Any]:
        """The other kernels, by what stands before the names of their parameters."""
        return {"kernel.": self.kernel}  # type: ignore[attr-defined]

    def _with(self, kernels: Iterable[Any]) -> Self:
        """Return the same of other kernels."""
        [kernel] = kernels
        return dataclasses.replace(self, kernel=kernel)  # type: ignore[type-var]

    def __post_init__(self) -> None:
        if not self._inner:
            raise ValueError("parts must be one kernel or more; got none")
        for kernel in self._inner.values():
            if not callable(kernel) or isinstance(kernel, type):
                raise TypeError(f"a kernel must be a kernel object or a callable; got {kernel!r}")
        if len(self._kinds) > 1:
            raise ValueError(f"parts must be all kernels of vectors or none of them; got {self!r}")

    @property
    def _kinds(self) -> set[bool | None]:
        return {requires_vectors(kernel) for kernel in self._inner.values()} - {None}

    @property
    def requires_vector_input(self) -> bool | None:  # type: ignore[override]
        return next(iter(self._kinds), None)

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        return all(map(accepts_sparse, self._inner.values()))

    @property
    def semidefinite(self) -> bool:  # type: ignore[override]
        """Whether every part is positive semidefinite."""
        return all(map(is_semidefinite, self._inner.values()))

    def parameters(self, X: Inputs) -> tuple[Parameter, ...]:
        return tuple(
            dataclasses.replace(each, name=prefix + each.name)
            for prefix, kernel in self._inner.items()
            for each in parameters(kernel, X)
        )

    def with_values(self, values: ByName) -> Self:
        found = self._with(
            replace(kernel, {k.removeprefix(p): v for k, v in values.items() if k.startswith(p)})
            for p, kernel in self._inner.items()
        )
        own = {k: value for k, value in values.items() if k.partition("[")[0] in fields_of(self)}
        return Kernel.with_values(found, own)


@dataclass(frozen=True, repr=False)
class CompositeKernel(CompoundKernel):
    """Base class of sums and products."""

    parts: tuple[Any, ...]

    _operation: ClassVar[np.ufunc]

    def __post_init__(self) -> None:
        nested = (p.parts if isinstance(p, type(self)) else (p,) for p in self.parts)
        validation.set_fields(self, parts=sum(nested, ()))
        super().__post_init__()

    @property
    def _inner(self) -> dict[str, Any]:
        return {f"{number}.": part for number, part in enumerate(self.parts)}

    def _with(self, kernels: Iterable[Any]) -> Self:
        return type(self)(tuple(kernels))

    def __call__(self, X: Inputs, Y: Other = None) -> Floats:
        combined = np.array(evaluate(self.parts[0], X, Y), dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # `evaluate` refuses infinities
            for part in self.parts[1:]:
                self._operation(combined, evaluate(part, X, Y), out=combined)
        return combined

    def diag(self, X: Inputs) -> Floats:
        return np.asarray(self._operation.reduce([diagonal(part, X) for part in self.parts]))

    def derivatives(self, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
        """Return the derivatives of the parts, in a product multiplied by all other parts."""
        grams = [evaluate(part, X) for part in self.parts]
        known: dict[str, Callable[[], Floats]] = {}
        for k, part in enumerate(self.parts):
            others = grams[:k] + grams[k + 1 :] if self._operation is np.multiply else []
            finish = partial(reduce, np.multiply, others)
            known |= deferred(derivatives(part, X, grams[k]), finish, f"{k}.")
        return KernelGradient(known)


@dataclass(frozen=True, repr=False)
class Sum(CompositeKernel):
    """The sum of kernels, made by ``+``, whose feature vectors are concatenated.

    Parameters
    ----------
    parts : tuple of kernels
        At least one.
    """

    _operation = np.add

    def slopes(self, X: Inputs, gram: Floats, by_gram: Floats, Y: Other = None) -> ByName:
        return {
            f"{k}.{name}": slope
            for k, part in enumerate(self.parts)
            for name, slope in slopes(part, X, evaluate(part, X, Y), by_gram, Y).items()
        }

    def weighted_slopes(self, X: Floats, gram: Floats, by_gram: Floats, Y: Other = None) -> Slopes:
        known: dict[str, float] = {}
        total = np.zeros(X.shape[1])
        rest = gram
        for k, part in reversed(list(enumerate(self.parts))):
            own = evaluate(part, X, Y) if k else rest
            rest = rest - own if k else rest
            found = weighted_slopes(part, X, own, by_gram, Y)
            if found is None:
                return None
            known |= prefixed(f"{k}.", found[0])
            total += found[1]
        return known, total

    def diag_slopes(self, X: Floats, by_diag: Floats) -> Slopes:
        known, total = dict[str, float](), np.zeros(X.shape[1])
        for k, part in enumerate(self.parts):
            found = diag_slopes(part, X, by_diag)
            if found is None:
                return None
            known |= prefixed(f"{k}.", found[0])
            total += found[1]
        return known, total

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))


@dataclass(frozen=True, repr=False)
class Product(CompositeKernel):
    """The product of kernels, made by ``*``, whose features are the products of their features.

    Parameters
    ----------
    parts : tuple of kernels
        At least one.
    """

    _operation = np.multiply

    def __repr__(self) -> str:
        parts = (f"({p!r})" if isinstance(p, (Sum, Scaled)) else repr(p) for p in self.parts)
        return " * ".join(parts)


@dataclass(frozen=True, repr=False)
class Scaled(CompoundKernel):
    """A positive multiple of a kernel, made by ``2.0 * kernel``.

    Without `factor` it is found. The parameters are "factor" and, named "kernel.<name>", those of
    the kernel.

    Parameters
    ----------
    kernel : kernel object
        The kernel.
    factor : float, default=None
        Positive. None: found.
    bounds : pair of floats, default=None
        Bounds of a factor that is found. None: exp(-7) and exp(7).
    """

    kernel: Any
    factor: float | None = None
    bounds: Bounds | None = field(default=None, kw_only=True, metadata={"until": "factor"})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional(self, "factor")

    def __call__(self, X: Inputs, Y: Other = None) -> Floats:
        gram = evaluate(self.kernel, X, Y)
        with np.errstate(over="ignore"):  # `evaluate` refuses infinities
            return np.asarray(np.multiply(gram, given(self, "factor"), dtype=np.float64))

    def diag(self, X: Inputs) -> Floats:
        return np.asarray(given(self, "factor") * diagonal(self.kernel, X))

    def parameters(self, X: Inputs) -> tuple[Parameter, ...]:
        own = (within(self.bounds, "factor", 1.0, _REACH),) if self.factor is None else ()
        return own + super().parameters(X)

    def derivatives(self, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
        """Return the matrix for the factor, and the kernel's derivatives times the factor."""
        factor = given(self, "factor")
        gradient = derivatives(self.kernel, X, gram / factor)
        inner = deferred(gradient, lambda derivative: factor * derivative, "kernel.")
        return KernelGradient({"factor": gram.copy, **inner})

    def slopes(self, X: Inputs, gram: Floats, by_gram: Floats, Y: Other = None) -> ByName:
        factor = given(self, "factor")
        inner = slopes(self.kernel, X, gram / factor, factor * by_gram, Y)
        return {"factor": float(np.vdot(by_gram, gram)), **prefixed("kernel.", inner)}

    def weighted_slopes(self, X: Floats, gram: Floats, by_gram: Floats, Y: Other = None) -> Slopes:
        factor = given(self, "factor")
        found = weighted_slopes(self.kernel, X, gram / factor, factor * by_gram, Y)
        if found is None:
            return None
        own = {"factor": float(np.vdot(by_gram, gram))}
        return {**own, **prefixed("kernel.", found[0])}, found[1]

    def diag_slopes(self, X: Floats, by_diag: Floats) -> Slopes:
        factor = given(self, "factor")
        found = diag_slopes(self.kernel, X, factor * by_diag)
        if found is None:
            return None
        own = {"factor": float(by_diag @ self.diag(X))}
        return {**own, **prefixed("kernel.", found[0])}, found[1]

    def __repr__(self) -> str:
        inner = f"({self.kernel!r})" if isinstance(self.kernel, (Sum, Product)) else self.kernel
        if self.factor is not None:
            return f"{shown(self.factor)} * {inner!s}"
        bounds = f", bounds={shown(self.bounds)}" if self.bounds is not None else ""
        return f"Scaled({self.kernel!r}{bounds})"
