"""Hamiltonian Monte Carlo for a few dozen parameters with a smooth density.

A state moves by leapfrog steps of the Hamiltonian dynamics whose potential is minus the log
density, with a random momentum, and is then accepted or not (Duane et al., 1987; Neal, 2011).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from bayespoint.base.validation import Floats
from bayespoint.tuning.objective import NOWHERE, Point

_STEP = 0.32  # first step size: with the leaps, a quarter of a period of a standard normal law
_ACCEPTED = 0.65  # acceptance for which the step size is adapted
_RATE = 0.3  # change of the logarithm of the step size per difference of acceptance
_FALL, _FIRST = 0.8, 10  # the change of steps that are too long, after as many first states
_LEAPS = 4  # number of leapfrog steps to a proposal
_JITTER = 0.2  # deviation of the log of a step size: paths of one length could be periodic


class State(NamedTuple):
    """Coordinates with the log density there."""

    u: Floats
    value: float  # minus infinity outside of the support
    slope: Floats  # derivatives of the value
    point: Point = NOWHERE  # the setting tried with its evidence
    stopped: bool = False  # whether a limit ends the search with it


def chain(
    density: Callable[[Floats], State],
    start: Floats,
    units: Floats,
    rng: np.random.Generator,
    *,
    n_adapt: int,
    renew: Callable[[State], State] = lambda state: state,
) -> Iterator[State]:
    """Yield the states of a chain.

    There is no end but a state at which the density stops. `start` are its coordinates, and `units`
    their scales. Only states after the first `n_adapt`, which adapt the step size, are from the
    stated distribution. `renew` may move each state in another way that leaves it invariant.
    """
    state, count, step = density(start), 0, _STEP
    while not state.stopped:
        size = step * math.exp(_JITTER * rng.standard_normal()) * units
        momentum = rng.standard_normal(len(start))
        energy = 0.5 * float(momentum @ momentum) - state.value
        ahead, moving = state, momentum
        for _ in range(_LEAPS):
            half = moving + 0.5 * size * ahead.slope
            ahead = density(ahead.u + size * half)
            if ahead.stopped:
                return
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
            rate = _FALL if acceptance < _ACCEPTED and count < _FIRST else _RATE
            step *= math.exp(rate * (acceptance - _ACCEPTED))
        count += 1
        yield state
