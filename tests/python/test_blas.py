"""BLAS is held to one thread by small fits, and has its own number again afterwards."""

import threading

import numpy as np
import pytest
from sklearn.datasets import make_moons
from threadpoolctl import ThreadpoolController, threadpool_limits

from bayespoint import BayesPointClassifier, _blas


def blas_threads():
    """Return the threads of every BLAS library."""
    return [lib["num_threads"] for lib in ThreadpoolController().select(user_api="blas").info()]


def test_few_examples_are_fitted_by_one_thread_of_blas(monkeypatch):
    seen = []
    monkeypatch.setattr(
        BayesPointClassifier,
        "_learn_at_rest",
        lambda *args: seen.append(blas_threads()),
        raising=True,
    )
    X, y = make_moons(60, noise=0.2, random_state=0)
    with threadpool_limits(limits=2, user_api="blas"):
        BayesPointClassifier("rbf", softness=0.1, optimizer=None).fit(X, y)
        assert set(seen[0]) == {1}
        assert set(blas_threads()) == {2}
        monkeypatch.setattr(_blas, "FEW", 59)
        BayesPointClassifier("rbf", softness=0.1, optimizer=None).fit(X, y)
        assert set(seen[1]) == {2}


def test_threads_of_blas_do_not_change_the_bits_of_a_small_fit():
    X, y = make_moons(300, noise=0.2, random_state=0)

    def center(threads):
        with threadpool_limits(limits=threads, user_api="blas"):
            model = BayesPointClassifier("rbf", softness=0.1, optimizer=None, random_state=0)
            return model.fit(X, y).dual_coef_

    np.testing.assert_array_equal(center(1), center(2))


def test_blas_has_its_threads_again_after_fits_in_two_threads():
    X, y = make_moons(200, noise=0.2, random_state=0)

    def fit():
        for seed in range(3):
            model = BayesPointClassifier("rbf", softness=0.1, optimizer=None, random_state=seed)
            centers.append((seed, model.fit(X, y).dual_coef_))

    centers = []
    with threadpool_limits(limits=2, user_api="blas"):
        both = [threading.Thread(target=fit) for _ in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        assert set(blas_threads()) == {2}
    assert len(centers) == 6
    for seed, center in centers:
        first = next(other for its, other in centers if its == seed)
        np.testing.assert_allclose(center, first, rtol=1e-6, atol=1e-9)


def test_blas_has_its_threads_again_after_an_error():
    def fail():
        raise KeyError("stop")

    with threadpool_limits(limits=2, user_api="blas"):
        with pytest.raises(KeyError, match="stop"), _blas.one_thread():
            fail()
        assert set(blas_threads()) == {2}
