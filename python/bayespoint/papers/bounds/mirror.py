"""The part of version space that is symmetric about a point, and the bound by its volume."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import memory, validation
from bayespoint.base.linalg import factorize
from bayespoint.base.validation import Floats, RandomState
from bayespoint.engine.problem import Callback, Problem
from bayespoint.papers.bounds.result import RiskBound
from bayespoint.papers.bounds.volume import volume_gibbs
from bayespoint.results import Estimate, Evidence
from bayespoint.version_space import InfeasibleError, VersionSpace

SYMMETRIC = "symmetric part"  # region: the intersection of version space and its mirror image

_CHECKED_AFTER, _ABANDONED_ABOVE, _LARGEST_ERROR = 500.0, 100.0, 10.0
"""An estimate is abandoned if its standard error, in nats, is above the second number after a path,
in radians per trajectory, of the first, and not used if it is above the third at the end."""


def mirrored_space(space: VersionSpace, dual_coef: ArrayLike) -> VersionSpace:
    r"""Return the part of version space that is symmetric about one of its points.

    Parameters
    ----------
    space : VersionSpace
        The version space V of m examples.
    dual_coef : array-like of shape (m,)
        Dual coefficients of a weight vector w in it, of any length.

    Returns
    -------
    VersionSpace
        The intersection of V and its mirror image at w, with 2 m examples: those of `space`, then
        the mirrored ones, on a Gram matrix that includes offset and softness.

    Raises
    ------
    ValueError, MemoryError
        If w is not in version space, or the Gram matrix of 2 m examples does not fit into memory.

    Notes
    -----
    The mirror image of v at the unit vector w is :math:`v' = 2\langle w, v\rangle w - v`. It is in
    version space if v is on the right side of the planes with the normals :math:`\phi'_i = 2
    \langle w, \phi_i\rangle w - \phi_i` (Herbrich et al., 1999, Section 4.3, where the print lacks
    the factor w), with :math:`\langle\phi'_i, \phi_j\rangle = 2 f_i f_j - K_{ij}`, :math:`f = Kc`,
    and :math:`\langle\phi'_i, \phi'_j\rangle = K_{ij}`.

    Examples
    --------
    Of a quarter circle 60 degrees are symmetric about a point 30 degrees from one end:

    >>> w = np.cos(np.pi / 6), np.sin(np.pi / 6)
    >>> found = mirrored_space(VersionSpace(np.eye(2), [1, 1]), w).evidence(random_state=0)
    >>> bool(abs(found.value - np.log(60 / 360)) < 4 * found.error)
    True
    """
    space.problem.require_binary("bounds")
    c = validation.dual_coef("dual_coef", dual_coef, len(space.y))
    if not c.any():
        raise ValueError("dual_coef must not be all zero")
    c, margins, square = scaled(space, c)
    if not (margins > 0).all():
        worst = int(np.argmin(margins))
        raise ValueError(
            "dual_coef must be those of a weight vector in version space; got one that violates "
            f"{int((margins <= 0).sum())} of {len(margins)} examples, such as example {worst}"
        )
    c, m = c / np.sqrt(square), len(c)
    memory.require(8 * 8.0 * m * m, f"the Gram matrix of {2 * m} examples, half of them mirrored")
    gram = np.add(space.gram, space.offset, dtype=np.float64)
    gram.flat[:: m + 1] += space.softness
    # Not from f = K c, whose rounding errors would increase the rank of the matrix.
    phi = factorize(space.gram, space.offset, space.softness).whitened(gram)
    w = phi @ c
    w /= np.linalg.norm(w)
    both = np.hstack([phi, 2 * np.outer(w, w @ phi) - phi])
    label = np.tile(space.problem.label, 2)
    return VersionSpace.over(Problem(both.T @ both, label, np.zeros(2 * m), 0.0))


def point_mirror(
    space: VersionSpace,
    dual_coef: ArrayLike,
    delta: float = 0.05,
    *,
    tol: float = 0.3,
    max_length: float = 1e5,
    n_trajectories: int = 4,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    callback: Callback = None,
) -> RiskBound:
    """Bound the risk of a single weight vector by the symmetric part of version space around it.

    Parameters
    ----------
    space, dual_coef
        As for `mirrored_space`, with its errors.
    delta : float, default=0.05
        Probability in (0, 1) with which the statement may fail.
    tol : float, default=0.3
        Standard error of ln of the volume at which to stop, in nats, or ConvergenceWarning.
    max_length, n_trajectories, n_jobs, random_state, callback
        As for :meth:`VersionSpace.evidence`.

    Returns
    -------
    RiskBound
        The bound, with log_volume and log_volume_error; vacuous below about :math:`e^{-m/2}`.

    Raises
    ------
    FloatingPointError
        If the region is too thin for double precision, or was not found within `max_length`.

    Notes
    -----
    Herbrich et al. (1999), Section 4.3: the sum of a weight vector and its mirror image at w is a
    positive multiple of w, so at least one of the two agrees with w on any input. The vote of the
    symmetric part is the decision of w, and `volume_bayes` bounds its risk. With softness feature
    vectors have an additional coordinate for every input, and the bound holds for inputs other than
    those of the examples.
    """
    delta = validation.real("delta", delta, low=0, high=1, low_open=True, high_open=True)
    run: dict[str, Any] = {"tol": tol, "max_length": max_length, "n_trajectories": n_trajectories}
    run |= {"n_jobs": n_jobs, "random_state": random_state, "callback": callback}
    volume = symmetric_volume(space, dual_coef, **run)
    return by_volume("point_mirror", "weight vector", SYMMETRIC, len(space.y), delta, volume)


def symmetric_volume(space: VersionSpace, dual_coef: ArrayLike, **settings: Any) -> Estimate:
    """Return ln of the volume of the part that is symmetric about a weight vector."""
    region = mirrored_space(space, dual_coef)
    try:
        return estimated(region.evidence, **settings)
    except InfeasibleError as error:  # although the weight vector is in the region
        raise FloatingPointError(
            "No point was found in the region about the weight vector, which seems too thin for "
            "double precision."
        ) from error


def estimated(
    estimate: Callable[..., Evidence], *, tol: float, callback: Callback = None, **settings: Any
) -> Estimate:
    """Return the log volume or log evidence that a method estimates, at most 0, with its error."""
    # It fails for a region about 1e5 times as long as it is thick.
    raised: list[FloatingPointError] = []

    def watch(state: Mapping[str, Any]) -> None:
        if state["length"] > _CHECKED_AFTER and state["error"] > _ABANDONED_ABOVE:
            raise _too_inaccurate(state["error"])
        if callback is not None:
            try:
                callback(state)
            except FloatingPointError as error:
                raised.append(error)
                raise

    try:
        found = estimate(tol=tol, callback=watch, **settings)
        if found.error > max(_LARGEST_ERROR, tol) or found.value > 5 * max(found.error, tol):
            raise _too_inaccurate(found.error)
    except FloatingPointError as error:
        if error in raised:  # the callback's own
            raise
        raise FloatingPointError(
            "The volume could not be estimated; the region seems too thin for double precision: "
            f"{error}"
        ) from error
    return Estimate(min(found.value, 0.0), found.error)


def _too_inaccurate(error: float) -> FloatingPointError:
    return FloatingPointError(f"its standard error is {error:.3g} nats")


def by_volume(
    name: str, of: str, region: str, m: int, delta: float, volume: Estimate, condition: str = ""
) -> RiskBound:
    """Return a bound by the volume of a region: `volume_gibbs`, or twice that for other names."""
    factor = 1 if name == "volume_gibbs" else 2
    value = float(factor * volume_gibbs(m, volume.value, delta))
    quantities = {"m": m, "delta": delta, "log_volume": volume.value}
    quantities["log_volume_error"] = volume.error
    return RiskBound(name, of, value, factor * volume.error / m, region, quantities, condition)


def normalized_margins(space: VersionSpace, dual_coef: ArrayLike) -> Floats:
    r"""Return the normalized margin of every example.

    Parameters
    ----------
    space : VersionSpace
        The m examples.
    dual_coef : array-like of shape (m,)
        Dual coefficients of a weight vector w, of any length but zero.

    Returns
    -------
    ndarray of shape (m,)
        :math:`y_i \langle w, \phi_i\rangle / (|w| |\phi_i|)`, in [-1, 1]: the sine of the angle
        between w and the plane of the example, positive if w agrees with its label. Includes offset
        and softness of `space`. The smallest is the margin of Graepel et al. (2001), Definition 3;
        its arc sine the radius of the largest ball around w. ValueError if w is zero or not finite.
    """
    space.problem.require_binary("bounds")
    _, margins, square = scaled(space, validation.dual_coef("dual_coef", dual_coef, len(space.y)))
    if not square > 0:
        raise ValueError("dual_coef must be those of a weight vector other than zero")
    lengths = np.sqrt(space.gram.diagonal() + space.offset + space.softness)
    return np.asarray(np.clip(margins / lengths / np.sqrt(square), -1.0, 1.0))


def scaled(space: VersionSpace, c: Floats) -> tuple[Floats, Floats, float]:
    """Return coefficients scaled to at most 1, the margins, and the squared length."""
    c = c / max(np.abs(c).max(), np.finfo(float).tiny)  # avoids overflow of squares
    margins = space.margins(c)
    return c, margins, float(c @ (margins * space.y))
