"""Weighted draws against densities whose centers and predictions are known."""

import copy
import math
import os
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, special, stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from bayespoint import BayesPointClassifier, SampleOptions, VersionSpace, kernels
from helpers import dual_angle

SEED = int(os.environ.get("BAYESPOINT_SEED", "0"))


def cautious(margins):
    """Return a density that decreases slightly toward the walls."""
    return np.log(np.maximum(margins, 1e-300)).sum(axis=1) / 50


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
SIGNS = np.array([1.0, 1.0, -1.0])


@pytest.fixture(scope="module")
def octant():
    return ORTHANT.sample(
        length=20_000.0, n_draws=5000, options=SampleOptions(refresh="full"), random_state=SEED
    )


POWERS = [(2.0, 0.0, 0.0), (0.5, 3.0, 1.0), (-0.4, 0.3, 1.0)]


@pytest.mark.parametrize("powers", POWERS)
def test_center_of_a_power_of_the_margins_is_known(octant, powers):
    found = ORTHANT.reweight(octant, log_power(powers), log=True)
    exact = power_center(powers) * SIGNS
    norm = math.sqrt(exact @ exact)
    assert 1e-3 < found.center_error < 0.02
    assert dual_angle(ORTHANT, found.center, exact / norm) < 4 * found.center_error
    assert found.center @ found.center == pytest.approx(1.0)
    assert found.center_norm == pytest.approx(norm, abs=4 * found.center_error)
    plain = ORTHANT.reweight(octant, lambda margins: np.exp(log_power(powers)(margins)))
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
        found = ORTHANT.reweight(octant, wrong)
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
        found = ORTHANT.reweight(run, lambda margins: margins[:, 0])
        true.append(dual_angle(ORTHANT, found.center, exact) ** 2)
        estimated.append(found.center_error**2)
    # Two orthogonal directions, so 120 squares; the estimates vary, too.
    assert 0.6 < np.mean(true) / np.mean(estimated) < 1.6


def test_trajectories_that_stay_apart_are_told_by_the_error(octant):
    """Each trajectory repeats one point, so batches underestimate the error."""
    still = np.repeat(octant.draws[:, :1], 5000, axis=1)
    found = ORTHANT.reweight(replace(octant, draws=still), lambda margins: np.ones(len(margins)))
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

    def margins_at(turn):
        return signs * (root @ [math.cos(turn), math.sin(turn)])

    def weight(margins):
        return margins[:, 0] ** 2 + 3.0 * (margins[:, 1] > 1.0)

    grid = np.linspace(-math.pi, math.pi, 400_001)
    margins = signs * (np.stack([np.cos(grid), np.sin(grid)], axis=1) @ root.T)
    density = np.where((margins > 0).all(axis=1), weight(margins), 0.0)
    mean = integrate.trapezoid(density * np.array([np.cos(grid), np.sin(grid)]), grid)
    exact = np.linalg.solve(root.T, mean / math.hypot(*mean))
    # In two dimensions a ball moves to and fro at constant speed.
    run = space.sample(length=3000.0, n_draws=3000, random_state=SEED)
    found = space.reweight(run, weight)
    assert found.center_error < 0.01
    assert dual_angle(space, found.center, exact) < max(4 * found.center_error, 1e-3)
    uniform = space.reweight(run, lambda margins: np.ones(len(margins)))
    assert dual_angle(space, uniform.center, exact) > 0.05


def test_from_one_label_noise_to_another():
    """Weights by violations convert one transparency to another."""
    m = 4
    space = VersionSpace(np.eye(m), np.ones(m))
    run = space.sample(
        length=30_000.0,
        n_draws=8000,
        options=SampleOptions(transparency=0.5, refresh="full"),
        random_state=SEED,
    )
    kappa = np.array([0.5, 0.5, 0.1, 0.1])  # by example; a billiard has rates by class only
    found = space.reweight(run, lambda margins: ((kappa / 0.5) ** (margins < 0)).prod(axis=1))
    drift = (1 - kappa) / (1 + kappa)
    size = math.exp(special.gammaln(m / 2) - special.gammaln((m + 1) / 2)) / math.sqrt(math.pi)
    assert dual_angle(space, found.center, drift / math.hypot(*drift)) < 4 * found.center_error
    assert found.center_norm == pytest.approx(size * math.hypot(*drift), rel=0.05)
    assert found.log_mean_weight == pytest.approx(2 * math.log(1.1 / 1.5), abs=0.05)


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
    found = space.reweight(run, lambda margins: ((kappa / given) ** (margins < 0)).prod(axis=1))
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
    assert ("examples", "4") in found._rows()
    with pytest.raises(ValueError, match="result must be of 4 examples; got one of 3 classes and"):
        VersionSpace(np.eye(m), [1, 1, -1, 1]).reweight(run, lambda margins: margins[:, 0])


