"""Table 1 of Herbrich, Graepel and Campbell: SVM against Bayes point on seven data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from bayespoint import InfeasibleError, kernels
from bayespoint.base.validation import Floats
from bayespoint.papers.averaged import AveragedPerceptron
from bayespoint.papers.experiments import sets
from bayespoint.papers.experiments.framework import Claim, Experiment, Report, Settings, Text
from bayespoint.papers.experiments.rows import Mean, Row, Rows, every, grid, mean_of

# Error in percent and standard error of the SVM and of the BPM, and 1 minus the p-value.
PRINTED = {
    "heart": (25.4, 0.40, 22.8, 0.34, 1.00),
    "thyroid": (5.3, 0.24, 4.4, 0.21, 1.00),
    "diabetes": (33.1, 0.24, 32.0, 0.25, 1.00),
    "waveform": (13.0, 0.10, 12.1, 0.09, 1.00),
    "banana": (16.2, 0.15, 15.1, 0.14, 1.00),
    "sonar": (15.4, 0.37, 15.9, 0.38, 0.01),
    "ionosphere": (11.9, 0.25, 11.5, 0.25, 0.99),
}
BOUNCES, QUICK_BOUNCES = 400_000, 20_000
CHORD_BOUNCES = (300, 1_000, 3_000, 10_000)
SHORT = 1_000
"""The length of the paper's billiard for which p is given."""
_CHORDS = [f"chord_{asked}" for asked in CHORD_BOUNCES]
_SHORT = f"chord_{SHORT}"
PERCEPTRONS, QUICK_PERCEPTRONS, PASSES = 100, 10, 1_000
EARLY, EARLY_SPLITS = (5, 30, 150), 20
"""Fewer passes, and the number of splits in which they are tried."""
_AVERAGES = {f"early_{passes}": passes for passes in EARLY} | {"perceptrons": PASSES}
SIXTY_PERCENT = {"waveform": 3_000, "banana": 3_180}
SIXTY_SPLITS, QUICK_SIXTY_SPLITS = 10, 1


def _units(settings: Settings) -> list[Row]:
    units = grid(split=range(settings.splits), data=PRINTED)
    return [unit | {"source": sets.source(unit["data"])} for unit in units]


def _measure(unit: Row, settings: Settings) -> Row:
    name, number = unit["data"], list(PRINTED).index(unit["data"])
    seed = settings.seed_of(number, unit["split"])
    K, _, y, _ = matrices = _matrices(name, sets.split(name, seed))
    # A number of bounces instead of a tolerance: with a nearly singular matrix four balls can agree
    # before they have left the corner in which they started.
    machines = {
        **_machines(seed),
        "bpm": sets.BILLIARD(
            motion="geodesic", N_max=QUICK_BOUNCES if settings.quick else BOUNCES,
            n_balls=4, random_state=seed,
        ),
        **{
            key: AveragedPerceptron(
                "precomputed", n_perceptrons=QUICK_PERCEPTRONS if settings.quick else PERCEPTRONS,
                fit_intercept=False, max_epochs=passes, random_state=seed,
            )
            for key, passes in _AVERAGES.items()
            if key == "perceptrons" or unit["split"] < EARLY_SPLITS
        },
    }  # fmt: skip
    errors: Row = dict.fromkeys(_AVERAGES, np.nan)
    errors |= {key: sets.wrong(machine, *matrices).mean() for key, machine in machines.items()}
    svm, bpm, average = (machines[key] for key in ("svm", "bpm", "perceptrons"))
    left_out = name in SIXTY_PERCENT and unit["split"] >= _sixty_splits(settings)
    return {
        **errors,
        "separating": average.separating_[0],
        "angle_svm": sets.angle(K, svm, bpm),
        "angle_perceptrons": sets.angle(K, average, bpm),
        **(dict(_NO_OTHER) if left_out else _other(name, seed)),
        "training_errors": (svm.margins(K, y) <= 0).sum(),
        "center_error": bpm.runs_[0].center_error,
    }


