"""Crowley's lecture: the width of the kernel, and the exclusive or."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from sklearn.datasets import make_circles, make_moons

from bayespoint import InfeasibleError, kernels
from bayespoint.papers.experiments.drawing import legend_below
from bayespoint.papers.experiments.framework import (
    SPLITS,
    Experiment,
    Report,
    Settings,
    Text,
    units_of,
)
from bayespoint.papers.experiments.rows import Mean, Row, Rows, every, mean_of
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.primal import Perceptron
from bayespoint.papers.rollback import without_warnings

TRAINING, TEST = 100, 2000
# Palette of Okabe and Ito, which is safe for color blindness.
_COLORS = ("#0072B2", "#D55E00", "#009E73")

# --- the width of the kernel ---

SHAPES = ("moons", "ring", "squares")
NOISES = {"apart": {"moons": 0.08, "ring": 0.06, "squares": 0.2},
          "overlapping": {"moons": 0.3, "ring": 0.2, "squares": 0.55}}  # fmt: skip
WIDTHS = tuple(2.0**k for k in range(-4, 13))


def clouds(shape: str, noise: float, m: int, seed: int) -> tuple[Any, Any]:
    """Return m points of two classes in the plane: two moons, a ring about a disc, or four squares.

    Parameters
    ----------
    shape : {"moons", "ring", "squares"}
        Squares: the classes are opposite corners of a square, the exclusive or.
    noise : float
        Standard deviation of the normal noise of each coordinate.
    m, seed : int
        Number of points, and the seed.

    Returns
    -------
    X, y : ndarray of shapes (m, 2) and (m,)
        Points and labels -1 and +1.
    """
    if shape == "squares":
        return corners(2, noise, m, seed)
    make = make_moons if shape == "moons" else make_circles
    how = {} if shape == "moons" else {"factor": 0.4}
    X, y = make(m, noise=noise, random_state=seed, **how)
    return X, 2 * y - 1


def corners(d: int, noise: float, m: int, seed: int) -> tuple[Any, Any]:
    """Return m points near the corners of the cube [-1, 1]^d; labels are products of the signs."""
    rng = np.random.default_rng(seed)
    places = np.array(list(itertools.product((-1.0, 1.0), repeat=d)))[np.arange(m) % 2**d]
    return places + noise * rng.standard_normal((m, d)), places.prod(axis=1).astype(int)


_width_units = units_of(classes=NOISES, shape=SHAPES, problem=SPLITS)


def _machine(X: Any, y: Any, sigma: float) -> MaxMarginClassifier:
    """Return the soft margin of the lecture with C = 1 / (2Mλ) = 1 and b without a penalty."""
    return MaxMarginClassifier(kernels.RBF(sigma), fit_intercept="free").fit(X, y)


def _width(unit: Row, settings: Settings) -> Row:
    seed = _seed(unit, settings)
    noise = NOISES[unit["classes"]][unit["shape"]]
    X, y = clouds(unit["shape"], noise, TRAINING, seed)
    X_test, y_test = clouds(unit["shape"], noise, TEST, seed + 1)
    distance = kernels.class_distance(X, y)
    found: Row = {"distance": distance}
    for width in WIDTHS:
        machine = _machine(X, y, width * distance)
        found |= {
            f"training {width:g}": np.mean(machine.predict(X) != y),
            f"test {width:g}": np.mean(machine.predict(X_test) != y_test),
            f"spread {width:g}": machine.decision_function(X).std(),
            f"support {width:g}": len(machine.support_) / TRAINING,
        }
    return found


def _seed(unit: Row, settings: Settings) -> int:
    numbers = list(NOISES).index(unit["classes"]), SHAPES.index(unit["shape"]), unit["problem"]
    return settings.seed_of(*numbers) % 2**32


def _best(rows: Rows) -> float:
    """Return the width with the smallest mean test error."""
    return min(WIDTHS, key=lambda width: float(rows[f"test {width:g}"].mean()))


def _excess(rows: Rows, width: float) -> Mean:
    """Return by how much the test error at a width exceeds the smallest, in percent."""
    best = rows[f"test {_best(rows):g}"]
    return mean_of(100 * (rows[f"test {width:g}"] - best))


def _width_report(rows: Rows, settings: Settings) -> Report:
    small, large = WIDTHS[0], WIDTHS[-1]
    lines, surface, overfit, flat, worse, distances = [], [], [], [], [], []
    for classes in NOISES:
        rule = {}
        for shape in SHAPES:
            cell, name = rows.where(classes=classes, shape=shape), f"{shape}, {classes}"
            best = _best(cell)
            errors = (cell.mean(f"test {width:g}", 100) for width in (small, 1.0, best, large))
            lines.append([name, f"{np.median(cell['distance']):.3f}", f"{best:g}", *errors])
            training, support, spread = (
                [cell[f"{key} {width:g}"].mean() for width in (small, best, large)]
                for key in ("training", "support", "spread")
            )
            shares = (f"{100 * share:.1f}" for share in (*training[1:], *support[:2]))
            surface.append([name, *shares, *(f"{value:.2f}" for value in spread[:2])])
            exact = cell[f"training {small:g}"].max() == 0
            overfit.append(exact and _excess(cell, small).above(0, 2))
            flat.append(cell[f"spread {large:g}"].mean() / cell[f"spread {best:g}"].mean())
            worse.append(_excess(cell, large).above(0, 2))
            rule[shape] = _excess(cell, 1.0)
        excess = ", ".join(f"{shape} {mean} %" for shape, mean in rule.items())
        holds = every(mean.below(1, 2) for mean in rule.values())
        distances.append(_WIDTH.claim("distance", holds, classes=classes, excess=excess))
    n, part = len(lines), 1 / small
    tables = [
        _WIDTH.table("errors", lines, splits=settings.splits, part=part, large=large),
        _WIDTH.table("surface", surface, part=part, large=large),
    ]
    claims = [
        _WIDTH.claim("overfits", every(overfit), part=part, count=overfit.count(True), n=n),
        _WIDTH.claim("flat", max(flat) < 0.1, large=large, most=max(flat)),
        _WIDTH.claim("worse", every(worse), count=worse.count(True), n=n),
    ]
    return Report(tables, [*claims, *distances])


def _draw_width(rows: Rows, settings: Settings, figure: Any) -> None:
    """Draw g over the plane for three widths, and test errors against the width."""
    upper, lower = figure.subfigures(2, 1, height_ratios=(1.7, 1))
    axes = upper.subplots(2, 3)
    best = _best(rows.where(shape="moons", classes="overlapping"))
    for line, (classes, noises) in zip(axes, NOISES.items(), strict=True):
        unit = {"classes": classes, "shape": "moons", "problem": 0}
        X, y = clouds("moons", noises["moons"], TRAINING, _seed(unit, settings))
        distance = kernels.class_distance(X, y)
        for ax, width in zip(line, (1.0, best, WIDTHS[-1]), strict=True):
            middle = X.mean(axis=0)
            whole = float(np.abs(X - middle).max()) + 0.3
            reach = min(whole, 30 * width * distance)
            places = np.stack(
                np.meshgrid(*(np.linspace(c - reach, c + reach, 401) for c in middle))
            )
            g = _machine(X, y, width * distance).decision_function(places.reshape(2, -1).T)
            g = g.reshape(places.shape[1:])
            shades = ax.contourf(
                *places, g.clip(-2, 2), levels=np.linspace(-2, 2, 17), cmap="RdBu_r"
            )
            ax.contour(*places, g, levels=[0], colors="black", linewidths=1.5)
            for label, marker, color in ((1, "x", "black"), (-1, "o", "white")):
                ax.plot(*X[y == label].T, marker, color="black", markerfacecolor=color,
                        markersize=4, label=f"y = {label:+d}")  # fmt: skip
            ax.set(xlim=places[0, 0, [0, -1]], ylim=places[1, [0, -1], 0])
            multiple = "d" if width == 1 else f"{width:g} d"
            name = f"{classes}{', a part' if reach < whole else ''}"
            ax.set_title(f"{name}, σ = {multiple} = {width * distance:.3g}", fontsize="medium")
    upper.colorbar(shades, ax=axes, label="g(x), cut at ±2", ticks=[-2, -1, 0, 1, 2])
    legend_below(upper, [axes[0, 0]], 2)
    for ax, classes in zip(lower.subplots(1, 2, sharey=True), NOISES, strict=True):
        for shape, color, marker in zip(SHAPES, _COLORS, "os^", strict=True):
            cell = rows.where(classes=classes, shape=shape)
            means = np.transpose([cell.mean(f"test {width:g}", 100) for width in WIDTHS])
            ax.errorbar(WIDTHS, *means, color=color, marker=marker, markersize=4, capsize=2,
                        label=shape)  # fmt: skip
        ax.axvline(1, color="gray", linestyle="dotted", label="the lecture's σ = d")
        ax.set(xscale="log", xlabel="σ / d", title=f"classes {classes}")
        ax.set_xscale("log", base=2)
        ax.title.set_fontsize("medium")
        ax.set_ylabel("test error, %")
        ax.label_outer()
    legend_below(lower, [lower.axes[0]], 4)


# --- the exclusive or ---

DIMENSIONS = (2, 3, 4, 5)
SIGMAS = (0.25, 0.5, 1.0, 2.0)
NOISE = 0.3


_xor_units = units_of(dimension=DIMENSIONS, problem=SPLITS)


def _xor(unit: Row, settings: Settings) -> Row:
    d = unit["dimension"]
    seed = settings.seed_of(d, unit["problem"])
    m = 2**d * 8
    X, y = corners(d, NOISE, m, seed)
    X_test, y_test = corners(d, NOISE, TEST, seed + 1)
    linear = MaxMarginClassifier("linear", fit_intercept="free").fit(X, y)
    with without_warnings():
        perceptron = Perceptron(bias_update="R", max_epochs=200).fit(X, y)
    rbf = MaxMarginClassifier(kernels.RBF(1.0), C=np.inf, fit_intercept="free").fit(X, y)
    models = {"linear": linear, "perceptron": perceptron, "rbf": rbf}
    errors = {name: np.mean(model.predict(X_test) != y_test) for name, model in models.items()}
    return {
        "separable": _separates("linear", X, y),
        "rbf separable": (rbf.predict(X) == y).all(),
        **errors,
        "support": len(rbf.support_),
    }


def _separates(kernel: Any, X: Any, y: Any) -> bool:
    """Return whether there is a hard margin with this kernel."""
    try:
        MaxMarginClassifier(kernel, C=np.inf, fit_intercept="free").fit(X, y)
    except InfeasibleError:
        return False
    return True


def _xor_report(rows: Rows, settings: Settings) -> Report:
    lines, errors, gains = [], [], []
    exact = {"linear": 0, "rbf": 0}
    for d in DIMENSIONS:
        X, y = corners(d, 0.0, 2**d, 0)
        linear = _separates("linear", X, y)
        widths = sum(_separates(kernels.RBF(sigma), X, y) for sigma in SIGMAS)
        exact["linear"] += linear
        exact["rbf"] += widths
        cell = rows.where(dimension=d)
        means = [cell.mean(key, 100) for key in ("perceptron", "linear", "rbf")]
        errors += [mean.value for mean in means[:2]]
        gains.append(mean_of(100 * (cell["linear"] - cell["rbf"])))
        lines.append([f"{d}", "yes" if linear else "no", f"{widths} of {len(SIGMAS)}", *means,
                      f"{cell['support'].mean():.0f}"])  # fmt: skip
    table = _XOR.table("corners", lines, splits=settings.splits)
    n, n_corners = len(rows), len(DIMENSIONS) * len(SIGMAS)
    separable, rbf = rows["separable"].sum(), rows["rbf separable"].sum()
    more = (rows["support"] > rows["dimension"] + 1).sum()
    least = min(errors)
    claims = [
        _XOR.claim(
            "linear",
            exact["linear"] == separable == 0,
            dimensions=DIMENSIONS[-1],
            corners=exact["linear"],
            n_corners=len(DIMENSIONS),
            separable=separable,
            n=n,
        ),
        _XOR.claim(
            "rbf",
            exact["rbf"] == n_corners and rbf == n,
            smallest=SIGMAS[0],
            largest=SIGMAS[-1],
            corners=exact["rbf"],
            n_corners=n_corners,
            rbf=rbf,
            n=n,
        ),
        _XOR.claim(
            "new",
            every([least > 20, *(gain.above(0, 2) for gain in gains)]),
            least=least,
            gain=min(gains).value,
        ),
        _XOR.claim("support", more == 0, more=more, n=n),
    ]
    return Report([table], claims)


def _draw_xor(rows: Rows, settings: Settings, figure: Any) -> None:
    """Draw what a linear machine and one with an RBF kernel make of the exclusive or."""
    X, y = corners(2, NOISE, 32, settings.seed_of(2, 0))
    linear = MaxMarginClassifier("linear", fit_intercept="free").fit(X, y)
    rbf = MaxMarginClassifier(kernels.RBF(1.0), C=np.inf, fit_intercept="free").fit(X, y)
    span = np.linspace(-2.1, 2.1, 201)
    places = np.stack(np.meshgrid(span, span))
    titles = "linear, soft margin", "RBF, σ = 1, hard margin"
    for ax, model, title in zip(
        figure.subplots(1, 2, sharey=True), (linear, rbf), titles, strict=True
    ):
        g = model.decision_function(places.reshape(2, -1).T).reshape(places.shape[1:])
        ax.contourf(*places, g, levels=[-np.inf, 0, np.inf], colors=("#BBD7EA", "#F7D9C4"))
        ax.contour(*places, g, levels=[0], colors="black", linewidths=1.5)
        for label, marker, color in ((1, "x", "#D55E00"), (-1, "o", "#0072B2")):
            ax.plot(*X[y == label].T, marker, color=color, label=f"y = {label:+d}")
        wrong = model.predict(X) != y
        ax.plot(*X[wrong].T, "s", color="black", markerfacecolor="none", markersize=10,
                label="wrong")  # fmt: skip
        ax.plot([], [], color="black", label="g = 0")
        ax.set(xlabel="x₁", ylabel="x₂", title=f"{title}: {wrong.sum()} of {len(y)} wrong")
        ax.title.set_fontsize("medium")
        ax.label_outer()
    legend_below(figure, [figure.axes[0]], 4)


_WIDTH = Text.of(
    "perceptrons-and-svms",
    "kernel-width",
    training=TRAINING,
    test=TEST,
    part=1 / WIDTHS[0],
    largest=WIDTHS[-1],
)
_XOR = Text.of("perceptrons-and-svms", "exclusive-or", noise=NOISE)

EXPERIMENTS = (
    Experiment(_WIDTH, _width_report, _draw_width, _width_units, _width, splits=40, quick_splits=4,
               size=(9.6, 10.6)),
    Experiment(_XOR, _xor_report, _draw_xor, _xor_units, _xor, splits=40, quick_splits=6,
               size=(9.6, 5.2)),
)  # fmt: skip
