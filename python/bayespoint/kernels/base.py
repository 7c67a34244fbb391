"""The base class of kernels; sums, products and multiples."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial, reduce
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from bayespoint.base import validation
from bayespoint.base.stored import Stored
from bayespoint.base.validation import Floats
from bayespoint.kernels.functions import (
    accepts_limits,
    accepts_sparse,
    diag_by_blocks,
    diagonal,
    evaluate,
    is_semidefinite,
    metric,
    parameters,
    part_diag_with_pullback,
    part_with_pullback,
    replace,
    requires_vectors,
    summands,
)
from bayespoint.kernels.products import Summands, count, counts
from bayespoint.kernels.protocol import (
    Bounds,
    ByName,
    Inputs,
    Metric,
    Other,
    Parameters,
    Pullback,
    Pulled,
    Slopes,
    added,
    check_optional,
    fields_of,
    given,
    has_params,
    numbered,
    plain_metric,
    shown,
    unknown,
    within,
)


class Kernel(Stored):
    """A kernel that can be added to and multiplied with others, tuned, and read and set by name.

    Kernels are frozen dataclasses, equal and with the same hash if their fields are equal. Only
    `set_params` can change one. A parameter that is left out, None, is declared by `parameters` and
    found in a fit; until then the kernel has no values.
    """

    requires_vector_input: bool | None = True
    """Whether inputs are rows of a numeric array; False: other objects; None: either."""
    accepts_sparse: bool = False
    """Whether inputs may be rows of a sparse matrix."""
    accepts_limits: bool = False
    """Whether the kernel of `Weighted` with limits may be this one."""
    semidefinite: bool = True
    """Whether the kernel is known to be positive semidefinite: its matrices are not tested."""

    _until: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Names of fields that have a meaning until another one, whose name follows, is given."""

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

    def parameters(self, X: Inputs) -> Parameters:
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
        several: dict[str, dict[int, float]] = {}
        for name, value in values.items():
            field, indexed, k = name.removesuffix("]").partition("[")
            if indexed:  # as "sigma[0]"
                known = several.setdefault(field, dict(enumerate(getattr(self, field) or ())))
                known[int(k)] = value
            else:
                new[field] = value
        new |= {name: tuple(parts[k] for k in sorted(parts)) for name, parts in several.items()}
        # Bounds and `per_feature` have no meaning once the parameter is given.
        new |= {name: getattr(type(self), name) for name, until in self._until if until in new}
        return dataclasses.replace(self, **new)  # type: ignore[type-var]

    def with_pullback(self, X: Inputs, Y: Other = None) -> Pulled:
        """Return the kernel values with a function for the derivatives of what is made of them.

        What the values took is kept: reverse-mode automatic differentiation, as ``vjp`` in JAX.

        Parameters
        ----------
        X, Y : arrays of shape (n, n_features) and (n', n_features), or sequences of examples
            Inputs, finite doubles in C order if they are vectors. ``Y=None`` stands for `X`.

        Returns
        -------
        values : ndarray of shape (n, n')
            The matrix ``k(X, Y)``, which must not be changed before the last call of `pullback`.
        pullback : callable
            From the (n, n') derivatives of a number by the values it returns those by log
            parameters, by name (missing ones are found by finite differences), and the
            (n_features,) ones by log weights of the features, at weights of 1, or None if unknown.
        """
        return evaluate(self, X, Y), unknown

    def diag_with_pullback(self, X: Inputs) -> Pulled:
        """Return the values ``k(x, x)`` with a function for derivatives, as `with_pullback` does.

        Parameters
        ----------
        X : array of shape (n, n_features), or a sequence of n examples
            Inputs, as for `with_pullback`.

        Returns
        -------
        values : ndarray of shape (n,)
            One value for each example.
        pullback : callable
            That of `with_pullback`, from the (n,) derivatives of a number by the values.
        """
        return diag_by_blocks(self, X)

    def summands(self, d: int) -> Summands:
        """Return the kernel as a sum of functions of distances or inner products, with all values.

        Parameters
        ----------
        d : int
            Number of features of the inputs, which are rows of an array.

        Returns
        -------
        tuple of Summand
            The parts, of which a search or predictions need one pass; empty if it is no such sum.
        """
        return ()

    def metric(self, d: int) -> Metric:
        """Return how the kernel measures distances of vectors, which the choice of landmarks needs.

        Parameters
        ----------
        d : int
            Number of features.

        Returns
        -------
        Metric
            Factors of the features, and which of them are categories; plain distances by default.
        """
        return plain_metric(d)

    __array_ufunc__ = None  # lets NumPy scalars defer to the methods here

    def __add__(self, other: object) -> Sum:
        return Sum((self, _operand(other)))

    def __radd__(self, other: object) -> Kernel:
        if type(other) is int and other == 0:
            return self  # the start of the builtin sum
        return Sum((_operand(other), self))

    def __mul__(self, other: object) -> Kernel:
        factor = _operand(other)
        return self.__rmul__(factor) if isinstance(factor, Constant) else Product((self, factor))

    def __rmul__(self, other: object) -> Kernel:
        factor = _operand(other)
        if not isinstance(factor, Constant):
            return Product((factor, self))
        if isinstance(self, Scaled) and self.factor is not None and factor.value is not None:
            return Scaled(self.kernel, factor.value * self.factor)
        return Scaled(self, factor.value, bounds=factor.bounds)

    def __repr__(self) -> str:
        shows = {k: v for k, v in fields_of(self).items() if v is not None and v is not False}
        return f"{type(self).__name__}({', '.join(f'{k}={shown(v)}' for k, v in shows.items())})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor.

        Parameters
        ----------
        deep : bool, default=True
            Include those of nested kernels, as ``kernel__sigma``, or ``0__sigma`` in a sum.

        Returns
        -------
        dict
            Values by name.
        """
        params = fields_of(self)
        for name, value in (params | numbered(params)).items() if deep else ():
            params[name] = value
            if has_params(value):
                params |= {f"{name}__{key}": part for key, part in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this kernel, not of its copy in ``kernel_`` of a fitted classifier.

        Nested kernels are replaced. Do not change a kernel that is in a set or a key.

        Parameters
        ----------
        **params : dict
            Values by the names in `get_params`.

        Returns
        -------
        kernel object
            The kernel itself; unchanged after ValueError for an unknown name or a wrong value.
        """
        fields = fields_of(self)
        fields.update({name: params[name] for name in params.keys() & fields.keys()})
        parts = numbered(fields)
        known = fields | parts
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
            validation.set_fields(self, **vars(checked))
        return self

    def __sklearn_clone__(self) -> Self:
        return copy.deepcopy(self)