def _machines(seed: int) -> dict[str, Any]:
    """Return the SVM, and the paper's billiard with one ball for each number of bounces."""
    chords = {
        key: sets.BILLIARD(N_max=bounces, random_state=seed)
        for key, bounces in zip(_CHORDS, CHORD_BOUNCES, strict=True)
    }
    return {"svm": sets.MARGIN(fit_intercept=False), **chords}


def _matrices(name: str, split: tuple[Floats, ...]) -> tuple[Floats, ...]:
    """Return kernel values of the training and of the test examples, and the labels of both."""
    X, X_test, y, y_test = split
    kernel = kernels.RBF(sets.SETS[name].sigma)
    return kernel(X, X), kernel(X_test, X), y, y_test


def _sixty_splits(settings: Settings) -> int:
    """Return the number of splits with 60 % of waveform and banana for training."""
    return QUICK_SIXTY_SPLITS if settings.quick else SIXTY_SPLITS


_NO_OTHER = dict.fromkeys(("other_svm", "other_chord", "other_angle"), float("nan"))


def _other(name: str, seed: int) -> Row:
    """Return the errors of SVM and short chord billiard, and their angle, with the other choice.

    That is the other scaling of the features or, for the two sets of the collection, 60 % of the
    examples for training. NaN if no separating weight vector is found.
    """
    if name in SIXTY_PERCENT:
        split = sets.split(name, seed, SIXTY_PERCENT[name])
    else:
        split = sets.split(name, seed, standardized=not sets.SETS[name].standardized)
    matrices, machines = _matrices(name, split), _machines(seed)
    svm, chord = machines["svm"], machines[_SHORT]
    try:
        errors = [sets.wrong(machine, *matrices).mean() for machine in (svm, chord)]
    except InfeasibleError:
        return dict(_NO_OTHER)
    return dict(zip(_NO_OTHER, [*errors, sets.angle(matrices[0], svm, chord)], strict=True))


