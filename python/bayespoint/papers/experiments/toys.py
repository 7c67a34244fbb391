"""Figures 3, 4 and 5 of Herbrich, Graepel and Campbell: toy problems."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayespoint import SampleOptions, VersionSpace, kernels
from bayespoint.papers.experiments.framework import (
    Claim,
    Experiment,
    Report,
    Row,
    Settings,
    Table,
    column,
    mean_and_error,
    plus_minus,
)
from bayespoint.papers.experiments.toy import corners, cube
from bayespoint.papers.soft_boundary import (
    ParameterSpace,
    parameter_space,
    plot_parameter_space,
)
from bayespoint.plotting import sphere

# --- Figure 3 ---

POINTS = np.array([[1.0, 0.2], [-0.4, 0.9], [0.7, 0.8]])  # the paper gives no coordinates
SOFTNESSES = (0.0, 0.1, 0.5, 2.5)


def _parameter_spaces() -> dict[float, ParameterSpace]:
    return {each: parameter_space(POINTS @ POINTS.T, softness=each) for each in SOFTNESSES}


def _semiaxes(space: ParameterSpace) -> Any:
    """Return the semiaxes in units of the largest, which is the first."""
    return space.lengths / space.lengths[0]


def _spaces(rows: list[Row], settings: Settings) -> Report:
    lines = [
        [f"{softness:g}", *(f"{axis:.3f}" for axis in _semiaxes(space))]
        for softness, space in _parameter_spaces().items()
    ]
    table = Table(
        "Semiaxes of the parameter space, in units of the largest",
        ["λ", "first", "second", "third"],
        lines,
    )
    thin = [float(_semiaxes(space)[2]) for space in _parameter_spaces().values()]
    claims = [
        Claim("at λ = 0 the parameter space is a two-dimensional ellipse", thin[0] < 1e-7),
        Claim(
            "a small λ makes it a pancake, a large λ nearly a ball", bool((np.diff(thin) > 0).all())
        ),
    ]
    remarks = [
        "The semiaxes are √σ, with σ the eigenvalues of K + λI: those of the plane coordinates of "
        "the weight vectors, f = (K + λI)α. By the paper's equation Σ σα² = 1 the coefficients α "
        "have the semiaxes 1/√σ, of which one is infinite at λ = 0; for small λ they form a "
        "needle. The paper's text and caption describe the first."
    ]
    return Report([table], claims, remarks)


def _draw_spaces(rows: list[Row], settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, len(SOFTNESSES), subplot_kw={"projection": "3d"})
    plot_parameter_space(_parameter_spaces(), axes=axes)


# --- Figure 4 ---

PRINTED = (15.1, 8.0)  # SVM and BPM, right part of the figure
BOUNCES = 20_000


def _toys(settings: Settings) -> list[Row]:
    return [{"toy": toy} for toy in range(settings.splits)]


def _toy(unit: Row, settings: Settings) -> Row:
    seed = settings.seed_of(unit["toy"])
    X, y, X_test, y_test = cube(seed)
    space = VersionSpace(X @ X.T, y)
    svm = space.max_margin().dual_coef @ X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # "center_error" records it
        found = space.sample(
            options=SampleOptions(max_bounces=BOUNCES), n_draws=1, random_state=seed
        )
    places = corners(X, y)
    center = sphere.center_of_mass(places)
    billiard = found.center @ X
    flat = _flat(places, center)
    widths = np.sqrt(np.linalg.eigvalsh(np.cov(flat.T)))
    return {
        "svm": float(np.mean((X_test @ svm > 0) != (y_test > 0))),
        "bpm": float(np.mean((X_test @ billiard > 0) != (y_test > 0))),
        "exact": float(np.mean((X_test @ center > 0) != (y_test > 0))),
        "angle": _angle(billiard, center),
        "center_error": float(found.center_error),
        "elongation": float(widths[1] / widths[0]),
        "corners": len(places),
    }


def _angle(a: Any, b: Any) -> float:
    cross = np.linalg.norm(np.cross(a, b))
    return float(np.arctan2(cross, a @ b))


def _flat(places: Any, center: Any) -> Any:
    """Return the central projection of places onto the tangent plane at `center`."""
    basis = np.linalg.svd(center[None])[2][1:]
    return (places @ basis.T) / (places @ center)[..., None]


def _version_spaces(rows: list[Row], settings: Settings) -> Report:
    regular, elongated = _chosen(rows)
    lines = [
        [
            "right, paper",
            f"{PRINTED[0]}",
            f"{PRINTED[1]}",
            f"{PRINTED[1] - PRINTED[0]:+.1f}",
            "",
            "",
        ]
    ]
    for title, row in (("right, ours", elongated), ("left, ours", regular)):
        lines.append(
            [title, f"{100 * row['svm']:.1f}", f"{100 * row['bpm']:.1f}",
             f"{100 * (row['bpm'] - row['svm']):+.1f}", f"{row['elongation']:.1f}",
             f"{row['angle']:.4f}"]
        )  # fmt: skip
    svm, bpm = (100 * column(rows, name) for name in ("svm", "bpm"))
    lines.append(
        [f"mean of all {len(rows)}", plus_minus(*mean_and_error(svm)),
         plus_minus(*mean_and_error(bpm)), plus_minus(*mean_and_error(bpm - svm)),
         f"{np.median(column(rows, 'elongation')):.1f}",
         f"{np.median(column(rows, 'angle')):.4f}"]
    )  # fmt: skip
    table = Table(
        "Test error on 10 000 points, in percent",
        ["toy", "SVM", "Bayes point", "difference", "elongation", "billiard to exact center, rad"],
        lines,
    )
    gain = PRINTED[0] - PRINTED[1]
    as_large = int((svm - bpm >= gain).sum())
    claims = [
        Claim("on average the Bayes point makes fewer errors", bool(bpm.mean() < svm.mean())),
        Claim(
            f"in {as_large} of {len(rows)} problems it gains as much as in the paper ({gain:.1f} "
            "percentage points)",
            as_large > 0,
        ),
    ]
    remarks = [
        "The paper does not give the data of its two examples. Here the right one is the toy with "
        "the largest gain, the left one the least elongated. Elongation is the ratio of the "
        "standard deviations of the corners along the long and the short axis. The last column is "
        "the angle between the center by the billiard and the exact center of mass of the "
        "spherical polygon."
    ]
    return Report([table], claims, remarks)


def _chosen(rows: list[Row]) -> tuple[Row, Row]:
    """Return the toys to show: least elongated, and with the largest gain."""
    return (
        min(rows, key=lambda row: float(row["elongation"])),
        max(rows, key=lambda row: float(row["svm"] - row["bpm"])),
    )


def _draw_version_spaces(rows: list[Row], settings: Settings, figure: Any) -> None:
    for ax, row, title in zip(
        figure.subplots(1, 2), _chosen(rows), ("least elongated", "largest gain"), strict=True
    ):
        seed = settings.seed_of(row["toy"])
        X, y, _, _ = cube(seed)
        space = VersionSpace(X @ X.T, y)
        places = corners(X, y)
        center = sphere.center_of_mass(places)
        found = space.sample(length=300.0, n_draws=500, random_state=seed)
        path = _flat(found.draws.reshape(-1, len(y)) @ X, center)
        ax.plot(*path.T, ".", color="#56B4E9", markersize=2, label="path of the ball")
        outline = _flat(places, center)
        outline = outline[np.argsort(np.arctan2(*(outline - outline.mean(axis=0)).T))]
        ax.plot(*np.vstack([outline, outline[:1]]).T, color="black", linewidth=1.2)
        svm = _flat(space.max_margin().dual_coef @ X, center)
        ax.plot(*svm, "x", color="#D55E00", markersize=9, markeredgewidth=2, label="SVM")
        ax.plot(*_flat(found.center @ X, center), "D", color="#0072B2", label="Bayes point")
        ax.set_aspect("equal")
        ax.set_title(
            f"{title}: SVM {100 * row['svm']:.1f} %, Bayes point {100 * row['bpm']:.1f} %",
            fontsize="medium",
        )
        ax.legend(frameon=False, fontsize="small")


# --- Figure 5 ---

MARGINS = (0.036, 0.020)
GRID = np.linspace(-3.5, 3.5, 71)


def _classes(seed: int) -> tuple[Any, Any]:
    """Return points of two overlapping normal distributions in the plane, and their labels."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(30) % 2 == 0, 1, -1)
    return rng.standard_normal((30, 2)) + 0.7 * y[:, None], y


