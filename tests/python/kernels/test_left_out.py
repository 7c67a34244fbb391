"""What is given is kept, and what is left out is found, within the user's bounds."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from bayespoint import BayesPointClassifier
from bayespoint.kernels import (
    RBF,
    Constant,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Scaled,
    SetIntersection,
    at_start,
    normalize,
    parameters,
)
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.perceptron import KernelPerceptron
from helpers import SHIFT as SEED

X, Y = make_moons(60, noise=0.2, random_state=SEED)


def fitted(kernel, **given):
    return BayesPointClassifier(kernel, random_state=SEED, tol=0.3, n_draws=30, **given).fit(X, Y)


def names(kernel, points=X):
    return [one.name for one in parameters(kernel, points)]


@pytest.mark.parametrize(
    ("kernel", "declared"),
    [
        (RBF(2.0), []),
        (RBF(), ["sigma"]),
        (RBF(per_feature=True), ["sigma[0]", "sigma[1]"]),
        (RationalQuadratic(), ["sigma", "alpha"]),
        (RationalQuadratic(2.0), ["alpha"]),
        (Polynomial(2), ["coef0"]),
        (Polynomial(2, 0.0), []),
        (Constant(), ["value"]),
        (RBF(1.0) + Constant(), ["1.value"]),
        (Scaled(RBF(1.0)), ["factor"]),
        (3.0 * Scaled(RBF(1.0)), ["kernel.factor"]),
        (normalize(2.0 * Linear() + Polynomial()), ["1.coef0"]),
    ],
    ids=repr,
)
def test_what_is_left_out_is_declared(kernel, declared):
    assert names(kernel) == declared
    start = at_start(kernel, X)
    assert names(start) == []
    assert start(X).shape == (60, 60)
    if declared:
        with pytest.raises(ValueError, match=r"of .* must be given outside a fit; got None: give"):
            kernel(X)
    else:
        assert start == kernel


def test_starts_are_rules_of_thumb():
    assert at_start(RBF(), X).sigma == np.sqrt(X.var())
    start = at_start(Scaled(Matern(per_feature=True)), X)
    np.testing.assert_allclose(start.kernel.sigma, X.std(axis=0), rtol=1e-12)
    assert start == 1.0 * Matern(start.kernel.sigma)
    assert at_start(Polynomial(2), X).coef0 == pytest.approx((X**2).sum(axis=1).mean())
    assert at_start("rbf", X.tolist()) == at_start(RBF(), X)
    assert at_start(None, X) == at_start(Scaled(Matern(nu=2.5)), X)
    words = [{"a", "b"}, {"a"}]
    assert names(SetIntersection(), words) == ["base"]
    assert at_start(SetIntersection(), words) == SetIntersection(2.0)


def test_the_given_is_kept():
    for kernel in (RBF(2.0), 3.0 * RBF([1.0, 2.0]) + 1, Polynomial(2, 0.5)):
        model = fitted(kernel)
        assert model.kernel_ == kernel
        assert model.tuning_.names[0] == "softness"
        assert fitted(kernel, softness=0.1).tuning_ is None
    model = fitted(3.0 * RationalQuadratic(alpha=0.7), softness=0.1)
    assert model.tuning_.names[0] == "kernel.sigma"
    assert (model.kernel_.factor, model.kernel_.kernel.alpha) == (3.0, 0.7)
    assert model.softness_ == 0.1
    assert fitted(RBF(2.0), softness=0.1, label_noise=None).tuning_ is not None


def test_names_mean_kernels():
    for name, kernel in [("rbf", RBF()), ("poly", Polynomial()), ("linear", Linear())]:
        assert fitted(name).kernel_ == fitted(kernel).kernel_
        assert MaxMarginClassifier(name).fit(X, Y).kernel_ == at_start(kernel, X)
        assert KernelPerceptron(name, softness=1.0).fit(X, Y).kernel_ == at_start(kernel, X)


@pytest.mark.parametrize(
    "model",
    [
        BayesPointClassifier(),
        BayesPointClassifier("rbf"),
        MaxMarginClassifier(),
        KernelPerceptron("precomputed"),
    ],
    ids=repr,
)
def test_a_setting_without_parameters_has_none_to_set(model):
    with pytest.raises(ValueError, match=r"kernel__sigma is a .* object: give one, .*; got ker"):
        model.set_params(kernel__sigma=1.0)
    assert model.set_params(kernel=RBF(), kernel__sigma=2.0).kernel == RBF(2.0)


@pytest.mark.filterwarnings("ignore:the search for hyperparameters ended at kernel.sigma")
def test_the_search_stays_within_bounds():
    free = fitted(RBF()).kernel_.sigma
    for low, high in ((2.0 * free, 8.0 * free), (free / 8.0, free / 2.0)):
        model = fitted(2.0 * RBF(bounds=(low, high)))
        tried = model.tuning_.tried[:, model.tuning_.names.index("kernel.sigma")]
        assert (tried >= low * (1 - 1e-12)).all()
        assert (tried <= high * (1 + 1e-12)).all()
        assert model.kernel_ == 2.0 * RBF(model.kernel_.kernel.sigma)  # found, without bounds


def test_starts_out_of_bounds_move_to_the_middle():
    [declared] = RBF().parameters(X)
    for factor, expected in ((100.0, 1000.0), (0.001, 0.01), (0.5, 1.0)):
        low, high = factor * declared.start, 100.0 * factor * declared.start
        [own] = RBF(bounds=(low, high)).parameters(X)
        assert (own.name, own.low, own.high) == ("sigma", low, high)
        assert own.start == pytest.approx(expected * declared.start)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (RBF, "bounds"),
        (lambda **given: Matern(per_feature=True, **given), "bounds"),
        (lambda **given: RationalQuadratic(2.0, **given), "alpha_bounds"),
        (lambda **given: Polynomial(2, **given), "bounds"),
        (Constant, "bounds"),
        (lambda **given: Scaled(Linear(), **given), "bounds"),
        (SetIntersection, "bounds"),
    ],
)
def test_every_kernel_takes_bounds(make, field):
    kernel = make(**{field: (1.5, 3.0)})
    points = [{"a"}, {"a", "b"}] if make is SetIntersection else X
    declared = parameters(kernel, points)
    assert {(one.low, one.high) for one in declared} == {(1.5, 3.0)}
    assert f"{field}=(1.5, 3.0)" in repr(kernel)
    start = at_start(kernel, points)
    assert getattr(start, field) is None
    for bad, error, text in [
        (3, ValueError, " must be in order"),
        ((2.0, 2.0), ValueError, " must be in order"),
        ((1.5, np.inf), ValueError, r"\[1\] must be a finite number in"),
        ((1, 2, 3), ValueError, " must be one number or two; got 3"),
        (("1", 2), TypeError, r"\[0\] must be"),
    ]:
        with pytest.raises(error, match=field + text):
            make(**{field: bad})


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: RBF(2.0, bounds=(1, 3)), r"bounds must be None with sigma given, 2.0; got \(1, 3"),
        (lambda: Scaled(RBF(), 1.0, bounds=(1, 3)), "bounds must be None with factor given"),
        (lambda: RBF(2.0, per_feature=True), "hold one number for each feature with per_feature=T"),
    ],
)
def test_a_given_parameter_has_no_bounds(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_kernels_print_four_digits():
    kernel = 12.345678 * RBF((1 / 3, 2e-7)) + 3
    text = "12.35 * RBF(sigma=(0.3333, 2e-07)) + Constant(value=3.0)"
    assert repr(kernel) == text
    assert kernel.get_params()["0__kernel__sigma"] == (1 / 3, 2e-7)
    assert kernel != 12.35 * RBF((0.3333, 2e-07)) + 3
