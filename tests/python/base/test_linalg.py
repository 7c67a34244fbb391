"""Small fits limit BLAS to one thread and restore the number afterwards."""

import os
import threading
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest
from sklearn.datasets import make_moons
from threadpoolctl import ThreadpoolController, threadpool_limits

from bayespoint import BayesPointClassifier, kernels
from bayespoint.base import linalg
from helpers import seed


def blas_threads():
    """Return the threads of every BLAS library."""
    return [lib["num_threads"] for lib in ThreadpoolController().select(user_api="blas").info()]


pytestmark = pytest.mark.skipif(
    not blas_threads(), reason="the threads of this BLAS (macOS's own) cannot be set"
)


@pytest.mark.parametrize(("n", "r"), [(40, 1), (40, 5), (40, 300), (0, 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_of_triangles_and_of_weighted_rows(n, r, dtype):
    rng = np.random.default_rng(seed(r))
    rows = rng.standard_normal((n, r)).astype(dtype)
    upper = np.triu(rng.standard_normal((r, r)))
    error = 1e-12 if dtype is np.float64 else 1e-3
    product = linalg.times_upper(rows, upper)
    assert product.dtype == dtype
    np.testing.assert_allclose(product, rows @ upper, atol=error)
    for weights in (rng.random(n), rng.standard_normal(n), -rng.random(n), np.zeros(n)):
        found = linalg.weighted_outer(rows, weights)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, rows.T @ (rows * weights[:, None]), atol=error)


def test_few_examples_are_fitted_by_one_thread_of_blas(monkeypatch):
    seen = []

    def kernel(x, y):
        seen.append(blas_threads())
        return kernels.RBF(1.0)(x, y)

    X, y = make_moons(60, noise=0.2, random_state=seed(0))
    model = BayesPointClassifier(kernel, softness=0.1, random_state=seed(0))
    with threadpool_limits(limits=2, user_api="blas"):
        model.fit(X, y)
        assert all(set(threads) == {1} for threads in seen)
        assert set(blas_threads()) == {2}
        monkeypatch.setattr(linalg, "ONE_THREAD_ROWS", 59)
        seen.clear()
        model.fit(X, y)
        assert set(seen[0]) == {2}


def test_threads_of_blas_do_not_change_the_bits_of_a_small_fit():
    X, y = make_moons(300, noise=0.2, random_state=seed(0))

    def center(threads):
        with threadpool_limits(limits=threads, user_api="blas"):
            model = BayesPointClassifier(kernels.RBF(1.5), softness=0.1, random_state=seed(0))
            return model.fit(X, y).dual_coef_

    np.testing.assert_array_equal(center(1), center(2))


@contextmanager
def held_elsewhere():
    """Limit BLAS in another thread until the yielded function is called or the block ends."""
    entered, leave = threading.Event(), threading.Event()

    def other():
        with linalg.one_thread():
            entered.set()
            assert leave.wait(60)

    def end():
        leave.set()
        thread.join()

    thread = threading.Thread(target=other)
    thread.start()
    assert entered.wait(60)
    try:
        yield end
    finally:
        end()


def test_blas_is_held_until_the_last_thread_lets_go():
    """The first to leave does not change the threads of the other; the last restores them."""
    with threadpool_limits(limits=2, user_api="blas"):
        with ExitStack() as elsewhere:
            with linalg.one_thread():
                end = elsewhere.enter_context(held_elsewhere())
            assert set(blas_threads()) == {1}
            with linalg.one_thread():
                end()
                assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forks beside threads
def test_a_child_forked_while_a_thread_holds_blas_works():
    with held_elsewhere(), linalg._lock:
        child = os.fork()
        if child == 0:
            with linalg.one_thread():
                os._exit(0 if set(blas_threads()) == {1} else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_are_restored_after_an_error():
    def fail():
        raise KeyError("stop")

    with threadpool_limits(limits=2, user_api="blas"):
        with pytest.raises(KeyError, match="stop"), linalg.one_thread():
            fail()
        assert set(blas_threads()) == {2}
