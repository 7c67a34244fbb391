"""With limited memory every call returns its result or raises MemoryError; none aborts."""

import sys
from functools import partial

import numpy as np
import pytest

from bayespoint import VersionSpace
from bayespoint.papers.onion import onion
from helpers import SLOW, new_process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces the limit")

PROGRAM = """
    import resource, sys, warnings
    import numpy as np, psutil
    from bayespoint import BayesPointClassifier, SampleOptions, VersionSpace, kernels
    from bayespoint.papers import dynamics
    from bayespoint.papers.correlation import correlation_length
    from bayespoint.papers.onion import onion

    warnings.simplefilter("ignore")
    name, room = sys.argv[1], int(float(sys.argv[2]) * 2**20)
    rng = np.random.default_rng(0)
    m = 600
    X = rng.standard_normal((m, 5))
    y = np.where(X[:, 0] > 0, 1, -1)
    K = kernels.RBF(2.0)(X)

    def space():
        return VersionSpace(K, y, softness=0.1)

    fly = dict(length=20.0, random_state=0)
    pair = SampleOptions(refresh="pair")
    full = SampleOptions(refresh="full", average="arc")
    roughly = dict(tol=1.0, random_state=0)
    calls = {
        "draws": lambda: space().sample(n_jobs=2, n_draws=2000, **fly),
        "pair": lambda: space().sample(options=pair, **fly),
        "full": lambda: space().sample(n_jobs=4, options=full, **fly),
        "chord": lambda: dynamics.sample(VersionSpace(K, y), dynamics.Chord(), **fly),
        "bridge": lambda: space().evidence(**roughly),
        "ladder": lambda: space().evidence([0.0, 0.1], **roughly),
        "onion": lambda: onion(
            space(), max_errors=(3, 3), tol=0.5, max_length=100.0, random_state=0, n_jobs=2
        ),
        "projected": lambda: onion(space(), method="projected", tol=0.5, random_state=0),
        "correlation": lambda: correlation_length(space(), n_pairs=5, random_state=0),
        "max_margin": lambda: VersionSpace(K, rng.permutation(y), softness=1e-6).max_margin(),
        "fit": lambda: BayesPointClassifier(random_state=0).fit(X, y),
    }
    warm = BayesPointClassifier(kernels.RBF(2.0), softness=0.1, tol=1.0)
    warm.fit(X[:20], y[:20])
    used = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
    try:
        calls[name]()
    except MemoryError as error:
        refused = str(error)
    else:
        refused = ""
    # After an error, and without the limit, the package still works.
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert space().sample(length=5.0, random_state=0).length == 5.0
    print("refused:" if refused else "done", refused)
"""


def ending(name, room):
    """Return the output of a call with `room` MiB of address space beside what is in use."""
    run = new_process(PROGRAM, name, room)
    assert run.returncode == 0, f"{name} with {room} MiB: {run.returncode}\n{run.stderr}"
    assert run.stdout.startswith(("refused:", "done"))
    return run.stdout


CALLS = (
    ("draws", 500),
    ("pair", 250),
    ("full", 600),
    ("chord", 250),
    ("bridge", 400),
    ("ladder", 400),
    ("onion", 400),
    ("projected", 250),
    ("correlation", 400),
    ("max_margin", 200),
    ("fit", 250),
)


@pytest.mark.long
@pytest.mark.parametrize(("name", "room"), [("draws", 105), ("bridge", 45)])
def test_what_does_not_fit_is_a_memory_error(name, room):
    assert ending(name, room).startswith("refused:")


def test_what_fits_is_done():
    assert ending("pair", 400) == "done \n"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "enough"), CALLS if SLOW else [("onion", 400)])
def test_no_limit_ends_the_process(name, enough):
    """Limits from almost nothing to enough, in small steps."""
    rooms = [1, 3, 6, 10, *range(20, enough, 40)] if SLOW else [20]
    endings = [ending(name, room) for room in rooms]
    assert endings[0].startswith("refused:")
    if SLOW:
        assert ending(name, 2 * enough) == "done \n"


COLD = """
    import resource, sys
    import numpy as np, psutil
    from bayespoint import BayesPointClassifier, VersionSpace

    X = np.random.default_rng(0).standard_normal((200, 3))
    y = (X[:, 0] > 0).astype(int)
    used = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv[1]) << 20), -1))
    calls = (
        lambda: BayesPointClassifier(random_state=0, max_time=3.0, n_models=1).fit(X, y),
        lambda: VersionSpace(np.eye(2), [0, 1]),
    )
    for call in calls:
        try:
            call()
        except MemoryError as error:
            assert "needs" in str(error), error
            print("refused")
        else:
            print("done")
"""


@pytest.mark.parametrize("room", [5, 60, 1000])
def test_a_process_that_has_not_used_blas(room):
    run = new_process(COLD, room)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["refused" if room < 1000 else "done"] * 2


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("sample", {"n_draws": 2**40}),
        ("sample", {"n_trajectories": 2**40}),
        ("evidence", {"n_trajectories": 2**31}),
        ("evidence", {"label_noise": [0.0, 0.1], "n_trajectories": 2**40}),
        ("evidence", {"label_noise": 0.1, "n_trajectories": 2**40}),
        ("onion", {"n_trajectories": 2**40}),
    ],
)
def test_what_no_memory_holds_is_refused(method, settings):
    space = VersionSpace(np.eye(3), [1, -1, 1])
    run = partial(onion, space) if method == "onion" else getattr(space, method)
    with pytest.raises(MemoryError, match=r"there is no room for \d+ bytes more"):
        run(**settings, random_state=0)
