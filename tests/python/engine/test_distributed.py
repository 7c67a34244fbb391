"""Fits whose work is done in other processes, by joblib's workers: the same bits as here."""

import logging
import os
import signal
import threading
import time
from dataclasses import fields

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from bayespoint import BayesPointClassifier, InfeasibleError, SampleOptions, VersionSpace, _core
from bayespoint.engine import distributed as engine_distributed
from bayespoint.engine.problem import Problem
from bayespoint.kernels import RBF, Matern
from helpers import sample, seed

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

posix = pytest.mark.skipif(os.name == "nt", reason="signals are sent as POSIX has them")

RNG = np.random.default_rng(seed(1))
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=60) > 0).astype(int)
GIVEN = {"tol": 0.1, "random_state": seed(3), "n_draws": 30}
SOFT = BayesPointClassifier(RBF(1.5), softness=0.3, **GIVEN)
FITS = {
    "a soft boundary": (SOFT, X, Y),
    "hard walls": (BayesPointClassifier("linear", softness=0.0, **GIVEN), X, X[:, 0] > 0.1),
    "label noise": (
        BayesPointClassifier("linear", softness=0.0, label_noise=(0.1, 0.2), **GIVEN),
        X,
        Y,
    ),
    "a given matrix": (
        BayesPointClassifier("precomputed", softness=0.3, **GIVEN),
        RBF(2.0)(X),
        Y,
    ),
    "a function": (BayesPointClassifier(lambda A, B: RBF(2.0)(A, B), softness=0.3, **GIVEN), X, Y),
    "three classes": (SOFT, *(part[::3] for part in load_iris(return_X_y=True))),
    "everything searched": (
        BayesPointClassifier(label_noise=None, tol=0.1, random_state=seed(0), n_draws=30),
        X,
        Y,
    ),
}


def differences(one, other):
    """Return the names of what differs between two results, in any bit."""
    return [
        field.name
        for field in fields(one)
        if not same(getattr(one, field.name), getattr(other, field.name))
    ]


def same(one, other):
    if isinstance(one, dict):
        keys = set(one) - {"runs"}  # equal bits in fewer or more runs
        return list(one) == list(other) and all(same(one[key], other[key]) for key in keys)
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()


def assert_same(here, there, inputs, lost=()):
    """Check that two fits have the same bits. Those from other processes come without a state."""
    for one, other in zip(here.problems_, there.problems_, strict=True):
        assert set(differences(one.result, other.result)) <= set(lost)
    if here.tuning_ is not None:
        assert here.tuning_.kernel == there.tuning_.kernel
        assert here.tuning_.tried.tobytes() == there.tuning_.tried.tobytes()
    for method in ("decision_function", "predict_proba"):
        arguments = {"diag": np.ones(len(inputs))} if here.X_fit_ is None else {}
        one, other = (getattr(model, method)(inputs, **arguments) for model in (here, there))
        assert one.tobytes() == other.tobytes()


def endless(**settings):
    space = VersionSpace(RBF(2.0)(X), Y, softness=0.1)
    return space.sample(length=1e15, random_state=seed(0), **settings)


# --- the same without a cluster: every task by joblib, in this process -----------------------


@pytest.fixture
def divided(monkeypatch):
    """Divide work as if joblib's backend were a distributed one."""
    monkeypatch.setattr(engine_distributed, "active", lambda: True)


@pytest.mark.parametrize("which", FITS)
def test_divided_work_gives_the_same_bits(which, divided, caplog, monkeypatch):
    estimator, inputs, y = FITS[which]
    with caplog.at_level(logging.DEBUG, "bayespoint.distributed"):
        there = clone(estimator).fit(inputs, y)
    assert caplog.records
    monkeypatch.undo()
    assert_same(clone(estimator).fit(inputs, y), there, inputs)


@pytest.mark.parametrize(
    "settings",
    [
        {"tol": 0.05},
        {"length": 30.0},
        {"length": 30.0, "refresh": None},
        {"max_bounces": 2000, "average": "conditional"},
        {"max_bounces": 200, "tol": 1e-6, "refresh": "full", "refresh_rate": 2.0},
        {"tol": 0.1, "transparency": 0.2, "refresh": "pair"},
        {"tol": 0.1, "average": "impulse", "n_trajectories": 3, "n_draws": 7},
        {"length": 1e-3, "n_draws": 500},
    ],
)
@pytest.mark.parametrize("given", [False, True], ids=["sought", "given"])
def test_divided_runs_of_all_kinds(settings, given, divided, monkeypatch):
    space = VersionSpace(RBF(2.0)(X), Y, softness=0.1, offset=1.0)
    start = space.max_margin().dual_coef if given else None
    there = sample(space, **settings, start=start, random_state=seed(5))
    monkeypatch.undo()
    here = sample(space, **settings, start=start, random_state=seed(5))
    assert differences(here, there) == []


