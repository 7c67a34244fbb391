"""What makes a billiard mix, and how open it is: the ways that Ruján and Marchand propose.

``python benches/mixing.py`` where bayespoint is installed, two minutes. For teacher problems,
normal inputs in r dimensions labeled by a random plane, the first table has the angle of the
center to that of a long run with a refresh, root mean square over problems, after as many bounces
of one ball each way; and the bounces for each time that the ball meets the reflecting sphere. The
others have the share of flights of the flipper that escape: against the number of examples in
five dimensions, and for points of a plane against the length scale of a Gaussian kernel.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayespoint import SampleOptions, VersionSpace
from bayespoint.datasets import make_teacher
from bayespoint.kernels import RBF
from bayespoint.papers import dynamics
from bayespoint.papers.dynamics import Flipper, Scattered

WAYS: dict[str, Scattered | str | None] = {
    "refresh": "auto",
    "none": None,
    "cosine law": Scattered(),
    "sphere": Scattered("specular", "auto"),
}
SIGMAS = (0.05, 0.2, 0.5, 1.0, 2.0, 5.0)


def centers(m: int, r: int, problems: int, bounces: int) -> list[str]:
    """Return the cells of a line: the error of each way, and the bounces between spheres."""
    errors: dict[str, list[float]] = {way: [] for way in WAYS}
    met = 0
    for seed in range(problems):
        X, y = make_teacher(m, r, random_state=seed)
        space = VersionSpace(X @ X.T, y)
        long = space.sample(
            options=SampleOptions(max_bounces=20 * bounces), n_draws=1, random_state=seed
        )
        exact = long.center @ X / np.linalg.norm(long.center @ X)
        for way, motion in WAYS.items():
            refresh = None if isinstance(motion, Scattered) else motion
            options = SampleOptions(max_bounces=bounces, refresh=refresh)
            one: Any = {"n_trajectories": 1, "n_draws": 1, "random_state": 1000 + seed}
            if isinstance(motion, Scattered):
                flight = dynamics.sample(space, motion, options=options, **one)
                met += int(flight.scatterings.sum()) if way == "sphere" else 0
                run = flight.run
            else:
                run = space.sample(options=options, **one)
            center = run.center @ X / np.linalg.norm(run.center @ X)
            errors[way].append(float(np.linalg.norm(center - exact)))
    cells = [f"{np.sqrt(np.mean(np.square(own))):.4f}" for own in errors.values()]
    each = f"{problems * bounces / met:.0f}" if met else f"> {problems * bounces}"
    return [*cells, each]


def openness(name: str, cases: list[tuple[str, Any, Any]]) -> None:
    """Print the share of escapes of each case."""
    print(f"\n| {name} | " + " | ".join(case for case, _, _ in cases) + " |")
    print("|---|" + "---:|" * len(cases))
    cells = []
    for _, gram, y in cases:
        flight = dynamics.sample(
            VersionSpace(gram, y),
            Flipper(),
            options=SampleOptions(max_bounces=5000),
            n_trajectories=8,
            n_draws=1,
            random_state=0,
        )
        shares = flight.escapes / (flight.escapes + flight.run.bounces)
        error = shares.std(ddof=1) / np.sqrt(len(shares))
        cells.append(f"{flight.escape_fraction:.3f} ± {error:.3f}")
    print("| escapes | " + " | ".join(cells) + " |")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=10, help="of each size")
    parser.add_argument("--bounces", type=int, default=20_000)
    options = parser.parse_args()
    # Balls that do not mix, as some here are meant to, bring warnings.
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("| r | m | " + " | ".join(WAYS) + " | bounces per sphere |")
    print("|---:|---:|" + "---:|" * (len(WAYS) + 1))
    for r in (3, 5, 10):
        for m in (30, 100, 200):
            cells = centers(m, r, options.problems, options.bounces)
            print(f"| {r} | {m} | " + " | ".join(cells) + " |", flush=True)
    taught = []
    for m in (6, 30, 200):
        X, y = make_teacher(m, 5, random_state=0)
        taught.append((f"m = {m}", X @ X.T, y))
    openness("five dimensions", taught)
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) / 2 > 0, 1, -1)
    openness("60 points", [(f"σ = {sigma:g}", RBF(sigma)(X), y) for sigma in SIGMAS])


if __name__ == "__main__":
    main()
