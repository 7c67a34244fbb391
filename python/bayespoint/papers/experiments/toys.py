"""Figures 3, 4 and 5 of Herbrich, Graepel and Campbell: toy problems."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from bayespoint import VersionSpace, kernels
from bayespoint.papers.displays import sphere
from bayespoint.papers.experiments.billiards import fly
from bayespoint.papers.experiments.drawing import legend_below, only_ticks
from bayespoint.papers.experiments.framework import Experiment, Report, Settings, Text
from bayespoint.papers.experiments.rows import Mean, Row, Rows, every, mean_of
from bayespoint.papers.experiments.toy import corners, cube, toys, widest
from bayespoint.papers.soft_boundary import ParameterSpace, parameter_space, plot_parameter_space

# --- Figure 3 ---

POINTS = np.array([[1.0, 0.2], [-0.4, 0.9], [0.7, 0.8]])  # the paper gives no coordinates
SOFTNESSES = (0.0, 0.1, 0.5, 2.5)


def _parameter_spaces() -> dict[float, ParameterSpace]:
    gram = POINTS @ POINTS.T
    return {softness: parameter_space(gram, softness=softness) for softness in SOFTNESSES}


def _spaces(rows: Rows, settings: Settings) -> Report:
    spaces = _parameter_spaces()
    # In units of the largest, which is the first.
    semiaxes = [space.lengths / space.lengths[0] for space in spaces.values()]
    lines = [
        [f"{softness:g}", *(f"{axis:.3f}" for axis in axes)]
        for softness, axes in zip(spaces, semiaxes, strict=True)
    ]
    table = _FIGURE_3.table("semiaxes-table", lines)
    thin = [axes[2] for axes in semiaxes]
    scaled = [
        f"{space.lengths[0] / np.sqrt(space.eigenvalues.prod()):.2f} at λ = {softness:g}"
        for softness, space in spaces.items()
        if softness > 0
    ]
    claims = [
        _FIGURE_3.claim("ellipse", thin[0] < 1e-7),
        _FIGURE_3.claim("pancake", (np.diff(thin) > 0).all()),
    ]
    remarks = [_FIGURE_3.fill("semiaxes"), _FIGURE_3.fill("caption", scaled=", ".join(scaled))]
    return Report([table], claims, remarks)


def _draw_spaces(rows: Rows, settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, len(SOFTNESSES), subplot_kw={"projection": "3d"})
    plot_parameter_space(_parameter_spaces(), axes=axes)


# --- Figure 4 ---

PRINTED = (15.1, 8.0)  # SVM and BPM, right part of the figure
BOUNCES = 20_000
QUARTERS = ("least elongated", "second", "third", "most elongated")


def _toy(unit: Row, settings: Settings) -> Row:
    seed = settings.seed_of(unit["toy"])
    X, y, X_test, y_test = cube(seed)
    found = fly(VersionSpace(X @ X.T, y), BOUNCES, seed)
    places = corners(X, y)
    center = sphere.center_of_mass(places)
    weights = {
        "svm": widest(X, y),
        "ball": widest(sphere.scaled(X), y),
        "bpm": found.center @ X,
        "exact": center,
    }
    long, short = _widths(_flat(places, center))
    return {
        **{
            name: np.mean((X_test @ weight > 0) != (y_test > 0)) for name, weight in weights.items()
        },
        **{f"angle_{name}": sphere.angle(weights[name], center) for name in ("svm", "ball", "bpm")},
        "center_error": found.center_error,
        "elongation": long / short,
        "corners": len(places),
    }


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


def _version_spaces(rows: Rows, settings: Settings) -> Report:
    ordered = _by_elongation(rows)
    regular, *_, elongated = ordered
    lines: list[list[object]] = [["right, paper", f"{PRINTED[0]}", "", f"{PRINTED[1]}", "", "", ""]]
    for title, row in (("left, ours", regular), ("right, ours", elongated)):
        lines.append(
            [title, *(f"{100 * row[name]:.1f}" for name in ("svm", "ball", "bpm")),
             f"{100 * (row['ball'] - row['bpm']):+.1f}", f"{row['elongation']:.1f}",
             f"{row['angle_ball']:.3f}"]
        )  # fmt: skip
    parts = {
        title: Rows([ordered[k] for k in places])
        for title, places in zip(QUARTERS, _quarters(len(rows)), strict=True)
    }
    gains = {}
    for title, part in {**parts, "all": rows}.items():
        gains[title] = mean_of(100 * part["ball"] - 100 * part["bpm"])
        lines.append(
            [f"{title} ({len(part)})",
             *(part.mean(name, 100) for name in ("svm", "ball", "bpm")),
             gains[title], f"{np.median(part['elongation']):.1f}",
             f"{np.median(part['angle_ball']):.3f}"]
        )  # fmt: skip
    table = _FIGURE_4.table("errors", lines)
    rank = stats.spearmanr(rows["elongation"], rows["angle_ball"])
    svm, ball, bpm = (100 * rows[name] for name in ("svm", "ball", "bpm"))
    gain, first, last = gains["all"], gains[QUARTERS[0]], gains[QUARTERS[-1]]
    round_ = parts[QUARTERS[0]]
    tenth = 10 * round_["bpm"].mean()
    more, raw = last.minus(first), mean_of(svm - bpm)
    claims = [
        _FIGURE_4.claim(
            "elongation",
            rank.statistic > 0 if rank.pvalue < 0.001 else None,
            rank=rank.statistic,
            p=rank.pvalue,
        ),
        _FIGURE_4.claim("regular", first.below(tenth, 2), first=first, tenth=tenth),
        _FIGURE_4.claim(
            "elongated", every([last.above(0, 2), more.above(0, 2)]), last=last, more=more
        ),
        _FIGURE_4.claim("average", every([gain.above(0, 2), raw.above(0, 2)]), gain=gain, raw=raw),
        *(
            _FIGURE_4.claim("round", lead.above(), name=name, lead=lead)
            for name, lead in (
                ("SVM of the points as given", mean_of(100 * (round_["bpm"] - round_["svm"]))),
                ("ball center (the SVM of points of one length)", Mean(-first.value, first.error)),
            )
        ),
    ]
    printed = PRINTED[0] - PRINTED[1]
    as_large = [100 * float(np.mean(values - bpm >= printed)) for values in (svm, ball)]
    remarks = [
        _FIGURE_4.fill("data", printed=printed, svm=as_large[0], ball=as_large[1]),
        _FIGURE_4.fill("center", angle=np.median(rows["angle_bpm"])),
    ]
    return Report([table], claims, remarks)


def _quarters(n: int) -> Any:
    """Return the places of n ordered things, in four parts."""
    return np.array_split(np.arange(n), len(QUARTERS))


def _by_elongation(rows: Rows) -> list[Row]:
    return sorted(rows, key=lambda row: float(row["elongation"]))


def _draw_version_spaces(rows: Rows, settings: Settings, figure: Any) -> None:
    panels = figure.subplot_mosaic([["top", "right"], ["low", "right"]], height_ratios=[2.2, 1])
    right = panels["right"]
    ordered = _by_elongation(rows)
    for ax, row, title in (
        (panels["top"], ordered[0], "Least elongated"),
        (panels["low"], ordered[-1], "Most elongated"),
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
        ax.plot(*sphere.closed(outline).T, color="black", linewidth=1.2)
        for place, marker, color, label in (
            (found.center @ X, "D", "#0072B2", "Bayes point"),
            (widest(X, y), "+", "#009E73", "SVM, points as given"),
            (widest(sphere.scaled(X), y), "x", "#D55E00", "center of the largest ball"),
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
    legend_below(figure, [panels["top"]], 4)
    elongation, angle = (Rows(ordered)[name] for name in ("elongation", "angle_ball"))
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
    only_ticks(right.xaxis, (1, 2, 5, 10))
    right.legend(frameon=False, fontsize="small", loc="lower right")


# --- Figure 5 ---

MARGINS = (0.036, 0.020)
GRID = np.linspace(-3.5, 3.5, 71)
SEEN = (-3.2, 3.2)
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
        found[f"margin_{name}"] = space.margins(dual_coef).min()
        for measure, value in smoothness(f, float(GRID[1] - GRID[0])).items():
            found[f"{measure}_{name}"] = value
    return found


def smoothness(f: Any, step: float) -> dict[str, float]:
    """Return measures of how smooth a function on a square grid is, small if it is.

    ``slope_1`` is the mean length of the gradient, ``slope`` the same in units of the root mean
    square of f, ``bend`` the root mean square of the Laplacian in these units, and ``crossings``
    the mean number of sign changes along a line of the grid.
    """
    size = np.sqrt(np.mean(f**2))
    slopes = np.gradient(f, step)
    slope = float(np.hypot(*slopes).mean())
    laplacian = sum(np.gradient(slopes[axis], step, axis=axis) for axis in (0, 1))
    changes = [np.count_nonzero(np.diff(np.sign(f), axis=axis)) for axis in (0, 1)]
    return {
        "slope_1": slope,
        "slope": slope / size,
        "bend": np.sqrt(np.mean(laplacian**2)) / size,
        "crossings": sum(changes) / sum(f.shape),
    }


def _decisions(seed: int) -> tuple[VersionSpace, dict[str, tuple[Any, Any]]]:
    """Return version space, and dual coefficients and values over the plane for both centers."""
    X, y = _classes(seed)
    kernel = kernels.RBF(1.0)
    space = VersionSpace(kernel(X), y)
    center = fly(space, 4 * BOUNCES, seed).center
    places = np.stack(np.meshgrid(GRID, GRID), axis=-1).reshape(-1, 2)
    K = kernel(places, X)
    return space, {
        name: (dual_coef, (K @ dual_coef).reshape(len(GRID), -1))
        for name, dual_coef in (("svm", space.max_margin().dual_coef), ("bpm", center))
    }


def _shown(rows: Rows) -> Row:
    """Return the problem to show: that with margins nearest to the paper's."""
    return min(
        rows,
        key=lambda row: float(
            np.hypot(row["margin_svm"] - MARGINS[0], row["margin_bpm"] - MARGINS[1])
        ),
    )


