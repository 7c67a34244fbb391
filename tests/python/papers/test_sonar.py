"""The verdicts of the sonar experiments, from made-up rows, and the choice of a layer."""

import numpy as np

from bayespoint import VersionSpace
from bayespoint.papers.experiments.sonar import (
    Sonar,
    choose_layer,
)
from helpers import cone, seed


def test_choice_of_a_layer():
    x, y = cone(m=43, r=4, seed=seed(930))
    gram = x @ x.T
    here = Sonar(VersionSpace(gram, y), gram, y.astype(float), gram, y.astype(float))
    candidates = np.ones((2, 2), dtype=bool)
    chosen = choose_layer(here, 200, np.random.default_rng(seed(930)), candidates)
    candidates[chosen] = False
    other = choose_layer(here, 200, np.random.default_rng(seed(930)), candidates)
    assert other != chosen
    assert candidates[other]


def test_errors_by_class():
    gram, y = np.eye(3), np.array([-1.0, 1.0, 1.0])
    here = Sonar(VersionSpace(gram, y), gram, y, gram, y)
    found = here.errors(np.array([[1.0, 1.0, -1.0], [-1.0, 1.0, 1.0], [np.nan, 0.0, 0.0]]))
    np.testing.assert_array_equal(found, [[1, 1], [0, 0], [np.nan, np.nan]])
