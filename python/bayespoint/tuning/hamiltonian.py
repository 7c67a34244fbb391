"""Hamiltonian Monte Carlo for a few dozen parameters with a smooth density.

A state moves by leapfrog steps of the Hamiltonian dynamics whose potential is minus the log
density, with a random momentum, and is then accepted or not (Duane et al., 1987; Neal, 2011).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from bayespoint.base.validation import Floats

__all__ = ["State", "chain"]

_ACCEPTED = 0.8
"""Acceptance for which the step size is adapted."""

_RATE = 0.3
"""Change of the logarithm of the step size per difference of acceptance."""

_JITTER = 0.2
"""Standard deviation of the logarithm of a step size: paths of one length could be periodic."""


@dataclass(frozen=True)
class State:
    """A point with its log density and gradient."""

    theta: Floats
    """The point."""

    value: float
    """Its log density."""

    slope: Floats
    """Gradient of the log density."""


def chain(
    density: Callable[[Floats], tuple[float, Floats]],
    start: State,
    units: Floats,
    rng: np.random.Generator,
    *,
    n_adapt: int,
    step: float = 0.4,
    n_leaps: int = 5,
) -> Iterator[tuple[State, float]]:
    """Yield states without end, each with the probability with which its proposal was accepted.

    Parameters
    ----------
    density : callable
        Maps a point of shape (d,) to its log density, minus infinity outside of the support, and
        the gradient.
    start : State
        A point of finite density.
    units : ndarray of shape (d,)
        Scales of the parameters.
    rng : Generator
        Source of momenta, step sizes and decisions.
    n_adapt : int
        Number of the first states after which the step size is fixed; only later ones are from the
        stated distribution.
    step : float, default=0.4
        First step size, in `units`.
    n_leaps : int, default=5
        Leapfrog steps for each state.

    Yields
    ------
    state : State
        The next state.
    acceptance : float
        Probability of acceptance.
    """
    state, count = start, 0
    while True:
        size = step * math.exp(_JITTER * rng.standard_normal()) * units
        momentum = rng.standard_normal(len(start.theta))
        energy = 0.5 * float(momentum @ momentum) - state.value
        ahead, moving = state, momentum
        for _ in range(n_leaps):
            half = moving + 0.5 * size * ahead.slope
            theta = ahead.theta + size * half
            ahead = State(theta, *density(theta))
            if not math.isfinite(ahead.value):
                break
            moving = half + 0.5 * size * ahead.slope
        gain = energy - (0.5 * float(moving @ moving) - ahead.value)
        acceptance = math.exp(min(0.0, gain)) if math.isfinite(gain) else 0.0
        if rng.random() < acceptance:
            state = ahead
        if count < n_adapt:
            step *= math.exp(_RATE * (acceptance - _ACCEPTED))
        count += 1
        yield state, acceptance
