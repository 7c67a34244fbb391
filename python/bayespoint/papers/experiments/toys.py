"""Figures 3, 4 and 5 of Herbrich, Graepel and Campbell: toy problems."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import stats
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
    spaces = _parameter_spaces()
    thin = [float(_semiaxes(space)[2]) for space in spaces.values()]
    scaled = [
        f"{space.lengths[0] / np.sqrt(space.eigenvalues.prod()):.2f} at λ = {softness:g}"
        for softness, space in spaces.items()
        if softness > 0
    ]
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
        "needle. The paper's text and caption describe the first.",
        "The caption divides all axes by √(σ1 σ2 σ3). At λ = 0 that is a division by zero, and it "
        f"does not give all ellipsoids the same scale: the longest semiaxis would be "
        f"{', '.join(scaled)}. Here all are divided by their longest semiaxis.",
    ]
    return Report([table], claims, remarks)


def _draw_spaces(rows: list[Row], settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, len(SOFTNESSES), subplot_kw={"projection": "3d"})
    plot_parameter_space(_parameter_spaces(), axes=axes)


# --- Figure 4 ---

PRINTED = (15.1, 8.0)  # SVM and BPM, right part of the figure
BOUNCES = 20_000
QUARTERS = ("least elongated", "second", "third", "most elongated")


def _toys(settings: Settings) -> list[Row]:
    return [{"toy": toy} for toy in range(settings.splits)]


def _toy(unit: Row, settings: Settings) -> Row:
    seed = settings.seed_of(unit["toy"])
    X, y, X_test, y_test = cube(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # "center_error" records it
        found = VersionSpace(X @ X.T, y).sample(
            options=SampleOptions(max_bounces=BOUNCES), n_draws=1, random_state=seed
        )
    places = corners(X, y)
    center = sphere.center_of_mass(places)
    weights = {
        "svm": _max_margin(X, y),
        "ball": _ball_center(X, y),
        "bpm": found.center @ X,
        "exact": center,
    }
    long, short = _widths(_flat(places, center))
    return {
        **{
            name: float(np.mean((X_test @ weight > 0) != (y_test > 0)))
            for name, weight in weights.items()
        },
        **{f"angle_{name}": _angle(weights[name], center) for name in ("svm", "ball", "bpm")},
        "center_error": float(found.center_error),
        "elongation": long / short,
        "corners": len(places),
    }


def _max_margin(X: Any, y: Any) -> Any:
    """Return the weight vector of the largest margin."""
    return VersionSpace(X @ X.T, y).max_margin().dual_coef @ X


def _ball_center(X: Any, y: Any) -> Any:
    """Return the center of the largest ball in version space: points are scaled to length 1."""
    return _max_margin(X / np.linalg.norm(X, axis=1, keepdims=True), y)


def _angle(a: Any, b: Any) -> float:
    cross = np.linalg.norm(np.cross(a, b))
    return float(np.arctan2(cross, a @ b))


def _flat(places: Any, center: Any) -> Any:
    """Return the central projection of places onto the tangent plane at `center`."""
    basis = np.linalg.svd(center[None])[2][1:]
    return (places @ basis.T) / (places @ center)[..., None]


def _moments(polygon: Any) -> Any:
    """Return the covariance matrix of the uniform distribution in a polygon, its corners in order.

    The triangles of the origin and an edge, with signed areas a and corners 0, p, q, have the mean
    (p + q) / 3 and the second moments (pp + qq + (p + q)(p + q)) / 12.
    """
    p, q = polygon, np.roll(polygon, -1, axis=0)
    share = p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]
    share = share / share.sum()
    mean = share @ (p + q) / 3
    second = sum((share[:, None] * each).T @ each for each in (p, q, p + q)) / 12
    return second - np.outer(mean, mean)


def _widths(polygon: Any) -> tuple[float, float]:
    """Return the standard deviations of a flat polygon along its long and its short axis."""
    short, long = np.sqrt(np.linalg.eigvalsh(_moments(polygon)))
    return float(long), float(short)


def _version_spaces(rows: list[Row], settings: Settings) -> Report:
    regular, elongated = _chosen(rows)
    lines = [["right, paper", f"{PRINTED[0]}", "", f"{PRINTED[1]}", "", "", ""]]
    for title, row in (("left, ours", regular), ("right, ours", elongated)):
        lines.append(
            [title, *(f"{100 * row[name]:.1f}" for name in ("svm", "ball", "bpm")),
             f"{100 * (row['ball'] - row['bpm']):+.1f}", f"{row['elongation']:.1f}",
             f"{row['angle_ball']:.3f}"]
        )  # fmt: skip
    ordered = _by_elongation(rows)
    parts = {
        title: [ordered[k] for k in places]
        for title, places in zip(QUARTERS, _quarters(len(rows)), strict=True)
    }
    gains = {}
    for title, part in {**parts, "all": rows}.items():
        svm, ball, bpm = (100 * column(part, name) for name in ("svm", "ball", "bpm"))
        gains[title] = mean_and_error(ball - bpm)
        lines.append(
            [f"{title}, mean of {len(part)}",
             *(plus_minus(*mean_and_error(values)) for values in (svm, ball, bpm)),
             plus_minus(*gains[title]), f"{np.median(column(part, 'elongation')):.1f} (median)",
             f"{np.median(column(part, 'angle_ball')):.3f} (median)"]
        )  # fmt: skip
    table = Table(
        "Test error on 10 000 points, in percent",
        ["toy", "SVM", "ball center", "Bayes point", "ball center - Bayes point", "elongation",
         "ball center to Bayes point, rad"],
        lines,
    )  # fmt: skip
    rank = stats.spearmanr(column(rows, "elongation"), column(rows, "angle_ball"))
    svm, ball, bpm = (100 * column(rows, name) for name in ("svm", "ball", "bpm"))
    gain, error = gains["all"]
    (first, first_error), (last, last_error) = gains[QUARTERS[0]], gains[QUARTERS[-1]]
    tenth = 10 * float(column(parts[QUARTERS[0]], "bpm").mean())
    more, more_error = last - first, float(np.hypot(first_error, last_error))
    raw, raw_error = mean_and_error(svm - bpm)
    claims = [
        Claim(
            "the ball center is the farther from the Bayes point, the more elongated version space "
            f"is (Spearman's rank correlation {rank.statistic:.2f}, p = {rank.pvalue:.2g})",
            bool(rank.statistic > 0 and rank.pvalue < 0.001),
        ),
        Claim(
            "regular: in the least elongated quarter the ball center makes at most a tenth more "
            "errors than the Bayes point, 2 standard errors included "
            f"({plus_minus(first, first_error)} percentage points, limit {tenth:.2f})",
            bool(first + 2 * first_error <= tenth),
        ),
        Claim(
            "elongated: in the most elongated quarter the ball center makes more errors than the "
            f"Bayes point ({plus_minus(last, last_error)} percentage points), and loses more than "
            f"in the least elongated ({plus_minus(more, more_error)} more), both by more than 2 "
            "standard errors",
            bool(last > 2 * last_error and more > 2 * more_error),
        ),
        Claim(
            "on average the Bayes point makes fewer errors, by more than 2 standard errors, than "
            f"the ball center ({plus_minus(gain, error)} percentage points) and than the SVM of "
            f"the points as given ({plus_minus(raw, raw_error)})",
            bool(gain > 2 * error and raw > 2 * raw_error),
        ),
    ]
    printed = PRINTED[0] - PRINTED[1]
    as_large = [100 * float(np.mean(values - bpm >= printed)) for values in (svm, ball)]
    remarks = [
        "The paper does not give the data of its two examples. Here they are chosen by their shape "
        "alone: the least and the most elongated toy. Elongation is the ratio of the standard "
        "deviations of version space along its long and its short axis, in the plane of the "
        "picture. The paper's cross is the center of the largest ball in version space. That is "
        "the SVM if all points have length 1, and not for points in a cube; both are given. The "
        "paper's 15.1 % may be of either. A gain as large as the paper's "
        f"({printed:.1f} percentage points) is rare: {as_large[0]:.0f} % of the toys have it over "
        f"the SVM, {as_large[1]:.0f} % over the ball center.",
        "The angle between the center by the billiard and the exact center of mass of the "
        f"spherical polygon has the median {np.median(column(rows, 'angle_bpm')):.4f} rad.",
    ]
    return Report([table], claims, remarks)


def _quarters(n: int) -> Any:
    """Return the places of n ordered things, in four parts."""
    return np.array_split(np.arange(n), len(QUARTERS))


def _by_elongation(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: float(row["elongation"]))


def _chosen(rows: list[Row]) -> tuple[Row, Row]:
    """Return the toys to show: the least and the most elongated."""
    ordered = _by_elongation(rows)
    return ordered[0], ordered[-1]


def _draw_version_spaces(rows: list[Row], settings: Settings, figure: Any) -> None:
    panels = figure.subplot_mosaic([["top", "right"], ["low", "right"]], height_ratios=[2.2, 1])
    right = panels["right"]
    for ax, row, title in zip(
        (panels["top"], panels["low"]),
        _chosen(rows),
        ("Least elongated", "Most elongated"),
        strict=True,
    ):
        seed = settings.seed_of(row["toy"])
        X, y, _, _ = cube(seed)
        places = corners(X, y)
        center = sphere.center_of_mass(places)
        found = VersionSpace(X @ X.T, y).sample(length=300.0, n_draws=400, random_state=seed)
        outline = _flat(places, center)
        axes = np.linalg.eigh(_moments(outline))[1][:, ::-1]  # the long axis is horizontal

        def seen(points: Any, center: Any = center, axes: Any = axes) -> Any:
            return _flat(points, center) @ axes

        path = seen(found.draws.reshape(-1, len(y)) @ X)
        ax.plot(*path.T, ".", color="0.75", markersize=2, label="path of the ball")
        outline = outline @ axes
        ax.plot(*np.vstack([outline, outline[:1]]).T, color="black", linewidth=1.2)
        for place, marker, color, label in (
            (found.center @ X, "D", "#0072B2", "Bayes point"),
            (_max_margin(X, y), "+", "#009E73", "SVM, points as given"),
            (_ball_center(X, y), "x", "#D55E00", "center of the largest ball"),
        ):
            ax.plot(*seen(place), marker, color=color, markersize=10, markeredgewidth=2,
                    markerfacecolor="white", label=label)  # fmt: skip
        ax.set_aspect("equal", adjustable="datalim")
        ax.set(xlabel="along the long axis, tangent of the angle", ylabel="short axis")
        ax.set_title(
            f"{title} of {len(rows)}. Errors: ball center {100 * row['ball']:.1f} %, Bayes point "
            f"{100 * row['bpm']:.1f} %",
            fontsize="medium",
        )
    handles, labels = panels["top"].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    ordered = _by_elongation(rows)
    elongation, angle = (column(ordered, name) for name in ("elongation", "angle_ball"))
    right.loglog(elongation, angle, ".", color="0.6", markersize=4, label="a toy")
    for k, part in enumerate(_quarters(len(rows))):
        middle_half = np.quantile(angle[part], [0.25, 0.5, 0.75])
        right.errorbar(
            np.median(elongation[part]), middle_half[1],
            np.abs(middle_half[[0, 2]] - middle_half[1])[:, None], fmt="s", color="#D55E00",
            capsize=3, label="median and quartiles\nof a quarter" if k == 0 else None,
        )  # fmt: skip
    right.set(xlabel="elongation", ylabel="ball center to Bayes point, rad")
    right.set_title(f"All {len(rows)} toys", fontsize="medium")
    right.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    right.set_xticks([], minor=True)
    right.legend(frameon=False, fontsize="small", loc="lower right")


# --- Figure 5 ---

MARGINS = (0.036, 0.020)
GRID = np.linspace(-3.5, 3.5, 71)
MEASURES = {
    "margin": "smallest margin γ",
    "slope_1": "mean slope, weight vector of length 1",
    "slope": "mean slope, mean square of f = 1",
    "bend": "root mean square of the Laplacian, mean square of f = 1",
    "crossings": "crossings of the boundary by a line of the grid",
}


def _classes(seed: int) -> tuple[Any, Any]:
    """Return points of two overlapping normal distributions in the plane, and their labels."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(30) % 2 == 0, 1, -1)
    return rng.standard_normal((30, 2)) + 0.7 * y[:, None], y