def test_runs_that_fly_by_walls_straight_are_not_divided(divided, caplog, monkeypatch):
    space = VersionSpace(RBF(2.0)(X), Y, softness=0.1, offset=1.0)
    settings = {"dynamics": "chord", "max_bounces": 2000, "random_state": seed(5)}
    with caplog.at_level(logging.DEBUG, "bayespoint.distributed"):
        there = sample(space, **settings)
    assert not caplog.records
    monkeypatch.undo()
    assert differences(sample(space, **settings), there) == []


def test_divided_runs_with_features(divided, monkeypatch):
    # Enough to mind near walls alone.
    inputs = np.random.default_rng(seed(0)).normal(size=(1200, 2))
    y = inputs[:, 0] + 0.2 * inputs[:, 1] > 0.1
    space = VersionSpace.from_features(inputs, y, offset=1.0)
    there = space.sample(length=0.02, random_state=seed(0))
    monkeypatch.undo()
    assert differences(space.sample(length=0.02, random_state=seed(0)), there) == []


def test_balls_that_no_light_trap_catches(divided, monkeypatch):
    # Ill-conditioned and hard: the search for the margin takes over.
    # These never shift: the trap is to catch some of the balls and not all.
    rng = np.random.default_rng(0)
    space = VersionSpace(Matern(1.0, nu=1.5)(rng.normal(size=(30, 2))), rng.normal(size=30) > 0)
    settings = {"length": 1.0, "random_state": 0, "n_trajectories": 8}
    there = space.sample(**settings)
    monkeypatch.undo()
    here = space.sample(**settings)
    assert {*here.start} == {"light_trap", "max_margin"}
    assert differences(here, there) == []


def test_workers_that_have_another_matrix_get_this_one(divided, monkeypatch):
    task, lacking = engine_distributed._task, []

    def forgetful(*arguments):
        if len(lacking) % 3 == 0:
            engine_distributed._SHARED.clear()
        answer = task(*arguments)
        lacking.append(answer is None)
        return answer

    monkeypatch.setattr(engine_distributed, "_task", forgetful)
    there = clone(SOFT).fit(X, Y)
    assert sum(lacking) >= 2
    monkeypatch.undo()
    assert_same(clone(SOFT).fit(X, Y), there, X)


def test_bytes_of_something_else_are_refused(divided, monkeypatch):
    space = VersionSpace(np.eye(3), [1, 1, -1], softness=0.1)
    kept = []
    step = _core.take_step

    def keep(*args):
        kept.append(args)
        return step(*args)

    monkeypatch.setattr(_core, "take_step", keep)
    space.sample(length=5.0, random_state=seed(0))
    problem, *sent = kept[-1]
    for which, whole in enumerate(sent):
        for k in range(0, len(whole), 7):
            for wrong in (whole[:k], whole[:k] + bytes([whole[k] ^ 1]) + whole[k + 1 :]):
                with pytest.raises(ValueError, match=r"state must be .* cut short or altered"):
                    step(problem, *(wrong if i == which else sent[i] for i in range(2)))
    other = Problem(np.eye(4), np.ones(4, np.int8), np.ones(4), 0.0)
    with pytest.raises(ValueError, match="state must be"):
        step(other, *sent)


LOCAL = ("threading", "loky", "multiprocessing", "sequential")


def test_local_backends_keep_the_threads_of_the_engine():
    assert not engine_distributed.active()
    for backend in LOCAL:
        with joblib.parallel_config(backend, n_jobs=2):
            assert not engine_distributed.active()


@pytest.mark.long
@pytest.mark.parametrize("backend", LOCAL)
def test_local_backends_give_the_same_bits(backend):
    """Fits beside the backend, and fits that are its tasks, in threads and processes."""
    which = ("three classes", "everything searched")
    cases = [FITS[name] for name in which]
    here = [clone(estimator).fit(inputs, y) for estimator, inputs, y in cases]
    with joblib.parallel_config(backend, n_jobs=2):
        beside = [clone(estimator).set_params(n_jobs=2).fit(x, y) for estimator, x, y in cases]
        tasks = (joblib.delayed(clone(estimator).fit)(x, y) for estimator, x, y in cases)
        within = joblib.Parallel()(tasks)
    for one, other, third, (_, inputs, _) in zip(here, beside, within, cases, strict=True):
        assert_same(one, other, inputs)
        assert_same(one, third, inputs, lost=["state"])


