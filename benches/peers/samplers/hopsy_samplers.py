"""hopsy's samplers: a standard Gaussian on the cone, or, without one, all of cone and box."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hopsy
import numpy as np
from problem import main, time_of


def _sampler(
    proposal: Any, *, gaussian: bool
) -> Callable[[Any, Any, int, float], tuple[Any, float]]:
    def run(normals: Any, inside: Any, seed: int, seconds: float) -> tuple[Any, float]:
        m, r = normals.shape
        if gaussian:
            model = hopsy.Gaussian(mean=np.zeros(r), covariance=np.eye(r))
            problem = hopsy.Problem(-normals, np.zeros(m), model=model)
            start = inside * np.sqrt(r)
        else:
            sides = np.vstack([-normals, np.eye(r), -np.eye(r)])
            problem = hopsy.Problem(sides, np.concatenate([np.zeros(m), np.ones(2 * r)]))
            start = inside / 2
        chain = hopsy.MarkovChain(problem, proposal=proposal, starting_point=start)
        random = hopsy.RandomNumberGenerator(seed=seed)

        def sample(n: int, thinning: int) -> Any:
            _, states = hopsy.sample(chain, random, n_samples=n, thinning=thinning)
            return states[0]

        return time_of(sample, normals, seconds)

    return run


main(
    {
        "BilliardWalk": _sampler(hopsy.BilliardWalkProposal, gaussian=False),
        "UniformCoordinateHitAndRun": _sampler(
            hopsy.UniformCoordinateHitAndRunProposal, gaussian=False
        ),
        "UniformHitAndRun": _sampler(hopsy.UniformHitAndRunProposal, gaussian=False),
        "GaussianCoordinateHitAndRun": _sampler(
            hopsy.GaussianCoordinateHitAndRunProposal, gaussian=True
        ),
        "GaussianHitAndRun": _sampler(hopsy.GaussianHitAndRunProposal, gaussian=True),
        "TruncatedGaussian": _sampler(hopsy.TruncatedGaussianProposal, gaussian=True),
        "BilliardMALA": _sampler(hopsy.BilliardMALAProposal, gaussian=True),
    }
)
