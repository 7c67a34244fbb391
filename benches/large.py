"""A kernel machine on 60 000 digits: landmarks, and the billiard on a matrix of singles.

``BAYESPOINT_DATA=... python benches/large.py --examples 60000`` where bayespoint is installed (or
``python benches/large.py --examples 60000``), with ``mnist5k_multiclass.csv.gz``, the first
5000 digits of MNIST, in that folder: 784 pixels and a column `label`. A thousand of them are held
out for the test; the others are shifted by up to two pixels and given noise until there are as
many as asked for. The task: even against odd. 60 000 examples take 14.4 GB for the matrix alone,
and some six minutes on it. Beside it --landmarks with the same kernel and softness, and SVC of
--svc-examples, which --seconds ends.

Prints the seconds of every part, the peak of the memory and the test errors, of the Bayes point
beside SVC's with the same kernel; and those of the kernel perceptrons of Graepel, Herbrich and
Williamson, each digit against the rest, without the matrix. Without --part all run, each in a
process of its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from digits import HELD_OUT, digits
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier, SampleOptions, VersionSpace
from bayespoint.kernels import RBF, Polynomial, gram_matrix
from bayespoint.papers import bounds
from bayespoint.papers.perceptron import KernelPerceptron
from bayespoint.results import BilliardResult

PARTS = ("landmarks", "matrix", "svc", "perceptron")

Floats = NDArray[np.float64]


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Print the seconds that something takes, and the peak of the memory so far."""
    begin = time.perf_counter()
    yield
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"| {name} | {time.perf_counter() - begin:.1f} | {peak:.2f} |", flush=True)


class Trace:
    """Bounces over time, from the callback of a run: when the balls flew, and when they did not."""

    def __init__(self) -> None:
        self.rows = [(time.perf_counter(), 0)]

    def __call__(self, progress: Mapping[str, Any]) -> None:
        """Note one look at a run."""
        self.rows.append((time.perf_counter(), int(progress["bounces"])))

    def seconds(self) -> tuple[float, float]:
        """Return the seconds with and without bounces."""
        rows = np.array([*self.rows, (time.perf_counter(), self.rows[-1][1])])
        steps, bounces = np.diff(rows, axis=0).T
        return float(steps[bounces > 0].sum()), float(steps[bounces == 0].sum())


def sampled(
    space: VersionSpace, start: NDArray[np.float64], options: argparse.Namespace
) -> BilliardResult:
    """Sample from a point until there are enough effective draws."""
    bounces = options.bounces
    rate: float | str = "auto"
    while True:
        trace = Trace()
        with timed(f"{options.trajectories} trajectories of {bounces} bounces"):
            result = space.sample(
                options=SampleOptions(
                    start=start,
                    max_bounces=bounces,
                    refresh="auto" if rate == "auto" else "pair",
                    refresh_rate=rate,
                ),
                n_trajectories=options.trajectories,
                n_draws=100,
                n_jobs=options.jobs,
                random_state=options.seed,
                callback=trace,
            )
            flying, resting = trace.seconds()
        print(f"| ... the balls flying | {flying:.1f} | |")
        print(f"| ... sweeps: checks, re-projections, centers | {resting:.1f} | |")
        print(
            f"\n{result.bounces.sum()} bounces, {result.ess:.0f} effective draws, R-hat "
            f"{result.r_hat:.3f}, center_error {result.center_error:.3f}, "
            f"drift {result.drift:.1e}, "
            f"{1e6 * flying * options.jobs / result.bounces.sum():.1f} us a bounce of one thread, "
            f"{np.count_nonzero(result.hits)} planes hit, {result.refreshes.min()} refreshes\n",
            flush=True,
        )
        pairs = options.pairs * len(space.y)
        if result.ess >= options.draws and result.refreshes.min() >= pairs:
            return result
        longer = np.clip(1.2 * options.draws / result.ess, 1.5, 20)
        bounces = int(bounces * longer)
        if options.pairs:
            rate = 1.1 * pairs / (longer * result.length)


def error(values: Floats, y: NDArray[Any]) -> str:
    """Return the share of wrong signs as text."""
    return f"{np.mean(np.where(values > 0, 1, -1) != y):.2%} test error"


def landmarks(options: argparse.Namespace) -> None:
    """Fit the classifier with landmarks, the same kernel and softness."""
    X, y, X_test, y_test = digits(options.examples, options.seed)
    kernel = RBF(length_scale(X, options))
    model = BayesPointClassifier(
        kernel,
        softness=options.softness,
        approximation="landmarks",
        n_components=options.landmarks,
        standardize=False,
        n_jobs=options.jobs,
        random_state=options.seed,
    )
    with timed(f"the fit with {options.landmarks} landmarks"):
        model.fit(X, y)
    with timed(f"{HELD_OUT} predictions"):
        p = model.predict_proba(X_test)[:, 1]
    loss = -np.log(np.where(y_test > 0, p, 1 - p)).mean()
    print(f"\nBayes point, {kernel!r}, softness {options.softness}, log loss {loss:.3f}: ", end="")
    print(error(p - 0.5, y_test))