def test_exceptions_of_a_callback_end_a_divided_run(divided):
    class StopNowError(Exception):
        pass

    calls = []

    def callback(progress):
        assert set(progress) == {"length", "bounces", "center_error"}
        calls.append(progress["bounces"])
        if len(calls) == 5:
            raise StopNowError

    with pytest.raises(StopNowError):
        VersionSpace(RBF(2.0)(X), Y, softness=0.1).sample(tol=1e-6, callback=callback)
    assert calls == sorted(calls)
    assert calls[-1] > calls[0]


def test_divided_runs_are_kept_and_go_on(divided, monkeypatch, tmp_path):
    class StopNowError(Exception):
        pass

    space = VersionSpace(RBF(2.0)(X), Y, softness=0.1)
    given = {"random_state": seed(0), "n_draws": 10, "average": "conditional"}
    begun = sample(space, tol=0.1, **given)
    more = space.sample(tol=0.005, options=SampleOptions(continue_from=begun))
    steps = []

    def callback(progress):
        steps.append(progress)
        if len(steps) == 9:
            raise StopNowError

    kept = {"checkpoint": tmp_path / "run", "every": 0.0}
    with pytest.raises(StopNowError):
        sample(space, tol=0.005, **given, **kept, callback=callback)
    assert (tmp_path / "run").exists()
    late = []
    there = sample(space, tol=0.005, **given, **kept, callback=late.append)
    assert late[0]["bounces"] > steps[4]["bounces"]  # not from the beginning
    monkeypatch.undo()
    here = sample(space, tol=0.005, **given)
    assert differences(here, there) == []
    assert differences(here, more) == []


# --- threads that are not the main one ---------------------------------------------------------


def test_fits_in_other_threads(divided, monkeypatch):
    found = {}

    def fit(k):
        found[k] = clone(SOFT).fit(X, Y)

    for k in range(2):
        thread = threading.Thread(target=fit, args=(k,))
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        monkeypatch.undo()  # divided and undivided
    assert_same(clone(SOFT).fit(X, Y), found[0], X)
    assert_same(found[1], found[0], X)


