"""Log likelihoods of combinations of functions."""

import numpy as np
import pytest
from scipy import special

from bayespoint.engine import likelihood
from bayespoint.engine.likelihood import largest_probabilities
from helpers import seed

RNG = np.random.default_rng(seed(0))
VALUES = list(2 * RNG.standard_normal((5, 700)))
BALLS, ALONG = np.array([0, 1, 1, 0]), RNG.standard_normal((4, 2))
TRIALS = BALLS, ALONG


def at(values, trials):
    """Return the values of the functions."""
    pairs = zip(*trials, strict=True)
    return np.array(
        [values[0] + a * values[1 + 2 * k] + b * values[2 + 2 * k] for k, (a, b) in pairs]
    )


def test_two_classes():
    t = at(VALUES, TRIALS)
    expected = special.log_ndtr(t).sum(axis=1)
    np.testing.assert_allclose(likelihood.two_classes(VALUES, TRIALS)[:, 0], expected, rtol=1e-12)
    floors = RNG.uniform(0.01, 0.1, 700)
    expected = np.log(floors + 0.8 * special.ndtr(t)).sum(axis=1)
    found = likelihood.two_classes(VALUES, TRIALS, floors, 0.8)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12)
    slopes = likelihood.two_classes(VALUES, TRIALS, floors, 0.8, by_value=True)
    for row, (k, each) in enumerate(zip(BALLS, slopes, strict=True)):
        np.testing.assert_allclose(found[row, 1], each @ VALUES[1 + 2 * k])
        np.testing.assert_allclose(found[row, 2], each @ VALUES[2 + 2 * k])


def test_far_values_have_the_logarithms_of_their_tails():
    values = np.array([-30.0, -8.0, -1e3, 9.0])
    found = likelihood.two_classes([values, values, values], (np.zeros(1, int), np.zeros((1, 2))))
    assert found[0, 0] == pytest.approx(special.log_ndtr(values).sum(), rel=1e-12)


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_several_classes(noise):
    values = list(RNG.standard_normal((5, 4, 300)))
    labels = RNG.integers(0, 4, 300).astype(np.uint32)
    expected = []
    for f in at(values, TRIALS):
        p = largest_probabilities(f.max(axis=0) - f)[labels, np.arange(300)]
        expected.append(np.log(noise / 3 + (1 - noise - noise / 3) * p).sum())
    found = likelihood.several_classes(values, TRIALS, labels, noise)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-6)


def test_singles():
    found = likelihood.two_classes([one.astype(np.float32) for one in VALUES], TRIALS)
    exact = likelihood.two_classes(VALUES, TRIALS)
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "values", "trials"),
    [
        ("along", VALUES, (BALLS, ALONG[:3])),
        ("balls", VALUES[:3], TRIALS),
        ("balls", VALUES, (-BALLS, ALONG)),
        ("values", [*VALUES[:4], VALUES[4][:9]], TRIALS),
        ("values", [], TRIALS),
    ],
)
def test_shapes_that_do_not_fit_are_named(name, values, trials):
    with pytest.raises(ValueError, match=name):
        likelihood.two_classes(values, trials)
