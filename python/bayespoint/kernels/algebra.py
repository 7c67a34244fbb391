"""Sums, products, positive multiples and normalization of kernels."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayespoint.base import validation
from bayespoint.kernels.base import KernelObject, check_optional, given, shown, within
from bayespoint.kernels.functions import (
    accepts_sparse,
    derivatives,
    diagonal,
    evaluate,
    is_semidefinite,
    parameters,
    replace,
    requires_vectors,
    slopes,
    weighted_slopes,
)
from bayespoint.kernels.products import count, counts
from bayespoint.kernels.protocol import (
    ROWS,
    Bounds,
    Floats,
    Inputs,
    KernelGradient,
    Parameter,
    deferred,
)

if TYPE_CHECKING:
    from typing_extensions import Self

_REACH = (math.exp(-7), math.exp(7))
"""Bounds of a factor or constant."""


class Base(KernelObject):
    """A kernel that can be added to and multiplied with others, and multiplied by numbers."""

    __array_ufunc__ = None  # lets NumPy scalars defer to the methods here

    def __add__(self, other: object) -> Sum:
        return Sum((self, _operand("added to", other)))

    def __radd__(self, other: object) -> Base:
        if isinstance(other, int) and not isinstance(other, bool) and other == 0:
            return self  # the start of the builtin sum
        return Sum((_operand("added to", other), self))

    def __mul__(self, other: object) -> Base:
        factor = _operand("multiplied with", other)
        return self.__rmul__(factor) if isinstance(factor, Constant) else Product((self, factor))

    def __rmul__(self, other: object) -> Base:
        factor = _operand("multiplied with", other)
        if not isinstance(factor, Constant):
            return Product((factor, self))
        if isinstance(self, Scaled) and self.factor is not None and factor.value is not None:
            return Scaled(self.kernel, factor.value * self.factor)
        return Scaled(self, factor.value, bounds=factor.bounds)


def _operand(verb: str, other: object) -> Any:
    """Return the other operand of a sum or product as a kernel; a number becomes a constant."""
    if isinstance(other, (int, float, np.integer, np.floating)) and not isinstance(other, bool):
        return Constant(validation.positive("a number + or * a kernel", other))
    if callable(other) and not isinstance(other, type):
        return other
    raise TypeError(f"a kernel can be {verb} kernels and positive numbers; got {other!r}")


@dataclass(frozen=True, repr=False)
class Constant(Base):
    """The constant kernel ``k(x, x') = value`` of any inputs, as in ``k + 1``.

    Parameters
    ----------
    value : float, default=None
        Positive. None: found.
    bounds : pair of floats, default=None
        Bounds of a value that is found. None: exp(-7) and exp(7).
    """

    value: float | None = None
    bounds: Bounds | None = field(default=None, kw_only=True, metadata={"bounds_of": "value"})

    requires_vector_input = None
    accepts_sparse = True

    def __post_init__(self) -> None:
        check_optional(self, "value")

    def __call__(self, X: Inputs, Y: Inputs | None = None) -> Floats:
        return np.full(counts(X, Y), given(self, "value"))

    def diag(self, X: Inputs) -> Floats:
        return np.full(count(X), given(self, "value"))

    def parameters(self, X: Inputs) -> tuple[Parameter, ...]:
        return (within(self.bounds, "value", 1.0, _REACH),) if self.value is None else ()

    def derivatives(self, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
        """Return dK / d ln(value) = K."""
        return KernelGradient({"value": gram.copy})

    def weighted_slopes(
        self, X: Floats, gram: Floats, by_gram: Floats, Y: Floats | None = None
    ) -> tuple[Mapping[str, float], Floats]:
        return {"value": float(np.vdot(by_gram, gram))}, np.zeros(X.shape[1])


@dataclass(frozen=True, repr=False)
class CompositeKernel(Base):
    """A kernel of several parts, whose parameters are named "<number of the part>.<name>"."""

    parts: tuple[Any, ...]

    _operation: ClassVar[np.ufunc]

    def __post_init__(self) -> None:
        flat: list[Any] = []
        for part in self.parts:
            if not callable(part) or isinstance(part, type):
                raise TypeError(f"parts must be kernels or callables k(X, Y); got {part!r}")
            flat.extend(part.parts if isinstance(part, type(self)) else [part])
        if not flat:
            raise ValueError("parts must be one kernel or more; got none")
        validation.set_fields(self, parts=tuple(flat))
        if len(self._kinds) > 1:
            raise ValueError(f"parts must be all kernels of vectors or none of them; got {self!r}")

    @property
    def _kinds(self) -> set[bool | None]:
        return {requires_vectors(part) for part in self.parts} - {None}

    @property
    def requires_vector_input(self) -> bool | None:  # type: ignore[override]
        return next(iter(self._kinds), None)

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        """Whether all parts accept sparse matrices."""
        return all(accepts_sparse(part) for part in self.parts)

    @property
    def semidefinite(self) -> bool:  # type: ignore[override]
        """Whether every part is positive semidefinite."""
        return all(is_semidefinite(part) for part in self.parts)

    def parameters(self, X: Inputs) -> tuple[Parameter, ...]:
        return tuple(
            dataclasses.replace(parameter, name=f"{number}.{parameter.name}")
            for number, part in enumerate(self.parts)
            for parameter in parameters(part, X)
        )

    def with_values(self, values: Mapping[str, float]) -> Self:
        own: list[dict[str, float]] = [{} for _ in self.parts]
        for name, value in values.items():
            number, _, rest = name.partition(".")
            own[int(number)][rest] = value
        pairs = zip(self.parts, own, strict=True)
        return type(self)(tuple(replace(part, new) for part, new in pairs))

    def __call__(self, X: Inputs, Y: Inputs | None = None) -> Floats:
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

    def slopes(
        self, X: Inputs, gram: Floats, by_gram: Floats, Y: Inputs | None = None
    ) -> Mapping[str, float]:
        return {
            f"{k}.{name}": slope
            for k, part in enumerate(self.parts)
            for name, slope in slopes(part, X, evaluate(part, X, Y), by_gram, Y).items()
        }

    def weighted_slopes(
        self, X: Floats, gram: Floats, by_gram: Floats, Y: Floats | None = None
    ) -> tuple[Mapping[str, float], Floats] | None:
        known: dict[str, float] = {}
        total = np.zeros(X.shape[1])
        rest = gram
        for k, part in reversed(list(enumerate(self.parts))):
            own = evaluate(part, X, Y) if k else rest
            rest = rest - own if k else rest
            found = weighted_slopes(part, X, own, by_gram, Y)
            if found is None:
                return None
            known |= {f"{k}.{name}": slope for name, slope in found[0].items()}
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
class WrappedKernel(Base):
    """Base class of kernels made of one other, with the same inputs."""

    kernel: Any

    def __post_init__(self) -> None:
        if not callable(self.kernel) or isinstance(self.kernel, type):
            raise TypeError(f"kernel must be a kernel object or a callable; got {self.kernel!r}")

    def parameters(self, X: Inputs) -> tuple[Parameter, ...]:
        return parameters(self.kernel, X)

    def with_values(self, values: Mapping[str, float]) -> Self:
        return dataclasses.replace(self, kernel=replace(self.kernel, values))

    @property
    def requires_vector_input(self) -> bool | None:  # type: ignore[override]
        return requires_vectors(self.kernel)

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        return accepts_sparse(self.kernel)

    @property
    def semidefinite(self) -> bool:  # type: ignore[override]
        """Whether the wrapped kernel is positive semidefinite."""
        return is_semidefinite(self.kernel)


@dataclass(frozen=True, repr=False)
class Scaled(WrappedKernel):
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

    factor: float | None = None
    bounds: Bounds | None = field(default=None, kw_only=True, metadata={"bounds_of": "factor"})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional(self, "factor")

    def __call__(self, X: Inputs, Y: Inputs | None = None) -> Floats:
        gram = np.array(evaluate(self.kernel, X, Y), dtype=np.float64)
        with np.errstate(over="ignore"):  # `evaluate` refuses infinities
            gram *= given(self, "factor")
        return gram

    def diag(self, X: Inputs) -> Floats:
        values: Floats = given(self, "factor") * diagonal(self.kernel, X)
        return values

    def parameters(self, X: Inputs) -> tuple[Parameter, ...]:
        inner = (
            dataclasses.replace(parameter, name=f"kernel.{parameter.name}")
            for parameter in super().parameters(X)
        )
        own = (within(self.bounds, "factor", 1.0, _REACH),) if self.factor is None else ()
        return (*own, *inner)

    def with_values(self, values: Mapping[str, float]) -> Self:
        own = {name: value for name, value in values.items() if name == "factor"}
        inner = {
            name.removeprefix("kernel."): value for name, value in values.items() if name not in own
        }
        kernel = replace(self.kernel, inner)
        return dataclasses.replace(KernelObject.with_values(self, own), kernel=kernel)

    def derivatives(self, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
        """Return the matrix for the factor, and the kernel's derivatives times the factor."""
        factor = given(self, "factor")
        gradient = derivatives(self.kernel, X, gram / factor)
        inner = deferred(gradient, lambda derivative: factor * derivative, "kernel.")
        return KernelGradient({"factor": gram.copy, **inner})

    def slopes(
        self, X: Inputs, gram: Floats, by_gram: Floats, Y: Inputs | None = None
    ) -> Mapping[str, float]:
        factor = given(self, "factor")
        inner = slopes(self.kernel, X, gram / factor, factor * by_gram, Y)
        own = {"factor": float(np.vdot(by_gram, gram))}
        return own | {f"kernel.{name}": slope for name, slope in inner.items()}

    def weighted_slopes(
        self, X: Floats, gram: Floats, by_gram: Floats, Y: Floats | None = None
    ) -> tuple[Mapping[str, float], Floats] | None:
        factor = given(self, "factor")
        found = weighted_slopes(self.kernel, X, gram / factor, factor * by_gram, Y)
        if found is None:
            return None
        known = {f"kernel.{name}": slope for name, slope in found[0].items()}
        return {"factor": float(np.vdot(by_gram, gram)), **known}, found[1]

    def __repr__(self) -> str:
        inner = f"({self.kernel!r})" if isinstance(self.kernel, (Sum, Product)) else self.kernel
        if self.factor is not None:
            return f"{shown(self.factor)} * {inner!s}"
        bounds = f", bounds={shown(self.bounds)}" if self.bounds is not None else ""
        return f"Scaled({self.kernel!r}{bounds})"


@dataclass(frozen=True, repr=False)
class Normalized(WrappedKernel):
    """A kernel with feature vectors of length 1, made by `normalize`.

    Parameters
    ----------
    kernel : kernel object or callable
        The kernel k; the value is ``k(x, x') / sqrt(k(x, x) k(x', x'))``.
    """

    def __call__(self, X: Inputs, Y: Inputs | None = None) -> Floats:
        gram = np.array(evaluate(self.kernel, X, Y), dtype=np.float64)
        left = self._inverse_lengths(X)
        right = left if Y is None else self._inverse_lengths(Y)
        for rows in validation.blocks(len(gram), ROWS):
            gram[rows] *= np.outer(left[rows], right)
        if Y is None:
            np.fill_diagonal(gram, left > 0)
        return gram

    def diag(self, X: Inputs) -> Floats:
        """Return the (n,) values ``k(x, x)``: ones, or zero where the kernel has zero."""
        return (self._inverse_lengths(X) > 0).astype(np.float64)

    def _inverse_lengths(self, X: Inputs) -> Floats:
        squares = diagonal(self.kernel, X)
        if not (squares >= 0).all():
            i = int(np.argmin(squares >= 0))
            raise ValueError(
                f"a kernel must be at least 0 on the diagonal to be normalized; got "
                f"{float(squares[i])!r} at input {i}"
            )
        roots = np.sqrt(squares)
        return np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)

    def derivatives(self, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
        """Return the scaled derivatives minus half the matrix times those of the log diagonal."""
        gradient = derivatives(self.kernel, X, evaluate(self.kernel, X))
        inverse = self._inverse_lengths(X)

        def finish(derivative: Floats) -> Floats:
            scaled = derivative * inverse[:, None] * inverse
            half = scaled.diagonal() / 2
            scaled -= gram * np.add.outer(half, half)
            return scaled

        return KernelGradient(deferred(gradient, finish))

    def __repr__(self) -> str:
        return f"normalize({self.kernel!r})"


def normalize(kernel: Callable[..., Any]) -> Base:
    """Return the kernel ``k(x, x') / sqrt(k(x, x) k(x', x'))``, with feature vectors of length 1.

    Version space does not change, since planes do not depend on the lengths of their normals.
    Perceptron updates, the maximal margin and the effect of softness do change. Where ``k(x, x)``
    is 0 all values are 0.

    Parameters
    ----------
    kernel : kernel object or callable
        Finite and at least 0 on the diagonal.

    Returns
    -------
    Normalized
        The kernel, without the factors of `kernel`, which cancel.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import Linear, normalize
    >>> normalize(Linear())(np.array([[1.0, 0.0], [2.0, 2.0]])).round(4)
    array([[1.    , 0.7071],
           [0.7071, 1.    ]])
    """
    while isinstance(kernel, (Normalized, Scaled)):
        kernel = kernel.kernel
    return Normalized(kernel)