def test_equal_weights_are_the_plain_mean(octant):
    found = ORTHANT.reweight(octant, lambda margins: np.full(len(margins), 7.0))
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
        found = ORTHANT.reweight(run, first)
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
    ORTHANT.reweight(run, lambda margins: (np.arange(len(margins)) < equal) * 1.0)
    assert [w.category for w in recwarn] == [ConvergenceWarning] * warned


def test_logarithms_do_not_underflow(octant):
    plain = ORTHANT.reweight(octant, log_power((1.0, 0.0, 0.0)), log=True)
    shifted = ORTHANT.reweight(octant, lambda margins: np.log(margins[:, 0]) - 5000.0, log=True)
    np.testing.assert_allclose(shifted.weights, plain.weights)
    assert shifted.log_mean_weight == pytest.approx(plain.log_mean_weight - 5000.0)
    half = ORTHANT.reweight(
        octant, lambda margins: np.where(margins[:, 0] > 0.5, 0.0, -np.inf), log=True
    )
    assert (half.weights > 0).mean() == pytest.approx(0.5, abs=0.05)  # Archimedes


def test_error_names_the_wrong_weight(octant):
    def returning(value):
        return lambda margins: value

    n = 20_000
    negative, infinite, missing = np.ones(n), np.ones(n), np.ones(n)
    negative[7], infinite[8], missing[9] = -0.5, np.inf, np.nan
    for value, text in [
        (
            negative,
            r"the value of weight must be finite numbers of at least 0; got -0\.5 for draw 7",
        ),
        (infinite, "finite numbers of at least 0; got inf for draw 8"),
        (missing, "finite numbers of at least 0; got nan for draw 9"),
        (np.ones(5), r"the value of weight must have shape \(20000,\); got shape \(5,\)"),
        (np.ones((n, 1)), r"got shape \(20000, 1\)"),
        (1.0, r"got shape \(\)"),
        (np.zeros(n), "weight must be positive at some draw; got 0 at all 20000"),
    ]:
        with pytest.raises(ValueError, match=text):
            ORTHANT.reweight(octant, returning(value))
    with pytest.raises(ValueError, match="logarithms below infinity; got inf for draw 8"):
        ORTHANT.reweight(octant, returning(infinite), log=True)
    with pytest.raises(ValueError, match="logarithms below infinity; got nan for draw 9"):
        ORTHANT.reweight(octant, returning(missing), log=True)
    with pytest.raises(ValueError, match="weight must be positive at some draw"):
        ORTHANT.reweight(octant, returning(np.full(n, -np.inf)), log=True)
    with pytest.raises(TypeError, match="the value of weight must hold real numbers"):
        ORTHANT.reweight(octant, returning(np.ones(n) * 1j))
    with pytest.raises(TypeError, match=r"weight must be a callable; got 3\.0"):
        ORTHANT.reweight(octant, 3.0)
    with pytest.raises(TypeError, match="log must be True or False; got 1"):
        ORTHANT.reweight(octant, returning(np.ones(n)), log=1)
    with pytest.raises(TypeError, match="result must be a BilliardResult; got a ndarray"):
        ORTHANT.reweight(octant.draws, returning(np.ones(n)))
    with pytest.raises(ValueError, match="result must be of 2 examples; got one of 3"):
        VersionSpace(np.eye(2), [1, -1]).reweight(octant, returning(np.ones(n)))
    with pytest.raises(ZeroDivisionError):  # exceptions of the function are passed on
        ORTHANT.reweight(octant, lambda margins: 1 / 0)


def test_result_in_words(octant):
    found = ORTHANT.reweight(octant, log_power((1.0, 0.0, 0.0)), log=True)
    assert f"{found.ess:.4g}, by the weights alone" in found.summary()
    assert repr(found).startswith("<WeightedResult: m=3, ")
    assert found._repr_html_().startswith("<div ")


# --- predictions ---


