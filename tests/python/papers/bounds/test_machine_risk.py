"""Risk bounds of maximal margins and perceptrons, and when they are refused."""

import math

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from bayespoint import VersionSpace
from bayespoint.kernels import RBF, Polynomial
from bayespoint.papers import bounds
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.perceptron import KernelPerceptron
from helpers import seed

ZERO_ERROR = (
    "point_mirror",
    "pac_bayes_kl",
    "volume_bayes",
    "linear_svm",
    "luckiness",
    "pac_margin",
)
NOISY = make_moons(200, noise=0.25, random_state=0)


def linear(m, r=3, index=0, shift=0.0):
    """Gaussian examples on the two sides of a plane, and their classes."""
    rng = np.random.default_rng(seed(index))
    X, teacher = rng.standard_normal((m, r)), rng.standard_normal(r)
    return X, np.where(X @ teacher > shift * np.linalg.norm(teacher), "b", "a")


def given(table):
    return {row.name for row in table if not row.refused}


# --- values ---


@pytest.mark.parametrize("rule", ["max_margin", "perceptron"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_rows_are_those_of_the_table(rule, fit_intercept):
    X, y = linear(150)
    machine = (
        MaxMarginClassifier("linear", C=np.inf, fit_intercept=fit_intercept)
        if rule == "max_margin"
        else KernelPerceptron("linear", fit_intercept=fit_intercept)
    ).fit(X, y)
    found = machine.risk_bounds(0.1, candidates=4, random_state=1)
    expected = bounds.table(
        X @ X.T, y, machine.dual_coef_[0], offset=float(fit_intercept), rule=rule, delta=0.1,
        candidates=4, random_state=1,
    )  # fmt: skip
    assert len(found) == len(expected) == 8
    for row, other in zip(found, expected, strict=True):
        assert (row.name, row.of, row.region) == (other.name, other.of, other.region)
        error = row.standard_error + other.standard_error
        if not row.refused:
            assert row.value == pytest.approx(other.value, rel=1e-9, abs=4 * error)
    d = np.count_nonzero(machine.dual_coef_)
    assert found.find("sparsity").value == bounds.sparsity(150, d, 0.1 / 4)
    assert found.find("luckiness").quantities["delta"] == 0.025
    assert given(found) >= {*ZERO_ERROR, "sparsity"}
    # The ball inscribed around the weight vector, exactly.
    space = VersionSpace(X @ X.T, y, offset=float(fit_intercept))
    gamma = bounds.normalized_margins(space, machine.dual_coef_[0]).min()
    ball = bounds.cap_log_fraction(3 + fit_intercept, np.arcsin(gamma))
    row = found.find("volume_bayes", region="largest ball")
    assert row.value == pytest.approx(bounds.volume_bayes(150, ball, 0.025), rel=1e-9)


@pytest.mark.parametrize(
    "settings",
    [
        {"C": np.inf},
        {"C": np.inf, "softness": 1e-3},
        {"C": 1.0},
        {"C": 100.0, "fit_intercept": "free"},
        {"C": 1.0, "fit_intercept": False, "softness": 0.1},
    ],
)
def test_the_support_vectors_alone_give_the_same_maximal_margin(settings):
    X, y = make_moons(200, noise=0.05 if settings["C"] == np.inf else 0.25, random_state=0)
    model = MaxMarginClassifier(RBF(0.7), **settings).fit(X, y)
    kept = model.support_
    alone = MaxMarginClassifier(RBF(0.7), **settings).fit(X[kept], y[kept])
    np.testing.assert_allclose(
        alone.decision_function(X), model.decision_function(X), atol=1e-5 * model.norm_[0]
    )
    row = model.risk_bounds(tol=1.0, random_state=0).find("sparsity")
    assert row.value == bounds.sparsity(200, len(kept))
    assert len(kept) < 200
    assert not row.condition
    assert (alone.predict(np.delete(X, kept, 0)) == np.delete(y, kept)).all()


@pytest.mark.parametrize("order", ["data", "random"])
@pytest.mark.parametrize("softness", [0.0, 0.5])
def test_the_mistaken_examples_alone_give_the_same_perceptron(order, softness):
    X, y = linear(120, shift=0.3)
    settings = {"kernel": Polynomial(3, 1.0), "softness": softness}
    model = KernelPerceptron(order=order, random_state=3, **settings).fit(X, y)
    # The examples that are kept are presented in their old order.
    sequence = np.arange(120) if order == "data" else np.random.default_rng(3).permutation(120)
    kept = sequence[np.isin(sequence, model.support_)]
    alone = KernelPerceptron(**settings).fit(X[kept], y[kept])
    np.testing.assert_array_equal(alone.dual_coef_[0], model.dual_coef_[0, kept])
    found = model.risk_bounds(tol=1.0, random_state=0)
    row = found.find("sparsity")
    assert row.quantities["d"] == len(kept) <= row.quantities["mistakes"] == model.n_mistakes_[0]
    assert row.value == bounds.sparsity(120, len(kept))
    assert not row.condition


def test_a_large_margin_bounds_the_perceptron():
    """The bound is by the largest margin of all weight vectors, not the perceptron's own."""
    rng = np.random.default_rng(seed(1))
    X = rng.uniform(-0.3, 0.3, (400, 2)) + np.repeat([[1.0, 0.2], [-1.0, -0.2]], 200, axis=0)
    y = np.repeat([1, 0], 200)
    model = KernelPerceptron("linear", fit_intercept=False, order="random", random_state=0)
    found = model.fit(X, y).risk_bounds(random_state=0, tol=1.0)
    widest = MaxMarginClassifier("linear", C=np.inf, fit_intercept=False).fit(X, y)
    known = found.find("margin").quantities
    assert known["margin"] == pytest.approx(widest.margin_[0], rel=1e-6)
    assert known["margin"] > model.geometric_margin_[0]
    assert known["radius"] == pytest.approx(np.linalg.norm(X, axis=1).max())
    kappa = bounds.mistakes(widest.margin_[0], known["radius"])
    assert known["kappa"] == kappa >= model.n_mistakes_[0]
    assert found.find("margin").value == bounds.margin(400, kappa) < 0.2
    assert found.find("sparsity").value <= found.find("margin").value


def test_precomputed_kernel():
    X, y = linear(100)
    gram = X @ X.T
    for kind, settings in ((MaxMarginClassifier, {"C": np.inf}), (KernelPerceptron, {})):
        model = kind("precomputed", **settings).fit(gram, y)
        found = model.risk_bounds(gram=gram, random_state=0, tol=1.0)
        expected = kind("linear", **settings).fit(X, y).risk_bounds(random_state=0, tol=1.0)
        for name in ("sparsity", "linear_svm"):
            assert found.find(name).value == pytest.approx(expected.find(name).value, rel=1e-6)
        with pytest.raises(ValueError, match=r"gram must be the .* matrix given to fit"):
            model.risk_bounds()


# --- refusals ---


@pytest.mark.parametrize("model", [MaxMarginClassifier(C=np.inf), KernelPerceptron()])
def test_a_length_scale_from_the_examples(model):
    X, y = linear(60, shift=0.2)
    found = model.fit(X, y).risk_bounds(candidates=3)
    assert len(found) == 8
    for row in found:
        assert "length scale was computed from the inputs" in row.reason
    # The kernel of the fit decides.
    model.set_params(kernel=RBF(1.0))
    assert all(row.refused for row in model.risk_bounds())
    assert not all(row.refused for row in model.fit(X, y).risk_bounds(tol=1.0, random_state=0))


@pytest.mark.parametrize(
    "model",
    [
        MaxMarginClassifier(RBF(1.0), C=np.inf, softness=0.1),
        KernelPerceptron(RBF(1.0), softness=0.1),
    ],
)
def test_rows_with_softness_have_a_condition(model):
    """Rows about the extended feature space have a condition."""
    X, y = NOISY
    found = model.fit(X, y).risk_bounds(tol=1.0, random_state=0)
    assert given(found) >= {*ZERO_ERROR, "sparsity"}
    for row in found:
        if row.name in ZERO_ERROR:
            assert "with softness" in row.condition
        else:
            assert not row.condition


def test_training_errors_of_a_soft_margin():
    X, y = NOISY
    model = MaxMarginClassifier(RBF(1.0), C=1.0).fit(X, y)
    wrong = (model.predict(X) != y).sum()
    assert wrong > 0
    found = model.risk_bounds()
    assert given(found) == {"sparsity"}
    for name in ZERO_ERROR:
        assert f"violates {wrong} of 200 examples" in found.find(name).reason
    # The misclassified examples are support vectors: those left out are correct.
    assert found.find("sparsity").value == bounds.sparsity(200, len(model.support_))


def test_a_perceptron_that_was_stopped():
    X, y = NOISY
    with pytest.warns(ConvergenceWarning):
        model = KernelPerceptron(RBF(1.0), max_epochs=2).fit(X, y)
    wrong = model.predict(X) != y
    left_out = model.dual_coef_[0] == 0
    assert (wrong & left_out).any()
    found = model.risk_bounds()
    assert given(found) == set()
    for name in (*ZERO_ERROR, "margin"):
        assert f"violates {wrong.sum()} of 200 examples" in found.find(name).reason
    told = f"violates {(wrong & left_out).sum()} of the {left_out.sum()} examples left out"
    assert told in found.find("sparsity").reason


def test_a_free_intercept_has_no_prior():
    X, y = linear(150, shift=0.5)
    model = MaxMarginClassifier("linear", C=np.inf, fit_intercept="free").fit(X, y)
    found = model.risk_bounds()
    assert given(found) == {"sparsity"}
    assert found.find("sparsity").value == bounds.sparsity(150, len(model.support_))
    for name in ZERO_ERROR:
        assert "free intercept is not part" in found.find(name).reason


def test_a_free_intercept_that_the_support_vectors_leave_open():
    """With all multipliers at C other examples limit the interval of the intercept, too."""
    X, y = np.array([[1.0], [-1.0], [50.0], [-200.0]]), [1, 0, 1, 0]
    settings = {"kernel": "linear", "C": 0.01, "fit_intercept": "free"}
    model = MaxMarginClassifier(**settings).fit(X, y)
    np.testing.assert_array_equal(model.support_, [0, 1])
    np.testing.assert_allclose(np.abs(model.dual_coef_[0]), [0.01, 0.01, 0, 0])
    alone = MaxMarginClassifier(**settings).fit(X[:2], y[:2])
    assert abs(alone.intercept_[0] - model.intercept_[0]) > 0.1
    row = model.risk_bounds().find("sparsity")
    assert row.reason.startswith("The 2 examples with coefficients do not determine")


def test_support_vectors_that_do_not_determine_the_classifier():
    X, y = NOISY
    with pytest.warns(ConvergenceWarning):
        model = MaxMarginClassifier(RBF(1.0), C=1.0, max_iter=100).fit(X, y)
    found = model.risk_bounds()
    assert given(found) == set()
    d = np.count_nonzero(model.dual_coef_)
    row = found.find("sparsity")
    assert row.reason.startswith((f"The {d} examples with coef", "It violates"))
    # Settings changed after the fit do not count.
    model = MaxMarginClassifier(RBF(1.0), C=1.0).fit(X, y).set_params(C=2.0)
    assert "a fit to them alone differs" in model.risk_bounds().find("sparsity").reason
    model.set_params(C=1.0)
    assert not model.risk_bounds().find("sparsity").refused


def test_a_given_order_is_a_condition():
    X, y = linear(80)
    order = np.arange(80)[::-1]
    model = KernelPerceptron("linear", order=order, fit_intercept=False).fit(X, y)
    found = model.risk_bounds(tol=1.0, random_state=0)
    for name in ("sparsity", "margin"):
        assert "order of presentation was chosen without" in found.find(name).condition
    assert not found.find("linear_svm").condition


@pytest.mark.long
def test_weight_vectors_close_to_a_wall():
    """The symmetric part becomes too thin for double precision, and there is no number."""
    X, y = linear(150, 10)
    space = VersionSpace(X @ X.T, y)
    inside = space.max_margin().dual_coef
    outside = np.where(np.arange(150) == np.argmin(space.margins(inside)), -1.0, 0.0) * space.y
    away = space.margins(outside)
    steps = np.where(away < 0, -space.margins(inside) / np.minimum(away, -1e-300), np.inf)
    thin = {}
    for distance in (1e-2, 1e-4):
        c = inside + steps.min() * (1 - distance) * outside
        thin[distance] = bounds.point_mirror(space, c, random_state=0).quantities["log_volume"]
    # At the same distance from the wall in one direction, a hundredth as wide.
    assert thin[1e-2] - thin[1e-4] == pytest.approx(math.log(100.0), abs=1.0)
    c = inside + steps.min() * (1 - 1e-6) * outside
    assert (space.margins(c) > 0).all()
    assert bounds.normalized_margins(space, c).min() < 1e-7
    found = bounds.table(space.gram, y, c, rule="max_margin", random_state=0)
    for name in ("point_mirror", "pac_bayes_kl"):
        assert "too thin for double precision" in found.find(name).reason
    assert not found.find("linear_svm").refused
    with pytest.raises(FloatingPointError, match="too thin for double precision"):
        bounds.point_mirror(space, c, random_state=0)
