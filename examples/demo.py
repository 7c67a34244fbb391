"""Demonstration: ``python examples/demo.py [--out DIR] [--seed N] [--splits N]``.

Five classifiers on the sonar data, over stratified splits: their errors, whether their
probabilities are right, and what abstaining gains. Then kernels compared by evidence, and a picture
of a probability over a plane.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier, __version__, kernels
from bayespoint.datasets import load_sonar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

TEST_SIZE = 83  # 125 : 83, the 60 : 40 split of the sonar experiments in the literature
COST = 0.1  # of abstaining; an error costs 1
OURS = "BayesPointClassifier()"


@dataclass(frozen=True)
class Scores:
    """What one classifier did on the test examples of one split."""

    error: float
    expected_error: float  # mean of 1 - the probability of the predicted class
    log_loss: float
    rejected: float  # share of the examples on which abstaining is cheaper
    error_on_others: float
    cost: float  # mean cost of an example, if errors cost 1 and abstaining costs COST
    seconds: float

    @classmethod
    def of(cls, y: Ints, proba: Floats, seconds: float) -> Scores:
        """Score the probabilities of the classes 0 and 1, columns of `proba`, for the labels."""
        wrong = np.argmax(proba, axis=1) != (y == 1)
        risk = 1.0 - np.max(proba, axis=1)
        rejected = risk > COST
        return cls(
            error=float(np.mean(wrong)),
            expected_error=float(np.mean(risk)),
            log_loss=float(log_loss(y, proba)),
            rejected=float(np.mean(rejected)),
            error_on_others=float(np.mean(wrong[~rejected])) if not rejected.all() else 0.0,
            cost=float(np.mean(np.where(rejected, COST, wrong))),
            seconds=seconds,
        )


def tuned_svc(X: Floats, y: Ints, seed: int) -> Any:
    """Fit SVC: C and gamma by five-fold cross-validation, then sigmoid probabilities."""
    machine = make_pipeline(StandardScaler(), SVC(random_state=seed))
    grid = {"svc__C": np.logspace(-1, 3, 5), "svc__gamma": np.logspace(-3, 1, 5)}
    best = GridSearchCV(machine, grid).fit(X, y).best_estimator_
    return CalibratedClassifierCV(best, ensemble=False).fit(X, y)


def gaussian_process(X: Floats, y: Ints, seed: int) -> Any:
    """Fit scikit-learn's Gaussian process: amplitude and length scale by marginal likelihood."""
    start = np.sqrt(X.shape[1])  # from the default start, 1, the search often fails
    model = GaussianProcessClassifier(1.0 * RBF(start), random_state=seed)
    return make_pipeline(StandardScaler(), model).fit(X, y)


CLASSIFIERS: dict[str, Callable[[Floats, Ints, int], Any]] = {
    OURS: lambda X, y, seed: BayesPointClassifier(random_state=seed).fit(X, y),
    "SVC, tuned and calibrated": tuned_svc,
    "Gaussian process (Laplace)": gaussian_process,
    "logistic regression": lambda X, y, seed: make_pipeline(
        StandardScaler(), LogisticRegression()
    ).fit(X, y),
    "boosted trees": lambda X, y, seed: HistGradientBoostingClassifier(random_state=seed).fit(X, y),
}