@posix
def test_ctrl_c_is_the_main_threads_business():
    """A run in another thread neither takes a signal away nor ends by it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    stop = threading.Event()

    class StopNowError(Exception):
        pass

    def callback(progress):
        if stop.is_set():
            raise StopNowError

    ended = []

    def run():
        try:
            endless(callback=callback)
        except StopNowError:
            ended.append("stopped")

    thread = threading.Thread(target=run)
    thread.start()
    try:
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            time.sleep(5)
        assert thread.is_alive()
    finally:
        stop.set()
        thread.join(30)
        signal.signal(signal.SIGINT, before)
    assert ended == ["stopped"]


# --- Dask ------------------------------------------------------------------------------------


def dask(test):
    """Mark a test of the cluster, which is started once: all of them stay in one process."""
    return pytest.mark.long(pytest.mark.dask(pytest.mark.xdist_group("dask")(test)))


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as workers,
        distributed.Client(workers) as client,
    ):
        yield client


def processes(records):
    texts = [record.getMessage() for record in records]
    return {int(text.split(" in process ")[1].split()[0]) for text in texts}


def ours(caplog):
    return [record for record in caplog.records if record.name == "bayespoint.distributed"]


@dask
@pytest.mark.parametrize(
    "which", ["a soft boundary", "label noise", "a given matrix", "three classes", "a function"]
)
def test_dask_gives_the_same_bits_and_its_workers_do_the_work(which, cluster, caplog):
    from distributed import get_task_stream

    estimator, inputs, y = FITS[which]
    with (
        caplog.at_level(logging.DEBUG, "bayespoint.distributed"),
        get_task_stream(cluster) as stream,
        joblib.parallel_config("dask"),
    ):
        assert engine_distributed.active()
        there = clone(estimator).fit(inputs, y)
    workers = set(cluster.run(os.getpid).values())
    assert processes(ours(caplog)) == workers
    assert os.getpid() not in workers
    # What the scheduler says: each task where we say that it ran.
    tasks = [task for task in stream.data if "_task" in task["key"]]
    assert len(tasks) == len(ours(caplog))
    assert {task["worker"] for task in tasks} == set(cluster.scheduler_info()["workers"])
    assert_same(clone(estimator).fit(inputs, y), there, inputs)


@dask
def test_the_search_starts_in_several_places(cluster, caplog):
    estimator, inputs, y = FITS["everything searched"]
    estimator = clone(estimator).set_params(n_models=1)
    here = clone(estimator).fit(inputs, y)
    with caplog.at_level(logging.DEBUG, "bayespoint.distributed"), joblib.parallel_config("dask"):
        there = clone(estimator).fit(inputs, y)
    assert_same(here, there, inputs)
    starts = [r for r in ours(caplog) if r.getMessage().startswith("_minimize_in_process")]
    assert len(starts) > 1
    assert os.getpid() not in processes(starts)


@dask
def test_fits_within_tasks_stay_whole(cluster, caplog):
    search = GridSearchCV(SOFT, {"softness": [0.1, 1.0]}, cv=2, refit=False)
    here = clone(search).fit(X, Y)
    with caplog.at_level(logging.DEBUG, "bayespoint.distributed"), joblib.parallel_config("dask"):
        there = clone(search).fit(X, Y)
    assert (here.cv_results_["mean_test_score"] == there.cv_results_["mean_test_score"]).all()
    assert not ours(caplog)
    inside = cluster.submit(_divides_inside_a_task).result()
    assert inside is False


def _divides_inside_a_task():
    import joblib

    from bayespoint.engine import distributed as engine_distributed

    with joblib.parallel_config("dask"):
        return engine_distributed.active()


@dask
def test_errors_come_back_whole(cluster):
    inputs = np.array([[0.0], [0.0], [1.0], [1.0], [2.0], [3.0]])
    model = BayesPointClassifier("linear", softness=0.0, **GIVEN)
    X3 = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0], [2, 2], [3, 3]])
    with joblib.parallel_config("dask"):
        with pytest.raises(InfeasibleError, match="examples 0 and 1"):
            model.fit(inputs, [0, 1, 2, 2, 1, 0])
        with pytest.raises(InfeasibleError, match="no weight vector") as found:
            model.fit(X3, [0, 0, 1, 1, 2, 2])
    assert found.value.violations >= 1
    assert found.value.certificate.shape == (3, 6)


@dask
@posix
def test_a_worker_is_lost_during_a_fit(cluster):
    """Between two steps, and in the middle of one: others take them again."""
    space = VersionSpace(RBF(2.0)(X), Y, softness=0.1)
    settings = {"tol": 0.005, "random_state": seed(0), "n_draws": 10}
    here = space.sample(**settings)
    # Asked now: one who has just died may still be in the scheduler's list, and does not answer.
    workers = list(cluster.run(os.getpid).values())
    assert len(workers) == 2
    lost = []

    def kill(worker):
        os.kill(worker, signal.SIGKILL)
        lost.append(worker)

    steps = []

    def callback(progress):
        steps.append(progress["bounces"])
        if len(steps) == 2:
            kill(workers[0])
        elif len(steps) == 6:
            threading.Timer(0.02, kill, (workers[1],)).start()

    with joblib.parallel_config("dask"):
        there = space.sample(**settings, callback=callback)
    assert len(lost) == 2
    assert len(steps) > 8
    assert differences(here, there) == []
    cluster.wait_for_workers(2, timeout=60)


@dask
@posix
def test_ctrl_c_ends_the_wait_for_workers(cluster):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with joblib.parallel_config("dask"), pytest.raises(KeyboardInterrupt):
            VersionSpace(RBF(2.0)(X), Y, softness=0.1).sample(tol=1e-7, random_state=seed(0))
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


# --- Ray -------------------------------------------------------------------------------------


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("which", ["a soft boundary", "a given matrix", "three classes"])
def test_ray_gives_the_same_bits(which, ray_pool, caplog):
    estimator, inputs, y = FITS[which]
    with (
        caplog.at_level(logging.DEBUG, "bayespoint.distributed"),
        joblib.parallel_config("ray", n_jobs=2),
    ):
        assert engine_distributed.active()
        there = clone(estimator).fit(inputs, y)
    assert processes(ours(caplog))
    assert os.getpid() not in processes(ours(caplog))
    assert_same(clone(estimator).fit(inputs, y), there, inputs)


@pytest.fixture(scope="module")
def ray_pool():
    ray = pytest.importorskip("ray", reason="ray is not installed")
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    register_ray()
    yield ray
    ray.shutdown()
