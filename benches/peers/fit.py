"""Fits side by side: seconds beside scikit-learn's SVC and Gaussian process, as Markdown tables.

``python benches/peers/fit.py`` where bayespoint is installed. X is normal in 10 dimensions and
y = sign(x_0 + sin(2 x_1) / 2). The first table is of fits that search their hyperparameters:
ours with its defaults, and ``GaussianProcessClassifier(ConstantKernel() * RBF())``. The second is
of fits with an RBF kernel of given length scale: ours without softness to 0.1 radians, ``SVC``
with C = 1e10, which is as hard, and ``GaussianProcessClassifier`` without optimizer. There the
true error of our center is its angle to that of a long run; the floor is the time of the kernel
matrix, one factor and the diagonal of its inverse by LAPACK, beside which are fits without softness
and with one of .1. All take turns, so that what slows the machine for a while slows all of them; a
figure is the median over data sets.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import log_loss
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier, SampleOptions, VersionSpace, kernels

TEST = 2000
"""Points to test on."""


def data(m: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return training and test inputs and labels."""
    X = np.random.default_rng(seed).normal(size=(m + TEST, 10))
    y = X[:, 0] + np.sin(2 * X[:, 1]) / 2 > 0
    return X[:m], y[:m], X[m:], y[m:]


def least(task: Callable[[], object], repeats: int) -> float:
    """Return the least seconds of a few calls."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        task()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def fit(model: Any, X: Any, y: Any, repeats: int) -> float:
    """Return the least seconds of a few fits."""
    return least(lambda: model.fit(X, y), repeats)


def floor(kernel: Any, X: Any) -> float:
    """Return the sum of the diagonal of the inverse of the kernel matrix, which takes LAPACK."""
    gram = kernel(X)
    gram.flat[:: len(gram) + 1] += 1e-9
    lower, _ = linalg.lapack.dpotrf(gram.T, lower=1, overwrite_a=1)
    inverse, _ = linalg.lapack.dtrtri(lower, lower=1, overwrite_c=1)
    return float(np.einsum("ij,ij->j", inverse, inverse).sum())


def loss(model: Any, X: Any, y: Any) -> float:
    """Return the log loss on test points."""
    return float(log_loss(y, model.predict_proba(X)))


def searching(m: int, options: argparse.Namespace) -> str:
    """Return the row of fits that search their hyperparameters."""
    rows = []
    for seed in range(options.seeds):
        X, y, X_test, y_test = data(m, seed)
        ours = BayesPointClassifier(random_state=seed, n_jobs=options.threads)
        models = [ours, clone(ours).set_params(n_models=1)]
        models.append(GaussianProcessClassifier(ConstantKernel() * RBF()))
        seconds = [fit(model, X, y, options.repeats) for model in models[:2]]
        seconds.append(fit(models[2], X, y, 1))
        rows.append([*seconds, *(loss(model, X_test, y_test) for model in models)])
    found = np.median(rows, axis=0).tolist()
    seconds, losses = found[:3], found[3:]
    ratios = [f"{seconds[2] / own:.1f}" for own in seconds[:2]]
    cells = [*(f"{value:.2f}" for value in seconds), *ratios, *(f"{loss:.3f}" for loss in losses)]
    return f"| {m} | {' | '.join(cells)} |"


def true_error(model: BayesPointClassifier, X: Any, y: Any, threads: int) -> tuple[float, float]:
    """Return the angle of the center to that of a long run, and the latter's own error."""
    space = VersionSpace(model.kernel_(X), y, offset=1.0)
    long = space.sample(
        tol=0.02, options=SampleOptions(average="conditional"), n_jobs=threads, random_state=99
    )
    own, other = model.dual_coef_[0], long.center
    cosine = float(own @ (space.gram @ other) + own.sum() * other.sum())
    return math.acos(min(1.0, cosine)), long.center_error


def given(m: int, sigma: float, options: argparse.Namespace) -> str:
    """Return the row of fits with a given kernel."""
    rows = []
    for seed in range(options.seeds):
        X, y, _, _ = data(m, seed)
        ours = BayesPointClassifier(
            kernels.RBF(sigma),
            standardize=False,
            softness=0.0,
            tol=0.1,
            n_jobs=options.threads,
            random_state=seed,
        )
        rivals = [
            SVC(C=1e10, gamma=1 / (2 * sigma**2)),
            GaussianProcessClassifier(RBF(sigma), optimizer=None),
        ]
        soft = clone(ours).set_params(softness=0.1)
        row = [fit(model, X, y, options.repeats) for model in (ours, soft, *rivals)]
        row.append(least(lambda X=X: floor(kernels.RBF(sigma), X), options.repeats))
        rows.append([*row, *true_error(ours, X, y, options.threads)])
    hard, soft, svc, process, lowest, error, own = np.median(rows, axis=0)
    return (
        f"| {m} | {sigma:g} | {lowest:.3f} | {hard:.3f} | {hard / lowest:.1f} | {soft:.3f} | "
        f"{soft / lowest:.1f} | {svc:.3f} | {hard / svc:.2f} | {process:.3f} | "
        f"{process / hard:.1f} | {error:.3f} +- {own:.3f} |"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sizes = "numbers of examples, default: %(default)s; a Gaussian process takes a minute at 2000"
    parser.add_argument("--sizes", type=int, nargs="+", default=[400, 1000], help=sizes)
    parser.add_argument("--seeds", type=int, default=3, help="data sets, default: %(default)s")
    parser.add_argument("--repeats", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    only = "the fits with given kernels alone"
    parser.add_argument("--given", action="store_true", help=only)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=ConvergenceWarning, module="sklearn")
    BayesPointClassifier().fit(*data(50, 0)[:2])  # what is imported at the first fit
    with threadpool_limits(options.threads):
        if not options.given:
            names = ["ours", "one model", "Gaussian process"]
            heads = ["examples", *(f"{name}, s" for name in names), "ratio", "ratio, one model"]
            print(f"| {' | '.join([*heads, *(f'log loss, {name}' for name in names)])} |")
            print(f"|{'---:|' * 9}")
            for m in options.sizes:
                print(searching(m, options), flush=True)
            print()
        heads = ["examples", "sigma", "floor, s", "ours, s", "ratio", "with softness, s", "ratio"]
        heads += ["SVC, s", "ratio"]
        heads += ["Gaussian process, s", "ratio", "true error, rad"]
        print(f"| {' | '.join(heads)} |")
        print(f"|{'---:|' * len(heads)}")
        for m in options.sizes:
            for sigma in (1.0, 2.0):
                print(given(m, sigma, options), flush=True)


if __name__ == "__main__":
    main()
