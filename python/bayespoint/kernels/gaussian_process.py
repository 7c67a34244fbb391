"""Kernels of scikit-learn's Gaussian processes, with the parameter interface of this module.

They are evaluated as they are. A `WhiteKernel` adds to the diagonal only, and so acts as softness.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from bayespoint.kernels.protocol import ByName, Parameter, Parameters

_DEFAULT_BOUNDS = (1e-5, 1e5)  # of scikit-learn's kernels


def is_gp(kernel: object) -> bool:
    """Return whether a kernel is scikit-learn's, without importing their module."""
    module = sys.modules.get("sklearn.gaussian_process.kernels")
    return module is not None and isinstance(kernel, module.Kernel)


def parameters(kernel: Any) -> Parameters:
    """Return the hyperparameters that are not fixed, with their own bounds and values."""
    owners, found = _owners(kernel), []
    with np.errstate(all="ignore"):
        pairs, starts = np.exp(kernel.bounds).tolist(), np.exp(kernel.theta).tolist()
    for (name, owner), (low, high), start in zip(owners.items(), pairs, starts, strict=True):
        if not 0 < low <= high < math.inf:
            raise ValueError(
                f"the bounds of {name} must be positive, finite and in order; got {[low, high]}: "
                "change them, or make them 'fixed'"
            )
        role = "length" if owner.name.split("__")[-1] == "length_scale" else ""
        family = owner.name if role and owner.n_elements > 1 else ""
        own = not np.allclose((low, high), _DEFAULT_BOUNDS)
        found.append(Parameter(name, low, high, start, role=role, family=family, is_bounded=own))
    return tuple(found)


def replace(kernel: Any, values: ByName) -> Any:
    """Return the kernel with other values of hyperparameters."""
    before = np.exp(kernel.theta)
    pairs = zip(_owners(kernel), before, strict=True)
    after = np.array([values.get(name, value) for name, value in pairs])
    # Unchanged values keep their bits.
    return kernel if (after == before).all() else kernel.clone_with_theta(np.log(after))


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


def _owners(kernel: Any) -> dict[str, Any]:
    """Return the hyperparameter of each entry of ``theta``, by the entry's name."""
    owners = dict[str, Any]()
    for owner in kernel.hyperparameters:
        if not owner.fixed:
            n, name = owner.n_elements, owner.name
            owners |= {f"{name}[{k}]" if n > 1 else name: owner for k in range(n)}
    if len(owners) != len(kernel.theta):
        raise ValueError(
            f"{kernel!r} must have as many entries of theta as it declares hyperparameters that "
            f"are not fixed, {len(owners)}; got {len(kernel.theta)}"
        )
    return owners
