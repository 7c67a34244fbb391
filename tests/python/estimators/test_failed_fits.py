"""A fit that fails, or is interrupted, leaves the estimator unchanged."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bayespoint import BayesPointClassifier, InfeasibleError, kernels
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.perceptron import KernelPerceptron
from bayespoint.posterior import Mixture, several
from helpers import SHIFT as SEED

RNG = np.random.default_rng([SEED, 7])
X = RNG.standard_normal((40, 3))
Y = np.where(X[:, 0] > 0, "one", "two")
NEW = RNG.standard_normal((25, 3))

ESTIMATORS = [
    BayesPointClassifier("linear", softness=0.1, random_state=0),
    MaxMarginClassifier("linear"),
    KernelPerceptron("linear", max_epochs=50),
]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Stop(BaseException):
    """Raised like Ctrl-C: not an `Exception`."""


def raise_stop(*_):
    raise Stop


def interrupted(monkeypatch, estimator):
    """Interrupt a fit before it sets its last attribute, or of our own all in one step."""
    kind = type(estimator)
    if kind is BayesPointClassifier:
        monkeypatch.setattr(Mixture, "of", raise_stop)
        return
    fitted = clone(estimator).fit(X, Y)
    last = [name for name in vars(fitted) if name not in vars(estimator)][-1]

    def setattr_(self, name, value):
        if name == last:
            raise Stop
        object.__setattr__(self, name, value)

    monkeypatch.setattr(kind, "__setattr__", setattr_, raising=False)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_an_interrupted_fit_changes_nothing(monkeypatch, estimator):
    model = clone(estimator).fit(X, Y)
    before, seen = vars(model).copy(), model.predict(NEW)
    with monkeypatch.context() as patch:
        interrupted(patch, estimator)
        with pytest.raises(Stop):
            model.fit(-X[:30], Y[:30] == "one")
        first = clone(estimator)
        with pytest.raises(Stop):
            first.fit(X, Y)
    assert vars(model).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(model).items())
    np.testing.assert_array_equal(model.predict(NEW), seen)
    with pytest.raises(NotFittedError):
        first.predict(NEW)


def test_an_infeasible_fit_changes_nothing():
    rng = np.random.default_rng(SEED)
    labels = rng.permutation(Y)
    for model, hard in (
        (ESTIMATORS[0], {"softness": 0.0}),
        (ESTIMATORS[1], {"C": np.inf}),
    ):
        model = clone(model).fit(X, Y)
        before = vars(model).copy()
        with pytest.raises(InfeasibleError):
            model.set_params(**hard).fit(-X, labels)
        changed = {name for name, value in vars(model).items() if value is not before[name]}
        assert changed == set(hard)
        assert model.score(X, Y) > 0.9
    fresh = BayesPointClassifier("linear", softness=0.0)
    with pytest.raises(InfeasibleError):
        fresh.fit(X, labels)
    for use in (
        lambda: fresh.predict(NEW),
        lambda: fresh.refine(1.0),
    ):
        with pytest.raises(NotFittedError):
            use()


# --- several models side by side -----------------------------------------------------------------


def long_fit():
    """Return a fitted classifier of three models, and set it to take minutes when fitted again."""
    model = BayesPointClassifier(kernels.RBF(2.0), n_models=3, random_state=SEED, tol=0.5)
    model.fit(X, Y)
    return model.set_params(tol=1e-7, n_jobs=2)


def require_unchanged(model, before, began):
    assert time.monotonic() - began < 10.0
    changed = {name for name, value in vars(model).items() if value is not before[name]}
    assert vars(model).keys() == before.keys()
    assert not changed
    assert not [one for one in threading.enumerate() if one.name.startswith("ThreadPool")]


@pytest.mark.parametrize("raised", [FloatingPointError, KeyboardInterrupt])
@pytest.mark.parametrize("number", [0, 1])
def test_an_exception_in_one_of_several_models_ends_all_soon(monkeypatch, number, raised):
    model = long_fit()
    before, whole = vars(model).copy(), several.fit_model

    def fit_model(hyper, budget, report, fit):
        if budget.number == number:
            raise raised("of one model")
        return whole(hyper, budget, report, fit)

    monkeypatch.setattr(several, "fit_model", fit_model)
    # Were the exception to wait for the other models, they would end here, too late.
    model.set_params(max_time=60.0)
    before["max_time"] = 60.0
    began = time.monotonic()
    with pytest.raises(raised, match="of one model"):
        model.fit(-X, Y)
    require_unchanged(model, before, began)


def test_ctrl_c_ends_models_side_by_side(monkeypatch):
    model, begun, whole = long_fit(), [], several.fit_model
    before = vars(model).copy()

    def fit_model(*args, **fit):
        begun.append(time.monotonic())
        if len(begun) == 2:
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        return whole(*args, **fit)

    monkeypatch.setattr(several, "fit_model", fit_model)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(-X, Y)
    finally:
        signal.signal(signal.SIGINT, handler)
    require_unchanged(model, before, begun[1])
    assert len(begun) == 2
