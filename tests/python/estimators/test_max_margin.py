"""The maximal margin: against libsvm, by the optimality conditions, and where libsvm fails."""

import os
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespoint import (
    InfeasibleError,
    VersionSpace,
    kernels,
)
from bayespoint.papers.experiments.sets import SETS, split
from bayespoint.papers.max_margin import MaxMarginClassifier
from helpers import SHIFT as SEED

IRIS = load_iris(return_X_y=True)


@parametrize_with_checks(
    [
        MaxMarginClassifier(),
        # With a tolerance that libsvm does not reach in single precision: Newton's method does.
        MaxMarginClassifier("linear", C=10.0, fit_intercept="free", max_iter=100_000),
        MaxMarginClassifier(kernels.RBF(2.0), C=np.inf, softness=0.1, fit_intercept=False),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def problem(index, m=60, d=4, noise=0.0):
    rng = np.random.default_rng([SEED, index])
    x = rng.standard_normal((m, d))
    y = np.where(x[:, 0] + x[:, 1] ** 2 > 0.8 + noise * rng.standard_normal(m), 1, -1)
    return x, y


# --- against libsvm ---


@pytest.mark.parametrize(
    "kernel", ["linear", kernels.RBF(2.0), kernels.Polynomial(2, 1.0)], ids=repr
)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_free_intercept_agrees_with_libsvm(kernel, C):
    for index in range(3):
        x, y = problem(index, noise=0.5)
        model = MaxMarginClassifier(kernel, C=C, fit_intercept="free").fit(x, y)
        gram = model.kernel_(x)
        rival = SVC(C=C, kernel="precomputed", tol=1e-9).fit(gram, y)
        dual = np.zeros(len(y))
        dual[rival.support_] = rival.dual_coef_[0]

        def primal(c, b, gram=gram, y=y):
            loss = np.maximum(0, 1 - y * (gram @ c + b)).sum()
            return 0.5 * c @ gram @ c + C * loss

        ours = primal(model.dual_coef_[0], model.intercept_[0])
        theirs = primal(dual, rival.intercept_[0])
        assert ours <= theirs * (1 + 1e-9)
        assert ours == pytest.approx(theirs, rel=1e-3)  # theirs is not exact
        # The primal is strongly convex, which bounds the distance of the weight vectors.
        apart = np.sqrt(2 * max(theirs - ours, 0.0) * gram.diagonal().max()) + 1e-6
        np.testing.assert_allclose(gram @ model.dual_coef_[0], gram @ dual, rtol=1e-6, atol=apart)
        assert model.dual_coef_.sum() == pytest.approx(0.0, abs=1e-9 * C * len(y))
        assert model.duality_gap_[0] < 1e-6


def test_softness_is_the_squared_loss():
    """min |w|^2 / 2 + sum(slack^2) / (2 softness): the dual of the shifted diagonal."""
    x, y = problem(20, noise=0.8)
    softness = 0.5
    model = MaxMarginClassifier("linear", C=np.inf, softness=softness, fit_intercept=False)
    model.fit(x, y)
    w = model.dual_coef_[0] @ x
    slack = np.maximum(0, 1 - y * (x @ w))
    np.testing.assert_allclose(slack, softness * np.abs(model.dual_coef_[0]), atol=1e-9)
    # The gradient of the primal vanishes.
    np.testing.assert_allclose(w, (y * slack / softness) @ x, atol=1e-8)


# --- optimality conditions ---


@pytest.mark.parametrize("intercept", [False, True, "free"])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_conditions(intercept, C):
    x, y = problem(30, noise=0.0 if np.inf == C else 0.5)
    model = MaxMarginClassifier(kernels.RBF(1.0), C=C, fit_intercept=intercept).fit(x, y)
    margins, a = model.margins(x, y), np.abs(model.dual_coef_[0])
    assert (a <= C).all()
    assert (model.dual_coef_[0] * y >= 0).all()
    tol = 1e-7
    assert (margins[a < C] >= 1 - tol).all()
    assert (margins[a > 0] <= 1 + tol).all()
    np.testing.assert_array_equal(model.support_, np.flatnonzero(a))
    assert model.kkt_[0] <= 1e-8
    assert model.n_iter_[0] >= 1
    geometric = model.margins(x, y, geometric=True)
    if np.inf == C:
        assert geometric.min() == pytest.approx(model.margin_[0], rel=1e-6)
    else:
        assert model.margin_[0] == pytest.approx(1 / model.norm_[0])
    np.testing.assert_allclose(geometric * model.norm_[0], margins)
    if intercept != "free":
        expected = model.dual_coef_.sum() if intercept else 0.0
        assert model.intercept_[0] == pytest.approx(expected)


@pytest.mark.parametrize("intercept", [False, True, "free"])
def test_connector_is_gap(intercept):
    """They are equal at the optimum; the connector is the distance between the convex hulls."""
    for index in range(5):
        x, y = problem(40 + index, d=3)
        model = MaxMarginClassifier(kernels.RBF(0.7), C=np.inf, fit_intercept=intercept).fit(x, y)
        assert model.connector_[0] == pytest.approx(model.gap_[0], rel=1e-7)
        gram = model.kernel_(x) + (intercept is True)
        c = model.dual_coef_[0] / np.abs(model.dual_coef_[0]).sum()
        if intercept == "free":
            ends, thresholds = model.hull_weights_[:, 0], model.thresholds_[:, 0]
            np.testing.assert_allclose(ends.sum(axis=1), 1)
            c = ends[1] - ends[0]
            values = gram @ model.dual_coef_[0] / model.norm_[0]
            assert [values[y < 0].max(), values[y > 0].min()] == pytest.approx(thresholds)
            assert thresholds[1] - thresholds[0] == pytest.approx(model.gap_[0])
        assert np.sqrt(c @ gram @ c) == pytest.approx(model.connector_[0])
    soft = MaxMarginClassifier().fit(x, y)
    assert np.isnan(soft.connector_[0])
    assert np.isnan(soft.gap_[0])


def test_weak_duality_before_the_optimum():
    x, y = problem(50)
    space = VersionSpace(kernels.RBF(1.0)(x), y)
    best = space.max_margin()
    seen = 0
    for steps in range(20, 120, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                found = space.max_margin(max_iter=steps)
            except InfeasibleError:
                continue
        seen += not found.converged
        assert found.margin <= best.margin * (1 + 1e-9)
        assert found.bound >= best.margin * (1 - 1e-9)
        assert found.converged or 0 < found.gap <= 1
    assert seen > 0


# --- the papers' data ---


@pytest.mark.parametrize("name", SETS)
def test_no_training_errors_on_the_papers_data(name):
    """A hard margin has none at the papers' length scales, also for ill-conditioned matrices."""
    if name == "thyroid" and not os.environ.get("BAYESPOINT_DATA"):
        pytest.skip("thyroid is not bundled, and BAYESPOINT_DATA is not set")
    sigma = SETS[name].sigma
    x, _, y, _ = split(name, SEED)
    model = MaxMarginClassifier(kernels.RBF(sigma), C=np.inf, fit_intercept=False).fit(x, y)
    assert (model.predict(x) == y).all()
    # Relative to the range of f, which is |w| for feature vectors of length 1.
    assert model.kkt_[0] <= 1e-8 * model.norm_[0]
    # In units of the margin, up to the rounding of the multipliers.
    rounding = 8 * np.finfo(float).eps * np.abs(model.dual_coef_).sum()
    assert model.kkt_[0] <= max(1e-8, rounding)
    assert model.gap_[0] == pytest.approx(model.connector_[0], rel=1e-5)
    free = MaxMarginClassifier(kernels.RBF(sigma), C=np.inf, fit_intercept="free").fit(x, y)
    assert (free.predict(x) == y).all()


@pytest.mark.parametrize("sigma", [10.0, 100.0, 1000.0])
def test_long_length_scales(sigma):
    """Margins down to 1e-7 of the feature vectors' length are found, and billiards start there."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 3))
    y = np.sign(x[:, 0] + 0.3 * x[:, 1] ** 2)
    space = VersionSpace(kernels.RBF(sigma)(x), y, offset=1.0)
    with warnings.catch_warnings():
        # The light trap may fail.
        warnings.filterwarnings("ignore", "method='light_trap' did not", ConvergenceWarning)
        for method in ("max_margin", "light_trap"):
            assert space.contains(space.feasible_point(method, random_state=SEED))
    found = space.max_margin()
    assert space.contains(found.dual_coef)
    assert found.margin == pytest.approx(9.9e-2 / sigma**2, rel=0.05)
    if sigma == 10.0:
        result = space.sample(tol=0.1, random_state=SEED)
        assert (space.margins(result.draws) > 0).all()


# --- examples that are not separable ---


@pytest.mark.parametrize("intercept", [False, True, "free"])
@pytest.mark.parametrize("kernel", ["linear", kernels.RBF(100.0)], ids=repr)
def test_infeasible(intercept, kernel):
    """The certificate is a proof: weights of the examples whose combination vanishes.

    But for rounding: near a margin of none that hides what is left of the combination, most so
    where a free intercept takes the length of a nearly constant kernel out of it.
    """
    x, y = problem(80, m=100, noise=3.0)
    with pytest.raises(InfeasibleError, match="not separable") as caught:
        MaxMarginClassifier(kernel, C=np.inf, fit_intercept=intercept).fit(x, y)
    a = caught.value.certificate
    assert a.min() >= 0
    assert a.sum() == pytest.approx(1.0)
    c = a * y
    gram = kernels.resolve(kernel)(x) + (intercept is True)
    length = np.sqrt(max(c @ gram @ c, 0.0)) / np.sqrt(gram.diagonal().max())
    assert length < 1e-6
    if intercept == "free":
        assert abs(c.sum()) < 1e-9
    elif length > 1e-7:  # less is rounding of what is computed here
        assert caught.value.margin_bound == pytest.approx(length, rel=0.1)
    assert 1 <= caught.value.violations < 100


@pytest.mark.parametrize("decades", [8, 12, 16])
def test_lengths_that_hide_the_margin(decades):
    """Separable data are not called inseparable, and billiards find version space."""
    x = np.eye(5) * np.logspace(-decades / 2, decades / 2, 5)[:, None]
    y = np.array([1, -1, 1, -1, 1])
    space = VersionSpace(x @ x.T, y)
    with pytest.raises(ValueError, match="these can be separated, but rounding of the longest"):
        space.max_margin()
    with pytest.raises(ValueError, match="lengths are nearer to each other"):
        MaxMarginClassifier("linear", C=np.inf, fit_intercept=False).fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of searches that need the fallback
        for method in ("light_trap", "max_margin"):
            assert space.contains(space.feasible_point(method, random_state=SEED))
    center = space.sample(tol=0.05, random_state=SEED).center @ x
    np.testing.assert_allclose(center, y / np.sqrt(5), atol=0.2)


def test_contradicting_examples_are_named():
    x, y = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0]]), [0, 1, 1]
    with pytest.raises(InfeasibleError, match="because of examples 0 and 2 alone"):
        MaxMarginClassifier(C=np.inf).fit(x, y)
    with pytest.raises(InfeasibleError, match="not separable"):
        MaxMarginClassifier(C=np.inf, fit_intercept="free").fit(x, y)
    # Opposite examples with the same label are separable with a free bias.
    ends = [[1.0], [-1.0], [5.0]]
    with pytest.raises(InfeasibleError, match="because of examples 0 and 1 alone"):
        MaxMarginClassifier("linear", C=np.inf, fit_intercept=False).fit(ends, [0, 0, 1])
    free = MaxMarginClassifier("linear", C=np.inf, fit_intercept="free").fit(ends, [0, 0, 1])
    assert free.intercept_[0] == pytest.approx(-1.5)


def test_no_features_but_both_classes():
    """For equal inputs w = 0, the margin is infinite, and no class is preferred."""
    model = MaxMarginClassifier(C=1.0, fit_intercept="free").fit(np.ones((4, 2)), [0, 0, 1, 1])
    assert model.decision_function([[1.0, 1.0]]) == pytest.approx([0.0], abs=1e-12)
    assert model.predict([[1.0, 1.0]]).tolist() == [0]
    origin = MaxMarginClassifier("linear", C=1.0, fit_intercept="free")
    assert origin.fit([[0.0], [1.0], [2.0]], [0, 0, 1]).predict([[0.0], [2.0]]).tolist() == [0, 1]


# --- the estimator ---


def test_one_against_the_rest_is_several_problems():
    x, index = IRIS
    y = np.array(["b", "a", "c"])[index]
    model = MaxMarginClassifier(C=1.0).fit(x, y)
    assert model.margin_.shape == model.intercept_.shape == model.n_iter_.shape == (3,)
    assert model.score(x, y) > 0.95
    values = model.decision_function(x)
    np.testing.assert_array_equal(model.classes_[values.argmax(axis=1)], model.predict(x))
    for k, name in enumerate(model.classes_):
        one = MaxMarginClassifier(C=1.0).fit(x, y == name)
        np.testing.assert_array_equal(one.dual_coef_[0], model.dual_coef_[k])
        np.testing.assert_allclose(model.margins(x[y == name], y[y == name]), values[y == name, k])


def test_precomputed_and_callable():
    x, y = problem(90)
    new = np.random.default_rng(SEED).standard_normal((11, 4))
    model = MaxMarginClassifier(kernels.RBF(1.5)).fit(x, y)
    given = MaxMarginClassifier("precomputed").fit(model.kernel_(x), y)
    called = MaxMarginClassifier(lambda a, b: kernels.RBF(1.5)(a, b)).fit(x, y)
    expected = model.decision_function(new)
    np.testing.assert_allclose(given.decision_function(model.kernel_(new, x)), expected)
    np.testing.assert_allclose(called.decision_function(new), expected)
    assert given.X_fit_ is None
    assert 0.4 < cross_val_score(clone(model), x, y, cv=3).mean() <= 1.0


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"C": 0.0}, ValueError),
        ({"C": "hard"}, TypeError),
        ({"softness": -1.0}, ValueError),
        ({"fit_intercept": "yes"}, ValueError),
        ({"fit_intercept": 1}, TypeError),
        ({"tol": 1.0}, ValueError),
        ({"max_iter": 0}, ValueError),
        ({"kernel": "gauss"}, ValueError),
    ],
)
def test_bad_settings(settings, error):
    with pytest.raises(error, match=f"{next(iter(settings))} must be"):
        MaxMarginClassifier(**settings).fit(*IRIS)


def test_invalid_inputs():
    with pytest.raises(NotFittedError):
        MaxMarginClassifier().predict(IRIS[0])
    model = MaxMarginClassifier().fit(*IRIS)
    with pytest.raises(ValueError, match=r"y must have shape \(150,\), .*; got shape \(3,\)"):
        model.margins(IRIS[0], [0, 1, 2])
    with pytest.raises(ValueError, match=r"labels among \[0, 1, 2\]; got 7"):
        model.margins(IRIS[0], np.full(150, 7))
    with pytest.raises(TypeError, match="geometric must be True or False"):
        model.margins(*IRIS, geometric="yes")


def test_unfinished_fits_warn():
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = MaxMarginClassifier(max_iter=3).fit(*IRIS)
    assert (model.n_iter_ <= 5).all()
    assert model.kkt_.max() > 1e-8
