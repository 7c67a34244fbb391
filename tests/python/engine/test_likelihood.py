"""Log likelihoods of combinations of functions."""

import numpy as np
import pytest
from scipy import special

from bayespoint.engine import likelihood
from bayespoint.engine.largest import largest_probabilities
from helpers import seed

RNG = np.random.default_rng(seed(0))
VALUES = 2 * RNG.standard_normal((3, 700))
COEFS = RNG.standard_normal((4, 3))


def test_two_classes():
    t = COEFS @ VALUES
    expected = special.log_ndtr(t).sum(axis=1)
    np.testing.assert_allclose(likelihood.two_classes(VALUES, COEFS)[:, 0], expected, rtol=1e-12)
    floors = RNG.uniform(0.01, 0.1, 700)
    expected = np.log(floors + 0.8 * special.ndtr(t)).sum(axis=1)
    found = likelihood.two_classes(VALUES, COEFS, floors, 0.8)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12)


def test_far_values_have_the_logarithms_of_their_tails():
    values = np.array([[-30.0, -8.0, -1e3, 9.0]])
    found = likelihood.two_classes(values, np.ones((1, 1)))
    assert found[0, 0] == pytest.approx(special.log_ndtr(values).sum(), rel=1e-12)


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_several_classes(noise):
    values = RNG.standard_normal((2, 4, 300))
    coefs = RNG.standard_normal((3, 2))
    labels = RNG.integers(0, 4, 300).astype(np.uint32)
    expected = []
    for row in coefs:
        f = np.tensordot(row, values, 1)
        p = largest_probabilities(f.max(axis=0) - f)[labels, np.arange(300)]
        expected.append(np.log(noise / 3 + (1 - noise - noise / 3) * p).sum())
    found = likelihood.several_classes(values, coefs, labels, noise)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-6)


def test_singles():
    found = likelihood.two_classes(VALUES.astype(np.float32), COEFS)
    exact = likelihood.two_classes(VALUES, COEFS)
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "values", "coefs"),
    [("coefs", VALUES, COEFS[:, :2]), ("coefs", VALUES[:2], COEFS)],
)
def test_shapes_that_do_not_fit_are_named(name, values, coefs):
    with pytest.raises(ValueError, match=name):
        likelihood.two_classes(values, coefs)