def quarter(softness=0.0, n_draws=5000):
    model = BayesPointClassifier(
        kernels.Linear(),
        fit_intercept=False,
        softness=softness,
        tol=0.005,
        n_draws=n_draws,
        random_state=SEED,
        standardize=False,
    )
    return model.fit(np.eye(2), [True, False])


def quarter_law(x, softness, power):
    """Vote, mixture and decision value at x under the density margin**power of the first."""
    scale = 1 + softness  # w = sqrt(scale) (cos t, -sin t) in the space of the dual coefficients
    variance = x @ x + softness - x @ x / scale

    def mean(value):
        total = integrate.quad(lambda t: math.cos(t) ** power, 0, math.pi / 2)[0]

        def integrand(t):
            h = (x[0] * math.cos(t) - x[1] * math.sin(t)) / math.sqrt(scale)
            return math.cos(t) ** power * value(h)

        edge = math.atan2(x[0], x[1])
        points = [edge] if 0 < edge < math.pi / 2 else None
        return integrate.quad(integrand, 0, math.pi / 2, points=points, epsabs=1e-9)[0] / total

    vote = mean(lambda h: math.copysign(1.0, h))
    mixture = mean(lambda h: stats.t.cdf(math.sqrt(2) * h / math.sqrt(variance), 2))
    first = math.sqrt(math.pi / 2) * mean(lambda h: h)
    spread = 2 * mean(lambda h: h**2) - first**2
    return vote, mixture, first / math.sqrt(spread + variance)


@pytest.mark.parametrize("power", [0.0, 1.0, 4.0])
def test_predictions_agree_with_quadrature(power):
    softness = 0.5
    model = quarter(softness)
    weighted = model.reweight(lambda margins: margins[:, 0] ** power)
    points = np.array([[1.0, 0.8], [0.75, 1.0], [-0.2, 0.7], [2.0, -1.0]])
    laws = np.array([quarter_law(x, softness, power) for x in points])
    np.testing.assert_allclose(weighted.votes(points)[:, 0], laws[:, 0], atol=0.04)
    probability = weighted.predict_proba(points, method="mixture")[:, 1]
    np.testing.assert_allclose(probability, laws[:, 1], atol=0.01)
    z = weighted.decision_function(points)
    np.testing.assert_allclose(z, laws[:, 2], atol=0.05)
    np.testing.assert_allclose(weighted.predict_proba(points)[:, 1], special.ndtr(z))
    np.testing.assert_array_equal(weighted.predict(points), z > 0)
    np.testing.assert_array_equal(weighted.predict(points, method="vote"), laws[:, 0] > 0)
    assert weighted.intercept[0] == 0.0
    if power == 4.0:  # the weights matter
        plain = model.reweight(lambda margins: np.ones(len(margins)))
        assert np.abs(plain.decision_function(points) - laws[:, 2]).max() > 0.3
        assert (plain.predict(points) != weighted.predict(points)).any()


