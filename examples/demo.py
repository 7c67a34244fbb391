"""Demonstration: ``python examples/demo.py [--out DIR] [--seed N] [--splits N]``.

On the sonar data, over stratified splits, the self-tuned classifier, and the Bayes point against
the maximal-margin classifier with one fixed kernel; then a picture of the probability over a plane.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier, VersionSpace, __version__
from bayespoint.datasets import load_sonar
from bayespoint.kernels import RBF, at_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

SOFTNESS = 0.1
TEST_SIZE = 83  # 125 : 83, the 60 : 40 split of the sonar experiments in the literature


@dataclass(frozen=True)
class Scores:
    """What one split gave."""

    tuned_error: float
    bayes_point_error: float
    max_margin_error: float
    tuned_loss: float
    bayes_point_loss: float
    base_rate_loss: float
    tuned_brier: float
    bayes_point_brier: float
    base_rate_brier: float
    walls_touched: float
    bounces: float
    ess: float
    r_hat: float
    center_error: float
    fit_seconds: float
    tuned_seconds: float


# One line of the table each: the field of `Scores`, what it is, how to print it.
LINES = (
    ("tuned_error", "test error, self-tuned Bayes point", "{:.1%}"),
    ("bayes_point_error", "test error, Bayes point", "{:.1%}"),
    ("max_margin_error", "test error, maximal margin", "{:.1%}"),
    ("tuned_loss", "log loss (nats), self-tuned", "{:.3f}"),
    ("bayes_point_loss", "log loss (nats), Bayes point", "{:.3f}"),
    ("base_rate_loss", "log loss (nats), base rate", "{:.3f}"),
    ("tuned_brier", "Brier score, self-tuned", "{:.3f}"),
    ("bayes_point_brier", "Brier score, Bayes point", "{:.3f}"),
    ("base_rate_brier", "Brier score, base rate", "{:.3f}"),
    ("walls_touched", "walls touched", "{:.0f}"),
    ("bounces", "bounces", "{:,.0f}"),
    ("ess", "effective sample size", "{:.0f}"),
    ("r_hat", "R-hat", "{:.3f}"),
    ("center_error", "center error (radians)", "{:.3f}"),
    ("fit_seconds", "seconds for the fit", "{:.2f}"),
    ("tuned_seconds", "seconds, self-tuned", "{:.2f}"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration and return the exit status."""
    options = _parse(argv)
    began = time.perf_counter()
    _compare_on_sonar(options.seed, options.splits)
    print()
    try:
        picture = _draw_plane(options.out, options.seed)
    except ImportError as error:
        print(f"no picture: {error} (pip install matplotlib)", file=sys.stderr)
        return 1
    print(f"picture of a two-dimensional decision function: {picture}")
    print(f"seconds for everything: {time.perf_counter() - began:.1f}")
    return 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python examples/demo.py",
        description="The Bayes point against the maximal margin on sonar data, and a picture.",
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
        default=10,
        metavar="N",
        help="number of random splits, at least 1 (default: %(default)s)",
    )
    options = parser.parse_args(argv)
    if options.splits < 1:
        parser.error(f"argument --splits: must be at least 1, got {options.splits}")
    if not 0 <= options.seed < 2**32:
        parser.error(f"argument --seed: must be from 0 to 2**32 - 1, got {options.seed}")
    return options


def _compare_on_sonar(seed: int, n_splits: int) -> None:
    """Score both classifiers on the same splits and print the table."""
    sonar = load_sonar()
    splitter = StratifiedShuffleSplit(n_splits, test_size=TEST_SIZE, random_state=seed)
    scores = [
        _score_split(sonar.data, sonar.target, train, test, seed)
        for train, test in splitter.split(sonar.data, sonar.target)
    ]
    n_train = len(sonar.target) - TEST_SIZE
    print(f"bayespoint {__version__}, sonar data: {len(sonar.target)} echoes, rock or mine")
    print(f"{n_train} training and {TEST_SIZE} test examples, stratified; features standardized on")
    print(f"the training part; seed {seed}. Self-tuned: kernel and softness by evidence. Others:")
    print(f"an RBF kernel with intercept and softness {SOFTNESS}")
    print()
    print(_table(scores, n_train))
    print()
    gains = np.array([s.max_margin_error - s.bayes_point_error for s in scores])
    better, worse = int((gains > 1e-12).sum()), int((gains < -1e-12).sum())
    print(
        f"Bayes point against maximal margin: fewer errors on {better}, as many on "
        f"{n_splits - better - worse}, more on {worse} of {n_splits} splits"
    )


