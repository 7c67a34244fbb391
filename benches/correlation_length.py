"""The correlation length of the billiard against the number of examples and of dimensions.

Two balls from one point, their directions an angle apart, fly until they meet different planes
(Ruján and Marchand, section 18.5.1, who leave open how that length grows with the number of
examples m). For teacher problems, normal inputs in r dimensions labeled by a random plane, this
prints the mean number of bounces with its standard error over problems, the mean path, and the
growth exponent d ln(bounces) / d ln(m), fitted by least squares, with its error. The two changes
by which the authors would shorten it are options.

    python benches/correlation_length.py [--angle 1e-3] [--problems 6] [--pairs 50] [--jobs 2]
                                         [--scattering cosine] [--scatterer]
"""

from __future__ import annotations

import argparse
import math
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bayespoint import VersionSpace
from bayespoint.dynamics import Scattered
from bayespoint.papers.correlation import correlation_length


def teacher(m: int, r: int, rng: np.random.Generator) -> VersionSpace:
    """Return the version space of m normal examples labeled by a random plane."""
    x = rng.standard_normal((m, r))
    return VersionSpace(x @ x.T, np.where(x @ rng.standard_normal(r) > 0, 1, -1))


def growth(x: NDArray[np.float64], y: NDArray[np.float64], error: NDArray[np.float64]) -> str:
    """Return the exponent of ``y ~ x^a`` by weighted least squares, with its error.

    The error is that of the weights, times the root of the mean squared residual if that is more
    than 1: a power law need not fit.
    """
    weights = (y / error) ** 2
    x, y = np.log(x), np.log(y)
    x = x - np.average(x, weights=weights)
    spread = (weights * x**2).sum()
    slope = (weights * x * y).sum() / spread
    residual = y - np.average(y, weights=weights) - slope * x
    excess = max(1.0, (weights * residual**2).sum() / max(len(x) - 2, 1))
    return f"{slope:+.2f} ± {math.sqrt(excess / spread):.2f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, nargs="+", default=[50, 100, 200, 400, 800])
    parser.add_argument("--dimensions", type=int, nargs="+", default=[5, 10, 20, 50])
    parser.add_argument("--angle", type=float, default=1e-3, help="radians at the start")
    parser.add_argument("--scattering", choices=("specular", "cosine"), default="specular")
    parser.add_argument("--scatterer", action="store_true", help="a sphere around the center")
    parser.add_argument("--problems", type=int, default=6, help="per cell of the table")
    parser.add_argument("--pairs", type=int, default=50, help="per trajectory, four a problem")
    parser.add_argument("--max-bounces", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    scattered = args.scatterer or args.scattering == "cosine"
    sphere = "auto" if args.scatterer else None
    dynamics = Scattered(args.scattering, sphere) if scattered else "geodesic"
    print(f"bounces off the same planes (and path, rad) from {args.angle:g} rad")
    print("    r  " + "".join(f"{f'm = {m}':>24}" for m in args.examples) + "   growth in m")
    unparted = total = 0
    for r in args.dimensions:
        means, errors, cells = [], [], []
        for m in args.examples:
            found = []
            for problem in range(args.problems):
                rng = np.random.default_rng((args.seed, r, m, problem))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)  # counted below
                    found.append(
                        correlation_length(
                            teacher(m, r, rng),
                            angle=args.angle,
                            n_pairs=args.pairs,
                            max_bounces=args.max_bounces,
                            dynamics=dynamics,
                            n_jobs=args.jobs,
                            random_state=problem,
                        )
                    )
            unparted += sum(int((~one.parted).sum()) for one in found)
            total += sum(one.parted.size for one in found)
            bounces = np.array([one.bounces for one in found])
            means.append(bounces.mean())
            errors.append(bounces.std(ddof=1) / math.sqrt(len(bounces)))
            path = np.mean([one.length for one in found])
            cells.append(f"{means[-1]:.1f} ± {errors[-1]:.1f} ({path:.3g})")
        fit = growth(np.array(args.examples, float), np.array(means), np.array(errors))
        print(f"{r:5}  " + "".join(f"{cell:>24}" for cell in cells) + f"   {fit}", flush=True)
    print(
        f"{unparted} of {total} pairs did not part within {args.max_bounces} bounces and count "
        "as if they had"
    )


if __name__ == "__main__":
    main()
