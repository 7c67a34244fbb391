"""The two sets of lecture notes: perceptrons, their margins and mistakes, the plane that they find.

All three experiments here measure the same random problems, which they share on disk.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np
from scipy import stats

from bayespoint import VersionSpace
from bayespoint.papers.drawings.appendix import fit_window
from bayespoint.papers.experiments.framework import (
    SPLITS,
    Claim,
    Experiment,
    Report,
    Settings,
    Text,
    units_of,
)
from bayespoint.papers.experiments.rows import Row, Rows, every, mean_of
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.primal import HingeClassifier, Perceptron

UPDATES = {"R": "b ← b + yR", "R2": "b ← b + yR²"}
TEST = 2000
PARTS = 4
"""Parts in which the examples come, each seen once, when learning is incremental."""
LARGE, QUICK_LARGE = 50_000, 5_000
_BLUE, _ORANGE, _GREEN = "#0072B2", "#D55E00", "#009E73"  # of Okabe and Ito's palette


def problem(
    seed: int, d: int | None = None, m: int | None = None, gap: float = 0.1
) -> tuple[Any, Any, Any, Any]:
    """Return inputs, labels, test inputs and test labels, by a random plane.

    Inputs are normal, of a random scale. Without d and m there are 10 to 80 training examples in 1
    to 10 dimensions, of both classes, all at least `gap` standard deviations of the features from
    the plane. Test examples are at all distances.
    """
    rng = np.random.default_rng(seed)
    while True:
        n, size = d or int(rng.integers(1, 11)), m or int(rng.integers(10, 81))
        normal = rng.standard_normal(n)
        normal /= np.linalg.norm(normal)
        threshold, scale = rng.standard_normal(), np.exp(rng.uniform(-2, 2))
        inputs = rng.standard_normal((10 * size + TEST, n))
        distance = inputs @ normal + threshold
        labels = np.where(distance > 0, 1, -1)
        train = np.flatnonzero(np.abs(distance[:-TEST]) > gap)[:size]
        if len(train) == size and abs(labels[train].sum()) < size:
            test = slice(len(inputs) - TEST, None)
            return scale * inputs[train], labels[train], scale * inputs[test], labels[test]


def literal(
    X: Any, y: Any, bias_step: float, *, strict: bool = False
) -> list[tuple[Any, float, float]]:
    """Return w and b after every update of the printed algorithm, written out line by line.

    The third number is by how much the margin of its example rose, as a share of Eq. 8's. b moves
    by R or R². If `strict`, a mistake is y (<w, x> + b) < 0, as the lecture prints it, and
    not ≤ 0 as the notes have it.
    """
    w, b = np.zeros(X.shape[1]), 0.0
    path: list[tuple[Any, float, float]] = []
    update = True
    while update:
        update = False
        for x, label in zip(X, y, strict=True):
            product = label * (w @ x + b)
            if product < 0 or (product == 0 and not strict):
                update = True
                w, b = w + label * x, b + label * bias_step
                path.append((w, b, (label * (w @ x + b) - product) / (x @ x + bias_step)))
    return path


_units = units_of(problem=SPLITS)


def _measure(unit: Row, settings: Settings) -> Row:
    X, y, X_test, y_test = problem(settings.seed_of(unit["problem"]))
    found: Row = {"dimension": X.shape[1], "examples": len(y)}
    machine = MaxMarginClassifier("linear", C=np.inf, fit_intercept="free").fit(X, y)
    w, b = machine.dual_coef_[0] @ X, machine.intercept_[0]
    active = machine.support_
    # In canonical form, where the support vectors are at distance 1 in units of 1 / |w|.
    outputs = X @ w + b
    printed = np.mean(X[active] @ w - y[active])  # the lecture's b
    others = np.setdiff1d(np.arange(len(y)), active)
    found |= {
        "margin svm": machine.margin_[0],
        "error svm": np.mean(machine.predict(X_test) != y_test),
        "support": len(active),
        "printed b": printed,
        "b": b,
        "not below -1": (outputs[others] >= -1).sum(),
        "others": len(others),
    }
    for name in UPDATES:
        model = Perceptron(bias_update=name, max_epochs=10**6).fit(X, y)
        radius = model.radius_
        step = {"R": radius, "R2": radius**2}[name]  # the square of the coordinate that b adds
        best = VersionSpace(X @ X.T, y, offset=step).max_margin()
        target, target_b = best.dual_coef @ X, step * best.dual_coef.sum()
        path = literal(X, y, step)
        slow = Perceptron(bias_update=name, learning_rate=0.25, max_epochs=10**6).fit(X, y)
        k = 1 + np.arange(len(path))
        weights, biases = np.stack([one[0] for one in path]), np.array([one[1] for one in path])
        squares = (weights**2).sum(axis=1) + biases**2 / step
        products = weights @ target + biases * target_b / step
        margin = (y * (X @ target + target_b)).min()
        found |= {
            f"mistakes {name}": model.n_mistakes_[0],
            f"bound {name}": model.mistake_bound(X, y, target, target_b),
            f"own bound {name}": model.mistake_bound_[0],
            f"same {name}": (
                len(path) == model.n_mistakes_[0] == slow.n_mistakes_[0]
                and np.allclose(path[-1][0], model.coef_[0], rtol=1e-9)
                and np.isclose(path[-1][1], model.intercept_[0], rtol=1e-9)
            ),
            f"strict {name}": len(literal(X, y, step, strict=True)),
            f"length {name}": (squares / (k * (radius**2 + step))).max(),
            f"progress {name}": (products / (k * margin)).min(),
            f"raised {name}": min(one[2] for one in path),
            f"margin {name}": model.geometric_margin_[0],
            f"error {name}": np.mean(model.predict(X_test) != y_test),
            f"ties {name}": (model.decision_function(X_test) == 0).sum(),
        }
    # With the coordinate R for b the update is that with yR², and R does not change on the way.
    wide, wide_test = (np.column_stack([x, np.full(len(x), model.radius_)]) for x in (X, X_test))
    stream = Perceptron(bias_update=None)
    for part, rows in enumerate(np.array_split(np.arange(len(y)), PARTS), 1):
        stream.partial_fit(wide[rows], y[rows], classes=[-1, 1])
        found[f"error after {part}"] = np.mean(stream.predict(wide_test) != y_test)
    found["mistakes stream"] = stream.n_mistakes_[0]
    return found | _plane(X, y, model)


def _plane(X: Any, y: Any, model: Perceptron) -> Row:
    """Compare Eqs. 2, 3 and 5 of the notes with distances found by least squares."""
    w, b = model.coef_[0], model.intercept_[0]

    def nearest(x: Any) -> Any:
        """Return the nearest point of the plane: the shortest step s with <w, x + s> + b = 0."""
        return x + np.linalg.lstsq(w[None], [-b - w @ x], rcond=None)[0]

    origin = nearest(np.zeros(len(w)))
    distances = np.array([np.linalg.norm(x - nearest(x)) for x in X])
    closest = distances.argmin()
    offset = -model.intercept_[0] / model.norm_[0]  # Eq. 3
    unit = w / model.norm_[0]
    along = X[closest] - (X[closest] @ unit) * unit  # orthogonal to w
    rebuilt = along + (y[closest] * model.geometric_margin_[0] + offset) * unit
    return {
        "d_O": offset,
        "radius": model.radius_,
        "off d_O": np.linalg.norm(origin - offset * unit),
        "off margin": abs(distances[closest] - model.geometric_margin_[0]),
        "off Eq. 2": np.linalg.norm(X[closest] - rebuilt),
        "closest label": y[closest],
    }


# --- Crowley: margins ---


def _margins_report(rows: Rows, settings: Settings) -> Report:
    n = len(rows)
    lines = []
    for name, title in (*UPDATES.items(), ("svm", "hard margin")):
        mistakes = f"{np.median(rows[f'mistakes {name}']):.0f}" if name != "svm" else ""
        ratio = mean_of(_ratios(rows, name))
        lines.append([title, mistakes, f"{ratio:.3f}", rows.mean(f"error {name}", 100)])
    margins_table = _MARGINS.table("margins", lines, n=n)
    lines = []
    for d, of_size in rows.by("dimension").items():
        counts = of_size["support"]
        of_all = len(counts), counts.min(), counts.max(), (counts == d + 1).sum()
        lines.append([f"{d}", *map(str, of_all)])
    supports = _MARGINS.table("support-vectors", lines)
    worse = [mean_of(_excess(rows, name)) for name in UPDATES]
    ranks = [stats.spearmanr(_ratios(rows, name), _excess(rows, name)) for name in UPDATES]
    printed, b = rows["printed b"], rows["b"]
    rounding = 1e-5 * (1 + np.abs(b))
    wrong_b = (np.abs(printed - b) > rounding).sum()
    mirrored = (np.abs(printed + b) < rounding).sum()
    violations, others = rows["not below -1"].sum(), rows["others"].sum()
    more_than_usual = rows["support"] - (rows["dimension"] + 1)
    exact, fewer = (more_than_usual == 0).sum(), (more_than_usual < 0).sum()
    updates, same, ties = (
        sum(rows[f"{key} {name}"].sum() for name in UPDATES) for key in ("strict", "same", "ties")
    )
    claims = [
        _MARGINS.claim("same", same == 2 * n, same=same, runs=2 * n),
        _MARGINS.claim("strict", updates > 0, updates=updates),
        _MARGINS.claim(
            "errors",
            every(excess.above(0, 2) for excess in worse),
            worse=" and ".join(map(str, worse)),
        ),
        _MARGINS.claim(
            "rank",
            every(rank.statistic < 0 if rank.pvalue < 0.01 else None for rank in ranks),
            ranks=" and ".join(f"{rank.statistic:.2f}" for rank in ranks),
        ),
        _MARGINS.claim(
            "support", exact == n, exact=exact, n=n, fewer=fewer, more=n - exact - fewer
        ),
        _MARGINS.claim("never-more", exact + fewer == n),
        _MARGINS.claim("b", wrong_b == 0, wrong_b=wrong_b, n=n, mirrored=mirrored),
        _MARGINS.claim("others", violations == 0, violations=violations, others=others),
    ]
    first, last = (100 * rows[f"error after {k}"] for k in (1, PARTS))
    gain = mean_of(first - last)
    broken = (rows["mistakes stream"] > rows["bound R2"] * (1 + 1e-9)).sum()
    claims.append(
        _MARGINS.claim(
            "incremental",
            every([broken == 0, gain.above()]),
            parts=PARTS,
            first=first.mean(),
            gain=gain,
            broken=broken,
            n=n,
        )
    )
    claims.append(_descent(settings))
    remarks = [_MARGINS.fill("ties", ties=ties, decisions=2 * n * TEST)]
    return Report([margins_table, supports], claims, remarks)


def _descent(settings: Settings) -> Claim:
    """Return the claim about gradient descent for large data sets."""
    m = QUICK_LARGE if settings.quick else LARGE
    rng = np.random.default_rng(settings.seed_of(m))
    X, w = rng.standard_normal((m, 20)), rng.standard_normal(20)
    y = np.where(X @ w + rng.normal(scale=2.0, size=m) > 0, 1, -1)
    began = time.process_time()
    stream = HingeClassifier()
    for part in np.split(np.arange(m), m // 1000):
        stream.partial_fit(X[part], y[part], classes=[-1, 1])
    middle = time.process_time()
    full = HingeClassifier(tol=0.001).fit(X, y)
    ratio = (time.process_time() - middle) / (middle - began)
    hinge = np.maximum(0, 1 - stream.margins(X, y)).mean()
    loss = float(hinge + stream.regularization * stream.norm_[0] ** 2)
    excess = loss / (full.loss_[0] * (1 - full.duality_gap_[0])) - 1
    return _MARGINS.claim(
        "large", excess < 0.01 and ratio > 1, m=m, excess=100 * excess, ratio=ratio
    )


def _draw_margins(rows: Rows, settings: Settings, figure: Any) -> None:
    """Draw the histogram of one problem's margins for both planes, and errors against margins."""
    left, right = figure.subplots(1, 2)
    X, y, _, _ = problem(settings.seed_of(0), d=2, m=80, gap=0.15)
    machine = MaxMarginClassifier("linear", C=np.inf, fit_intercept="free").fit(X, y)
    perceptron = Perceptron(bias_update="R", max_epochs=10**6).fit(X, y)
    first, second = (model.margins(X, y, geometric=True) for model in (perceptron, machine))
    edges = np.linspace(0, max(first.max(), second.max()), 21)
    for margins, color, style, label in (
        (first, _ORANGE, "solid", "perceptron"),
        (second, _BLUE, "dashed", "hard margin"),
    ):
        counts, _ = np.histogram(margins, edges)
        left.stairs(counts, edges, color=color, linestyle=style, linewidth=1.8,
                    label=f"{label}, γ = {margins.min():.2g}")  # fmt: skip
    left.set(xlabel="margin of an example: its distance from the plane", ylabel="examples, h(γ)")
    left.yaxis.get_major_locator().set_params(integer=True)
    left.set_title("margins of one problem in the plane", fontsize="medium")
    for name, marker, color in (("R", "o", _ORANGE), ("R2", "s", _GREEN)):
        ratio, excess = _ratios(rows, name), _excess(rows, name)
        groups = np.array_split(np.argsort(ratio), max(1, min(8, len(rows) // 4)))
        means = np.transpose([mean_of(excess[group]) for group in groups])
        right.errorbar([ratio[group].mean() for group in groups], *means, fmt=marker, color=color,
                       capsize=2, label=UPDATES[name])  # fmt: skip
    right.axhline(0, color="gray", linewidth=1, linestyle="dotted", label="hard margin")
    right.set(
        xlabel="margin / largest margin, mean of a group of problems",
        ylabel="test error above the hard margin's, %",
    )
    right.set_title("all problems", fontsize="medium")
    for ax in (left, right):
        ax.legend(frameon=False)


def _ratios(rows: Rows, name: str) -> Any:
    """Return the margins of a plane in units of the largest ones."""
    return rows[f"margin {name}"] / rows["margin svm"]


def _excess(rows: Rows, name: str) -> Any:
    """Return the errors of a plane above those of the largest margin, in percent."""
    return 100 * (rows[f"error {name}"] - rows["error svm"])


# --- The notes: mistakes ---


def _mistakes_report(rows: Rows, settings: Settings) -> Report:
    n = len(rows)
    lines = []
    kept, grown, rose = {}, {}, {}
    for name, title in UPDATES.items():
        mistakes, bound, own = (rows[f"{key} {name}"] for key in ("mistakes", "bound", "own bound"))
        share = mistakes / bound
        lines.append(
            [title, f"{np.median(mistakes):.0f}", f"{mistakes.max()}", f"{np.median(bound):.0f}",
             f"{np.median(own):.0f}", f"{np.median(share):.2f}", f"{share.max():.2f}"]
        )  # fmt: skip
        broken = (mistakes > bound * (1 + 1e-9)).sum()
        length, progress = rows[f"length {name}"].max(), rows[f"progress {name}"].min()
        raised = rows[f"raised {name}"].min()
        step = title.split()[-1]
        kept[f"{step} ({broken} of {n} did)"] = broken == 0
        holds = length <= 1 + 1e-9 and progress >= 1 - 1e-6
        grown[f"{step} (at most {length:.3f} and at least {progress:.3f} of it)"] = holds
        rose[f"{step} (at least {raised:.3f} of it)"] = abs(raised - 1) < 1e-6
    claims = [
        *_MISTAKES.claims("bound", kept),
        *_MISTAKES.claims("updates", grown),
        *_MISTAKES.claims("eq-8", rose),
    ]
    table = _MISTAKES.table("mistakes", lines, n=n)
    radius, difference = rows["radius"], rows["mistakes R"] - rows["mistakes R2"]
    texts = [
        f"in {(difference[of] < 0).sum()} and {(difference[of] > 0).sum()} of {of.sum()} problems "
        f"with {name}"
        for name, of in (("R < 1", radius < 1), ("R from 1 to 5", (radius >= 1) & (radius < 5)),
                         ("R ≥ 5", radius >= 5))
    ]  # fmt: skip
    return Report([table], claims, [_MISTAKES.fill("scale", texts=", ".join(texts))])


def _draw_mistakes(rows: Rows, settings: Settings, figure: Any) -> None:
    for ax, (name, title), color in zip(
        figure.subplots(1, 2, sharex=True, sharey=True),
        UPDATES.items(),
        (_ORANGE, _GREEN),
        strict=True,
    ):
        bound, mistakes = rows[f"bound {name}"], rows[f"mistakes {name}"]
        ax.loglog(bound, mistakes, ".", color=color, alpha=0.6, label="a problem")
        ends = np.array([bound.min(), bound.max()])
        ax.loglog(ends, ends, color="black", linewidth=1, label="as many as the bound")
        ax.set(xlabel="bound", ylabel="mistakes")
        ax.label_outer()
        ax.set_title(title, fontsize="medium")
        ax.legend(frameon=False, loc="upper left")


# --- The notes: the plane ---


def _plane_report(rows: Rows, settings: Settings) -> Report:
    n = len(rows)
    lines, claims = [], []
    for claim, key, text in (
        ("eq-3", "off d_O",
         "d_O = -b/‖w‖ (Eq. 3)"),
        ("eq-5", "off margin",
         "γ_G = y(<w, x> + b)/‖w‖ (Eq. 5)"),
        ("eq-2", "off Eq. 2", "x = its part orthogonal to w + (yγ_G + d_O) w/‖w‖ (Eq. 2)"),
    ):  # fmt: skip
        worst = (rows[key] / rows["radius"]).max()
        lines.append([text, f"{worst:.1e}"])
        claims.append(_BOUNDARY.claim(claim, worst < 1e-9))
    opposite, negative = (rows["d_O"] < 0).sum(), (rows["closest label"] < 0).sum()
    claims += [
        _BOUNDARY.claim("direction", opposite == 0, opposite=opposite, n=n),
        _BOUNDARY.claim("no-label", negative == 0, negative=negative, n=n),
    ]
    return Report([_BOUNDARY.table("differences", lines, n=n)], claims)


def _draw_plane(rows: Rows, settings: Settings, figure: Any) -> None:
    """Draw the notes' figure: the decision boundary with γ_G and d_O."""
    X, y, model = _shown(settings)
    w, b = model.coef_[0], model.intercept_[0]
    unit = w / model.norm_[0]
    offset = -model.intercept_[0] / model.norm_[0]
    margin = model.geometric_margin_[0]
    closest = X[model.margins(X, y).argmin()]
    foot = closest - (w @ closest + b) / model.norm_[0] * unit
    ax = figure.subplots()
    for label, marker, color in ((1, "x", _ORANGE), (-1, "o", _BLUE)):
        of = y == label
        ax.plot(*X[of].T, marker, color=color, markerfacecolor="none", label=f"y = {label:+d}")
    along = np.array([-unit[1], unit[0]])
    ends = np.array([-3, 3])[:, None] * along * model.radius_
    limits = np.stack([X.min(axis=0), X.max(axis=0), np.zeros(2), offset * unit])
    ax.plot(*(offset * unit + ends).T, color="black", label="decision boundary")
    for k, side in enumerate((-1, 1)):
        ax.plot(*((offset + side * margin) * unit + ends).T, color="gray", linestyle="dashed",
                linewidth=1, label="at the distance γ_G" if k == 0 else None)  # fmt: skip
    ax.plot([0, offset * unit[0]], [0, offset * unit[1]], color=_GREEN, linewidth=2,
            label=f"from the origin to the boundary, |d_O| = {abs(offset):.2f}")  # fmt: skip
    ax.plot(0, 0, "+", color="black", markersize=12, label="origin")
    ax.plot([closest[0], foot[0]], [closest[1], foot[1]], color="#CC79A7", linewidth=2.5,
            label=f"from the closest example, γ_G = {margin:.2f}")  # fmt: skip
    start = offset * unit - 0.4 * (foot - offset * unit)  # on the boundary, apart from both
    ax.annotate(
        "", xytext=tuple(start), xy=tuple(start + 0.2 * np.ptp(limits, axis=0).max() * unit),
        arrowprops={"arrowstyle": "-|>", "color": "black"},
    )  # fmt: skip
    ax.plot([], [], color="black", marker=">", linewidth=1, label="direction of w")
    fit_window(ax, limits, 0.08)
    ax.set(xlabel="x₁", ylabel="x₂", aspect="equal")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)


def _shown(settings: Settings) -> tuple[Any, Any, Perceptron]:
    """Return the examples of the picture and their perceptron: of 50, one with a large γ_G.

    The boundary is to be at some distance from the origin, and either class to have ten examples.
    """
    best: tuple[float, Any] = (-1.0, None)
    for number in range(50):
        X, y, _, _ = problem(settings.seed_of(number), d=2, m=30, gap=0.5)
        model = Perceptron(bias_update="R2", max_epochs=10**6).fit(X, y)
        offset = abs(model.intercept_[0] / model.norm_[0])
        size = min(model.geometric_margin_[0], offset / 2) / model.radius_
        if size > best[0] and abs(y.sum()) <= 10:
            best = size, (X, y, model)
    found: tuple[Any, Any, Perceptron] = best[1]
    return found


_MARGINS = Text.of("perceptrons-and-svms", "perceptron-margins", test=TEST)
_MISTAKES = Text.of("perceptron-notes", "perceptron-mistakes")
_BOUNDARY = Text.of("perceptron-notes", "perceptron-boundary")

_Shared = functools.partial(
    Experiment, units=_units, measure=_measure, splits=400, quick_splits=24, rows="perceptrons"
)
"""Experiments with the same units, whose rows are in one file."""

EXPERIMENTS = (
    _Shared(_MARGINS, _margins_report, _draw_margins),
    _Shared(_MISTAKES, _mistakes_report, _draw_mistakes),
    _Shared(_BOUNDARY, _plane_report, _draw_plane, size=(7.2, 6.4)),
)
