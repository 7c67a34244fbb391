"""Table 1 of Graepel, Herbrich and Williamson: sparsity, and the bounds that follow from it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from bayespoint import VersionSpace
from bayespoint.kernels import Polynomial
from bayespoint.papers import bounds
from bayespoint.papers.averaged import VotedPerceptron
from bayespoint.papers.experiments import sets
from bayespoint.papers.experiments.drawing import curve
from bayespoint.papers.experiments.framework import Claim, Experiment, Report, Settings, Table, Text
from bayespoint.papers.experiments.rows import Mean, Row, Rows, grid, mean_of
from bayespoint.papers.perceptron import KernelPerceptron
from bayespoint.plotting.style import below

M, DELTA = 60_000, 0.05
# For each digit: error % of the perceptron, its support, mistakes and bound in %, then the SVM's
# error, support and bound.
PRINTED = (
    (0.2, 740, 844, 6.7, 0.2, 1379, 11.2),
    (0.2, 643, 843, 6.0, 0.1, 989, 8.6),
    (0.4, 1168, 1345, 9.8, 0.4, 1958, 14.9),
    (0.4, 1512, 1811, 12.0, 0.4, 1900, 14.5),
    (0.4, 1078, 1222, 9.2, 0.4, 1224, 10.2),
    (0.4, 1277, 1497, 10.5, 0.5, 2024, 15.3),
    (0.4, 823, 960, 7.4, 0.3, 1527, 12.2),
    (0.5, 1103, 1323, 9.4, 0.4, 2064, 15.5),
    (0.6, 1856, 2326, 14.3, 0.5, 2332, 17.1),
    (0.7, 1920, 2367, 14.6, 0.6, 2765, 19.6),
)
MNIST = "mnist5k_multiclass.csv.gz"
QUICK_TRAINING = 300
ORDERS, QUICK_ORDERS = 10, 3
BOUNCES, QUICK_BOUNCES = 10_000, 1_000
COMPARABLE = 1.25
"""Largest ratio of two mean errors that counts as comparable."""
STYLES = {"perceptron": ("#0072B2", "o"), "svm": ("#D55E00", "s")}
"""Color and marker."""
CONSISTENT = {
    "normalized": "perceptron",
    "orders": "perceptrons in random order",
    "voted": "voted perceptron",
    "bpm": "Bayes point",
    "unit_svm": "SVM",
}


@functools.lru_cache(maxsize=1)
def _digits() -> tuple[Any, Any, str]:
    """Return images, digits and a description: MNIST if the folder of data has it."""
    if table := sets.named_table(MNIST):
        X, y = table
        return X / 255, y, "the first 5000 of MNIST, 28 x 28"
    X, y = load_digits(return_X_y=True)
    return X / 16, y, "scikit-learn's 1797 digits, 8 x 8"


def _units(settings: Settings) -> list[Row]:
    digits = (3, 8) if settings.quick else range(10)
    return grid(split=range(settings.splits), digit=digits, source=[_digits()[2]])


def _measure(unit: Row, settings: Settings) -> Row:
    X, digits, _ = _digits()
    order = np.random.default_rng(settings.seed_of(unit["split"])).permutation(len(X))
    n_train = QUICK_TRAINING if settings.quick else 4 * len(X) // 5
    train, test = order[:n_train], order[n_train:]
    y = np.where(digits == unit["digit"], 1, -1)
    kernel = Polynomial(degree=4, coef0=1.0)
    K, K_test = kernel(X[train]), kernel(X[test], X[train])
    lengths = np.sqrt(K.diagonal())
    # The lengths of the test vectors do not change signs.
    U, U_test = K / np.outer(lengths, lengths), K_test / lengths
    seed = settings.seed_of(unit["split"], unit["digit"])
    without: dict[str, Any] = {"kernel": "precomputed", "fit_intercept": False}
    machines = {
        "perceptron": KernelPerceptron(**without),
        "svm": sets.MARGIN(fit_intercept=False),
        "normalized": KernelPerceptron(**without),
        "voted": VotedPerceptron(**without),
        "unit_svm": sets.MARGIN(fit_intercept=False),
        "bpm": sets.BILLIARD(
            motion="geodesic", N_max=QUICK_BOUNCES if settings.quick else BOUNCES, n_balls=4,
            random_state=seed,
        ),
    }  # fmt: skip
    found: Row = {}
    for name, machine in machines.items():
        G, G_test = (K, K_test) if name in STYLES else (U, U_test)
        found[f"{name}_error"] = sets.wrong(machine, G, G_test, y[train], y[test]).mean()
    perceptron, svm, normalized, _, widest, bpm = machines.values()
    for name in ("perceptron", "svm", "normalized"):
        found[f"{name}_support"] = d = len(machines[name].support_)
        found[f"{name}_bound"] = bounds.sparsity(n_train, d, DELTA)
    kappa = bounds.mistakes(widest.margin_[0])
    return {
        **found,
        "mistakes": perceptron.n_mistakes_[0],
        "mistake_bound": bounds.mistakes(svm.margin_[0], lengths.max()),
        "normalized_mistakes": normalized.n_mistakes_[0],
        "kappa": kappa,
        "margin_bound": bounds.margin(n_train, kappa, DELTA),
        "pac_margin_bound": bounds.pac_margin(n_train, kappa, DELTA),
        "center_error": bpm.runs_[0].center_error,
        **_permuted(U, U_test, y[train], y[test], settings, seed),
        "n_train": n_train,
    }


def _permuted(K: Any, K_test: Any, y: Any, y_test: Any, settings: Settings, seed: int) -> Row:
    """Return how the perceptrons of several random orders of presentation differ."""
    rng = np.random.default_rng(seed)
    found = [
        KernelPerceptron(
            "precomputed",
            fit_intercept=False,
            order="random",
            random_state=int(rng.integers(2**32)),
        ).fit(K, y)
        for _ in range(QUICK_ORDERS if settings.quick else ORDERS)
    ]
    supports = [len(each.support_) for each in found]
    values = K_test @ np.stack([each.dual_coef_[0] for each in found]).T
    errors = ((values > 0) != (y_test > 0)[:, None]).mean(axis=0)
    positive = (values > 0).mean(axis=1)
    n = len(found)
    return {
        "orders": n,
        "orders_distinct": len({tuple(each.support_) for each in found}),
        "orders_consistent": sum(bool(each.functional_margin_[0] > 0) for each in found),
        "orders_least_support": min(supports),
        "orders_most_support": max(supports),
        "orders_most_mistakes": max(int(each.n_mistakes_[0]) for each in found),
        "orders_error": errors.mean(),
        "orders_spread": errors.std(ddof=1),
        # The probability that two of them, chosen at random, disagree on a test digit.
        "orders_disagree": (2 * positive * (1 - positive)).mean() * n / (n - 1),
    }


def _report(rows: Rows, settings: Settings) -> Report:
    lines, off = [], []
    for digit, (_, d, mistakes, bound, _, d_svm, bound_svm) in enumerate(PRINTED):
        ours = [100 * float(bounds.sparsity(M, k, DELTA)) for k in (d, d_svm)]
        for k, printed, value in zip((d, d_svm), (bound, bound_svm), ours, strict=True):
            if f"{value:.1f}" != f"{printed:.1f}":
                off.append(f"d = {k}: {value:.2f}, printed {printed:.1f}")
        lines.append(
            [f"{digit}", f"{d}", f"{mistakes}", f"{bound:.1f}", f"{ours[0]:.2f}", f"{d_svm}",
             f"{bound_svm:.1f}", f"{ours[1]:.2f}"]
        )  # fmt: skip
    printed_table = _TEXT.table("printed-bounds", lines, m=M, delta=DELTA)
    exact = 2 * len(PRINTED) - len(off)
    n_train = rows["n_train"][0]
    measured = [
        [f"{digit}", f"{PRINTED[digit][0]}", cell.mean("perceptron_error", 100),
         *_counts(cell, "perceptron_support", "mistakes", "mistake_bound"),
         *_percents(cell, "perceptron_bound"), f"{PRINTED[digit][4]}", cell.mean("svm_error", 100),
         *_counts(cell, "svm_support"), *_percents(cell, "svm_bound")]
        for digit, cell in rows.by("digit").items()
    ]  # fmt: skip
    known = {"source": _digits()[2], "n_train": n_train, "splits": settings.splits}
    ours_table = _TEXT.table("ours", measured, **known)
    broken = [
        row
        for row in rows
        if row["mistakes"] > row["mistake_bound"]
        or max(row["normalized_mistakes"], row["orders_most_mistakes"]) > row["kappa"]
    ]
    sparser = (rows["perceptron_support"] < rows["svm_support"]).sum()
    lines_table, two_lines = _two_lines()
    claims = [
        _TEXT.claim("printed", exact == 19, exact=exact, mismatches=", ".join(off)),
        _TEXT.claim("mistakes", not broken),
        _TEXT.claim("sparser", sparser == len(rows), general=True, sparser=sparser, n=len(rows)),
        *_main_result(rows),
        *_many(rows),
        two_lines,
    ]
    remarks = [
        _TEXT.fill("misprint"),
        _TEXT.fill(
            "variants",
            bounces=QUICK_BOUNCES if settings.quick else BOUNCES,
            error=np.median(rows["center_error"]),
        ),
    ]
    tables = [
        printed_table, ours_table, _guaranteed(rows), _compared(rows), lines_table
    ]  # fmt: skip
    return Report(tables, claims, remarks)


def _counts(rows: Rows, *names: str) -> list[str]:
    return [f"{rows[name].mean():.0f}" for name in names]


def _percents(rows: Rows, *names: str) -> list[str]:
    return [f"{100 * rows[name].mean():.1f}" for name in names]


def _guaranteed(rows: Rows) -> Table:
    """Return the table of Theorem 4 on normalized feature vectors."""
    lines = [
        [f"{digit}", cell.mean("normalized_error", 100),
         *_counts(cell, "normalized_support", "normalized_mistakes", "kappa"),
         *_percents(cell, "normalized_bound", "margin_bound")]
        for digit, cell in rows.by("digit").items()
    ]  # fmt: skip
    return _TEXT.table("theorem-4", lines)


def _main_result(rows: Rows) -> list[Claim]:
    """Return the claims about Theorem 4."""
    bound, old = rows["margin_bound"], rows["pac_margin_bound"]
    n, smaller = len(rows), (rows["kappa"] <= rows["mistake_bound"]).sum()
    difference = _over_digits(rows, lambda of: of["normalized_error"] - of["perceptron_error"])
    least, most, below = 100 * bound.min(), 100 * bound.max(), bound < old
    return [
        _TEXT.claim("never-vacuous", (bound < 1).all(), least=least, most=most),
        _TEXT.claim("smaller", below.all(), count=below.sum(), n=n, old=old.min()),
        _TEXT.claim("eq-5", smaller == n, smaller=smaller, n=n, difference=difference),
    ]


def _compared(rows: Rows) -> Table:
    """Return the table of several consistent classifiers."""
    lines = [
        [f"{digit}", *(cell.mean(f"{name}_error", 100) for name in CONSISTENT),
         f"{100 * cell['orders_spread'].mean():.2f}", f"{100 * cell['orders_disagree'].mean():.2f}",
         f"{cell['orders_least_support'].min()} to {cell['orders_most_support'].max()}"]
        for digit, cell in rows.by("digit").items()
    ]  # fmt: skip
    lines.append(["all", *_errors(rows).values(), "", "", ""])
    classifiers = " | ".join(CONSISTENT.values())
    return _TEXT.table("consistent", lines, orders=rows["orders"][0], classifiers=classifiers)


def _over_digits(rows: Rows, errors: Callable[[Rows], Any]) -> Mean:
    """Return the mean of errors, in percent, over all digits; the splits are the repetitions."""
    by_split = [errors(of_split).mean() for of_split in rows.by("split").values()]
    return mean_of(100 * np.array(by_split))


def _errors(rows: Rows) -> dict[str, Mean]:
    """Return the errors over all digits of the consistent classifiers."""
    return {name: _over_digits(rows, itemgetter(f"{name}_error")) for name in CONSISTENT}


def _many(rows: Rows) -> list[Claim]:
    """Return the claims about different consistent classifiers."""
    orders, distinct, consistent = (
        int(rows[name].sum()) for name in ("orders", "orders_distinct", "orders_consistent")
    )
    means = {name: error.value for name, error in _errors(rows).items()}
    worst, best = max(means.values()), min(means.values())
    fewest, most = (end(CONSISTENT, key=lambda name: means[name]) for end in (min, max))
    gap = _over_digits(rows, lambda of: of[f"{most}_error"] - COMPARABLE * of[f"{fewest}_error"])
    lead = _over_digits(rows, lambda of: of["normalized_error"] - of[f"{fewest}_error"])
    return [
        _TEXT.claim(
            "permutations",
            orders == distinct == consistent,
            consistent=consistent,
            orders=orders,
            distinct=distinct,
        ),
        _TEXT.claim(
            "comparable",
            gap.below(0, 2),
            best=best,
            worst=worst,
            comparable=COMPARABLE,
            fewest=CONSISTENT[fewest],
            lead=lead,
        ),
    ]


def _two_lines(m: int = 100) -> tuple[Table, Claim]:
    """Return table and claim of footnote 2: two parallel lines in the unit ball, √2 apart."""
    rng = np.random.default_rng(0)
    side = np.where(np.arange(m) % 2 == 0, 1, -1)
    X = np.column_stack([rng.uniform(-1, 1, m), side]) / np.sqrt(2)
    machine = VersionSpace(X @ X.T, side).max_margin()
    perceptron = KernelPerceptron("linear", fit_intercept=False).fit(X, side)
    distances = side * (X @ (machine.dual_coef @ X))
    on_margin = int((distances < machine.margin * (1 + 1e-9)).sum())
    used = len(perceptron.support_)
    table = _TEXT.table("two-lines-table", [
            ["on the SVM's margin", f"{on_margin}"],
            ["essential support vectors of our solution", f"{len(machine.support)}"],
            ["in the perceptron's solution", f"{used}"],
            ["allowed by the mistake bound", f"{bounds.mistakes(machine.margin, 1.0):.3g}"],
        ], m=m)  # fmt: skip
    holds = on_margin == m and used <= 2
    return table, _TEXT.claim("two-lines", holds, m=m, used=used)


def _draw(rows: Rows, settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, 3)
    d = np.unique(np.geomspace(100, 6000, 100).round())
    axes[0].plot(d, 100 * bounds.sparsity(M, d, DELTA), color="gray", label="Theorem 3")
    for (color, marker), label, points in (
        (STYLES["perceptron"], "perceptron, printed", [(row[1], row[3]) for row in PRINTED]),
        (STYLES["svm"], "SVM, printed", [(row[5], row[6]) for row in PRINTED]),
    ):
        axes[0].plot(*zip(*points, strict=True), marker, color=color, label=label)
    axes[0].set(xlabel="sparsity d", ylabel="bound, %", xlim=(0, 3000), ylim=(0, 22))
    axes[0].set_title(f"paper, m = {M}", fontsize="medium")
    _draw_errors(rows, axes[1])
    _draw_bounds(rows, axes[2])
    for ax in axes:
        below(ax, ncols=2, fontsize="small")


def _draw_errors(rows: Rows, ax: Any) -> None:
    """Draw mean error against mean sparsity, a marker with its number for each digit."""
    for name, label in (("perceptron", "perceptron"), ("svm", "SVM")):
        color, marker = STYLES[name]
        for digit, cell in rows.by("digit").items():
            x = cell[f"{name}_support"].mean()
            y, error = cell.mean(f"{name}_error", 100)
            ax.errorbar(
                x, y, error, fmt=marker, color=color, markersize=11, markerfacecolor="white",
                elinewidth=0.8, zorder=2,
            )  # fmt: skip
            ax.annotate(
                f"{digit}", (x, y), ha="center", va="center", fontsize="small", color=color,
                zorder=3,
            )  # fmt: skip
        ax.plot([], [], marker, color=color, markersize=11, markerfacecolor="white", label=label)
    ax.set(xlabel="sparsity d", ylabel="test error, % (± s.e.)", ylim=(0, None))
    ax.set_title("ours, by digit", fontsize="medium")


def _draw_bounds(rows: Rows, ax: Any) -> None:
    """Draw bounds and errors of each digit."""
    for name, label, color, marker in (
        ("svm_bound", "SVM, Theorem 3", *STYLES["svm"]),
        ("margin_bound", "normalized, Theorem 4", "black", "D"),
        ("perceptron_bound", "perceptron, Theorem 3", *STYLES["perceptron"]),
        ("normalized_bound", "normalized, Theorem 3", "#009E73", "^"),
        ("normalized_error", "normalized, test error", "gray", "x"),
    ):
        curve(ax, rows, "digit", name, 100, fmt=marker, color=color, markersize=5, label=label)
    digits = list(rows.by("digit"))
    ax.set(xlabel="digit", ylabel="bound, % (± s.e.)", ylim=(0, None), xticks=digits)
    ax.set_title(f"ours, m = {rows['n_train'][0]}", fontsize="medium")


_TEXT = Text.of("margin-to-sparsity", "margin-to-sparsity")

EXPERIMENTS = (
    Experiment(_TEXT, _report, _draw, _units, _measure, splits=5, quick_splits=1, size=(13.0, 5.2)),
)
