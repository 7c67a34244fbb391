"""Processes that are killed while they write a checkpoint."""

import os
import subprocess
import sys
import textwrap

import pytest

SLOW = os.environ.get("BAYESPOINT_SLOW") == "1"
SEED = int(os.environ.get("BAYESPOINT_SEED", "0"))

KILLED = """
    import os, signal, sys, time, warnings
    import numpy as np
    from bayespoint import SampleOptions, VersionSpace, kernels
    from bayespoint.base import io
    from bayespoint.engine import continuation

    warnings.simplefilter("ignore")
    path, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((100, 3))
    space = VersionSpace(kernels.RBF(2.0)(x), np.where(x[:, 0] > 0, 1, -1), softness=0.1)
    own = dict(refresh="pair", max_bounces=int(sys.argv[4]))
    whole = space.sample(random_state=0, options=SampleOptions(**own))
    options = SampleOptions(**own, checkpoint=path)
    stamp = lambda: os.stat(path).st_mtime_ns if os.path.exists(path) else 0
    ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
    killed, seen, seen_last = 0, set(), 0
    for k in range(kills):
        child = os.fork()
        if child == 0:
            space.sample(random_state=0, options=options, n_jobs=1 + k % 3)
            os._exit(0)
        while stamp() == seen_last and os.waitid(os.P_PID, child, ended) is None:
            time.sleep(0.001)  # until a state has been written
        time.sleep(rng.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        seen_last = stamp()
        if os.path.exists(path):  # complete, at any moment
            arrays, _ = io.read(path, continuation.FORMAT, continuation.VERSION)
            seen.add(arrays["bytes"].tobytes())
    found = space.sample(random_state=0, options=options, n_jobs=2)
    for name in ("center", "draws", "impulse_center", "hits", "bounces", "functionals"):
        assert np.array_equal(getattr(found, name), getattr(whole, name)), name
    assert found.center_error == whole.center_error
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
    print(killed, len(seen))
"""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_killed_again_and_again(tmp_path):
    """SIGKILL at random moments, most of them while a file is written."""
    kills = 40 if SLOW else 10
    arguments = [str(tmp_path / "run.npz"), str(kills), str(SEED), str(1_000_000)]
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), *arguments],
        capture_output=True,
        text=True,
        timeout=500,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    killed, seen = map(int, run.stdout.split())
    assert killed >= kills // 2, f"{killed} of {kills} were killed on the way"
    assert seen >= kills // 3, f"{seen} states were seen"
