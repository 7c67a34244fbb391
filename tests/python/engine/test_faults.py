"""Ctrl-C and raising callbacks in every long call: it ends soon, and later calls still work."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest

from bayespoint import BayesPointClassifier, SampleOptions, VersionSpace, _core, kernels
from bayespoint.estimators.progress import Progress
from bayespoint.papers import bounds, dynamics, planar
from bayespoint.papers.correlation import correlation_length
from bayespoint.papers.dynamics import Chord, Flipper, Scattered
from bayespoint.papers.light_trap import light_trap
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.onion import onion
from bayespoint.papers.perceptron import KernelPerceptron
from helpers import SHIFT as SEED
from helpers import SLOW

SLACK = 1.0
"""Seconds; the promise is 0.2 on an idle machine."""

M = 300
RNG = np.random.default_rng([SEED, 9])
X = RNG.standard_normal((M, 5))
SIGN = np.where(X[:, 0] > 0, 1, -1)
NOISY = np.where(X[:, 0] + 0.5 * RNG.standard_normal(M) > 0, 1, -1)
COIN = np.random.default_rng([SEED, 10]).permutation(np.resize([1, -1], M))
POINTS = RNG.standard_normal((20_000, 5))
K = kernels.RBF(2.0)(X)
RBF = kernels.RBF(2.0)
LONG = {"tol": 1e-9, "random_state": 0}
FOR_EVER = {"length": 1e15, "random_state": 0}

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="signals are sent as POSIX has them"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def soft():
    return VersionSpace(K, NOISY, softness=0.1)


def hard():
    return VersionSpace(K, SIGN)


def given(**settings):
    return BayesPointClassifier(**{"kernel": RBF, "softness": 0.1, "random_state": 0} | settings)


SQUARE = planar.Polygon([[0, 0], [1, 0], [1, 1], [0, 1]])
FITTED = given(tol=0.3).fit(X, NOISY)
TRAINED = given(softness=0.01, tol=0.3).fit(X, SIGN)


def again(call):
    """Call a function repeatedly."""

    def endless():
        while True:
            call()

    return endless


CALLS = {
    "VersionSpace": again(soft),
    "sample": lambda: soft().sample(n_jobs=2, **FOR_EVER),
    "transparent": lambda: soft().sample(options=SampleOptions(transparency=0.2), **FOR_EVER),
    "exact onion": lambda: onion(soft(), max_length=1e15, n_jobs=2, **LONG),
    "projected onion": lambda: onion(soft(), method="projected", max_length=1e15, **LONG),
    "chord": lambda: dynamics.sample(hard(), Chord(), **FOR_EVER),
    "flipper": lambda: dynamics.sample(hard(), Flipper(), **FOR_EVER),
    "sphere": lambda: dynamics.sample(soft(), Scattered("specular", "auto"), **FOR_EVER),
    "bridge": lambda: soft().evidence(max_length=1e15, **LONG),
    "ladder": lambda: soft().evidence([0.0, 0.1], max_length=1e15, **LONG),
    "evidence": lambda: soft().evidence((0.0, 0.1), max_length=1e15, n_jobs=2, **LONG),
    "correlation_length": lambda: correlation_length(
        soft(), n_pairs=10**5, max_bounces=10**9, random_state=0
    ),
    "light_trap": again(lambda: light_trap(hard(), random_state=0)),
    "feasible_point": again(lambda: hard().feasible_point(random_state=0)),
    "max_margin": again(lambda: VersionSpace(K, COIN, softness=1e-9).max_margin()),
    "fit": again(lambda: BayesPointClassifier(random_state=0).fit(X, NOISY)),
    "fit, many scales": again(
        lambda: BayesPointClassifier(kernels.RBF([1.0] * 5), random_state=0).fit(X, NOISY)
    ),
    "fit, label noise": again(
        lambda: BayesPointClassifier(label_noise=None, random_state=0).fit(X, NOISY)
    ),
    "fit, given": lambda: given(tol=1e-9).fit(X, NOISY),
    "fit, bars": lambda: given(tol=1e-9, verbose=2).fit(X, NOISY),
    "fit, three classes": lambda: given(tol=1e-9).fit(X, NOISY + (X[:, 1] > 0)),
    "refine": lambda: given(tol=0.3).fit(X, NOISY).refine(tol=1e-9),
    "classifier's evidence": lambda: FITTED.evidence(tol=1e-9),
    "log_labeling_probability": again(
        lambda: FITTED.log_labeling_probability(POINTS[:100], np.ones(100), tol=1e-3)
    ),
    "predict_proba": again(lambda: FITTED.predict_proba(POINTS)),
    "mixture": again(lambda: FITTED.predict_proba(POINTS, method="mixture")),
    "sample_functions": again(lambda: FITTED.sample_functions(POINTS[:3000])),
    "suggest_query": again(lambda: FITTED.suggest_query(POINTS, 5)),
    "risk_bounds": again(lambda: bounds.risk_bounds(TRAINED, random_state=0)),
    "MaxMarginClassifier": again(lambda: MaxMarginClassifier(RBF, C=100.0).fit(X, COIN)),
    "KernelPerceptron": lambda: KernelPerceptron("linear", max_epochs=10**8).fit(X, COIN),
    "Polygon.sample": again(lambda: SQUARE.sample(10**7, random_state=0)),
    "planar.billiard": again(lambda: planar.billiard(SQUARE, 10**5, random_state=0)),
    "kernel matrix": again(lambda: kernels.Matern(1.0)(POINTS[:2000])),
}


def threads():
    return psutil.Process().num_threads()


def settled_threads(most):
    """Return the number of threads, once those that are about to end have ended."""
    deadline = time.monotonic() + SLACK
    while threads() > most and time.monotonic() < deadline:
        time.sleep(0.01)
    return threads()


def interrupted(call, after):
    """Return how long a call takes to end after Ctrl-C.

    An exception that comes while Python closes a file or takes away an object is lost, whatever
    the program: who sees nothing happen presses the keys again, and so does this.
    """
    sent, over = [], threading.Event()

    def interrupt():
        wait = after
        while not over.wait(wait):
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
            wait = 2 * SLACK

    presser = threading.Thread(target=interrupt)
    presser.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        waited = time.monotonic() - sent[-1]
    finally:
        over.set()
        presser.join()
    assert len(sent) <= 3, "once is chance"
    return waited


@pytest.fixture
def listening():
    """Enable Ctrl-C, which background processes may ignore."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    signal.signal(signal.SIGINT, before)


