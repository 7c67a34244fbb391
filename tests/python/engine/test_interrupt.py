"""Ctrl-C and exceptions of a callback end a long run at once and leave nothing behind."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from functools import partial

import numpy as np
import psutil
import pytest
from sklearn.exceptions import ConvergenceWarning

from bayespoint import SampleOptions, VersionSpace
from bayespoint.papers.onion import onion
from helpers import seed

SLACK = 1.0  # seconds; the engine promises 0.2 on an idle machine


@pytest.fixture(autouse=True)
def listening():
    """Enable Ctrl-C, which background processes may ignore."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def space(m=300):
    x = np.random.default_rng(seed(0)).standard_normal((m, 40))
    return VersionSpace(x @ x.T, np.where(x[:, 0] > 0, 1, -1), softness=1e-3)


def endless(**settings):
    return space().sample(length=1e15, random_state=seed(0), **settings)


def endless_onion(method, n_jobs):
    onion(space(), method=method, tol=1e-12, max_length=1e15, n_jobs=n_jobs, random_state=seed(0))


CALLS = {
    "opaque": endless,
    "transparent": partial(endless, options=SampleOptions(transparency=0.2)),
    "exact onion": partial(endless_onion, "exact"),
    "projected onion": partial(endless_onion, "projected"),
}


def n_threads():
    """Return the number of threads, with the BLAS threads that a fork has ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        space().sample(length=1.0, n_jobs=1, random_state=seed(0))
    return psutil.Process().num_threads()


def settled_threads(before):
    """Return the number of threads, once those that are about to end have ended."""
    deadline = time.monotonic() + SLACK
    while psutil.Process().num_threads() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    return psutil.Process().num_threads()


def after(seconds, action):
    timer = threading.Timer(seconds, action)
    timer.start()
    return timer


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as POSIX has them")
@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="not the main thread"
)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", CALLS)
def test_sigint_ends_a_run(name, n_jobs, capsys):
    before = n_threads()
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = after(0.7, interrupt)
    with pytest.raises(KeyboardInterrupt):
        CALLS[name](n_jobs=n_jobs)
    waited = time.monotonic() - sent[0]
    timer.join()
    with capsys.disabled():
        print(f" [control returned after {waited:.3f} s]", end="")
    assert waited < SLACK
    assert settled_threads(before) <= before
    # Later calls still work.
    assert space(20).sample(length=500.0, random_state=seed(0)).length == pytest.approx(500.0)


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="signals are sent as POSIX has them")
def test_ctrl_c_ends_a_program(tmp_path):
    """SIGINT from another process, with default handlers: the exit status is that of SIGINT."""
    script = tmp_path / "endless.py"
    script.write_text(
        textwrap.dedent("""
            import numpy as np
            from bayespoint import VersionSpace, kernels

            def started(progress):
                print("started", flush=True)

            VersionSpace(np.eye(200), np.ones(200)).sample(
                length=1e15, n_jobs=4, n_trajectories=4, random_state=0, callback=started
            )
        """)
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=-1, stderr=-1, text=True) as child:
        try:
            assert child.stdout.readline() == "started\n"
            child.send_signal(signal.SIGINT)
            begin = time.monotonic()
            _, errors = child.communicate(timeout=30)
            waited = time.monotonic() - begin
        finally:
            child.kill()
    assert "KeyboardInterrupt" in errors
    assert child.returncode in (-signal.SIGINT, 130)
    assert waited < 3 * SLACK, "interpreter shutdown included"