KERNELS: dict[str, Any] = {
    "polynomial, degree 3": "poly",
    "RBF": kernels.Scaled(kernels.RBF()),
    "Matérn, nu = 5/2": kernels.Scaled(kernels.Matern(nu=2.5)),
    "Laplacian": kernels.Scaled(kernels.Laplacian()),
    "linear": "linear",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration and return the exit status."""
    options = _parse(argv)
    began = time.perf_counter()
    with threadpool_limits(1):
        compare_classifiers(options.seed, options.splits)
        _compare_kernels(options.seed, options.splits)
    try:
        picture = _draw_plane(options.out, options.seed)
    except ImportError as error:
        print(f"no picture: {error} (pip install matplotlib)", file=sys.stderr)
        return 1
    print(f"picture of the probability over a plane: {picture}")
    print(f"seconds for everything: {time.perf_counter() - began:.1f}")
    return 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python examples/demo.py",
        description="Classifiers and kernels on sonar data, and a picture of a probability.",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("demo_output"),
        metavar="DIR",
        help="directory for the picture, made if missing (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of everything (default: %(default)s)"
    )
    parser.add_argument(
        "--splits",
        type=int,
        default=8,
        metavar="N",
        help="number of random splits, at least 1 (default: %(default)s)",
    )
    options = parser.parse_args(argv)
    if options.splits < 1:
        parser.error(f"argument --splits: must be at least 1, got {options.splits}")
    if not 0 <= options.seed < 2**32:
        parser.error(f"argument --seed: must be from 0 to 2**32 - 1, got {options.seed}")
    return options


def _splits(y: Ints, seed: int, n_splits: int) -> list[tuple[Ints, Ints]]:
    """Return the training and test rows of the splits."""
    splitter = StratifiedShuffleSplit(n_splits, test_size=TEST_SIZE, random_state=seed)
    return list(splitter.split(np.zeros(len(y)), y))


def compare_classifiers(seed: int, n_splits: int) -> None:
    """Score all classifiers on the same splits and print two tables."""
    sonar = load_sonar()
    X, y = sonar.data, sonar.target
    splits = _splits(y, seed, n_splits)
    print(f"bayespoint {__version__}, sonar data: {len(y)} echoes of 60 features, rock or mine")
    print(
        f"{len(y) - TEST_SIZE} training and {TEST_SIZE} test examples; "
        f"means over {n_splits} stratified splits, seed {seed}"
    )
    print("(the defaults of BayesPointClassifier were chosen on data that include these)")
    print()
    scores = {name: _score(name, X, y, splits, seed) for name in CLASSIFIERS}
    print()
    print("1. Probabilities: does the classifier know how often it is wrong?")
    print()
    _print_table(
        ["", "error", "expected error", "log loss", "seconds"],
        [
            [
                name,
                _percent(s.error for s in of),
                _percent(s.expected_error for s in of),
                _with_error([s.log_loss for s in of]),
                f"{np.mean([s.seconds for s in of]):.2f}",
            ]
            for name, of in scores.items()
        ],
    )
    print("(expected error: the mean of 1 - the probability of the predicted class. It equals the")
    print("error if the probabilities are calibrated. Log loss: lower is better; ± one standard")
    print(
        "error over the splits, which share examples. Seconds: one fit with its tuning, one thread)"
    )
    losses = np.array([[one.log_loss for one in of] for of in scores.values()])
    lowest = [list(scores)[best] for best in losses.argmin(axis=0)].count(OURS)
    print(f"{OURS} has the lowest log loss on {lowest} of {n_splits} splits")
    print()
    print(f"2. Abstaining: an error costs 1, no answer costs {COST:.1f}")
    print()
    _print_table(
        ["", "abstained", "error on the others", "mean cost"],
        [
            [
                name,
                _percent(s.rejected for s in of),
                _percent(s.error_on_others for s in of),
                f"{np.mean([s.cost for s in of]):.3f}",
            ]
            for name, of in scores.items()
        ],
    )
    print(f"(abstained where the probability of an error is above {COST:.1f}, as reject does)")
    print()


def _score(
    name: str,
    X: Floats,
    y: Ints,
    splits: list[tuple[Ints, Ints]],
    seed: int,
) -> list[Scores]:
    """Fit one classifier on the training part of each split and score it on the test part."""
    print(f"fitting {name}", flush=True)
    scores = []
    for train, test in splits:
        began = time.perf_counter()
        with warnings.catch_warnings():
            # The kernel of the Gaussian process may end at a bound, as for many of its users.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = CLASSIFIERS[name](X[train], y[train], seed)
        seconds = time.perf_counter() - began
        scores.append(Scores.of(y[test], model.predict_proba(X[test]), seconds))
    return scores


def _compare_kernels(seed: int, n_splits: int) -> None:
    """Print the evidence of kernels on the training parts, beside their scores on the others."""
    X, y = load_sonar(return_X_y=True)
    rows = []
    for name, kernel in KERNELS.items():
        print(f"fitting kernel: {name}", flush=True)
        evidence, errors, losses = [], [], []
        for train, test in _splits(y, seed, n_splits):
            model = BayesPointClassifier(kernel, random_state=seed).fit(X[train], y[train])
            scores = Scores.of(y[test], model.predict_proba(X[test]), 0.0)
            evidence.append(model.tuning_.log_evidence)
            errors.append(scores.error)
            losses.append(scores.log_loss)
        rows.append((float(np.mean(evidence)), name, _percent(errors), _with_error(losses)))
    print()
    print("3. Kernels: which is best, judged by the training examples alone?")
    print()
    _print_table(
        ["", "log evidence", "error", "log loss"],
        [[name, f"{value:.1f}", *others] for value, name, *others in sorted(rows, reverse=True)],
    )
    print("(log evidence: the log marginal likelihood of the training labels, higher is better)")
    print()


def _percent(values: Any) -> str:
    return f"{np.mean(list(values)):.1%}"


def _with_error(values: list[float]) -> str:
    """Return the mean, with its standard error if there are several values."""
    mean = f"{np.mean(values):.3f}"
    if len(values) == 1:
        return mean
    return f"{mean} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"


def _print_table(header: list[str], rows: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("   ".join([row[0].ljust(widths[0]), *cells]))


def _draw_plane(directory: Path, seed: int) -> Path:
    """Fit on two interlocked arcs, draw the probability over the plane, return the file."""
    from matplotlib.figure import Figure
    from sklearn.inspection import DecisionBoundaryDisplay

    X, y = _two_arcs(120, np.random.default_rng(seed))
    classifier = BayesPointClassifier(random_state=seed).fit(X, y)
    figure = Figure(figsize=(7.2, 5.6), layout="constrained")
    ax = figure.add_subplot()
    shades = DecisionBoundaryDisplay.from_estimator(
        classifier,
        X,
        response_method="predict_proba",
        plot_method="pcolormesh",
        cmap="RdYlBu_r",
        vmin=0.0,
        vmax=1.0,
        grid_resolution=200,
        ax=ax,
    )
    figure.colorbar(shades.surface_, label=f"probability of the {classifier.classes_[1]}")
    ax.contour(
        shades.xx0,
        shades.xx1,
        shades.response,
        levels=[0.1, 0.5, 0.9],
        colors="black",
        linestyles=["dashed", "solid", "dashed"],
        linewidths=[1.0, 2.0, 1.0],
    )
    for label, marker in zip(classifier.classes_, "o^", strict=True):
        ax.scatter(*X[y == label].T, marker=marker, edgecolors="black", label=label)
    ax.legend(loc="lower left")
    ax.set_title("Two interlocked arcs: probability of the upper one")
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "decision_function.png"
    figure.savefig(path, dpi=80)
    return path.resolve()


def _two_arcs(n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.str_]]:
    """Draw n points from two half circles, one upside down and moved into the other."""
    angle = np.pi * rng.random(n)
    upper = np.arange(n) % 2 == 0
    x1 = np.where(upper, np.cos(angle), 1.0 - np.cos(angle))
    x2 = np.where(upper, np.sin(angle), 0.5 - np.sin(angle))
    X = np.column_stack([x1, x2]) + 0.2 * rng.standard_normal((n, 2))
    return X, np.where(upper, "upper arc", "lower arc")


if __name__ == "__main__":
    sys.exit(main())
