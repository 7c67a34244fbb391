"""Threads that fit and predict at once have the bits of one after the other, on one BLAS thread.

A fit limits the threads of BLAS meanwhile, and their number changes the rounding of predictions.
Also on Python without the global lock, where `make test-free-threaded` runs it.
"""

import gc
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import bayespoint
from bayespoint import BayesPointClassifier, VersionSpace, kernels
from helpers import seed

RNG = np.random.default_rng(seed(0))
X = RNG.normal(size=(40, 3))
TWO = X[:, 0] + 0.3 * RNG.normal(size=40) > 0
THREE = np.arange(40) % 3
NEW = RNG.normal(size=(300, 3))
QUICK = {"random_state": seed(0), "tol": 0.5, "n_draws": 20}
GIVEN = {"kernel": kernels.RBF(1.5), "softness": 0.3} | QUICK
SPACE = VersionSpace(kernels.RBF(1.5)(X), np.where(TWO, 1, -1), softness=0.3)


def fitted(labels, **settings):
    model = BayesPointClassifier(**settings).fit(X, labels)
    return [model.predict_proba(NEW), model.decision_function(NEW)]


@pytest.fixture(scope="module")
def works(tmp_path_factory):
    """Fits, runs, and predictions of a model whose factor the first one computes."""
    path = tmp_path_factory.mktemp("threads") / "model"
    BayesPointClassifier(**GIVEN).fit(X, TWO).save(path)

    def shared():
        return bayespoint.load(path)

    def predictions(model):
        return [model.predict_proba(NEW), model.predict_proba(NEW, method="mixture")]

    return shared, {
        "search": lambda _: fitted(TWO, n_models=1, **QUICK),
        "given": lambda _: fitted(TWO, **GIVEN),
        "classes": lambda _: fitted(THREE, **GIVEN),
        "landmarks": lambda _: fitted(TWO, approximation="landmarks", n_components=9, **GIVEN),
        "run": lambda _: [SPACE.sample(length=90.0, random_state=seed(0), n_jobs=2).draws],
        "evidence": lambda _: [np.array(SPACE.evidence(tol=0.5, random_state=seed(0)).value)],
        "predictions": predictions,
        "load": lambda _: predictions(shared()),
    }


def test_fits_and_predictions_at_once(works):
    with threadpool_limits(1, "blas"):
        check_at_once(works)


def test_one_file_is_read_in_many_threads(works):
    shared, _ = works
    barrier = threading.Barrier(8)

    def read(_):
        barrier.wait()
        return [type(shared()) for _ in range(5)]

    def pause(phase, info):
        """Let another thread go on, also in the middle of reading a header."""

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    gc.callbacks.append(pause)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(read, range(8)))
    finally:
        gc.callbacks.remove(pause)
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)
    assert found == [[BayesPointClassifier] * 5] * 8


def check_at_once(works):
    shared, calls = works
    alone = {name: call(shared()) for name, call in calls.items()}
    names = [*calls] * 2 + ["predictions"] * 4
    model, barrier = shared(), threading.Barrier(len(names))

    def one(name):
        barrier.wait()
        return calls[name](model)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # often in the middle of things
    try:
        with ThreadPoolExecutor(len(names)) as pool:
            found = list(pool.map(one, names))
    finally:
        sys.setswitchinterval(interval)
    for name, values in zip(names, found, strict=True):
        for value, expected in zip(values, alone[name], strict=True):
            np.testing.assert_array_equal(value, expected, err_msg=name)


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="Python has its global lock"
)
def test_the_engine_runs_without_the_global_lock():
    assert not sys._is_gil_enabled()
