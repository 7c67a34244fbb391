"""Forks, threads and processes: forked children can fit, threads do not disturb each other."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from bayespoint import BayesPointClassifier, VersionSpace, kernels
from helpers import SHIFT as SEED

X = np.random.default_rng([SEED, 3]).standard_normal((200, 4))
Y = np.where(X[:, 0] > 0, 1, -1)
LIMIT = 60.0
"""Seconds after which a child counts as hanging; it needs a fraction of one."""

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


RBF = kernels.RBF(2.0)
SPACE = VersionSpace(RBF(X), Y, softness=0.1)


def fitted():
    return BayesPointClassifier(RBF, n_jobs=2, tol=0.2, random_state=0).fit(X, Y).dual_coef_


def sampled():
    return SPACE.sample(tol=0.05, n_jobs=2, random_state=SEED).center


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1.0)


def forked(work):
    """Return the exit status of a forked child that calls `work`, or fail if it hangs."""
    with warnings.catch_warnings():
        # Python warns of forks with threads, which are tested here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if work() else 2
        finally:
            os._exit(status)
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_fit_fork_fit():
    """The child has the bits of its parent, and the parent can fit again."""
    expected = fitted()

    def work():
        once = np.array_equal(fitted(), expected)
        return once and forked(lambda: np.array_equal(fitted(), expected)) == 0

    assert forked(work) == 0
    np.testing.assert_array_equal(fitted(), expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_fork_in_the_middle_of_a_run():
    """Another thread forks during a run: the child works without the workers."""
    expected = sampled()
    states = []

    def callback(progress):
        if not states:
            states.append(forked(lambda: np.array_equal(sampled(), expected)))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SPACE.sample(length=1e15, n_jobs=2, random_state=0, callback=callback)
    assert states == [0]


def test_a_run_in_another_thread_does_not_hear_ctrl_c():
    """Signals end the call of the main thread, but not a run in another thread."""
    if threading.current_thread() is not threading.main_thread() or os.name == "nt":
        pytest.skip("signals come to the main thread, as POSIX has them")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    expected = sampled()
    found = []
    other = threading.Thread(target=lambda: found.append(sampled()))
    try:
        other.start()
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        other.join(LIMIT)
    finally:
        signal.signal(signal.SIGINT, before)
    np.testing.assert_array_equal(found[0], expected)


@pytest.mark.long
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_of_multiprocessing(method, tmp_path, monkeypatch):
    """With every start method they have the bits of this process."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    program = (
        "import multiprocessing, sys, warnings\n"
        "import numpy as np\n"
        "from sklearn.base import clone\n"
        "from bayespoint import BayesPointClassifier\n"
        "warnings.simplefilter('ignore')\n"
        "X = np.random.default_rng(0).standard_normal((80, 3)); y = X[:, 0] > 0\n"
        "def fit(model):\n"
        "    return clone(model).fit(X, y)\n"
        "if __name__ == '__main__':\n"
        "    models = [BayesPointClassifier(n_jobs=2, random_state=s) for s in range(3)]\n"
        "    here = [fit(model) for model in models]\n"
        "    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:\n"
        "        there = pool.map_async(fit, models).get(timeout=60)\n"
        "    for one, other in zip(here, there):\n"
        "        assert np.array_equal(one.dual_coef_, other.dual_coef_)\n"
        "        assert np.array_equal(one.predict_proba(X), other.predict_proba(X))\n"
        "    print('alike')\n"
    )
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, str(script), method],
        capture_output=True,
        text=True,
        timeout=2 * LIMIT,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "alike\n"
