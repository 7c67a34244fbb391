"""Predictions of all models in one pass, in singles, against those of each model in doubles."""

import pickle

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier, kernels, load
from bayespoint.kernels import Laplacian, Linear, Matern, Weighted
from helpers import seed

QUICK = {"random_state": seed(0), "tol": 0.2}
LIMITS = [np.inf, np.inf, 1.3]
SUM = 3.0 * Matern(2.0, nu=2.5) + 0.5 * Laplacian(3.0) + 0.2 * Linear()


def table(m=230, n=300):
    """Return examples with two numbers and a category, labels, and new points."""
    rng = np.random.default_rng(seed(1))
    inputs = rng.standard_normal((m + n, 3))
    inputs[:, 2] = 1.3 * rng.integers(4, size=m + n)
    labels = inputs[:m, 0] * inputs[:m, 1] + 0.3 * (inputs[:m, 2] > 2) > 0.2
    return inputs[:m], labels, inputs[m:]


def in_doubles(model, X):
    """Return the mean of the probabilities of each model."""
    posterior = model.posterior_
    return np.tensordot(posterior.weights, [one.predict_proba(X) for one in posterior.models], 1)


@pytest.mark.parametrize(
    "settings",
    [
        {"n_models": 5},
        {"kernel": Weighted(SUM, [1.0, 0.5, 0.7], limits=LIMITS), "softness": 0.3},
        {"kernel": Weighted(SUM, [1.0, 0.5, 0.7]), "softness": 30.0, "label_noise": 0.05},
        {"kernel": Laplacian(4.0), "softness": 0.1, "fit_intercept": False},
        {"kernel": 9.0 * Matern(5.0, nu=1.5), "softness": 0.1, "class_weight": "balanced"},
    ],
    ids=lambda settings: str(settings.get("kernel", "default"))[:20],
)
def test_as_by_each_model(settings, tmp_path):
    """Also of one row, in threads, and after a model was pickled or read."""
    inputs, labels, points = table()
    model = BayesPointClassifier(**QUICK | settings).fit(inputs, labels)
    model.save(tmp_path / "model")
    restored = pickle.loads(pickle.dumps(model)), load(tmp_path / "model")
    one_pass = model.posterior_._one_pass
    assert one_pass is not None
    for X in (points, inputs):
        found = model.predict_proba(X)
        if model.class_weight is None:
            _, bounds = one_pass.in_singles(X)
            errors = np.abs(found - in_doubles(model, X))[:, 1]
            assert 0 < errors.max() < 1e-4
            assert (errors <= bounds).all()
        np.testing.assert_array_equal(model.predict(X), model.classes_[found.argmax(axis=1)])
        np.testing.assert_array_equal(model.predict_proba(X[7:8]), found[7:8])
        for other in restored:
            np.testing.assert_array_equal(other.predict_proba(X), found)
        with threadpool_limits(2):
            np.testing.assert_array_equal(model.predict_proba(X), found)


def test_where_singles_are_inaccurate():
    """With little softness all predictions are in doubles, elsewhere those of far points."""
    inputs, labels, points = table()
    smooth = 50.0 * Matern(9.0, nu=1.5)
    model = BayesPointClassifier(smooth, softness=1e-3, **QUICK).fit(inputs, inputs[:, 0] > 0)
    assert model.posterior_._one_pass is None
    np.testing.assert_allclose(model.predict_proba(points), in_doubles(model, points), rtol=1e-12)
    model = BayesPointClassifier(SUM, softness=1.0, **QUICK).fit(inputs, labels)
    points[3] = 1e20
    np.testing.assert_allclose(model.predict_proba(points), in_doubles(model, points), atol=1e-4)
    points[3] = 1e160
    for predict in (model.predict_proba, model.predict):
        with pytest.raises(ValueError, match=r"so large that|must be finite"):
            predict(points)


def test_other_kernels_predict_by_model():
    inputs, labels, _ = table()
    for kernel in (kernels.RBF(2.0), Matern(2.0) + Matern(3.0)):
        model = BayesPointClassifier(kernel, softness=0.3, **QUICK).fit(inputs, labels)
        assert model.posterior_._one_pass is None