def _decision_report(rows: Rows, settings: Settings) -> Report:
    shown, n = _shown(rows), len(rows)
    lines, smaller = [], {}
    for name, title in MEASURES.items():
        both = f"{name}_svm", f"{name}_bpm"
        svm, bpm = (rows[column] for column in both)
        smaller[name] = (bpm < svm).sum()
        printed = [f"{value:.3f}" for value in MARGINS] if name == "margin" else ["", ""]
        values = (*(shown[column] for column in both), np.median(svm), np.median(bpm))
        lines.append([title, *printed, *(f"{value:.3f}" for value in values), f"{smaller[name]}"])
    table = _FIGURE_5.table("measures", lines, n=n)
    verdicts = {
        f"{text} ({smaller[name]})": _most(smaller[name], n)
        for name, text in (
            ("margin", "smaller margin"),
            ("slope", "flatter decision function, of the same mean square"),
            ("bend", "smoother one, by its Laplacian"),
            ("crossings", "smoother boundary, by its crossings with lines"),
        )
    }
    claims = _FIGURE_5.claims("smaller", verdicts, n=n)
    return Report([table], claims, [_FIGURE_5.fill("points", n=n, steeper=n - smaller["slope_1"])])


def _most(count: int, n: int) -> bool | None:
    """Return whether more than half are: None if neither that nor the contrary is significant."""
    p = stats.binomtest(count, n, 0.5).pvalue
    return bool(2 * count > n) if p < 0.02 else None