def _decision(unit: Row, settings: Settings) -> Row:
    seed = settings.seed_of(unit["toy"])
    space, values = _decisions(seed)
    found: Row = {}
    for name, (dual_coef, f) in values.items():
        # Feature and weight vectors have length 1, so these are the paper's margins.
        found[f"margin_{name}"] = float(space.margins(dual_coef).min())
        for measure, value in smoothness(f, float(GRID[1] - GRID[0])).items():
            found[f"{measure}_{name}"] = value
    return found


def smoothness(f: Any, step: float) -> dict[str, float]:
    """Return measures of how smooth a function is, small if it is.

    Parameters
    ----------
    f : ndarray of shape (n, n)
        Its values on a square grid.
    step : float
        Distance of the grid's lines.

    Returns
    -------
    dict
        ``slope_1``, the mean length of the gradient; ``slope``, the same in units of the root mean
        square of f; ``bend``, the root mean square of the Laplacian in these units;
        ``crossings``, the mean number of sign changes along a line of the grid.
    """
    size = np.sqrt(np.mean(f**2))
    slopes = np.gradient(f, step)
    slope = float(np.hypot(*slopes).mean())
    laplacian = sum(np.gradient(slopes[axis], step, axis=axis) for axis in (0, 1))
    changes = [np.count_nonzero(np.diff(np.sign(f), axis=axis)) for axis in (0, 1)]
    return {
        "slope_1": slope,
        "slope": float(slope / size),
        "bend": float(np.sqrt(np.mean(laplacian**2)) / size),
        "crossings": float(sum(changes) / sum(f.shape)),
    }


