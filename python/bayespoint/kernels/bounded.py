"""A kernel with bounds for the search of its parameters."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.kernels.algebra import WrappedKernel
from bayespoint.kernels.base import KernelObject
from bayespoint.kernels.functions import derivatives, diagonal, evaluate
from bayespoint.kernels.protocol import Floats, Inputs, KernelGradient, Parameter, deferred

Bounds = tuple[tuple[str, str | tuple[float, float]], ...]


@dataclass(frozen=True, repr=False)
class Bounded(WrappedKernel):
    """A kernel with the user's bounds for the search by evidence.

    Other parameters keep the bounds that the kernel declares. The search starts from the declared
    start or, if that is out of bounds, from the geometric mean of the bounds.

    Parameters
    ----------
    kernel : kernel object or callable
        The kernel, which determines the values.
    bounds : mapping of str to "fixed" or a pair of floats
        Bounds, positive and in order, by names of parameters as in ``kernel.parameters(X)``, for
        instance "sigma" or "sigma[0]". "fixed" excludes a parameter from the search. Stored as a
        tuple of pairs, which is accepted as well.

    Raises
    ------
    TypeError
        If `kernel` is not a kernel, or `bounds` not a mapping.
    ValueError
        If bounds are not positive and in order, and in `fit` if the kernel does not declare a
        parameter of that name.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import RBF, Bounded
    >>> kernel = 1.0 * Bounded(RBF(2.0), {"sigma": (1.0, 4.0)})
    >>> [(p.name, p.low, p.high) for p in kernel.parameters(np.eye(3))][1]
    ('kernel.sigma', 1.0, 4.0)
    >>> Bounded(RBF(2.0), {"sigma": "fixed"}).parameters(np.eye(3))
    ()
    """

    bounds: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.set_fields(self, bounds=_checked(self.bounds))

    def __call__(self, X: Inputs, Y: Inputs | None = None) -> Floats:
        return evaluate(self.kernel, X, Y)

    def diag(self, X: Inputs) -> Floats:
        return diagonal(self.kernel, X)

    def parameters(self, X: Inputs) -> tuple[Parameter, ...]:
        """Return the parameters of the kernel that are not fixed."""
        found = {parameter.name: parameter for parameter in super().parameters(X)}
        names = ", ".join(found) or "none"
        for name, bounds in self.bounds:
            if name not in found:
                raise ValueError(
                    f"bounds of {self!r} must be of parameters that can be searched: {names}; got "
                    f"{name!r}"
                )
            if bounds == "fixed":
                del found[name]
            else:
                found[name] = _within(found[name], *bounds)
        return tuple(found.values())

    def derivatives(self, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
        """Return the derivatives for the parameters that are not fixed."""
        fixed = {name for name, pair in self.bounds if pair == "fixed"}
        known = deferred(derivatives(self.kernel, X, gram))
        return KernelGradient({name: known[name] for name in known if name not in fixed})

    def __repr__(self) -> str:
        return f"Bounded({self.kernel!r}, {dict(self.bounds)!r})"


def refuse_unknown_bounds(kernel: Any, X: Inputs) -> None:
    """Raise ValueError for bounds of an unknown parameter of the kernel or a nested one."""
    if isinstance(kernel, Bounded):
        kernel.parameters(X)
    for part in getattr(kernel, "parts", (getattr(kernel, "kernel", None),)):
        if isinstance(part, KernelObject):
            refuse_unknown_bounds(part, X)


def _checked(bounds: Any) -> Bounds:
    """Return checked bounds as pairs of a name and "fixed" or two numbers."""
    try:
        pairs = dict(bounds)
    except (TypeError, ValueError):
        raise TypeError(
            f'bounds must map names of parameters to "fixed" or a pair of numbers; got {bounds!r}'
        ) from None
    found: list[tuple[str, str | tuple[float, float]]] = []
    for name, wanted in pairs.items():
        if not isinstance(name, str):
            raise TypeError(f"bounds must have names of parameters; got {name!r}")
        if isinstance(wanted, str) and wanted == "fixed":
            found.append((name, "fixed"))
            continue
        if not isinstance(wanted, (tuple, list, np.ndarray)) or len(wanted) != 2:
            raise TypeError(
                f'bounds of {name} must be "fixed" or a pair of numbers; got {wanted!r}'
            )
        low, high = (
            validation.positive(f"the {which} bound of {name}", value)
            for which, value in zip(("lower", "upper"), wanted, strict=True)
        )
        if not low < high:
            raise ValueError(
                f"bounds of {name} must be in order, the lower one first; got {(low, high)}"
            )
        found.append((name, (low, high)))
    return tuple(found)


def _within(parameter: Parameter, low: float, high: float) -> Parameter:
    """Return a parameter with other bounds."""
    start = parameter.start
    if not low < start < high:
        start = math.sqrt(low) * math.sqrt(high)
    return dataclasses.replace(parameter, low=low, high=high, start=start)
