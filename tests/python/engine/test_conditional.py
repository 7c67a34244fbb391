"""The center of conditional means, and the Gram matrices for which it exists."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bayespoint import BayesPointClassifier, SampleOptions, VersionSpace, kernels
from bayespoint.base import linalg
from helpers import SHIFT, sample, seed

SEED = 13 + SHIFT


@pytest.mark.parametrize("m", [1, 7, 255, 256, 257, 600])
def test_diagonal_of_the_inverse(m):
    rng = np.random.default_rng(m)
    X = rng.normal(size=(m, 3))
    gram, softness = kernels.RBF(1.0)(X), rng.uniform(0.1, 1.0, m)
    factor = linalg.factorize(gram, 0.5, softness)
    assert factor.invertible
    expected = np.diag(np.linalg.inv(gram + 0.5 + np.diag(softness)))
    np.testing.assert_allclose(factor.inverse_diagonal(), expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*tangent pairs:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("softness", "settings", "chosen"),
    [
        (0.1, {}, True),
        (0.1, {"refresh": "full"}, True),
        (0.1, {"transparency": 0.1}, True),
        (0.1, {"refresh": "pair"}, False),
        (0.1, {"refresh": None}, False),
        (0.1, {"average": "arc"}, False),
        (np.arange(150) > 0, {}, False),
        (0.0, {}, False),
    ],
)
def test_softness_calls_for_conditional_means(softness, settings, chosen):
    X = np.random.default_rng(SEED).standard_normal((150, 4))
    space = VersionSpace(kernels.RBF(3.0)(X), np.sign(X[:, 0]), softness=softness)
    run = sample(space, tol=1.0, n_draws=4, random_state=SEED, **settings)
    # Trajectories start at "typical" points if the inverse of the Gram matrix is known.
    assert (set(run.start) == {"typical"}) == chosen
    if chosen:
        same = sample(
            space, tol=1.0, n_draws=4, random_state=SEED, **settings, average="conditional"
        )
        np.testing.assert_array_equal(run.center, same.center)


def test_next_to_singular_matrices_get_the_integral_of_the_path():
    X = np.random.default_rng(SEED).standard_normal((150, 4))
    for softness in (1e-11, 1e-15):
        space = VersionSpace(X @ X.T, np.sign(X[:, 0]), softness=softness)
        with pytest.warns(ConvergenceWarning, match=f"softness, {softness:g}, is too small"):
            run = space.sample(tol=1.0, n_draws=4, random_state=SEED)
        assert "typical" not in run.start
    # Rounding to singles does not matter for examples without softness.
    some = np.where(np.arange(150) < 75, 1.0, 0.0)
    space = VersionSpace((X @ X.T).astype(np.float32), np.sign(X[:, 0]), softness=some)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = space.sample(tol=0.3, random_state=SEED)
    assert run.refresh == "full"


def test_what_it_cannot_do_is_refused():
    with pytest.raises(ValueError, match="average='conditional' needs a Gram matrix"):
        VersionSpace(np.ones((2, 2)), [1, 1]).sample(options=SampleOptions(average="conditional"))


def test_classifiers_use_them_where_they_can():
    rng = np.random.default_rng(seed(1))
    X = rng.normal(size=(60, 3))
    y = X[:, 0] > 0
    given = {"random_state": SEED}
    soft = BayesPointClassifier(kernels.RBF(2.0), softness=0.1, **given).fit(X, y)
    assert (soft.billiard_.refresh, soft.billiard_.start[0]) == ("full", "typical")
    # A matrix of rank four has no inverse.
    hard = BayesPointClassifier("linear", softness=0.0, **given).fit(X, y)
    assert hard.billiard_.start[0] != "typical"
    assert hard.models_[0].basis.factor.rank == 4
    # A matrix far from singular has one, also without softness.
    apart = BayesPointClassifier(kernels.RBF(0.5), softness=0.0, **given).fit(X, y)
    assert apart.billiard_.start[0] == "typical"
    assert apart.models_[0].basis.factor.pivots is None
