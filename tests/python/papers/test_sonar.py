"""The choice of a layer by leaving out."""

import numpy as np

from bayespoint.papers.experiments.sonar import choose_layer
from bayespoint.papers.machine import BayesPointMachine
from helpers import cone, seed


def test_choice_of_a_layer():
    x, y = cone(m=43, r=4, seed=seed(930))
    candidates = np.ones((2, 2), dtype=bool)
    machine = BayesPointMachine(
        "precomputed", motion="flipper", N_max=200, errors=candidates, random_state=seed(930)
    )
    chosen = choose_layer(x @ x.T, y, machine, candidates)
    candidates[chosen] = False
    other = choose_layer(x @ x.T, y, machine, candidates)
    assert other != chosen
    assert candidates[other]
