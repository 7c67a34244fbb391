"""The elongated toy problem of Herbrich, Graepel and Campbell: their example, and the average.

``python benches/elongated.py`` where bayespoint is installed. A search over seeds finds a problem
like the one in their Figure 4; the mean gap over independent problems says how typical it is.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from bayespoint import VersionSpace
from bayespoint.papers.elongated import make_elongated

PAPER = (0.151, 0.080)


def errors(seed: int) -> tuple[float, ...]:
    """Return the test errors of the maximal margin and of the Bayes point."""
    problem = make_elongated(random_state=seed)
    space = VersionSpace(problem.data @ problem.data.T, problem.target)
    centers = space.max_margin().dual_coef, space.sample(tol=0.01, random_state=seed).center
    values = problem.test_data @ problem.data.T @ np.stack(centers, axis=1)
    wrong = np.where(values > 0, 1, -1) != problem.test_target[:, None]
    return tuple(wrong.mean(axis=0).tolist())


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=200, help="default: %(default)s")
    parser.add_argument(
        "--search", type=int, default=1000, help="seeds to look through; default: %(default)s"
    )
    parser.add_argument("--seed", type=int, default=0, help="the first; default: %(default)s")
    options = parser.parse_args()
    first = options.seed + options.problems
    margin, center = np.array([errors(seed) for seed in range(options.seed, first)]).T
    gap, error = (margin - center).mean(), (margin - center).std(ddof=1) / math.sqrt(len(margin))
    print(
        f"maximal margin {margin.mean():.2%}, Bayes point {center.mean():.2%}, mean gap {gap:.2%} "
        f"± {error:.2%}, fewer errors in {(center < margin).mean():.0%}"
    )
    searched = {seed: errors(seed) for seed in range(first, first + options.search)}
    seed = min(searched, key=lambda seed: math.dist(searched[seed], PAPER))
    found = "maximal margin {:.2%}, Bayes point {:.2%}".format(*searched[seed])
    print(f"search through {options.search} more: seed {seed}, {found}")


if __name__ == "__main__":
    main()