def _decisions(seed: int) -> tuple[VersionSpace, dict[str, tuple[Any, Any]]]:
    """Return version space, and dual coefficients and values over the plane for both centers."""
    X, y = _classes(seed)
    kernel = kernels.RBF(1.0)
    space = VersionSpace(kernel(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        center = space.sample(
            options=SampleOptions(max_bounces=4 * BOUNCES), n_draws=1, random_state=seed
        ).center
    places = np.stack(np.meshgrid(GRID, GRID), axis=-1).reshape(-1, 2)
    K = kernel(places, X)
    return space, {
        name: (dual_coef, (K @ dual_coef).reshape(len(GRID), -1))
        for name, dual_coef in (("svm", space.max_margin().dual_coef), ("bpm", center))
    }


def _shown(rows: list[Row]) -> Row:
    """Return the problem to show: that with margins nearest to the paper's."""
    return min(
        rows,
        key=lambda row: float(
            np.hypot(row["margin_svm"] - MARGINS[0], row["margin_bpm"] - MARGINS[1])
        ),
    )


def _decision_report(rows: list[Row], settings: Settings) -> Report:
    shown, n = _shown(rows), len(rows)
    lines, smaller = [], {}
    for name, title in MEASURES.items():
        pairs = [column(chosen, f"{name}_{who}") for chosen in ([shown], rows)
                 for who in ("svm", "bpm")]  # fmt: skip
        smaller[name] = int((pairs[3] < pairs[2]).sum())
        printed = [f"{value:.3f}" for value in MARGINS] if name == "margin" else ["", ""]
        lines.append(
            [title, *printed, *(f"{np.median(values):.3f}" for values in pairs),
             f"{smaller[name]} of {n}"]
        )  # fmt: skip
    table = Table(
        f"Margin, flatness and smoothness of the decision function f: the problem shown, and the "
        f"medians of {n} problems",
        ["measure", "SVM, paper", "BPM, paper", "SVM, shown", "BPM, shown", "SVM, median",
         "BPM, median", "BPM smaller"],
        lines,
    )  # fmt: skip
    claims = [
        Claim(f"the Bayes point {text} (in {smaller[name]} of {n})", _most(smaller[name], n))
        for name, text in (
            ("margin", "has the smaller margin"),
            ("slope", "has the flatter decision function, both scaled to the same mean square"),
            ("bend", "has the smoother decision function, by its Laplacian"),
            ("crossings", "has the smoother boundary, by its crossings with lines"),
        )
    ]
    flat = [
        title
        for name, title in MEASURES.items()
        if name != "margin" and shown[f"{name}_bpm"] < shown[f"{name}_svm"]
    ]
    remarks = [
        "The paper gives no points. Here 30 points are drawn from two normal distributions in the "
        f"plane, {n} times; the problem shown is that with the margins nearest to the paper's. "
        "The paper defines neither flat nor smooth; the measures are ours. It does not say how its "
        "functions are scaled either, and flatness depends on that: with weight vectors of length "
        f"1 the Bayes point's function is the steeper one in {n - smaller['slope_1']} of {n} "
        "problems, because it is the larger one. The other measures do not depend on the scale. A "
        "claim holds if it is true in more than half of the problems, by a binomial test at the "
        "level 0.01. In the problem shown the Bayes point has the smaller value of: "
        f"{'; '.join(flat) if flat else 'none of the measures of smoothness'}.",
    ]
    return Report([table], claims, remarks)


def _most(count: int, n: int) -> bool:
    """Return whether more than half is significant."""
    return bool(stats.binomtest(count, n, 0.5, alternative="greater").pvalue < 0.01)


def _draw_decisions(rows: list[Row], settings: Settings, figure: Any) -> None:
    seed = settings.seed_of(_shown(rows)["toy"])
    X, y = _classes(seed)
    space, values = _decisions(seed)
    scaled = {name: f / np.sqrt(np.mean(f**2)) for name, (_, f) in values.items()}
    top = np.ceil(2 * max(abs(f).max() for f in scaled.values())) / 2
    levels = np.arange(-top, top + 0.25, 0.5)
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (name, f) in zip(axes, scaled.items(), strict=True):
        filled = ax.contourf(GRID, GRID, f, levels=levels, cmap="RdBu")
        # Negative levels are dashed, so that the sides differ also in gray.
        ax.contour(GRID, GRID, f, levels=levels[levels != 0], colors="0.35", linewidths=0.6)
        ax.contour(GRID, GRID, f, levels=[0.0], colors="black", linewidths=1.8)
        for label, marker in ((1, "o"), (-1, "s")):
            ax.plot(*X[y == label].T, marker, color="black", markerfacecolor="white",
                    markersize=5, label=f"class {label:+d}")  # fmt: skip
        margin = space.margins(values[name][0]).min()
        ax.set(
            title=f"{'SVM' if name == 'svm' else 'Bayes point'}, γ = {margin:.3f}",
            xlabel="first input",
            xlim=(GRID[0], GRID[-1]),
            ylim=(GRID[0], GRID[-1]),
        )
        ax.set_aspect("equal")
    axes[0].set_ylabel("second input")
    axes[0].legend(loc="lower right", fontsize="small")
    figure.colorbar(
        filled, ax=axes, label="f in units of its root mean square\n(thick line: f = 0)"
    )


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
            "plane; the kernel is linear. The paper says that the center of the largest ball is a "
            "reasonable approximation of the Bayes point where version space is regular, and that "
            "this changes where it is elongated. This is tested on all toys, by quarters of their "
            "elongation. Version spaces are drawn as seen from the center of the sphere, with "
            "points on the path of the ball. (The paper shows the points at walls; here the walls "
            "themselves are drawn.)"
        ),
        units=_toys,
        measure=_toy,
        report=_version_spaces,
        draw=_draw_version_spaces,
        splits=500,
        quick_splits=30,
        size=(11.0, 6.4),
    ),
    Experiment(
        name="figure-5",
        title="Figure 5: decision functions of SVM and Bayes point",
        paper="bayesian-learning",
        about=(
            "RBF kernel with σ = 1, hard margin and hard boundary, no intercept. The paper says "
            "that the Bayes point gives a much flatter and smoother function than the SVM, and "
            "sacrifices margin for it."
        ),
        units=_toys,
        measure=_decision,
        report=_decision_report,
        draw=_draw_decisions,
        splits=100,
        quick_splits=5,
        size=(9.6, 4.6),
    ),
)