def matrix(options: argparse.Namespace) -> None:
    """Play on the kernel matrix in singles."""
    X, y, X_test, y_test = digits(options.examples, options.seed)
    kernel = RBF(length_scale(X, options))
    with timed("the matrix of singles"):
        # Of inputs in singles: three times as fast, and off by about 1e-6.
        gram = gram_matrix(X.astype(np.float32), kernel)
    with timed("the checks of VersionSpace"):
        space = VersionSpace(gram, y, softness=options.softness)
    with timed(f"a point inside ({options.start})"):
        start = space.feasible_point(options.start, random_state=options.seed)
    result = sampled(space, start, options)
    with timed(f"{HELD_OUT} predictions"):
        values = kernel(X_test, X) @ result.center
    print(f"\nBayes point, {kernel!r}, softness {options.softness}: {error(values, y_test)}")


def svc(options: argparse.Namespace) -> None:
    """Fit the support vector machine with the same kernel."""
    from sklearn.svm import SVC

    X, y, X_test, y_test = digits(options.examples, options.seed)
    sigma = length_scale(X, options)
    some = slice(min(options.svc_examples, len(X)))
    machine = SVC(kernel="rbf", gamma=0.5 / sigma**2, C=options.svc_c, cache_size=options.svc_cache)
    with timed(f"SVC of {some.stop} examples, C = {options.svc_c}"):
        machine.fit(X[some], y[some])
    values = machine.decision_function(X_test)
    print(f"\nSVC, {some.stop} examples, {machine.n_support_.sum()} support vectors: ", end="")
    print(error(values, y_test))


def perceptron(options: argparse.Namespace) -> None:
    """Fit the kernel perceptrons of Table 1 of Graepel, Herbrich and Williamson in blocks."""
    X, y, X_test, y_test = digits(options.examples, options.seed, ten=True)
    kernel = Polynomial(degree=4, coef0=1.0)
    for digit in range(10):
        model = KernelPerceptron(kernel, fit_intercept=False, block_size=options.block_size)
        with timed(f"digit {digit}"):
            model.fit(X, y == digit)
        wrong = np.mean(model.predict(X_test) != (y_test == digit))
        d, mistakes = len(model.support_), int(model.n_mistakes_[0])
        bound = bounds.sparsity(len(X), d, 0.05)
        print(
            f"| {digit}: {wrong:.1%} error, d = {d}, {mistakes} mistakes, {model.n_epochs_[0]} "
            f"passes, bound {bound:.1%}, margin {model.geometric_margin_[0]:.3g} | | |",
            flush=True,
        )


def length_scale(X: Floats, options: argparse.Namespace) -> float:
    """Return the length scale asked for, or a share of the median distance."""
    chosen = np.random.default_rng(options.seed).choice(len(X), min(len(X), 1000), replace=False)
    return options.sigma or float(options.share * np.median(pdist(X[chosen])))


def main() -> None:
    """Run the parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=5000, help="default: %(default)s")
    parser.add_argument("--part", choices=PARTS, help="default: all, each in its own process")
    parser.add_argument("--softness", type=float, default=0.01, help="default: %(default)s")
    parser.add_argument("--sigma", type=float, help="length scale, in place of --share")
    parser.add_argument(
        "--share", type=float, default=0.5, help="of the median distance; default: %(default)s"
    )
    parser.add_argument(
        "--start",
        choices=("perceptron", "light_trap", "max_margin"),
        default="perceptron",
        help="how a first point is found; default: %(default)s",
    )
    parser.add_argument("--draws", type=int, default=50, help="effective; default: %(default)s")
    parser.add_argument("--bounces", type=int, default=20_000, help="at first; %(default)s")
    parser.add_argument("--trajectories", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--jobs", type=int, default=2, help="threads; default: %(default)s")
    parser.add_argument("--landmarks", type=int, default=2000, help="default: %(default)s")
    parser.add_argument("--svc-examples", type=int, default=5000, help="default: %(default)s")
    parser.add_argument("--svc-c", type=float, default=10.0, help="default: %(default)s")
    parser.add_argument("--svc-cache", type=int, default=1000, help="MB; default: %(default)s")
    parser.add_argument(
        "--block-size", type=int, default=2000, help="for perceptron; default: %(default)s"
    )
    parser.add_argument(
        "--pairs",
        type=float,
        default=0.0,
        help="tangent pairs of each trajectory for each example, at least; 40 are asked for by a "
        "warning where there is softness; default: as many as sample() takes",
    )
    parser.add_argument(
        "--seconds", type=float, default=1800.0, help="for svc; default: %(default)s"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.part is None:
        for part in PARTS:
            command = [sys.executable, __file__, *sys.argv[1:], "--part", part]
            limit = options.seconds if part == "svc" else None
            try:
                subprocess.run(command, check=True, timeout=limit)
            except subprocess.TimeoutExpired:
                print(f"\n{part}: not done after {limit:.0f} s")
        return
    print(f"\n**{options.part}, {options.examples} examples, {options.jobs} threads**\n")
    print("| part | seconds | GiB at most so far |")
    print("|---|---:|---:|", flush=True)
    with threadpool_limits(options.jobs):
        {"landmarks": landmarks, "matrix": matrix, "svc": svc, "perceptron": perceptron}[
            options.part
        ](options)


if __name__ == "__main__":
    main()