def _operand(other: object) -> Any:
    """Return the other operand of a sum or product as a kernel; a number becomes a constant."""
    if isinstance(other, (int, float, np.integer, np.floating)) and not isinstance(other, bool):
        return Constant(validation.positive("a number + or * a kernel", other))
    if callable(other) and not isinstance(other, type):
        return other
    raise TypeError(
        f"a kernel can be added to or multiplied with kernels and positive numbers; got {other!r}"
    )


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
    _: KW_ONLY
    bounds: Bounds | None = None
    _until = (("bounds", "value"),)

    requires_vector_input = None
    accepts_sparse = True
    accepts_limits = True

    def __post_init__(self) -> None:
        check_optional(self, "value")

    def __call__(self, X: Inputs, Y: Other = None) -> Floats:
        return np.full(counts(X, Y), given(self, "value"))

    def diag(self, X: Inputs) -> Floats:
        return np.full(count(X), given(self, "value"))

    def parameters(self, X: Inputs) -> Parameters:
        return (within(self.bounds, "value", 1.0),) if self.value is None else ()

    def with_pullback(self, X: Inputs, Y: Other = None) -> Pulled:
        return self(X, Y), partial(self._slopes, X)

    def diag_with_pullback(self, X: Inputs) -> Pulled:
        return self.diag(X), partial(self._slopes, X)

    def _slopes(self, X: Inputs, by_values: Floats) -> Slopes:
        by_weights = np.zeros(getattr(X, "shape", ())[1:])  # of no features, for other objects
        return {"value": given(self, "value") * float(by_values.sum())}, by_weights


