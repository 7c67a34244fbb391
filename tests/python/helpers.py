"""Seeds, runs, examples labeled by a teacher, exact centers in three dimensions."""

import dataclasses
import math
import os
import subprocess
import sys
import textwrap

import numpy as np

from bayespoint import SampleOptions, VersionSpace
from bayespoint.papers import dynamics
from bayespoint.tuning import objective

SHIFT = int(os.environ.get("BAYESPOINT_SEED", "0"))
SLOW = os.environ.get("BAYESPOINT_SLOW") == "1"


def seed(index):
    return index + 7919 * SHIFT


OPTIONS = {field.name for field in dataclasses.fields(SampleOptions)}


def sample(space, **settings):
    """Run the billiard with settings of which some may be those of `SampleOptions`."""
    options = {name: settings.pop(name) for name in OPTIONS & settings.keys()}
    return space.sample(**settings, options=SampleOptions(**options))


def flown(space, motion, **settings):
    """Run a motion of the papers with settings of which some may be those of `SampleOptions`."""
    options = {name: settings.pop(name) for name in OPTIONS & settings.keys()}
    return dynamics.sample(space, motion, **settings, options=SampleOptions(**options))


def new_process(program, *arguments):
    """Run a program in a new Python, with one thread of BLAS."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=500,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )


def teacher_space(m, r, index, *, softness=0.0, offset=0.0):
    """Gaussian examples labeled by a teacher: their matrix and version space."""
    rng = np.random.default_rng(seed(index))
    x = rng.standard_normal((m, r)) * rng.uniform(0.5, 2, (m, 1))
    y = np.where(x @ rng.standard_normal(r) > 0, 1, -1)
    if y[0] == y[1]:  # there are to be two classes
        x[0], y[0] = -x[0], -y[0]
    return x, VersionSpace(x @ x.T, y, softness=softness, offset=offset)


def cone(m=30, r=5, seed=0):
    """Examples labeled by a teacher in r dimensions."""
    rng = np.random.default_rng((SHIFT, seed))
    x = rng.standard_normal((m, r))
    return x, np.where(x @ rng.standard_normal(r) > 0, 1, -1)


def space_of(x, y):
    return VersionSpace(x @ x.T, y)


def unit(vector):
    return vector / np.linalg.norm(vector)


def angle(a, b):
    return 2 * math.asin(min(1.0, np.linalg.norm(unit(a) - unit(b)) / 2))


def dual_angle(space, a, b):
    """Angle between two weight vectors given by dual coefficients."""
    matrix = space.gram + space.offset + np.diag(space.softness)
    difference = a / math.sqrt(a @ matrix @ a) - b / math.sqrt(b @ matrix @ b)
    return 2 * math.asin(min(1.0, math.sqrt(max(difference @ matrix @ difference, 0)) / 2))


def polygon_centroid(x, y):
    """Half the sum over edges of length times unit inward normal, scaled to the sphere."""
    normals = y[:, None] * x / np.linalg.norm(x, axis=1)[:, None]
    total = np.zeros(3)
    for i, n in enumerate(normals):
        corners = []
        for j, other in enumerate(normals):
            if i == j:
                continue
            corner = unit(np.cross(n, other))
            rest = [k for k in range(len(normals)) if k not in (i, j)]
            corners += [s * corner for s in (1, -1) if (normals[rest] @ (s * corner) > 0).all()]
        if len(corners) == 2:
            total += 0.5 * angle(*corners) * n
    return unit(total)


WORDS = ["to", "be", "or", "not", "that", "is", "the", "question", "whether", "tis"]
SETS = [set(np.random.default_rng(seed(k)).choice(WORDS, 5)) for k in range(30)]


def without_evidence(monkeypatch):
    """Let a search find no setting that has an evidence."""

    def fails(self, theta):
        self.record.add([0.0] * len(self.task.columns))
        return objective.Point(-np.inf, np.zeros(len(theta)), np.empty(0))

    monkeypatch.setattr(objective.Objective, "point", fails)
