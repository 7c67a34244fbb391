"""Kernels of scikit-learn's Gaussian processes, with the parameter interface of this module.

They are evaluated as they are. A `WhiteKernel` adds to the diagonal only, and so acts as softness.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bayespoint.kernels.protocol import ByName, Parameter


def is_gp(kernel: object) -> bool:
    """Return whether a kernel is scikit-learn's, without importing their module."""
    module = sys.modules.get("sklearn.gaussian_process.kernels")
    return module is not None and isinstance(kernel, module.Kernel)


def parameters(kernel: Any) -> tuple[Parameter, ...]:
    """Return the hyperparameters that are not fixed, with their own bounds and values."""
    names = _names(kernel)
    if not names:
        return ()
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = np.atleast_2d(kernel.bounds)
    for name, (low, high) in zip(names, bounds, strict=True):
        if not (np.isfinite(low) and np.isfinite(high) and low <= high):
            raise ValueError(
                f"the bounds of {name} must be positive, finite and in order; got "
                f"{np.exp([low, high]).tolist()}: change them, or make them 'fixed'"
            )
    values = zip(names, np.exp(bounds).tolist(), np.exp(kernel.theta).tolist(), strict=True)
    return tuple(Parameter(name, low, high, start) for name, (low, high), start in values)


def replace(kernel: Any, values: ByName) -> Any:
    """Return the kernel with other values of hyperparameters."""
    own, names = np.exp(kernel.theta), _names(kernel)
    new = np.array([values.get(name, old) for name, old in zip(names, own, strict=True)])
    # Unchanged values keep their bits.
    return kernel if (new == own).all() else kernel.clone_with_theta(np.log(new))


def refuse_invalid(kernel: Any) -> None:
    """Raise TypeError for several kernels, and for ``gp_kernel + our_kernel``."""
    if type(kernel).__name__ == "CompoundKernel":
        raise TypeError(
            f"kernel must be one kernel, a sum or a product of them; got {len(kernel.kernels)} in a"
            " CompoundKernel"
        )
    for name, value in kernel.get_params().items():
        if callable(value) and not is_gp(value):
            raise TypeError(
                f"{name} of a Gaussian-process kernel must be a Gaussian-process kernel or a "
                f"number; got {value!r}: write sums and products with a kernel of bayespoint first,"
                " as in bayespoint.kernels.RBF() + gp_kernel"
            )


def _names(kernel: Any) -> list[str]:
    """Return the name of each entry of ``theta``."""
    names = []
    for each in kernel.hyperparameters:
        if not each.fixed:
            several = each.n_elements > 1
            names += [f"{each.name}[{k}]" if several else each.name for k in range(each.n_elements)]
    if len(names) != len(kernel.theta):
        raise ValueError(
            f"{kernel!r} must have as many entries of theta as it declares hyperparameters that "
            f"are not fixed, {len(names)}; got {len(kernel.theta)}"
        )
    return names