class CompoundKernel(Kernel):
    """Base class of kernels made of others, with the same inputs."""

    _prefix: ClassVar[str] = "kernel."  # of the names of the parameters of the only other kernel

    @property
    def _inner(self) -> dict[str, Any]:
        """The other kernels, by what stands before the names of their parameters."""
        return {self._prefix: self.kernel}  # type: ignore[attr-defined]

    def __post_init__(self) -> None:
        inner = self._inner.values()
        if not inner:
            raise ValueError("parts must be one kernel or more; got none")
        for kernel in inner:
            if not callable(kernel) or isinstance(kernel, type):
                raise TypeError(f"a kernel must be a kernel object or a callable; got {kernel!r}")
        kinds = {requires_vectors(kernel) for kernel in inner} - {None}
        if len(kinds) > 1:
            raise ValueError(f"parts must be all kernels of vectors or none of them; got {self!r}")
        validation.set_fields(
            self,
            requires_vector_input=next(iter(kinds), None),
            accepts_sparse=all(map(accepts_sparse, inner)),
            accepts_limits=all(map(accepts_limits, inner)),
            semidefinite=all(map(is_semidefinite, inner)),
        )

    def parameters(self, X: Inputs) -> Parameters:
        return tuple(
            dataclasses.replace(
                parameter,
                name=prefix + parameter.name,
                family=parameter.family and prefix + parameter.family,
            )
            for prefix, kernel in self._inner.items()
            for parameter in parameters(kernel, X)
        )

    def metric(self, d: int) -> Metric:
        """Return the metric of the kernel inside, of several of the first one."""
        return metric(next(iter(self._inner.values())), d)

    def with_values(self, values: ByName) -> Self:
        inner = self._inner
        own = {k: value for k, value in values.items() if not k.startswith(tuple(inner))}
        parts = tuple(
            replace(kernel, {k[len(p) :]: v for k, v in values.items() if k.startswith(p)})
            for p, kernel in inner.items()
        )
        fields = {"parts": parts} if hasattr(self, "parts") else {"kernel": parts[0]}
        return dataclasses.replace(super().with_values(own), **fields)  # type: ignore[type-var]


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

    def __call__(self, X: Inputs, Y: Other = None) -> Floats:
        return self._combined(evaluate(part, X, Y) for part in self.parts)

    def _combined(self, values: Iterable[Floats]) -> Floats:
        values = iter(values)
        combined = np.array(next(values), dtype=np.float64)
        with validation.overflowing():  # `evaluate` refuses infinities
            for part in values:
                self._operation(combined, part, out=combined)
        return combined

    def diag(self, X: Inputs) -> Floats:
        return self._operation.reduce([diagonal(part, X) for part in self.parts])

    def _named(self, parts: Iterable[Slopes]) -> Slopes:
        """Return the derivatives of all parts by the names of the parameters in the whole."""
        return added(
            ({f"{k}.{name}": slope for name, slope in named.items()}, by_weights)
            for k, (named, by_weights) in enumerate(parts)
        )


