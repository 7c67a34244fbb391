"""Processes that are killed while they write a file."""

import os

import pytest

from helpers import SHIFT as SEED
from helpers import SLOW, new_process

KILLED = """
    import os, signal, sys, time
    import numpy as np
    import bayespoint
    from bayespoint import VersionSpace

    path, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = np.random.default_rng(seed)
    space = VersionSpace(np.eye(100), np.ones(100))
    runs = [space.sample(length=20.0, random_state=k) for k in range(2)]
    draws = [run.draws.tobytes() for run in runs]
    runs[0].save(path)
    stamp, seen = lambda: os.stat(path).st_mtime_ns, set()
    for n in range(kills):
        before = stamp()
        child = os.fork()
        if child == 0:
            for k in range(10**6):
                runs[(n + k) % 2].save(path)
            os._exit(0)
        while stamp() == before:
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.05))
        os.kill(child, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
        seen.add(draws.index(bayespoint.load(path).draws.tobytes()))  # complete, at any moment
    runs[0].save(path)
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
    print(len(seen))
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_killed_again_and_again(tmp_path):
    """SIGKILL at random moments, most of them while a file is written."""
    run = new_process(KILLED, tmp_path / "run.skops", 200 if SLOW else 20, SEED)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) == 2, "only one of two files was ever found"
