"""The light trap of Ruján and Marchand (2000): a ball enters version space through its walls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayespoint.base import validation
from bayespoint.base.validation import RandomState
from bayespoint.engine.problem import Callback
from bayespoint.papers import compiled
from bayespoint.version_space import VersionSpace

__all__ = ["LightTrap", "light_trap"]


@dataclass(frozen=True, eq=False, repr=False)
class LightTrap:
    """The path of a ball into version space through one-way mirrors."""

    dual_coef: NDArray[np.float64]
    """(m,) Dual coefficients of a unit vector in version space."""

    errors: NDArray[np.int64]
    """(k,) Number of violated examples at the start, and whenever it became smaller. Empty if all
    feature vectors are parallel."""

    bounces: NDArray[np.uint64]
    """(k,) Number of bounces before each of them."""

    caught: bool
    """Whether the trap caught the ball. If not, `dual_coef` is from the search for the largest
    margin."""

    def __repr__(self) -> str:
        path = f"{self.errors[0]} to {self.errors[-1]} errors" if len(self.errors) else "no flight"
        return f"<LightTrap: {path}, {'caught' if self.caught else 'not caught'}>"


def light_trap(
    space: VersionSpace,
    *,
    random_state: RandomState = None,
    callback: Callback = None,
) -> LightTrap:
    """Send a ball into version space through one-way mirrors and count the errors on its path.

    Parameters
    ----------
    space : VersionSpace
        The version space.
    random_state, callback
        As for `VersionSpace.sample`.

    Returns
    -------
    LightTrap
        The point, and how many bounces each number of errors took.

    Raises
    ------
    InfeasibleError, FloatingPointError
        See the notes of :class:`VersionSpace`.

    Notes
    -----
    As in Ruján and Marchand (2000, Section 18.5.2) the ball starts at the difference of the class
    means in feature space, which is the solution for an RBF kernel in the limit of zero width.
    Every wall lets the ball pass from its violated side only. The ball moves along great circles,
    with a refresh by pairs. After 1000 arrivals at walls per example the point is found by the
    search for the largest margin instead.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import VersionSpace
    >>> from bayespoint.papers.light_trap import light_trap
    >>> found = light_trap(VersionSpace(np.eye(3), [1, -1, 1]), random_state=0)
    >>> found.caught, found.errors.tolist()
    (True, [0])
    """
    space.problem.require_binary("the light trap of the paper")
    seed = validation.seed(random_state)
    return LightTrap(**compiled.light_trap(space.problem, seed=seed, callback=callback))