@dataclass(frozen=True)
class Sum(CompositeKernel):
    """The sum of kernels, made by ``+``, whose feature vectors are concatenated.

    Parameters
    ----------
    parts : tuple of kernels
        At least one.
    """

    _operation = np.add

    def summands(self, d: int) -> Summands:
        parts = [summands(part, d) for part in self.parts]
        return sum(parts, ()) if all(parts) else ()

    def with_pullback(self, X: Inputs, Y: Other = None) -> Pulled:
        pullbacks = []

        def values() -> Iterator[Floats]:  # of which one at a time is kept
            for part in self.parts:
                gram, pullback = part_with_pullback(part, X, Y)
                pullbacks.append(pullback)
                yield gram

        return self._combined(values()), lambda by: self._named(part(by) for part in pullbacks)

    def diag_with_pullback(self, X: Inputs) -> Pulled:
        parts = [part_diag_with_pullback(part, X) for part in self.parts]
        values = self._combined(diagonal for diagonal, _ in parts)
        return values, lambda by: self._named(part(by) for _, part in parts)

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))


@dataclass(frozen=True)
class Product(CompositeKernel):
    """The product of kernels, made by ``*``, whose features are the products of their features.

    Parameters
    ----------
    parts : tuple of kernels
        At least one.
    """

    _operation = np.multiply

    def with_pullback(self, X: Inputs, Y: Other = None) -> Pulled:
        parts = [part_with_pullback(part, X, Y) for part in self.parts]
        values = [gram for gram, _ in parts]

        def pullback(by_values: Floats) -> Slopes:
            return self._named(
                part(reduce(np.multiply, values[:k] + values[k + 1 :], by_values))
                for k, (_, part) in enumerate(parts)
            )

        return self._combined(values), pullback

    def __repr__(self) -> str:
        return " * ".join(
            f"({p!r})" if isinstance(p, (Sum, Scaled)) else repr(p) for p in self.parts
        )


@dataclass(frozen=True)
class Scaled(CompoundKernel):
    """A positive multiple of a kernel, made by ``2.0 * kernel``.

    The parameters are "factor" and, named "kernel.<name>", those of the kernel.

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
    _: KW_ONLY
    bounds: Bounds | None = None
    _until = (("bounds", "factor"),)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional(self, "factor")

    def __call__(self, X: Inputs, Y: Other = None) -> Floats:
        gram = evaluate(self.kernel, X, Y)
        with np.errstate(over="ignore"):  # `evaluate` refuses infinities
            return np.multiply(gram, given(self, "factor"), dtype=np.float64)

    def diag(self, X: Inputs) -> Floats:
        return given(self, "factor") * diagonal(self.kernel, X)

    def parameters(self, X: Inputs) -> Parameters:
        own = (within(self.bounds, "factor", 1.0),) if self.factor is None else ()
        return own + super().parameters(X)

    def with_pullback(self, X: Inputs, Y: Other = None) -> Pulled:
        return self._with_scaled(*part_with_pullback(self.kernel, X, Y))

    def diag_with_pullback(self, X: Inputs) -> Pulled:
        return self._with_scaled(*part_diag_with_pullback(self.kernel, X))

    def summands(self, d: int) -> Summands:
        inner = summands(self.kernel, d)
        factor: float = given(self, "factor")
        return tuple(dataclasses.replace(one, factor=factor * one.factor) for one in inner)

    def _with_scaled(self, values: Floats, inner: Pullback) -> Pulled:
        """Return the multiples of values of the kernel, with the pullback of these."""
        factor: float = given(self, "factor")
        scaled = np.multiply(values, factor, dtype=np.float64)

        def pullback(by_values: Floats) -> Slopes:
            named, by_weights = inner(by_values)
            slopes = {"kernel." + name: factor * slope for name, slope in named.items()}
            slopes["factor"] = factor * float(np.vdot(by_values, values))
            return slopes, None if by_weights is None else factor * by_weights

        return scaled, pullback

    def __repr__(self) -> str:
        inner = f"({self.kernel!r})" if isinstance(self.kernel, (Sum, Product)) else self.kernel
        if self.factor is not None:
            return f"{shown(self.factor)} * {inner!s}"
        bounds = f", bounds={shown(self.bounds)}" if self.bounds is not None else ""
        return f"Scaled({self.kernel!r}{bounds})"