OFTEN = ("sample", "exact onion", "evidence", "fit, given")
"""The calls that are interrupted in `make test`, too."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in OFTEN else pytest.mark.long) for name in CALLS]
)
def test_ctrl_c_ends_every_long_call(name, listening, capsys):
    expected = soft().sample(length=5.0, random_state=SEED)
    number = threads()
    for after in (0.02, 0.1, 0.4, 1.0) if SLOW else (0.15,):
        waited = interrupted(CALLS[name], after)
        with capsys.disabled():
            print(f" [{name}: back after {waited:.3f} s]", end="")
        assert waited < SLACK
    assert settled_threads(number) <= number
    assert signal.getsignal(signal.SIGINT) is listening
    # The next call has the same bits as without the interruption.
    np.testing.assert_array_equal(
        soft().sample(length=5.0, random_state=SEED).draws, expected.draws
    )


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["kernel matrix", "factor of the matrix", "inverse of the matrix", "billiard"]
)
def test_ctrl_c_ends_every_part_of_a_large_fit(part, listening, capsys, monkeypatch):
    """A fit of 4000 examples, which spends tenths of a second or more in each part."""
    inputs = np.random.default_rng(SEED).standard_normal((4000, 20))
    begun, sent, task = threading.Event(), [], Progress.task

    @contextlib.contextmanager
    def noticed(self, name, *args, **settings):
        with task(self, name, *args, **settings) as advance:
            if name == part:
                begun.set()
            yield advance

    def interrupt():
        assert begun.wait(60)
        time.sleep(0.1)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Progress, "task", noticed)
    presser = threading.Thread(target=interrupt)
    presser.start()
    model = given(kernel=kernels.Matern(4.0, nu=2.5), tol=1e-9)
    with pytest.raises(KeyboardInterrupt):
        model.fit(inputs, inputs[:, 0] > 0)
    waited = time.monotonic() - sent[0]
    presser.join()
    with capsys.disabled():
        print(f" [{part}: back after {waited:.3f} s]", end="")
    assert waited < SLACK
    assert not hasattr(model, "posterior_")


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("name", ["sample", "evidence", "fit, given"])
def test_interrupted_calls_leave_no_memory(name, listening):
    calls = CALLS | {
        "sample": lambda: soft().sample(n_draws=3000, n_jobs=2, **FOR_EVER),
        "fit, given": lambda: given(tol=1e-9, n_draws=3000).fit(X, NOISY),
    }

    def size():
        gc.collect()
        return psutil.Process().memory_info().rss

    def growth(times):
        before = size()
        for _ in range(times):
            interrupted(calls[name], 0.1)
        return size() - before

    # One run of a sample has room for 57 MB of draws. What is left behind is so by every call; what
    # allocators keep for the next one they keep once, now or then.
    times = 20 if SLOW else 6
    grown = []
    while len(grown) < 4 and not (grown and grown[-1] < 30e6):
        grown.append(growth(times))
    assert grown[-1] < 30e6, grown


class Enough(Exception):  # noqa: N818
    pass


WITH_CALLBACK = {
    "sample": lambda stop: soft().sample(callback=stop, **FOR_EVER),
    "sample, two threads": lambda stop: soft().sample(callback=stop, n_jobs=2, **FOR_EVER),
    "evidence, bridge": lambda stop: soft().evidence(max_length=1e15, callback=stop, **LONG),
    "evidence": lambda stop: soft().evidence(0.1, max_length=1e15, callback=stop, **LONG),
    "onion": lambda stop: onion(soft(), max_length=1e15, callback=stop, **LONG),
    "correlation_length": lambda stop: correlation_length(
        soft(), n_pairs=10**5, max_bounces=10**9, random_state=0, callback=stop
    ),
}


@pytest.mark.parametrize("name", WITH_CALLBACK)
def test_what_a_callback_raises_arrives(name):
    expected = soft().sample(length=5.0, random_state=SEED)
    number = threads()
    raised = []

    def stop(progress):
        assert progress["length"] >= 0.0
        assert name != "onion" or set(progress) == {"length", "bounces", "center_error"}
        raised.append(time.monotonic())
        raise Enough(name)

    with pytest.raises(Enough, match=name) as caught:
        WITH_CALLBACK[name](stop)
    assert time.monotonic() - raised[0] < SLACK
    assert len(raised) == 1
    assert caught.traceback[-1].name == "stop", "the traceback says where"
    assert settled_threads(number) <= number
    np.testing.assert_array_equal(
        soft().sample(length=5.0, random_state=SEED).draws, expected.draws
    )


def told(model, stop):
    """Give a model a callback of scikit-learn's that raises at the first task of a name."""
    pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has callbacks first")

    class Raises:
        def setup(self, estimator, context):
            pass

        teardown = setup

        def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
            if context.parent is not None and context.parent.task_name == stop:
                raise Enough(stop)

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            return False

    return model.set_callbacks(Raises())