def _decision(unit: Row, settings: Settings) -> Row:
    seed = settings.seed_of(unit["toy"])
    space, values = _decisions(seed, 4 * BOUNCES)
    found: Row = {}
    for name, (dual_coef, f) in values.items():
        slopes = np.hypot(*np.gradient(f, GRID[1] - GRID[0]))
        # Feature and weight vectors have length 1, so these are the paper's margins.
        found[f"margin_{name}"] = float(space.margins(dual_coef).min())
        found[f"slope_{name}"] = float(slopes.mean() / np.sqrt(np.mean(f**2)))
    return found


def _decisions(seed: int, bounces: int) -> tuple[VersionSpace, dict[str, tuple[Any, Any]]]:
    """Return version space, and dual coefficients and values over the plane for both centers."""
    X, y = _classes(seed)
    kernel = kernels.RBF(1.0)
    space = VersionSpace(kernel(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        center = space.sample(
            options=SampleOptions(max_bounces=bounces), n_draws=1, random_state=seed
        ).center
    places = np.stack(np.meshgrid(GRID, GRID), axis=-1).reshape(-1, 2)
    K = kernel(places, X)
    return space, {
        name: (dual_coef, (K @ dual_coef).reshape(len(GRID), -1))
        for name, dual_coef in (("svm", space.max_margin().dual_coef), ("bpm", center))
    }


def _decision_report(rows: list[Row], settings: Settings) -> Report:
    lines = [["paper", f"{MARGINS[0]:.3f}", f"{MARGINS[1]:.3f}", f"{MARGINS[1] - MARGINS[0]:+.3f}",
              "", "", ""]]  # fmt: skip
    for title, chosen in (("shown, ours", rows[:1]), (f"median of {len(rows)}", rows)):
        values = [
            float(np.median(column(chosen, name)))
            for name in ("margin_svm", "margin_bpm", "slope_svm", "slope_bpm")
        ]
        a, b, c, d = values
        lines.append([title, f"{a:.4f}", f"{b:.4f}", f"{b - a:+.4f}", f"{c:.4f}", f"{d:.4f}",
                      f"{d - c:+.4f}"])  # fmt: skip
    table = Table(
        "Smallest margin γ of weight vectors of length 1, and mean slope |∇f| over the plane, in "
        "units of the root mean square of f",
        ["", "γ, SVM", "γ, Bayes point", "difference", "slope, SVM", "Bayes point", "difference "],
        lines,
    )
    less = int((column(rows, "margin_bpm") < column(rows, "margin_svm")).sum())
    flatter = int((column(rows, "slope_bpm") < column(rows, "slope_svm")).sum())
    claims = [
        Claim(f"the Bayes point has the smaller margin (in {less} of {len(rows)})",
              less == len(rows)),
        Claim(f"its decision function is flatter (in {flatter} of {len(rows)})",
              2 * flatter > len(rows)),
    ]  # fmt: skip
    remarks = [
        "The paper gives no points. Here 30 points are drawn from two normal distributions in the "
        f"plane, {len(rows)} times; the first problem is shown. The paper does not define "
        "flatness; the mean slope is our measure."
    ]
    return Report([table], claims, remarks)


def _draw_decisions(rows: list[Row], settings: Settings, figure: Any) -> None:
    X, y = _classes(settings.seed_of(0))
    _, values = _decisions(settings.seed_of(0), 4 * BOUNCES)
    for ax, (name, (_, f)) in zip(figure.subplots(1, 2), values.items(), strict=True):
        top = abs(f).max()
        ax.contourf(GRID, GRID, f, levels=np.linspace(-top, top, 21), cmap="RdBu")
        ax.contour(GRID, GRID, f, levels=[0.0], colors="black")
        for label, marker in ((1, "o"), (-1, "s")):
            ax.plot(*X[y == label].T, marker, color="black", markerfacecolor="white", markersize=5)
        ax.set(
            title={"svm": "SVM", "bpm": "Bayes point"}[name],
            xlim=(GRID[0], GRID[-1]),
            ylim=(GRID[0], GRID[-1]),
        )
        ax.set_aspect("equal")


EXPERIMENTS = (
    Experiment(
        name="figure-3",
        title="Figure 3: parameter spaces under a soft boundary",
        paper="bayesian-learning",
        about="The parameter space (all weight vectors of length 1) for three points in the plane, "
        "a linear kernel and the matrix K + λI.",
        report=_spaces,
        draw=_draw_spaces,
        size=(12.0, 3.4),
    ),
    Experiment(
        name="figure-4",
        title="Figure 4: version spaces of toy problems in three dimensions",
        paper="bayesian-learning",
        about=(
            "Ten training and 10 000 test points are uniform in a cube and labeled by a random "
            "plane; the kernel is linear. Version spaces are drawn as seen from the center of the "
            "sphere, with points on the path of the ball. (The paper shows the points at walls; "
            "here the walls themselves are drawn.)"
        ),
        units=_toys,
        measure=_toy,
        report=_version_spaces,
        draw=_draw_version_spaces,
        splits=500,
        quick_splits=30,
        size=(10.4, 5.0),
    ),
    Experiment(
        name="figure-5",
        title="Figure 5: decision functions of SVM and Bayes point",
        paper="bayesian-learning",
        about="RBF kernel with σ = 1, hard margin and hard boundary, no intercept.",
        units=_toys,
        measure=_decision,
        report=_decision_report,
        draw=_draw_decisions,
        splits=100,
        quick_splits=5,
        size=(9.6, 4.8),
    ),
)