@pytest.mark.long
def test_equal_weights_predict_as_the_model_does():
    rng = np.random.default_rng([SEED, 1])
    X = rng.standard_normal((60, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(60), [-0.5, 0.5])
    for labels in (y, y > 0):
        model = BayesPointClassifier(
            kernels.RBF(1.0),
            softness=0.1,
            label_noise=0.02,
            n_draws=1600,
            random_state=SEED,
            standardize=False,
        ).fit(X, labels)
        weighted = model.reweight(lambda margins: np.ones(len(margins)))
        new = rng.standard_normal((30, 2))
        for method in ("moments", "mixture"):
            apart = weighted.predict_proba(new, method=method)
            apart -= model.predict_proba(new, method=method)
            # The center of the model is the mean along the path, not of the draws.
            assert np.sqrt(np.mean(apart**2)) < 0.015
        vote = model.predict(new, method="vote")
        np.testing.assert_array_equal(weighted.predict(new, method="vote"), vote)
        assert (weighted.predict(new) == model.predict(new)).mean() > 0.9
        assert weighted.dual_coef.shape == model.dual_coef_.shape
        np.testing.assert_allclose(weighted.intercept, weighted.dual_coef.sum(axis=1))
        for again in (copy.deepcopy(weighted), pickle.loads(pickle.dumps(weighted))):
            np.testing.assert_array_equal(again.predict(new), weighted.predict(new))
    text = "<Mixture: 1 of <Model: RBF(sigma=1.0), 6400 {}draws at 60 examples>>"
    assert repr(weighted) == text.format("weighted ")
    assert repr(model.posterior_) == text.format("")


def test_draws_one_by_one_are_chosen_by_their_weights():
    """Random functions and single draws have the weighted distribution, too."""
    model = quarter(0.5)
    weighted = model.reweight(lambda margins: margins[:, 0] ** 4)
    point = np.array([[0.75, 1.0]])
    vote, mixture, _ = quarter_law(point[0], 0.5, 4.0)
    signs = weighted.sample_functions(point, random_state=SEED) > 0
    assert signs.mean() == pytest.approx(mixture, abs=0.03)
    # Without weights the prediction differs.
    plain = model.sample_functions(point, random_state=SEED) > 0
    assert abs(plain.mean() - mixture) > 0.1
    rng = np.random.default_rng(SEED)
    draws = [weighted.predict(point, method="gibbs", random_state=rng)[0] for _ in range(1000)]
    assert np.mean(draws) == pytest.approx((vote + 1) / 2, abs=0.06)


def test_a_weighted_posterior_can_be_weighted_again():
    model = quarter(n_draws=500)
    twice = model.reweight(lambda margins: margins[:, 0]).reweight(
        lambda margins: 3 * np.log(margins[:, 0]), log=True
    )
    once = model.posterior_.reweight(lambda margins: margins[:, 0] ** 4)
    np.testing.assert_allclose(twice.dual_coef, once.dual_coef)
    np.testing.assert_allclose(twice.weighted.weights, once.weighted.weights)
    assert model.posterior_.weighted is None


def test_questions_of_a_weighted_posterior():
    rng = np.random.default_rng([SEED, 3])
    X = rng.standard_normal((40, 2))
    labels = np.where(X[:, 0] + 0.5 * rng.standard_normal(40) > 0, "yes", "no")
    model = BayesPointClassifier(
        kernels.RBF(1.0), softness=0.1, random_state=SEED, standardize=False
    ).fit(X, labels)
    weighted = model.reweight(cautious, log=True)
    probability = weighted.predict_proba(X)
    chosen, rejected = weighted.reject(X, 0.3)
    np.testing.assert_array_equal(chosen, np.array(["no", "yes"])[probability.argmax(axis=1)])
    np.testing.assert_array_equal(rejected, 1 - probability.max(axis=1) > 0.3)
    order = np.argsort(np.abs(weighted.votes(X)[:, 0]), kind="stable")
    np.testing.assert_array_equal(weighted.suggest_query(X, 5), order[:5])
    assert weighted.bayes_point(X).shape == (1, 40)
    with pytest.raises(TypeError, match="weight must be a callable; got None"):
        model.reweight(None)
    with pytest.raises(TypeError, match="log must be True or False"):
        model.reweight(cautious, log=1)
    with pytest.raises(NotFittedError):
        clone(model).reweight(cautious)


def test_a_given_matrix_is_weighted_alike():
    rng = np.random.default_rng([SEED, 2])
    X, new = rng.standard_normal((30, 2)), rng.standard_normal((10, 2))
    y = X[:, 0] > 0
    settings = {"softness": 0.1, "random_state": SEED}
    kernel = kernels.RBF(1.0)
    ours = BayesPointClassifier(kernel, **settings, standardize=False).fit(X, y)
    given = BayesPointClassifier("precomputed", **settings).fit(kernel(X), y)

    def weight(margins):
        return 1.0 * margins[:, 0]

    np.testing.assert_allclose(
        given.reweight(weight).decision_function(kernel(new, X)),
        ours.reweight(weight).decision_function(new),
        rtol=1e-6,
    )
    singular = BayesPointClassifier("precomputed", **settings | {"softness": 0.0})
    singular.fit(X @ X.T, X @ [1.0, 2.0] > 0)
    with pytest.raises(ValueError, match=r"reweight needs the kernel matrix.*VersionSpace"):
        singular.reweight(weight)


def test_error_names_the_argument_of_a_prediction():
    weighted = quarter(n_draws=100).reweight(lambda margins: np.ones(len(margins)))
    with pytest.raises(ValueError, match="one of 'center', 'vote', 'gibbs'; got 'mean'"):
        weighted.predict([[0.0, 1.0]], method="mean")
    with pytest.raises(ValueError, match="method must be one of 'moments', 'mixture'"):
        weighted.predict_proba([[0.0, 1.0]], method="exact")
    with pytest.raises(ValueError, match=r"X must have shape \(n, 2\), 2 features; got \(1, 3\)"):
        weighted.predict([[0.0, 1.0, 2.0]])
