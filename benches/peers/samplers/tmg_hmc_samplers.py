"""tmg-hmc's exact Hamiltonian sampler of a standard Gaussian on the cone."""

from __future__ import annotations

from typing import Any

import numpy as np
from problem import main, time_of
from tmg_hmc import TMGSampler


def hamiltonian(normals: Any, inside: Any, seed: int, seconds: float) -> tuple[Any, float]:
    """Return what is seen of draws after flights of a quarter of a circle, its default."""
    np.random.seed(seed)  # noqa: NPY002 (it draws from the global generator)
    r = len(inside)
    sampler = TMGSampler(np.zeros(r), np.eye(r))
    for normal in normals:
        sampler.add_constraint(f=normal[:, None])
    sampler.sample(inside * np.sqrt(r), n_samples=0, burn_in=1)

    def sample(n: int, thinning: int) -> Any:
        return sampler.sample(n_samples=n * thinning, cont=True)[thinning - 1 :: thinning]

    return time_of(sample, normals, seconds)


main({"Hamiltonian": hamiltonian})