def _draw_decisions(rows: Rows, settings: Settings, figure: Any) -> None:
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
            ax.plot(*X[y == label].T, marker, color="black", markersize=5,
                    markerfacecolor="white" if label > 0 else "black",
                    label=f"class {label:+d}")  # fmt: skip
        margin = space.margins(values[name][0]).min()
        ax.set(
            title=f"{'SVM' if name == 'svm' else 'Bayes point'}, γ = {margin:.3f}",
            xlabel="first input",
            xlim=SEEN,
            ylim=SEEN,
        )
        ax.set_aspect("equal")
    axes[0].set_ylabel("second input")
    axes[0].legend(loc="lower right", fontsize="small")
    figure.colorbar(
        filled, ax=axes, label="f in units of its root mean square\n(thick line: f = 0)"
    )


_FIGURE_3 = Text.of("bayesian-learning", "figure-3")
_FIGURE_4 = Text.of("bayesian-learning", "figure-4")
_FIGURE_5 = Text.of("bayesian-learning", "figure-5")

EXPERIMENTS = (
    Experiment(_FIGURE_3, _spaces, _draw_spaces, size=(12.0, 3.4)),
    Experiment(_FIGURE_4, _version_spaces, _draw_version_spaces, toys, _toy, splits=500,
               quick_splits=30, size=(11.0, 6.4)),
    Experiment(_FIGURE_5, _decision_report, _draw_decisions, toys, _decision, splits=100,
               quick_splits=5, size=(9.6, 4.6)),
)  # fmt: skip
