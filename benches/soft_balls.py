"""Effective draws a second of fits over landmarks, of function values and of their squares.

``python benches/soft_balls.py`` where bayespoint is installed, three minutes on one thread. Kernel,
softness and label noise are given. The seconds of the processor are the difference of two runs, one
four times as long: those of the balls alone. Effective draws are of the values at 16 landmarks and
of their squares about the mean: the median, and the worst. Digits are the 1797 of scikit-learn.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier
from bayespoint.kernels import RBF, Linear
from bayespoint.results.diagnostics import ess_bulk

SHORT, LONG = 256, 1024  # steps of a chain


class Case(NamedTuple):
    """Examples with the settings of a model."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.intp]
    kernel: Any
    n_landmarks: int
    softness: float
    noise: float = 0.0


def cases() -> list[Case]:
    """Return the problems."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 200))
    f = X @ rng.standard_normal(200) / np.sqrt(200)
    plane = (f + 0.3 * rng.standard_normal(5000) > 0).astype(int)
    few = rng.standard_normal((5000, 5))
    wave = np.sin(2 * few[:, 0]) + few[:, 1] * few[:, 2] + 0.3 * rng.standard_normal(5000)
    curve, kernel = (wave > 0).astype(int), RBF(1.5)
    images, digit = load_digits(return_X_y=True)
    images = images / 16
    return [
        Case("normal", X / np.sqrt(200), plane, Linear(), 200, 0.1),
        Case("curve", few, curve, kernel, 300, 0.1, 0.05),
        Case("curve, softness .01", few, curve, kernel, 300, 0.01, 0.05),
        Case("curve, softness .001, 300 rows", few[:300], curve[:300], kernel, 100, 0.001, 0.1),
        Case("curve, softness 1e-4, 60 rows", few[:60], curve[:60], kernel, 60, 1e-4, 0.1),
        Case("even and odd digits", images, digit % 2, RBF(1.5), 300, 0.05),
        Case("ten digits", images, digit, RBF(1.5), 60, 0.1, 0.02),
    ]


def run(case: Case, steps: int) -> tuple[float, Any]:
    """Return the seconds of a fit with so many steps of a chain, and its result."""
    model = BayesPointClassifier(
        case.kernel,
        softness=case.softness,
        label_noise=case.noise,
        approximation="landmarks",
        n_components=case.n_landmarks,
        n_draws=steps,
        max_iter=steps,
        n_models=1,
        calibration=None,
        standardize=False,
        fit_intercept=False,
        n_jobs=1,
        random_state=0,
    )
    start = time.process_time()
    model.fit(case.X, case.y)
    return time.process_time() - start, model.billiard_


def main() -> None:
    """Print a line for each problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="problems whose names begin so")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("| problem | values | worst | squares | worst | ms a step | bounces | angles |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for case in cases():
        if not case.name.startswith(options.only):
            continue
        (short, less), (long, result) = run(case, SHORT), run(case, LONG)
        steps = result.n_steps - less.n_steps
        seconds = (long - short) / steps * result.n_steps
        values = result.functionals
        squares = (values - values.mean(axis=(0, 1))) ** 2
        rates = [ess_bulk(of) / seconds for of in (values, squares)]
        cells = [f"{rate:.3g}" for of in rates for rate in (np.median(of), of.min())]
        cells.append(f"{1e3 * (long - short) / (4 * steps):.3g}")
        cells += [f"{result.bounces:.2f}", f"{result.angles:.1f}"]
        print(f"| {case.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