def _report(rows: Rows, settings: Settings) -> Report:
    by_set = {name: rows.where(data=name) for name in PRINTED}
    main, short, other, average = [], [], [], []
    off: dict[str, dict[str, float]] = {key: {} for key in ("svm", "other_svm", "bpm", *_CHORDS)}
    p: dict[str, dict[str, float]] = {key: {} for key in ("bpm", _SHORT, "perceptrons", "other")}
    nearer, fewer, early = dict[str, bool | None](), list[str](), []
    for name, (svm_mean, svm_error, bpm_mean, bpm_error, p_printed) in PRINTED.items():
        svm, bpm = Mean(svm_mean, svm_error), Mean(bpm_mean, bpm_error)
        of_set = by_set[name]
        errors = {
            key: 100 * of_set[key]
            for key in ("svm", "bpm", *_CHORDS, "perceptrons", "other_svm", "other_chord")
        }
        means = {key: mean_of(values) for key, values in errors.items()}
        tried = np.isfinite(errors["other_svm"])
        if tried.any():
            means["other_svm"] = mean_of(errors["other_svm"][tried])
        gaps = {key: means[key].minus(svm if key.endswith("svm") else bpm) for key in off}
        for key, gap in gaps.items():
            off[key][name] = np.divide(*gap)
        for key in ("bpm", _SHORT, "perceptrons"):
            p[key][name] = _p_value(errors["svm"], errors[key])
        p["other"][name] = _p_value(errors["other_svm"][tried], errors["other_chord"][tried])
        main.append(
            [name, f"{sets.SETS[name].sigma:g}", svm, means["svm"], _difference(gaps["svm"]),
             bpm, means["bpm"], _difference(gaps["bpm"]), f"{p_printed:.2f}",
             _complement(p["bpm"][name])]
        )  # fmt: skip
        short.append(
            [name, *(f"{means[key]} ({off[key][name]:+.1f})" for key in _CHORDS),
             _complement(p[_SHORT][name])]
        )  # fmt: skip
        other.append(
            [name, _choice(name, made=True), _choice(name, made=False),
             means["other_svm"] if tried.any() else "none",
             _complement(p["other"][name])]
        )  # fmt: skip
        angles = [np.median(of_set[f"angle_{key}"]) for key in ("svm", "perceptrons")]
        share = of_set["separating"].mean()
        if share == 1:
            nearer[name] = mean_of(of_set["angle_svm"] - of_set["angle_perceptrons"]).above()
        lead = mean_of(errors["bpm"] - errors["perceptrons"])
        against = _p_value(errors["bpm"], errors["perceptrons"])
        if against < 0.01:
            fewer.append(f"{name} by {lead}")
        first = Rows(of_set.rows[:EARLY_SPLITS])
        leads = (mean_of(100 * (first["bpm"] - first[key])) for key in _AVERAGES)
        early.append([name, *leads])
        average.append(
            [name, means["perceptrons"], _complement(p["perceptrons"][name]), _complement(against),
             *(f"{value:.3f}" for value in angles), f"{share:.2f}"]
        )  # fmt: skip
    lengths = " | ".join(f"{asked:,}" for asked in CHORD_BOUNCES)
    tables = [
        _TEXT.table("errors", main, splits=settings.splits),
        _TEXT.table("by-bounces", short, bounces=lengths, short=SHORT),
        _TEXT.table("choices", other),
        _TEXT.table("averages", average, perceptrons=PERCEPTRONS),
        _TEXT.table(
            "passes",
            early,
            splits=len(first),
            passes=" | ".join(f"{most:,}" for most in _AVERAGES.values()),
        ),
    ]
    fit = {key: np.square(list(off[key].values())).sum() for key in _CHORDS}
    best = min(fit, key=lambda key: fit[key])
    six = {name: value for name, value in p["bpm"].items() if name != "sonar"}
    worse = [f"{name} (p = {value:.3g})" for name, value in six.items() if not value < 0.01]
    decided = [
        name
        for name in PRINTED
        if name not in SIXTY_PERCENT and not abs(off["other_svm"][name]) <= 3
    ]
    other_angle = np.median(by_set["sonar"]["other_angle"])
    sonar = {key: 1 - p[key]["sonar"] for key in ("bpm", _SHORT, "other")}
    claims = [
        _near("svm", off["svm"]),
        _near("bpm", off["bpm"]),
        _TEXT.claim("fewer", all(value < 3 for value in off["bpm"].values()), general=True),
        _near("billiard", off[best], bounces=int(best.split("_")[1])),
        _TEXT.claim(
            "six",
            every(_decided(value, 0.01) for value in six.values()),
            exceptions=f"; it does not on {', '.join(worse)}" if worse else "",
        ),
        _TEXT.claim(
            "sonar",
            every(_decided(sonar[key], 0.05) for key in (_SHORT, "bpm")),
            billiard=sonar[_SHORT],
            short=SHORT,
            center=sonar["bpm"],
        ),
        _TEXT.claim(
            "perceptrons",
            every(nearer.values()) if nearer else None,
            count=list(nearer.values()).count(True),
            n=len(nearer),
            names=", ".join(nearer),
        ),
        _TEXT.unless("average", fewer, "; it has, in percentage points, on ", passes=PASSES),
    ]  # fmt: skip
    wrong = rows["training_errors"].sum()
    remarks = [
        _TEXT.fill(
            "p",
            wrong=wrong or "no",
            largest=max(np.median(of_set["center_error"]) for of_set in by_set.values()),
            waveform=sets.source("waveform"),
        ),
        _TEXT.fill("bounces"),
        _TEXT.fill(
            "scaling",
            decided=", ".join(decided) if decided else "no set",
            standardized=sonar["other"],
            short=SHORT,
            other_angle=other_angle,
        ),
        _sixty(by_set, _sixty_splits(settings)),
        _TEXT.fill("training", passes=PASSES),
    ]
    return Report(tables, claims, remarks)


def _near(key: str, off: dict[str, float], **values: Any) -> Claim:
    """Return the claim that no set is more than 3 standard errors off."""
    far = [f"{name} by {z:+.1f}" for name, z in off.items() if not abs(z) <= 3]
    return _TEXT.unless(key, far, "; it is not on ", **values)


def _choice(name: str, *, made: bool) -> str:
    """Return the choice that was made for a data set, or the other."""
    if name in SIXTY_PERCENT:
        return f"{sets.SETS[name].n_train if made else SIXTY_PERCENT[name]} examples"
    return "standardized" if sets.SETS[name].standardized == made else "raw"


