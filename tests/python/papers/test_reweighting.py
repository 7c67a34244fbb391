"""Weighted draws against densities whose centers are known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, special
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from bayespoint import BayesPointClassifier, SampleOptions, VersionSpace, kernels
from bayespoint.papers.reweighting import reweight
from helpers import SHIFT as SEED
from helpers import dual_angle


def power_center(powers):
    """The mean of unit vectors of the positive orthant with the density prod(w_i**p_i).

    The squares have a Dirichlet law of parameters (p_i + 1) / 2.
    """
    half = (np.asarray(powers) + 1) / 2
    total = half.sum()
    mean = np.exp(special.gammaln(half + 0.5) - special.gammaln(half))
    return mean * math.exp(special.gammaln(total) - special.gammaln(total + 0.5))


def log_power(powers):
    return lambda margins: np.log(margins) @ np.asarray(powers)


ORTHANT = VersionSpace(np.eye(3), [1, 1, -1])
N = 20_000
SIGNS = np.array([1.0, 1.0, -1.0])


@pytest.fixture(scope="module")
def octant():
    return ORTHANT.sample(
        length=20_000.0, n_draws=5000, options=SampleOptions(refresh="full"), random_state=SEED
    )


POWERS = [(2.0, 0.0, 0.0), (0.5, 3.0, 1.0), (-0.4, 0.3, 1.0)]


@pytest.mark.parametrize("powers", POWERS)
def test_center_of_a_power_of_the_margins_is_known(octant, powers):
    found = reweight(ORTHANT, octant, log_power(powers), log=True)
    exact = power_center(powers) * SIGNS
    norm = math.sqrt(exact @ exact)
    assert 1e-3 < found.center_error < 0.02
    assert dual_angle(ORTHANT, found.center, exact / norm) < 4 * found.center_error
    assert found.center @ found.center == pytest.approx(1.0)
    assert found.center_norm == pytest.approx(norm, abs=4 * found.center_error)
    plain = reweight(ORTHANT, octant, lambda margins: np.exp(log_power(powers)(margins)))
    np.testing.assert_allclose(plain.center, found.center, rtol=1e-10)
    # The mean weight is a ratio of Beta functions.
    half, even = (np.asarray(powers) + 1) / 2, np.full(3, 0.5)
    ratio = special.gammaln(half).sum() - special.gammaln(half.sum())
    ratio -= special.gammaln(even).sum() - special.gammaln(1.5)
    spread = math.sqrt(found.weights.size / found.ess - 1) / math.sqrt(octant.ess)
    assert found.log_mean_weight == pytest.approx(ratio, abs=5 * spread)
    assert plain.log_mean_weight == pytest.approx(found.log_mean_weight)


@pytest.mark.parametrize("powers", POWERS)
def test_a_wrong_weighting_is_noticed(octant, powers):
    """The test above rejects uniform weights, and weights in the wrong order."""
    exact = power_center(powers) * SIGNS
    exact /= math.sqrt(exact @ exact)
    for wrong in (lambda margins: np.ones(len(margins)), _reversed(log_power(powers))):
        found = reweight(ORTHANT, octant, wrong)
        assert dual_angle(ORTHANT, found.center, exact) > 8 * found.center_error


def _reversed(log_weight):
    return lambda margins: np.exp(log_weight(margins))[::-1]


def test_the_error_of_the_center_is_as_large_as_it_says():
    """Over many runs the mean square of the true angles agrees with the estimates."""
    exact = power_center((1.0, 0.0, 0.0)) * SIGNS
    exact /= math.sqrt(exact @ exact)
    true, estimated = [], []
    for index in range(60):
        run = ORTHANT.sample(
            length=400.0,
            n_draws=100,
            options=SampleOptions(refresh="full"),
            random_state=1000 * SEED + index,
        )
        found = reweight(ORTHANT, run, lambda margins: margins[:, 0])
        true.append(dual_angle(ORTHANT, found.center, exact) ** 2)
        estimated.append(found.center_error**2)
    # Two orthogonal directions, so 120 squares; the estimates vary, too.
    assert 0.6 < np.mean(true) / np.mean(estimated) < 1.6


def test_trajectories_that_stay_apart_are_told_by_the_error(octant):
    """Each trajectory repeats one point, so batches underestimate the error."""
    still = np.repeat(octant.draws[:, :1], 5000, axis=1)
    found = reweight(ORTHANT, replace(octant, draws=still), lambda margins: np.ones(len(margins)))
    points = still[:, 0]
    mean = points.mean(axis=0)
    across = points - np.outer(points @ mean / (mean @ mean), mean)
    error = np.sqrt((across**2).sum() / (4 * 3) / (mean @ mean))
    assert found.center_error == pytest.approx(error)


def test_a_wedge_agrees_with_quadrature():
    """Two planes at an angle, with offset and softness: margins follow their definition."""
    gram = np.array([[1.0, 0.6], [0.6, 2.0]])
    space = VersionSpace(gram, [1, -1], softness=[0.3, 0.1], offset=0.5)
    full = gram + 0.5 + np.diag([0.3, 0.1])
    root = np.linalg.cholesky(full)
    signs = np.array([1.0, -1.0])

    def weight(margins):
        return margins[:, 0] ** 2 + 3.0 * (margins[:, 1] > 1.0)

    grid = np.linspace(-math.pi, math.pi, 400_001)
    margins = signs * (np.stack([np.cos(grid), np.sin(grid)], axis=1) @ root.T)
    density = np.where((margins > 0).all(axis=1), weight(margins), 0.0)
    mean = integrate.trapezoid(density * np.array([np.cos(grid), np.sin(grid)]), grid)
    exact = np.linalg.solve(root.T, mean / math.hypot(*mean))
    # In two dimensions a ball moves to and fro at constant speed.
    run = space.sample(length=3000.0, n_draws=3000, random_state=SEED)
    found = reweight(space, run, weight)
    assert found.center_error < 0.01
    assert dual_angle(space, found.center, exact) < max(4 * found.center_error, 1e-3)
    uniform = reweight(space, run, lambda margins: np.ones(len(margins)))
    assert dual_angle(space, uniform.center, exact) > 0.05


def test_from_one_label_noise_to_another_with_several_classes():
    """Orthogonal examples are independent, so that the center of any weights is known."""
    m, n, given = 4, 3, 0.4
    y = np.array([0, 1, 2, 1])
    space = VersionSpace(np.eye(m), y)
    run = space.sample(
        length=30_000.0,
        n_draws=8000,
        options=SampleOptions(transparency=given, refresh="full"),
        random_state=SEED,
    )
    kappa = np.array([0.5, 0.5, 0.1, 0.2])
    found = reweight(space, run, lambda margins: ((kappa / given) ** (margins < 0)).prod(axis=1))
    # The largest of three normal numbers has the mean 3 / (2 sqrt(pi)), and is any with
    # probability 1/3: that of the example's class has this mean, and the sum of all is zero.
    own = 3 / (2 * math.sqrt(math.pi)) * (1 - kappa) / (1 + (n - 1) * kappa)
    exact = np.where(np.arange(n)[:, None] == y, own, -own / (n - 1))
    d = (n - 1) * m
    size = math.exp(special.gammaln(d / 2) - special.gammaln((d + 1) / 2)) / math.sqrt(2)
    norm = math.hypot(*exact.ravel())
    across = math.hypot(*(found.center - exact / norm).ravel())
    assert 1e-3 < found.center_error < 0.02
    assert across < 4 * found.center_error
    assert found.center_norm == pytest.approx(size * norm, abs=4 * found.center_error)
    ratio = np.log((1 + (n - 1) * kappa) / (1 + (n - 1) * given)).sum()
    assert found.log_mean_weight == pytest.approx(ratio, abs=0.03)
    # What was sampled is another density.
    assert math.hypot(*(run.center - exact / norm).ravel()) > 10 * found.center_error
    assert repr(found).startswith("<WeightedResult: m=4, 3 classes, ")
    with pytest.raises(ValueError, match="result must be of 4 examples; got one of 3 classes and"):
        reweight(VersionSpace(np.eye(m), [1, 1, -1, 1]), run, lambda margins: margins[:, 0])


def test_equal_weights_are_the_plain_mean(octant):
    found = reweight(ORTHANT, octant, lambda margins: np.full(len(margins), 7.0))
    mean = octant.draws.mean(axis=(0, 1))
    assert found.center_norm == pytest.approx(math.sqrt(mean @ mean))
    np.testing.assert_allclose(found.center, mean / math.sqrt(mean @ mean))
    assert found.ess == pytest.approx(20_000)
    assert found.max_share == pytest.approx(1 / 20_000)
    assert found.log_mean_weight == pytest.approx(math.log(7.0))


def test_one_draw_may_be_all():
    run = ORTHANT.sample(
        length=500.0, n_draws=50, options=SampleOptions(refresh="full"), random_state=SEED
    )

    def first(margins):
        weights = np.zeros(len(margins))
        weights[3] = 5.0
        return weights

    with pytest.warns(ConvergenceWarning, match=r"worth 1 of 200 draws, the largest has a share"):
        found = reweight(ORTHANT, run, first)
    assert (found.ess, found.max_share) == (1.0, 1.0)
    np.testing.assert_allclose(found.center, run.draws[0, 3])
    assert found.weights.shape == (4, 50)
    assert found.weights[0, 3] == 1.0


@pytest.mark.parametrize(
    ("n", "equal", "warned"), [(100, 49, True), (100, 51, False), (20, 9, True), (20, 11, False)]
)
def test_few_effective_draws_warn(n, equal, warned, recwarn):
    run = ORTHANT.sample(length=500.0, n_trajectories=1, n_draws=n, random_state=SEED)
    recwarn.clear()
    reweight(ORTHANT, run, lambda margins: (np.arange(len(margins)) < equal) * 1.0)
    assert [w.category for w in recwarn] == [ConvergenceWarning] * warned


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (np.where(np.arange(N) == 9, np.nan, 1.0), ValueError, "got nan for draw 9"),
        (np.where(np.arange(N) == 8, np.inf, 1.0), ValueError, "got inf for draw 8"),
        (np.ones(5), ValueError, r"must have shape \(20000,\); got shape \(5,\)"),
        (np.ones(N) * 1j, TypeError, "must hold real numbers"),
    ],
)
def test_error_names_the_wrong_weight(octant, value, error, text, log):
    with pytest.raises(error, match=f"the value of weight .*{text}"):
        reweight(ORTHANT, octant, lambda margins: value, log=log)


def test_a_classifier_has_the_center_of_its_version_space():
    rng = np.random.default_rng([SEED, 2])
    X, y = rng.standard_normal((30, 2)), rng.integers(3, size=30)
    settings = {"softness": 0.1, "random_state": SEED, "standardize": False}
    kernel = kernels.RBF(1.0)
    for labels in (y, y > 0):
        model = BayesPointClassifier(kernel, **settings).fit(X, labels)
        space = VersionSpace(kernel(X), labels, softness=0.1, offset=1.0)
        found = reweight(model, model.billiard_, log_mean, log=True)
        expected = reweight(space, model.billiard_, log_mean, log=True)
        np.testing.assert_allclose(found.center, expected.center, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-9)
        given = BayesPointClassifier("precomputed", **settings).fit(kernel(X), labels)
        np.testing.assert_allclose(
            reweight(given, given.billiard_, log_mean, log=True).center, found.center, rtol=1e-6
        )


def log_mean(margins):
    return np.log(np.abs(margins).mean(axis=1))


def test_classifiers_without_one_version_space():
    rng = np.random.default_rng([SEED, 2])
    X, run = rng.standard_normal((30, 2)), ORTHANT.sample(length=50.0, random_state=SEED)
    y = X @ [1.0, 2.0] > 0
    settings = {"softness": 0.0, "random_state": SEED}
    singular = BayesPointClassifier("precomputed", **settings).fit(X @ X.T, y)
    with pytest.raises(ValueError, match=r"reweight needs the kernel matrix.*VersionSpace"):
        reweight(singular, singular.billiard_, log_mean)
    several = BayesPointClassifier(n_models=2, random_state=SEED).fit(X, y)
    with pytest.raises(ValueError, match=r"reweight needs one setting of the hyperparameters"):
        reweight(several, several.billiard_, log_mean)
    landmarks = BayesPointClassifier(
        kernels.RBF(1.0), softness=0.1, approximation="landmarks", n_components=5
    ).fit(X, y)
    with pytest.raises(ValueError, match="approximation=None"):
        reweight(landmarks, run, log_mean)
    with pytest.raises(NotFittedError):
        reweight(BayesPointClassifier(), run, log_mean)


@pytest.mark.parametrize(("value", "log"), [(0.0, False), (-np.inf, True)])
def test_some_weight_is_positive(octant, value, log):
    with pytest.raises(ValueError, match="weight must be positive at some draw"):
        reweight(ORTHANT, octant, lambda margins: np.full(N, value), log=log)


def test_result_and_space_belong_together(octant):
    with pytest.raises(TypeError, match="result must be a BilliardResult; got a ndarray"):
        reweight(ORTHANT, octant.draws, log_mean)
    with pytest.raises(ValueError, match="result must be of 2 examples; got one of 3"):
        reweight(VersionSpace(np.eye(2), [1, -1]), octant, log_mean)
