"""The variance of many points by one quadratic form: its accuracy, and where it is not used."""

import numpy as np
import pytest

from bayespoint import BayesPointClassifier, kernels
from bayespoint.posterior import quadratic
from bayespoint.posterior.quadratic import Quadratic
from helpers import seed

POINTS = 400
QUICK = {"random_state": seed(0), "tol": 0.2}


def table(m=60):
    """Return examples with a part of wrong labels, and new points."""
    rng = np.random.default_rng(seed(1))
    inputs = rng.standard_normal((m, 3))
    labels = inputs[:, 0] + inputs[:, 1] * inputs[:, 2] + 0.3 * rng.standard_normal(m) > 0
    return inputs, labels, 1.5 * rng.standard_normal((POINTS, 3))


def plainly(monkeypatch, function, *args, **settings):
    """Return what a function returns with triangular solves and single draws."""
    with monkeypatch.context() as patch:
        patch.setattr(Quadratic, "of", lambda *_: None)
        return function(*args, **settings)


def forms(model):
    """Return the quadratic forms of the models, None where there is none."""
    return [Quadratic.of(one.basis, one.draws, one.hyper.softness) for one in model.models_]


@pytest.fixture(scope="module")
def averaged():
    inputs, labels, points = table()
    return BayesPointClassifier(**QUICK).fit(inputs, labels), points


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_models": 1, "label_noise": (0.05, 0.1)},
        {"kernel": kernels.RBF(2.0), "softness": 1.0, "approximation": "landmarks"},
        {"kernel": kernels.Linear(), "softness": 0.3, "fit_intercept": False},
    ],
    ids=str,
)
def test_as_by_single_draws(settings, monkeypatch):
    inputs, labels, points = table()
    model = BayesPointClassifier(**QUICK | settings).fit(inputs, labels)
    assert all(each is not None and each.error < 1e-8 for each in forms(model))
    found = model.predict_proba(points)
    expected = plainly(monkeypatch, model.predict_proba, points)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert (found != expected).any()


def test_few_points_are_predicted_by_single_draws(averaged, monkeypatch):
    model, points = averaged
    few = points[:9]
    first = model.models_[0]
    assert not quadratic.saves_time(first.basis, first.draws, len(few))
    found = model.predict_proba(few)
    np.testing.assert_array_equal(found, plainly(monkeypatch, model.predict_proba, few))
    np.testing.assert_allclose(model.predict_proba(points)[:9], found, rtol=0, atol=1e-9)


@pytest.mark.parametrize("softness", [1e-12, 1e-8, 1e-5, 1e-3])
def test_small_softness(softness, monkeypatch):
    """Where the inverse is inaccurate, the triangular solve is used."""
    inputs, _, points = table(40)
    points = np.concatenate([points, inputs, inputs + 1e-4])
    model = BayesPointClassifier(kernels.RBF(4.0), softness=softness, n_models=1, **QUICK)
    model.fit(inputs, inputs[:, 0] > 0)
    found = model.predict_proba(points)
    expected = plainly(monkeypatch, model.predict_proba, points)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    if softness < 1e-7:
        np.testing.assert_array_equal(found, expected)


def test_where_it_is_not_used(averaged, monkeypatch):
    """Kernels that may have negative variances, too little memory."""
    inputs, labels, _ = table()
    gram = inputs @ inputs.T
    settings = {"softness": 0.2, "n_models": 1} | QUICK
    for kernel, X in (("precomputed", gram), (lambda a, b: a @ b.T, inputs)):
        assert forms(BayesPointClassifier(kernel, **settings).fit(X, labels)) == [None]
    monkeypatch.setattr(quadratic.memory, "available", lambda: 1000)
    assert set(forms(averaged[0])) == {None}


def test_huge_points_are_refused_alike(averaged, monkeypatch):
    inputs, labels, points = table()
    model = BayesPointClassifier(kernels.Linear(), softness=0.3, n_models=1, **QUICK)
    model.fit(inputs, labels)
    points[3] *= 1e150
    for of in (model.predict_proba, lambda X: plainly(monkeypatch, model.predict_proba, X)):
        with pytest.raises(ValueError, match="so large that decision values overflow"):
            of(points)


def test_labels_of_averages_are_the_signs_of_decision_values(averaged):
    """Where the centers of the models agree, nothing else is computed."""
    model, points = averaged
    signs = np.stack([one.predict(points) for one in model.models_])
    assert 0 < (signs != signs[0]).any(axis=0).sum() < POINTS
    labels = model.classes_[(model.decision_function(points) > 0).astype(int)]
    np.testing.assert_array_equal(model.predict(points), labels)
