"""Files of models leave out what can be computed again: the factor and the state of the run."""

import copy
import pickle
import threading

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.base import clone

import bayespoint
from bayespoint import BayesPointClassifier, kernels
from bayespoint.base.linalg import Factor
from bayespoint.landmarks import basis
from bayespoint.posterior import fitting
from helpers import seed

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(seed(3))
X = RNG.standard_normal((120, 3))
NEW = RNG.standard_normal((40, 3))
NOISY = np.where(X[:, 0] + 0.5 * RNG.standard_normal(120) > 0, "yes", "no")


def own_rbf(A, B):
    return kernels.RBF(1.5)(A, B)


def model(**settings):
    return BayesPointClassifier(**{"tol": 0.2, "n_draws": 20, "random_state": seed(0)} | settings)


FITTED = {
    "default": model().fit(X, NOISY),
    "plain": model(n_models=1).fit(X, NOISY),
    "hard": model(kernel=kernels.RBF(0.2), softness=0.0).fit(X, NOISY),
    "singular": model(kernel="linear", softness=0.0).fit(X, X[:, 0] > 0),
}


def by_skops(fitted):
    trusted = bayespoint.export.TRUSTED_TYPES
    return skops.io.loads(skops.io.dumps(fitted), trusted=trusted)


def by_pickle(fitted):
    return pickle.loads(pickle.dumps(fitted))


def kept(fitted):
    """Return what the basis of the first model holds."""
    return vars(fitted.models_[0].basis)


def same(one, other):
    """Assert that all predictions of two models have the same bits."""
    for ask in (
        lambda model: model.decision_function(NEW),
        lambda model: model.predict_proba(NEW, method="mixture"),
        lambda model: model.sample_functions(NEW, random_state=1),
    ):
        np.testing.assert_array_equal(ask(one), ask(other))


@pytest.mark.parametrize("name", ["plain", "hard", "singular"])
def test_predictions_after_loading_have_the_same_bits(name):
    fitted = FITTED[name]
    for again in (by_pickle(fitted), by_skops(fitted), copy.deepcopy(fitted)):
        same(again, fitted)


@pytest.mark.parametrize("load", [by_pickle, by_skops])
def test_a_loaded_model_says_that_it_cannot_continue(load):
    with pytest.raises(ValueError, match=r"refine needs the state .* fit with tol=0.1"):
        load(FITTED["default"]).refine(0.1)


def test_what_is_left_out():
    fitted = FITTED["plain"]
    again = by_pickle(fitted)
    assert again.billiard_.state is None
    assert "factor" not in kept(again)
    again.predict(NEW)  # two classes need no factor
    assert "factor" not in kept(again)
    again.predict_proba(NEW)
    assert isinstance(kept(again)["factor"], Factor)
    copied = copy.deepcopy(fitted)
    assert "bytes" in copied.billiard_.state  # as in no file
    assert not hasattr(clone(fitted), "posterior_")
    for one in by_pickle(FITTED["default"]).models_:
        assert "factor" not in vars(one.basis)


@pytest.mark.parametrize("kernel", ["precomputed", own_rbf], ids=["precomputed", "callable"])
def test_the_factor_stays_if_the_kernel_cannot_be_trusted_to_give_it_again(kernel):
    precomputed = kernel == "precomputed"
    gram, cross = kernels.RBF(1.5)(X), kernels.RBF(1.5)(NEW, X)
    fitted = model(kernel=kernel, softness=0.1)
    fitted.fit(gram if precomputed else X, NOISY)
    again = by_pickle(fitted)
    assert "factor" in kept(again)
    points = cross if precomputed else NEW
    np.testing.assert_array_equal(again.predict_proba(points), fitted.predict_proba(points))


def test_several_threads_compute_the_factor_once(monkeypatch):
    again, calls = by_pickle(FITTED["plain"]), []
    barrier = threading.Barrier(4)
    whole = basis.factorize

    def counted(*args, **kwargs):
        calls.append(threading.get_ident())
        return whole(*args, **kwargs)

    monkeypatch.setattr(basis, "factorize", counted)

    def predict(_):
        barrier.wait()
        return again.predict_proba(NEW)

    found = joblib.Parallel(n_jobs=4, backend="threading")(
        joblib.delayed(predict)(k) for k in range(4)
    )
    assert len(calls) == 1
    for one in found:
        np.testing.assert_array_equal(one, FITTED["plain"].predict_proba(NEW))


def test_draws_are_singles_if_there_is_enough_softness():
    assert FITTED["default"].billiard_.draws.dtype == np.float32
    assert FITTED["hard"].billiard_.draws.dtype == np.float64
    little = model(kernel=kernels.RBF(1.0), softness=1e-8).fit(X, X[:, 0] > 0)
    assert little.billiard_.draws.dtype == np.float64


@pytest.mark.long
def test_singles_change_predictions_less_than_sampling_does(monkeypatch):
    X, y = np.linspace(-2, 2, 300)[:, None], np.tile([0, 0, 1], 100)
    settings = {"kernel": kernels.RBF(1.0), "softness": 1e-4, "label_noise": 0.2}
    single = model(**settings).fit(X, y)
    assert single.billiard_.draws.dtype == np.float32
    monkeypatch.setattr(fitting, "_SINGLE_SOFTNESS", np.inf)
    double = model(**settings).fit(X, y)
    np.testing.assert_array_equal(single.billiard_.draws, double.billiard_.draws.astype(np.float32))
    for method in ("moments", "mixture"):
        one, other = (m.predict_proba(X, method=method)[:, 1] for m in (single, double))
        assert np.abs(one - other).max() < 1e-3


def test_a_tenth_of_the_size():
    """Per example 1.8 kB, of which 1.6 kB are draws: at 2000 examples a tenth of 22 kB."""
    m = 700
    X = np.random.default_rng(seed(4)).standard_normal((m, 5))
    fitted = BayesPointClassifier(kernels.RBF(1.0), softness=0.1, random_state=0, tol=0.2)
    fitted.fit(X, X[:, 0] > 0)
    assert len(pickle.dumps(fitted)) < 4 * 400 * m + 300 * m
    assert len(skops.io.dumps(fitted)) < 4 * 400 * m + 300 * m + 150_000
