"""Hamiltonian Monte Carlo for a few dozen parameters with a smooth density.

A state moves by leapfrog steps of the Hamiltonian dynamics whose potential is minus the log
density, with a random momentum, and is then accepted or not (Duane et al., 1987; Neal, 2011).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from bayespoint.base.validation import Floats
from bayespoint.tuning.objective import Point

_STEP = 0.25  # first step size
_ACCEPTED = 0.65  # acceptance for which the step size is adapted
_RATE = 0.3  # change of the logarithm of the step size per difference of acceptance
_LEAPS = 5  # number of leapfrog steps to a proposal
_JITTER = 0.2  # deviation of the log of a step size: paths of one length could be periodic


def chain(
    density: Callable[[Floats], Point],
    start: Point,
    units: Floats,
    rng: np.random.Generator,
    *,
    n_adapt: int,
    renew: Callable[[Point], Point] = lambda state: state,
    step: float = _STEP,
) -> Iterator[tuple[Point, float]]:
    """Yield states without end, each with the probability with which its proposal was accepted.

    `density` returns the log density of a (d,) point, minus infinity outside of the support, and
    its gradient; `units` are the scales of the parameters. Only states after the first `n_adapt`,
    which adapt the step size, are from the stated distribution. `renew` may move each state in
    another way that leaves it invariant.
    """
    state, count = start, 0
    while True:
        size = step * math.exp(_JITTER * rng.standard_normal()) * units
        momentum = rng.standard_normal(len(start.theta))
        energy = 0.5 * float(momentum @ momentum) - state.value
        ahead, moving = state, momentum
        for _ in range(_LEAPS):
            half = moving + 0.5 * size * ahead.slope
            ahead = density(ahead.theta + size * half)
            if not math.isfinite(ahead.value):
                break
            moving = half + 0.5 * size * ahead.slope
        gain = energy - (0.5 * float(moving @ moving) - ahead.value)
        # A start without density is left for any state that has one.
        acceptance = 0.0 if math.isnan(gain) else math.exp(min(0.0, gain))
        if rng.random() < acceptance:
            state = ahead
        state = renew(state)
        if count < n_adapt:
            step *= math.exp(_RATE * (acceptance - _ACCEPTED))
        count += 1
        yield state, acceptance
