"""Section 18.5.3 of Ruján and Marchand: a layer of the onion against label noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from bayespoint import BayesPointClassifier, SampleOptions, VersionSpace, kernels
from bayespoint.papers.experiments import sets
from bayespoint.papers.experiments.drawing import legend_below
from bayespoint.papers.experiments.framework import (
    SPLITS,
    Experiment,
    Report,
    Settings,
    Text,
    units_of,
)
from bayespoint.papers.experiments.rows import Row, Rows, mean_of
from bayespoint.papers.rollback import without_warnings

DATA = ("heart", "diabetes", "banana", "waveform")
TRAINING, FOLDS = 150, 5
DRAWS, FEW = 1000, 40
"""Draws of each of four balls, and the draws that a layer must have to count."""
RATE = 0.01
"""Label noise at least, for the draws that are sorted into layers."""
WAYS = {
    "noise": ("label noise", "#0072B2", "o"),
    "chosen": ("layer by leaving out", "#D55E00", "s"),
    "chosen own": ("that layer, own noise", "#E69F00", "v"),
    "best": ("best layer on the test", "#CC79A7", "D"),
    "best own": ("best layer, own noise", "#009E73", "^"),
}
ERRORS = ("noise", "chosen", "best")

_units = units_of(data=DATA, split=SPLITS)


def _layers(gram: Any, y: Any, K_test: Any, rate: float, seed: int) -> dict[int, Any]:
    """Return the votes of each layer, by its number of training errors, with Laplace's rule."""
    with without_warnings():
        found = VersionSpace(gram, y).sample(
            tol=0.05,
            n_draws=DRAWS,
            options=SampleOptions(transparency=rate / (1 - rate)),
            random_state=seed,
        )
    draws = found.draws.reshape(-1, len(y))
    wrong = (draws @ gram * y <= 0).sum(axis=1)
    votes = draws @ K_test.T > 0
    counts = {int(k): (wrong == k).sum() for k in np.unique(wrong)}
    return {k: (votes[wrong == k].sum(axis=0) + 1) / (n + 2) for k, n in counts.items() if n >= FEW}


def _measure(unit: Row, settings: Settings) -> Row:
    seed = settings.seed_of(unit["split"]) % 2**32
    X, X_test, y, y_test = sets.split(unit["data"], seed, TRAINING)
    kernel = kernels.RBF(sets.SETS[unit["data"]].sigma)
    model = BayesPointClassifier(
        kernel, softness=0.0, label_noise=None, n_models=1, fit_intercept=False,
        standardize=False, random_state=seed,
    ).fit(X, y)  # fmt: skip
    found = model.predict_proba(X_test)[:, 1]
    rate = max(float(np.mean(model.label_noise_)), RATE)
    gram = kernel(X)
    layers = _layers(gram, y, kernel(X_test, X), rate, seed)
    held_out: dict[int, float] = dict.fromkeys(layers, 0.0)
    for out in np.array_split(np.random.default_rng(seed).permutation(len(y)), FOLDS):
        known = np.setdiff1d(np.arange(len(y)), out)
        K = gram[np.ix_(known, known)]
        of_part = _layers(K, y[known], gram[np.ix_(out, known)], rate, seed)
        for k in layers:
            loss = log_loss(y[out], of_part[k], labels=[-1, 1]) if k in of_part else np.inf
            held_out[k] += len(out) * loss
    losses = {k: log_loss(y_test, p) for k, p in layers.items()}
    noisy = {k: log_loss(y_test, k / len(y) + (1 - 2 * k / len(y)) * p) for k, p in layers.items()}
    errors = {k: np.mean((p > 0.5) != (y_test > 0)) for k, p in layers.items()}
    chosen = min(layers, key=lambda k: (held_out[k], k))
    return {
        "noise": log_loss(y_test, found),
        "chosen": losses[chosen],
        "chosen own": noisy[chosen],
        "best": min(losses.values()),
        "best own": min(noisy.values()),
        "error noise": np.mean((found > 0.5) != (y_test > 0)),
        "error chosen": errors[chosen],
        "error best": min(errors.values()),
        "rate": np.mean(model.label_noise_),
        "layer": chosen,
    }


def _report(rows: Rows, settings: Settings) -> Report:
    lines = []
    for name in DATA:
        of_set = rows.where(data=name)
        losses = [f"{of_set.mean(way):.3f}" for way in WAYS]
        errors = [f"{of_set.mean(f'error {way}', 100):.1f}" for way in ERRORS]
        medians = [f"{np.median(of_set[key]):.3g}" for key in ("rate", "layer")]
        lines.append([name, *losses, *errors, *medians])
    gains = {way: mean_of(rows[way] - rows["noise"]) for way in WAYS if way != "noise"}
    leads = {way: mean_of(100 * (rows["error noise"] - rows[f"error {way}"])) for way in ERRORS[1:]}
    smaller = {f"{WAYS[way][0]} (by {gain:.3f})": gain.above(0, 2) for way, gain in gains.items()}
    fewer = {f"{WAYS[way][0]} (by {lead})": lead.above(0, 2) for way, lead in leads.items()}
    claims = [*_TEXT.claims("loss", smaller), *_TEXT.claims("errors", fewer)]
    ways = " | ".join(title for title, _, _ in WAYS.values())
    table = _TEXT.table("losses", lines, splits=settings.splits, ways=ways)
    return Report([table], claims, [_TEXT.fill("own")])


def _draw(rows: Rows, settings: Settings, figure: Any) -> None:
    ax = figure.subplots()
    for k, (way, (title, color, marker)) in enumerate(WAYS.items()):
        pairs = [rows.where(data=name).mean(way) for name in DATA]
        places = np.arange(len(DATA)) + 0.12 * (k - 2)
        ax.errorbar(places, *np.transpose(pairs), fmt=marker, color=color, capsize=3, label=title)
    ax.set_xticks(range(len(DATA)), DATA)
    ax.set(ylabel="log loss on the test part\n(mean ± standard error)")
    legend_below(figure, [ax], 2)


_TEXT = Text.of(
    "kernel-billiard", "onion-and-noise", training=TRAINING, folds=FOLDS, few=FEW, rate=RATE
)

EXPERIMENTS = (
    Experiment(_TEXT, _report, _draw, _units, _measure, splits=20, quick_splits=1, size=(8.0, 4.4)),
)
