"""User's bounds for the search of kernel parameters by evidence."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.gaussian_process import kernels as gp

from bayespoint import BayesPointClassifier, KernelPerceptron, MaxMarginClassifier
from bayespoint.kernels import (
    RBF,
    Bounded,
    Constant,
    Linear,
    Polynomial,
    RationalQuadratic,
    normalize,
    parameters,
)
from helpers import SHIFT as SEED

X, Y = make_moons(80, noise=0.2, random_state=SEED)


def fitted(kernel):
    return BayesPointClassifier(kernel, random_state=SEED).fit(X, Y)


@pytest.mark.long
def test_the_search_stays_within():
    free = fitted(RBF()).kernel_.sigma
    for low, high in ((2.0 * free, 8.0 * free), (free / 8.0, free / 2.0), (free / 3.0, 3.0 * free)):
        model = fitted(Bounded(RBF(), {"sigma": (low, high)}))
        tried = model.tuning_.tried[:, model.tuning_.names.index("sigma")]
        assert (tried >= low * (1 - 1e-12)).all()
        assert (tried <= high * (1 + 1e-12)).all()
        nearest = min(max(free, low), high)
        assert model.kernel_.kernel.sigma == pytest.approx(nearest, rel=0.05)


@pytest.mark.long
def test_fixed_parameters_are_not_searched():
    kernel = 3.0 * Bounded(RationalQuadratic(1.3, 0.7), {"alpha": "fixed"})
    model = fitted(kernel)
    assert model.tuning_.names[:3] == ("factor", "kernel.sigma", "softness")
    assert model.kernel_.kernel.kernel.alpha == 0.7
    assert model.kernel_.kernel.kernel.sigma != 1.3
    held = fitted(Bounded(RBF(2.0), {"sigma": "fixed"}))
    assert held.kernel_.kernel == RBF(2.0)
    assert held.softness_ > 0  # searched all the same
    assert held.tuning_.names[0] == "softness"


def test_starts_out_of_bounds_move_to_the_middle():
    [declared] = RBF().parameters(X)
    for factor, expected in ((100.0, 1000.0), (0.001, 0.01), (0.5, 1.0)):
        low, high = factor * declared.start, 100.0 * factor * declared.start
        [own] = Bounded(RBF(), {"sigma": (low, high)}).parameters(X)
        assert (own.name, own.low, own.high) == ("sigma", low, high)
        assert own.start == pytest.approx(expected * declared.start)


def test_bounds_of_other_kernels():
    inside = Bounded(gp.RBF(1.0), {"length_scale": (0.25, 0.5)})
    model = fitted(1.0 * inside)
    assert 0.25 <= model.kernel_.kernel.kernel.length_scale <= 0.5 * (1 + 1e-12)
    with pytest.raises(ValueError, match="that can be searched: none; got 'sigma'"):
        parameters(Bounded(lambda a, b: a @ b.T, {"sigma": (1, 2)}), X)


def test_values_are_those_of_the_kernel():
    kernel = RBF(1.5) + Linear()
    other = Bounded(kernel, {"0.sigma": (1.0, 2.0)})
    np.testing.assert_array_equal(other(X), kernel(X))
    np.testing.assert_array_equal(other(X[:3], X), kernel(X[:3], X))
    np.testing.assert_array_equal(other.diag(X), kernel.diag(X))
    assert other == Bounded(kernel, other.bounds)
    assert other != Bounded(kernel, {"0.sigma": (1.0, 3.0)})
    given = {"softness": 0.1, "optimizer": None, "random_state": SEED}
    np.testing.assert_array_equal(
        BayesPointClassifier(other, **given).fit(X, Y).predict_proba(X),
        BayesPointClassifier(kernel, **given).fit(X, Y).predict_proba(X),
    )


@pytest.mark.parametrize(
    ("bounds", "error", "text"),
    [
        (3, TypeError, 'bounds must map names of parameters to "fixed" or a pair'),
        ({3: (1, 2)}, TypeError, "bounds must have names of parameters; got 3"),
        ({"value": "free"}, TypeError, 'bounds of value must be "fixed" or a pair of numbers'),
        ({"value": (1, 2, 3)}, TypeError, 'bounds of value must be "fixed" or a pair of numbers'),
        ({"value": 3.0}, TypeError, 'bounds of value must be "fixed" or a pair of numbers'),
        ({"value": (0, 2)}, ValueError, "the lower bound of value must be a finite number in"),
        ({"value": (1, np.inf)}, ValueError, "the upper bound of value must be a finite number in"),
        ({"value": ("1", 2)}, TypeError, "the lower bound of value must be"),
        ({"value": (2, 1)}, ValueError, "bounds of value must be in order"),
        ({"value": (1, 1)}, ValueError, "bounds of value must be in order"),
    ],
)
def test_bad_bounds(bounds, error, text):
    with pytest.raises(error, match=text):
        Bounded(Constant(1.0), bounds)


def test_unknown_parameters():
    with pytest.raises(ValueError, match="that can be searched: sigma; got 'scale'"):
        fitted(Bounded(RBF(), {"scale": (1.0, 2.0)}))
    with pytest.raises(TypeError, match="kernel must be a kernel object or a callable; got 'rbf'"):
        Bounded("rbf", {"sigma": (1.0, 2.0)})


@pytest.mark.parametrize(
    "model",
    [
        lambda kernel: BayesPointClassifier(kernel, optimizer=None, softness=0.1, tol=1.0),
        lambda kernel: MaxMarginClassifier(kernel, C=1.0),
        lambda kernel: KernelPerceptron(kernel, softness=1.0),
    ],
    ids=["BayesPointClassifier", "MaxMarginClassifier", "KernelPerceptron"],
)
def test_unknown_parameters_without_a_search(model):
    wrong = Bounded(RBF(), {"sigm": "fixed"})
    for kernel in (wrong, 2.0 * wrong + Linear(), Bounded(wrong, {}), normalize(wrong)):
        with pytest.raises(ValueError, match=r"searched: sigma; got 'sigm'"):
            model(kernel).fit(X, Y)
    with pytest.raises(ValueError, match=r"searched: none; got 'degree'"):
        model(Bounded(Polynomial(2, 0.0), {"degree": (1.0, 2.0)})).fit(X, Y)
    right = Bounded(1.0 * gp.RBF(1.0, "fixed"), {"k1__constant_value": (0.1, 1.0)})
    for kernel in (Bounded(RBF(), {"sigma": "fixed"}) + Linear(), right):
        assert model(kernel).fit(X, Y).score(X, Y) > 0.5