def _score_split(X: Floats, y: Ints, train: Ints, test: Ints, seed: int) -> Scores:
    """Fit both classifiers on the training part and score them on the test part."""
    scaler = StandardScaler().fit(X[train])
    X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
    y_train, y_test = y[train], y[test]

    began = time.perf_counter()
    tuned = BayesPointClassifier(random_state=seed).fit(X_train, y_train)
    tuned_seconds = time.perf_counter() - began
    by_tuned = tuned.predict_proba(X_test)[:, 1]

    began = time.perf_counter()
    kernel = at_start(RBF(), X_train)
    classifier = BayesPointClassifier(kernel, softness=SOFTNESS, random_state=seed)
    classifier.fit(X_train, y_train)
    fit_seconds = time.perf_counter() - began
    probability = classifier.predict_proba(X_test)[:, 1]
    result = classifier.billiard_

    # The maximal margin in the same version space: same kernel, same intercept, same softness.
    space = VersionSpace(kernel(X_train, X_train), y_train, softness=SOFTNESS, offset=1.0)
    margin = space.max_margin().dual_coef
    by_margin = np.where((kernel(X_test, X_train) + 1.0) @ margin > 0, 1, -1)

    base_rate = np.full(len(y_test), np.mean(y_train == 1))
    return Scores(
        tuned_error=float(np.mean(tuned.predict(X_test) != y_test)),
        bayes_point_error=float(np.mean(classifier.predict(X_test) != y_test)),
        max_margin_error=float(np.mean(by_margin != y_test)),
        tuned_loss=float(log_loss(y_test, by_tuned)),
        bayes_point_loss=float(log_loss(y_test, probability)),
        base_rate_loss=float(log_loss(y_test, base_rate)),
        tuned_brier=float(brier_score_loss(y_test, by_tuned)),
        bayes_point_brier=float(brier_score_loss(y_test, probability)),
        base_rate_brier=float(brier_score_loss(y_test, base_rate)),
        walls_touched=float(len(classifier.support_)),
        bounces=float(np.sum(result.bounces)),
        ess=float(np.min(result.ess)),
        r_hat=float(np.max(result.r_hat)),
        center_error=float(result.center_error),
        fit_seconds=fit_seconds,
        tuned_seconds=tuned_seconds,
    )


def _table(scores: list[Scores], n_train: int) -> str:
    """Lay the scores out: the first split, and the mean with its standard error over all."""
    several = len(scores) > 1
    values = {f.name: np.array([getattr(s, f.name) for s in scores]) for f in fields(Scores)}
    header = ["", "split 1"] + ([f"mean of {len(scores)} splits"] if several else [])
    rows = [header]
    for name, title, form in LINES:
        row = [title, form.format(values[name][0])]
        if name == "walls_touched":
            row[1] += f" of {n_train}"
        if several:
            error = values[name].std(ddof=1) / np.sqrt(len(scores))
            row.append(f"{form.format(values[name].mean())} ± {form.format(error)}")
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for title, *cells in rows:
        padded = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("   ".join([title.ljust(widths[0]), *padded]))
    lines.insert(1, "-" * len(max(lines, key=len)))
    if several:
        lines.append("(± one standard error over splits, which share examples)")
    return "\n".join(lines)


def _draw_plane(directory: Path, seed: int) -> Path:
    """Fit on two interlocked arcs, draw the probability over the plane, return the file."""
    from matplotlib.figure import Figure
    from sklearn.inspection import DecisionBoundaryDisplay

    X, y = _two_arcs(120, np.random.default_rng(seed))
    kernel = at_start(RBF(), X)
    classifier = BayesPointClassifier(kernel, softness=SOFTNESS, random_state=seed).fit(X, y)
    figure = Figure(figsize=(7.2, 5.6), layout="constrained")
    ax = figure.add_subplot()
    shades = DecisionBoundaryDisplay.from_estimator(
        classifier,
        X,
        response_method="predict_proba",
        plot_method="pcolormesh",
        cmap="RdYlBu_r",
        grid_resolution=200,
        ax=ax,
    )
    figure.colorbar(shades.surface_, label=f"probability of '{classifier.classes_[1]}'")
    for label, marker in zip(classifier.classes_, "o^", strict=True):
        ax.scatter(*X[y == label].T, marker=marker, edgecolors="black", label=label)
    ax.legend(loc="lower left")
    ax.set_title("Bayes point on two interlocked arcs")
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