@pytest.mark.parametrize("task", ["search by evidence", "billiard"])
def test_what_a_callback_of_a_fit_raises_arrives(task):
    """During the search for hyperparameters, and during the billiard."""
    number = threads()
    kernel = None if task == "search by evidence" else RBF
    settings = {} if kernel is None else {"softness": 0.1}
    model = told(BayesPointClassifier(kernel, tol=1e-3, random_state=0, **settings), task)
    with pytest.raises(Enough, match=task):
        model.fit(X, NOISY)
    assert settled_threads(number) <= number
    assert not hasattr(model, "dual_coef_")


def test_what_a_callback_raises_leaves_a_classifier_to_refine_as_it_was(monkeypatch):
    model = given(tol=0.3).fit(X, NOISY)
    before = model.predict_proba(POINTS[:50])

    def broken(*args, **kwargs):
        raise Enough("on the way")

    monkeypatch.setattr(_core, "run", broken)
    with pytest.raises(Enough, match="on the way"):
        model.refine(tol=0.01)
    np.testing.assert_array_equal(model.predict_proba(POINTS[:50]), before)


@pytest.mark.long
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_an_experiment(tmp_path, n_jobs, capsys):
    """The command line: measured values are kept, and no process remains."""
    command = [
        sys.executable,
        "-m",
        "bayespoint.papers",
        "table-1",
        "--out",
        str(tmp_path),
    ]
    with subprocess.Popen(
        [*command, "--n-jobs", str(n_jobs)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        # If the tests run in the background they ignore Ctrl-C, and the process inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as run:
        try:
            deadline = time.monotonic() + 60
            while not list(tmp_path.glob("*.csv")) and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(0.3)
            children = psutil.Process(run.pid).children(recursive=True)
            run.send_signal(signal.SIGINT)
            sent = time.monotonic()
            _, errors = run.communicate(timeout=30)
            waited = time.monotonic() - sent
        finally:
            run.kill()
    with capsys.disabled():
        print(f" [{n_jobs} jobs: over after {waited:.3f} s]", end="")
    assert run.returncode == 130, errors
    assert "interrupted; the same command continues from" in errors
    assert waited < 5 * SLACK, "the end of the interpreter and of its workers included"
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
