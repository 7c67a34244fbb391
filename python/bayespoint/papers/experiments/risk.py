"""Validity and tightness of the risk bounds, and the symmetric part of version space."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy import special, stats

from bayespoint import BayesPointClassifier, VersionSpace
from bayespoint.datasets import make_teacher
from bayespoint.papers import bounds
from bayespoint.papers.displays import sphere
from bayespoint.papers.experiments.drawing import curve, legend_below, only_ticks, vacuous_above
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
from bayespoint.papers.experiments.toy import risk
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.perceptron import KernelPerceptron
from bayespoint.plotting.style import label_decades

DIMENSION, DELTA = 10, 0.05
SIZES = (50, 100, 200, 350, 500)
QUICK_SIZES = (50, 120)
TOLERANCE = 0.3
"""Standard error of the log volumes at which to stop; most runs end far below it."""
N_TEST = 20_000
LEVEL = 0.01

CONCENTRATION = 20.0
GUESSES = {"right": 30.0, "irrelevant": 90.0, "wrong": 180.0}
"""Angle of the center of a biased prior to the teacher, in degrees."""

RIVALS = {"max_margin": "SVM", "ball": "center of the largest ball"}

CLASSIFIERS = {
    "center": "Bayes point",
    "one draw": "one draw",
    "vote": "vote",
    "max_margin": "maximal margin",
    "perceptron": "perceptron",
}
FORMS = {
    "pac_bayes_kl": "relative entropy",
    "volume_gibbs": "Theorem 2",
    "volume_bayes": "Theorem 3",
    "point_mirror": "Theorem 3",
    "linear_svm": "Corollary 2",
    "sparsity": "sparsity",
    "margin": "mistakes by the largest margin",
    "luckiness": "Theorem 1",
    "pac_margin": "PAC margin",
}
SHATTERING = ("luckiness", "pac_margin")
"""Bounds by fat-shattering dimensions, which are vacuous at these sizes."""
TOP = 10.0
"""Bounds above this are not drawn."""
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "gray", "black")
MARKERS = "os^Dv<>x"


_units = units_of({"m": QUICK_SIZES}, run=SPLITS, m=SIZES)


def _measure(unit: Row, settings: Settings) -> Row:
    m = unit["m"]
    seed = settings.seed_of(m, unit["run"]) % 2**32
    X, y, teacher = make_teacher(m, DIMENSION, return_teacher=True, random_state=seed)
    # Another seed than that of the examples, whose first numbers are the teacher.
    rng = np.random.default_rng(settings.seed_of(m, unit["run"], 1))
    bayes = BayesPointClassifier(
        "linear", softness=0.0, fit_intercept=False, tol=0.05,
        random_state=int(rng.integers(2**32)), standardize=False,
    ).fit(X, y)  # fmt: skip
    draws = bayes.billiard_.draws.reshape(-1, m) @ X
    machines: dict[str, Any] = {
        "max_margin": MaxMarginClassifier("linear", C=np.inf, fit_intercept=False).fit(X, y),
        "perceptron": KernelPerceptron("linear", fit_intercept=False).fit(X, y),
    }
    tests = rng.standard_normal((N_TEST, DIMENSION))
    votes = np.sign(tests @ draws.T).sum(axis=1)
    found: Row = {
        "risk center": risk(bayes.dual_coef_[0] @ X, teacher),
        "risk one draw": np.mean([risk(draw, teacher) for draw in draws]),
        "risk vote": (votes * (tests @ teacher) <= 0).mean(),
    }
    volumes = {}
    tables = {"bayes_point": bounds.risk_bounds(bayes, DELTA, tol=TOLERANCE, random_state=rng)}
    for rule, machine in machines.items():
        tables[rule] = machine.risk_bounds(DELTA, tol=TOLERANCE, random_state=rng)
        found[f"risk {rule}"] = risk(machine.dual_coef_[0] @ X, teacher)
    for rule, table in tables.items():
        for row in sorted(table, key=lambda row: (row.of, row.name, row.region)):
            who = rule if rule in machines else row.of
            found[f"{who}/{row.name}/{row.region}"] = row.value  # NaN if it is not given
            volumes[rule, row.region] = row.quantities
        if rule == "perceptron":
            found["kappa"] = table.find("margin").quantities["kappa"]
    for rule in ("bayes_point", "max_margin"):
        known = volumes[rule, "symmetric part"]
        found[f"ln R, {rule}"] = known["log_volume"]
        found[f"error, {rule}"] = known["log_volume_error"]
    found["ln V"] = volumes["bayes_point", "version space"]["log_volume"]
    return {**found, **_largest_ball(X, y, rng), **_biased(draws, teacher, found["ln V"], m, rng)}


def _biased(draws: Any, teacher: Any, log_volume: float, m: int, rng: np.random.Generator) -> Row:
    """Return bound and true risk of one draw for each biased prior.

    The prior has the density c exp(κ cos θ) at the angle θ from a guess of the teacher (von Mises
    and Fisher). The posterior is the prior within version space, and its relative entropy to the
    prior is minus ln of the prior probability of version space: the volume times the mean density.
    """
    draws = sphere.scaled(draws)
    risks = np.array([risk(draw, teacher) for draw in draws])
    teacher = teacher / np.linalg.norm(teacher)
    across = rng.standard_normal(DIMENSION)
    across -= (across @ teacher) * teacher
    across /= np.linalg.norm(across)
    found: Row = {}
    for name, degrees in GUESSES.items():
        angle = np.radians(degrees)
        density = CONCENTRATION * (draws @ (np.cos(angle) * teacher + np.sin(angle) * across))
        normalizer = np.log(special.hyp0f1(DIMENSION / 2, CONCENTRATION**2 / 4))
        log_mean = special.logsumexp(density) - np.log(len(density)) - normalizer
        kl = max(-(log_volume + float(log_mean)), 0.0)
        found[f"kl, {name} prior"] = kl
        found[f"bound, {name} prior"] = bounds.pac_bayes_kl(m, kl, DELTA)
        found[f"risk, {name} prior"] = special.softmax(density) @ risks
    return found


def _largest_ball(X: Any, y: Any, rng: np.random.Generator) -> Row:
    """Return the log volumes of the largest ball and of the part symmetric about its center.

    Its center is the maximal margin of the feature vectors scaled to one length, which have the
    same version space.
    """
    unit = sphere.scaled(X)
    space = VersionSpace(unit @ unit.T, y)
    ball = space.max_margin()
    part = bounds.point_mirror(space, ball.dual_coef, DELTA, tol=TOLERANCE, random_state=rng)
    return {
        "ln ball": bounds.cap_log_fraction(DIMENSION, np.arcsin(ball.margin)),
        "ln R, ball": part.quantities["log_volume"],
        "error, ball": part.quantities["log_volume_error"],
    }


def _keys(rows: Rows) -> list[tuple[str, str, str]]:
    """Return classifier, bound and region of all bounds, the tightest of each classifier first."""
    order = list(CLASSIFIERS)
    means = {}
    for column in (name for name in rows.rows[0] if "/" in name):
        who, name, region = column.split("/")
        if not np.isnan(rows[column]).all():  # if it is given at all
            means[who, name, region] = _mean(rows, (who, name, region))
    return sorted(means, key=lambda key: (order.index(key[0]), means[key]))


def _mean(rows: Rows, key: tuple[str, str, str]) -> float:
    """Return the mean of a bound over the problems in which it is given."""
    return float(np.nanmean(rows["/".join(key)]))


def _failures(rows: Rows, key: tuple[str, str, str]) -> tuple[int, int]:
    """Return how often a bound is too small, and how often it is given."""
    values = rows["/".join(key)]
    failed = rows[f"risk {key[0]}"] > values
    return failed.sum(), (~np.isnan(values)).sum()


def _named(key: tuple[str, str, str]) -> str:
    return ", ".join(part for part in (FORMS[key[1]], key[2]) if part)


def _validity(rows: Rows, settings: Settings) -> Report:
    keys = _keys(rows)
    lines, too_many = [], []
    by_size = rows.by("m")
    for who, title in CLASSIFIERS.items():
        risks = [of_size[f"risk {who}"].mean() for of_size in by_size.values()]
        lines.append([f"**{title}**", "true risk", *(f"{risk:.3f}" for risk in risks), ""])
        for key in (key for key in keys if key[0] == who):
            failures, n = _failures(rows, key)
            if not _allowed(failures, n, len(keys)):
                too_many.append(f"{title}, {_named(key)}")
            if key[1] in SHATTERING:
                continue
            cells = []
            for of_size in by_size.values():
                mean = _mean(of_size, key)
                # With as many mistakes allowed as examples Theorem 4 has no value.
                none = f"none, κ* = {np.median(of_size['kappa']):,.0f}"
                cells.append(f"{mean:.3g}" if np.isfinite(mean) else none)
            of_n = "" if n == len(rows) else f" of {n}"
            lines.append(["", _named(key), *cells, f"{failures}{of_n}"])
    wrong = (rows["risk one draw"] > _volume_ignored(rows)).sum()
    cells = [f"{_volume_ignored(of_size).mean():.3g}" for of_size in by_size.values()]
    lines.append(["one draw, control", "relative entropy, volume ignored", *cells, f"{wrong}"])
    sizes = " | ".join(f"m = {m}" for m in by_size)
    known = {"splits": settings.splits, "delta": DELTA, "sizes": sizes}
    table = _BOUNDS.table("validity", lines, n=len(rows), **known)
    claims = [
        _BOUNDS.claim(
            "valid",
            not too_many,
            general=True,
            delta=DELTA,
            level=LEVEL,
            tests=len(keys),
            exceptions=f"; except {'; '.join(too_many)}" if too_many else "",
        ),
        _BOUNDS.claim(
            "control", not _allowed(wrong, len(rows), len(keys)) or None, wrong=wrong, n=len(rows)
        ),
        *_order(rows),
    ]
    remarks = [
        _BOUNDS.fill("meaning", n_test=N_TEST),
        _BOUNDS.fill("theorem-4", least_kappa=(rows["kappa"] / rows["m"]).min()),
    ]
    return Report([table], claims, remarks)


def _order(rows: Rows) -> list[Claim]:
    """Return claims about which bound is below which."""
    chain = (
        ("pac_bayes_kl", "symmetric part"),
        ("point_mirror", "symmetric part"),
        ("volume_bayes", "largest ball"),
        ("linear_svm", ""),
        ("luckiness", ""),
    )
    values = np.array([rows[f"center/{name}/{region}"] for name, region in chain])
    below = (np.diff(values, axis=0) > 0).all(axis=0)
    useless = min(
        rows[name].min()
        for name in rows.rows[0]
        if any(f"/{bound}/" in name for bound in SHATTERING)
    )
    return [
        _BOUNDS.claim("ordered", below.all(), count=below.sum(), n=len(rows)),
        _BOUNDS.claim("vacuous", useless >= 1, useless=useless),
    ]


def _volume_ignored(rows: Rows) -> Any:
    """Return the bound with a relative entropy of zero, which is not valid."""
    return bounds.pac_bayes_kl(rows["m"], 0.0, DELTA)


def _allowed(failures: int, n: int, tests: int) -> bool:
    """Return whether this many failures are compatible with a probability of at most delta."""
    return bool(stats.binom.sf(failures - 1, n, DELTA) > LEVEL / tests)


def _symmetric(rows: Rows, settings: Settings) -> Report:
    lines, by_size = [], rows.by("m")
    better: dict[str, list[bool | None]] = {rival: [] for rival in RIVALS}
    for m, chosen in {**by_size, "all": rows}.items():
        means = [
            f"{chosen[name].mean():.2f}"
            for name in ("ln V", "ln R, bayes_point", "ln R, max_margin", "ln R, ball", "ln ball")
        ]
        cells, counts = [], {}
        for rival in RIVALS:
            gain, error = _gain(chosen, rival)
            counts[rival] = [(gain > least).sum() for least in (0, 2 * error)]
            counts[rival].append((gain < -2 * error).sum())
            better[rival].append(mean_of(gain).above())
            cells.append(mean_of(gain))
        lines.append([f"{m}", *means, *cells])
    table = _SYMMETRIC.table("volumes", lines, splits=settings.splits)
    single = {}
    for rival, (more, clearly, lost) in counts.items():  # of all
        of_all = (
            f"in {more} of {len(rows)}, significantly in {clearly}, significantly smaller in {lost}"
        )
        single[f"{RIVALS[rival]} ({of_all})"] = lost == 0
    mean = {name: every(better[rival][: len(by_size)]) for rival, name in RIVALS.items()}
    largest = rows["ln R, ball"] - rows["ln ball"]
    above = (largest > -4 * rows["error, ball"]).all()
    claims = [
        *_SYMMETRIC.claims("mean", mean),
        *_SYMMETRIC.claims("single", single, general=True),
        _SYMMETRIC.claim("ball", above, gain=largest.mean()),
    ]
    remarks = [_SYMMETRIC.fill("which", error=np.median(rows["error, bayes_point"]))]
    return Report([table], claims, remarks)


def _gain(rows: Rows, rival: str) -> tuple[Any, Any]:
    """Return by how much ln R of the Bayes point is larger, and the standard errors of that."""
    gain = rows["ln R, bayes_point"] - rows[f"ln R, {rival}"]
    return gain, np.hypot(rows["error, bayes_point"], rows[f"error, {rival}"])


PRIORS = {
    "uniform": ("one draw/pac_bayes_kl/version space", "risk one draw"),
    **{name: (f"bound, {name} prior", f"risk, {name} prior") for name in GUESSES},
}
"""The columns of bound and true risk of one draw."""


def _priors(rows: Rows, settings: Settings) -> Report:
    lines = [
        [f"{m}", *(f"{of_size.mean(bound):.3f}" for bound, _ in PRIORS.values())]
        for m, of_size in rows.by("m").items()
    ]
    table = _PRIOR.table(
        "priors",
        lines,
        splits=settings.splits,
        delta=DELTA,
        bounds=" | ".join(PRIORS),
    )
    right, wrong = (
        rows[f"bound, {name} prior"] - rows[PRIORS["uniform"][0]] for name in ("right", "wrong")
    )
    n, smaller, larger = len(rows), (right < 0).sum(), (wrong > 0).sum()
    failures = {name: (rows[risk] > rows[bound]).sum() for name, (bound, risk) in PRIORS.items()}
    claims = [
        _PRIOR.claim("right", smaller == n, smaller=smaller, n=n, change=-right.mean()),
        _PRIOR.claim("wrong", larger == n, larger=larger, n=n, change=wrong.mean()),
        _PRIOR.claim(
            "failures",
            all(_allowed(count, n, len(PRIORS)) for count in failures.values()),
            general=True,
            failures=", ".join(f"{name} {count}" for name, count in failures.items()),
        ),
    ]
    return Report([table], claims, [_PRIOR.fill("uniform")])


def _draw_priors(rows: Rows, settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, 2)
    titles = "bound on one draw", "true risk of one draw"
    for ax, which, label in zip(axes, (0, 1), titles, strict=True):
        for (name, columns), color, marker in zip(PRIORS.items(), COLORS, "os^D", strict=False):
            curve(ax, rows, "m", columns[which], color=color, marker=marker, markersize=4,
                  label=f"{name} prior")  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel="m, examples", ylabel=f"{label} (± s.e.)")
        only_ticks(ax.xaxis, rows.by("m"))
        label_decades(ax)
    legend_below(figure, axes, 4)


def _draw_validity(rows: Rows, settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, 3, sharey=True)
    by_size = rows.by("m")
    sizes = list(by_size)
    styles: dict[str, int] = {}
    for ax, who in zip(axes, ("center", "max_margin", "perceptron"), strict=True):
        for key in (key for key in _keys(rows) if key[0] == who):
            means = [_mean(of_size, key) for of_size in by_size.values()]
            if min(means) < TOP:
                style = styles.setdefault(_named(key), len(styles))
                ax.plot(
                    sizes, means, color=COLORS[style], marker=MARKERS[style], markersize=4,
                    label=_named(key),
                )  # fmt: skip
        risks = [of_size[f"risk {who}"].mean() for of_size in by_size.values()]
        ax.plot(sizes, risks, color="black", linestyle="dashed", label="true risk")
        vacuous_above(ax, color="gray", linewidth=0.8, linestyle="dotted")
        ax.set(xscale="log", yscale="log", xlabel="m, examples", ylim=(None, TOP))
        only_ticks(ax.xaxis, sizes)
        ax.set_title(CLASSIFIERS[who], fontsize="medium")
    axes[0].set_ylabel("bound on the risk")
    legend_below(figure, axes, 3)


def _draw_symmetric(rows: Rows, settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, 2)
    for ax, (rival, name) in zip(axes, RIVALS.items(), strict=True):
        x, y = rows[f"ln R, {rival}"], rows["ln R, bayes_point"]
        ends = [min(x.min(), y.min()), max(x.max(), y.max())]
        ax.plot(ends, ends, color="black", linewidth=0.8, linestyle="dotted", label="equal")
        for (m, of_size), color, marker in zip(rows.by("m").items(), COLORS, MARKERS, strict=False):
            ax.plot(
                of_size[f"ln R, {rival}"], of_size["ln R, bayes_point"], marker, color=color,
                markersize=4, markerfacecolor="none", label=f"m = {m}",
            )  # fmt: skip
        ax.set(xlabel=f"ln vol R({name})", ylabel="ln vol R(Bayes point)")
    legend_below(figure, axes, 6)


_BOUNDS = Text.of("bayesian-learning", "risk-bounds", dimension=DIMENSION)
_SYMMETRIC = Text.of("bayesian-learning", "symmetric-part")
_PRIOR = Text.of(
    "bayesian-learning",
    "biased-prior",
    concentration=CONCENTRATION,
    right=GUESSES["right"],
    irrelevant=GUESSES["irrelevant"],
)

_Shared = functools.partial(
    Experiment, units=_units, measure=_measure, splits=100, quick_splits=12, rows="risk"
)
"""Experiments with the same units, whose rows are in one file."""

EXPERIMENTS = (
    _Shared(_BOUNDS, _validity, _draw_validity, size=(12.0, 5.0)),
    _Shared(_SYMMETRIC, _symmetric, _draw_symmetric),
    _Shared(_PRIOR, _priors, _draw_priors, size=(9.6, 4.8)),
)