def _sixty(by_set: dict[str, Rows], splits: int) -> str:
    """Return a sentence about training sets of 60 % for waveform and banana."""
    parts = []
    for name, n_train in SIXTY_PERCENT.items():
        errors = 100 * by_set[name]["other_svm"][by_set[name]["split"] < splits]
        found = np.isfinite(errors)
        mean = f", with {errors[found].mean():.1f} % errors" if found.any() else ""
        parts.append(
            f"{name} ({n_train} examples) is separated in {found.sum()} of {len(errors)} splits"
            f"{mean}"
        )
    return _TEXT.fill("sixty", parts=", and ".join(parts))


def _p_value(svm: Any, bpm: Any) -> float:
    """Return the p-value of the paired one-sided t-test that the Bayes point is better."""
    if len(svm) < 2:
        return float("nan")
    difference = svm - bpm
    if np.ptp(difference) < 1e-9:  # no spread: the statistic is infinite or undefined
        return 0.5 if abs(difference[0]) < 1e-9 else float(difference[0] < 0)
    return float(stats.ttest_rel(bpm, svm, alternative="less").pvalue)


def _decided(p: float, level: float) -> bool | None:
    """Return whether a one-sided test shows it: False if it shows the contrary, None if neither."""
    return True if p < level else False if p > 1 - level else None


def _complement(p: float) -> str:
    return f"{1 - p:.3f}" if p == p else ""


def _difference(gap: Mean) -> str:
    """Return a difference, and in brackets how many standard errors it is."""
    z = np.divide(*gap)
    return f"{gap.value:+.2f} ({z:+.1f})" if z == z else f"{gap.value:+.2f}"


_DRAWN = (
    ("svm", "SVM", "#D55E00", "o"),
    ("bpm", "Bayes point", "#0072B2", "s"),
    ("perceptrons", f"average of {PERCEPTRONS} perceptrons", "#009E73", "^"),
)


def _draw(rows: Rows, settings: Settings, figure: Any) -> None:
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    places = np.arange(len(PRINTED))
    for k, (key, label, color, marker) in enumerate(_DRAWN):
        values = [rows.where(data=n).mean(key, 100) for n in PRINTED]
        means, errors = np.transpose(values)
        at = places + 0.26 * (k - 1)
        left.errorbar(at, means, errors, fmt=marker, color=color, markersize=5, label=label)
        if k < 2:
            printed = np.array([PRINTED[name][2 * k : 2 * k + 2] for name in PRINTED])
            left.errorbar(
                at - 0.11, printed[:, 0], printed[:, 1], fmt=marker, color=color, markersize=5,
                markerfacecolor="white", label=f"{label}, paper",
            )  # fmt: skip
    left.set(ylabel="test error, %", ylim=(0, None))
    left.legend(frameon=False, title="means ± standard error")
    of_sets = (rows.where(data=name) for name in PRINTED)
    gains = [100 * (of_set["svm"] - of_set["bpm"]) for of_set in of_sets]
    right.boxplot(
        gains,
        positions=places,
        showmeans=True,
        widths=0.5,
        medianprops={"color": "black"},
        meanprops={"marker": "D", "markerfacecolor": "#0072B2", "markeredgecolor": "#0072B2"},
        flierprops={"marker": ".", "markeredgecolor": "gray"},
    )
    right.axhline(0, color="black", linewidth=0.8, linestyle="dotted")
    right.plot([], [], color="black", label="median")
    right.plot([], [], "D", color="#0072B2", label="mean")
    right.legend(frameon=False)
    right.set_ylabel("error of the SVM less that of the Bayes point, %")
    for ax in (left, right):
        ax.set_xticks(places, list(PRINTED), rotation=30)


_TEXT = Text.of("bayesian-learning", "table-1", bounces=4 * BOUNCES)

EXPERIMENTS = (
    Experiment(_TEXT, _report, _draw, _units, _measure, splits=100, quick_splits=2,
               size=(11.0, 5.0)),
)  # fmt: skip
