"""Fits in other threads and processes, as tasks of joblib, Dask and Ray: the same bits as here."""

import threading

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from bayespoint import BayesPointClassifier
from bayespoint.kernels import RBF
from helpers import seed

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(seed(1))
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=60) > 0).astype(int)
GIVEN = {"tol": 0.1, "random_state": seed(3), "n_draws": 30}
SOFT = BayesPointClassifier(RBF(1.5), softness=0.3, **GIVEN)
SEARCHED = BayesPointClassifier(label_noise=None, **GIVEN)
CASES = [(SOFT, *(part[::3] for part in load_iris(return_X_y=True))), (SEARCHED, X, Y)]


def assert_same(here, there, inputs):
    """Check that two fits have the same bits."""
    for method in ("decision_function", "predict_proba"):
        one, other = (getattr(model, method)(inputs) for model in (here, there))
        assert one.tobytes() == other.tobytes()


@pytest.mark.long
@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing", "sequential"])
def test_local_backends_give_the_same_bits(backend):
    """Fits beside the backend, and fits that are its tasks, in threads and processes."""
    here = [clone(estimator).fit(inputs, y) for estimator, inputs, y in CASES]
    with joblib.parallel_config(backend, n_jobs=2):
        beside = [clone(estimator).set_params(n_jobs=2).fit(x, y) for estimator, x, y in CASES]
        tasks = (joblib.delayed(clone(estimator).fit)(x, y) for estimator, x, y in CASES)
        within = joblib.Parallel()(tasks)
    for one, other, third, (_, inputs, _) in zip(here, beside, within, CASES, strict=True):
        assert_same(one, other, inputs)
        assert_same(one, third, inputs)


def test_fits_in_other_threads():
    found = {}

    def fit(k):
        found[k] = clone(SOFT).fit(X, Y)

    threads = [threading.Thread(target=fit, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert_same(clone(SOFT).fit(X, Y), found[0], X)
    assert_same(found[1], found[0], X)


@pytest.mark.long
@pytest.mark.dask
@pytest.mark.xdist_group("dask")
def test_dask_gives_the_same_bits():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    search = GridSearchCV(SOFT, {"softness": [0.1, 1.0]}, cv=2, refit=False)
    here = clone(search).fit(X, Y)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as workers,
        distributed.Client(workers),
        joblib.parallel_config("dask"),
    ):
        there = clone(search).fit(X, Y)
        alone = clone(SOFT).fit(X, Y)
    assert (here.cv_results_["mean_test_score"] == there.cv_results_["mean_test_score"]).all()
    assert_same(clone(SOFT).fit(X, Y), alone, X)


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
def test_ray_gives_the_same_bits():
    ray = pytest.importorskip("ray", reason="ray is not installed")
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        register_ray()
        with joblib.parallel_config("ray", n_jobs=2):
            (there,) = joblib.Parallel()([joblib.delayed(clone(SOFT).fit)(X, Y)])
    finally:
        ray.shutdown()
    assert_same(clone(SOFT).fit(X, Y), there, X)
