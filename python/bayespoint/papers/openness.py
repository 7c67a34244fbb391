"""Closed and open billiards: the share of straight flights that escape, for each kernel."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bayespoint import SampleOptions
from bayespoint.base import validation
from bayespoint.base.report import as_html
from bayespoint.base.validation import Floats, RandomState
from bayespoint.version_space import VersionSpace

__all__ = ["EscapeFractions", "escape_fractions"]


class EscapeFractions(NamedTuple):
    """Shares of flights that escape, one for each kernel."""

    values: Floats
    """(n_kernels,) Escapes over all flights, in [0, 1]: near 0 for a closed billiard."""

    errors: Floats
    """(n_kernels,) Standard errors, from the spread between trajectories."""

    def _repr_html_(self) -> str:
        pairs = zip(self.values.tolist(), self.errors.tolist(), strict=True)
        rows = [
            (f"kernel {k}", f"{value:.4g} ± {error:.2g}") for k, (value, error) in enumerate(pairs)
        ]
        return as_html("Share of flights that escape", rows)


def escape_fractions(
    grams: Iterable[ArrayLike],
    y: ArrayLike,
    *,
    softness: ArrayLike = 0.0,
    offset: float = 0.0,
    max_bounces: int = 5000,
    n_trajectories: int = 8,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> EscapeFractions:
    r"""Return the share of straight flights that escape, for each kernel of a family.

    The straight flights of the flipper (Ruján and Marchand, Algorithm 18.1) escape from a large
    version space and hardly ever from a small one. Along a family of kernels, such as Gaussians of
    growing length scale :math:`\sigma`, the authors observed that the billiard closes at some
    point, with the best classifiers just before.

    Parameters
    ----------
    grams : iterable of array-like of shape (m, m)
        Kernel values between the examples, a matrix for each kernel. A generator needs memory for
        only one at a time.
    y : array-like of shape (m,)
        Labels, as `VersionSpace` takes them.
    softness, offset
        As for `VersionSpace`, of each.
    max_bounces : int, default=5000
        Bounces of each trajectory, at least 1.
    n_trajectories : int, default=8
        Independent trajectories, at least 2: their spread estimates the error.
    n_jobs, random_state
        As for :meth:`VersionSpace.sample`.

    Returns
    -------
    EscapeFractions
        Shares of the flights that escaped, in [0, 1], and their standard errors. NaN if all
        feature vectors are parallel.

    Raises
    ------
    InfeasibleError, FloatingPointError
        See the notes of :class:`VersionSpace`.
    ValueError, TypeError
        If there is no matrix, or as :class:`VersionSpace`.

    Notes
    -----
    On orthogonal planes, the limit of :math:`\sigma \to 0`, a launch in a random direction meets
    half of the m walls once and then escapes: the share is 2 / (m + 2). As :math:`\sigma` grows it
    first rises, since fewer and fewer planes bound version space, and then falls towards 0 as the
    billiard closes.

    See Also
    --------
    VersionSpace.sample : Returns all results of a run with ``SampleOptions(dynamics="flipper")``.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import RBF
    >>> from bayespoint.papers.openness import escape_fractions
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> sigmas = [0.5, 1.5, 5.0]
    >>> found = escape_fractions((RBF(s)(X) for s in sigmas), np.sign(X[:, 0]), random_state=0)
    >>> bool(found.values[0] > found.values[1] > found.values[2])
    True
    """
    max_bounces = validation.integer("max_bounces", max_bounces, low=1)
    n_trajectories = validation.integer("n_trajectories", n_trajectories, low=2)
    seed = validation.seed(random_state)
    values: list[float] = []
    errors: list[float] = []
    try:
        matrices = iter(grams)
    except TypeError as error:
        raise TypeError(f"grams must be an iterable of matrices; got {grams!r}") from error
    for gram in matrices:
        try:
            space = VersionSpace(gram, y, softness=softness, offset=offset)
        except (TypeError, ValueError) as error:
            if str(error).startswith("gram "):
                raise validation.named(error, f"grams[{len(values)}]") from error
            raise
        run = space.sample(
            options=SampleOptions(dynamics="flipper", max_bounces=max_bounces),
            n_trajectories=n_trajectories,
            n_draws=1,
            n_jobs=n_jobs,
            random_state=seed,
        )
        values.append(run.escape_fraction)
        flights = run.escapes + run.bounces
        shares = run.escapes[flights > 0] / flights[flights > 0]
        enough = len(shares) > 1
        errors.append(shares.std(ddof=1) / math.sqrt(len(shares)) if enough else math.nan)
    if not values:
        raise ValueError("grams must hold at least one Gram matrix; got none")
    return EscapeFractions(np.array(values), np.array(errors))
