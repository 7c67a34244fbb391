"""The verdicts of the sonar experiments, from made-up rows, and the choice of a layer."""

import numpy as np
import pytest

from bayespoint import VersionSpace
from bayespoint.papers.experiments.registry import EXPERIMENTS
from bayespoint.papers.experiments.sonar import (
    METHODS,
    PRINTED,
    SIGMAS,
    Sonar,
    Sweep,
    choose_layer,
)
from helpers import cone, seed


def sweep_rows(**changes):
    """Return rows like those of the paper: best at 4.4 before the closing, onion stable."""
    rows = []
    for features, sigmas in SIGMAS.items():
        for run in range(2):
            for sigma in sigmas:
                s = sigma if features == "standardized" else 5 * sigma
                off = abs(np.log(s / 4.4))
                row = {
                    "svm": 10 + 20 * off,
                    "svm_bare": 5.0,
                    "flipper": 8 + 20 * off,
                    "best_layer": 7 + 3 * off,
                    "chosen_layer": 8 + 3 * off,
                    "escapes": 0.02 / (1 + (s / 8) ** 2),
                    "bounces": 50 + s**3,
                    "path": 1.5,
                }
                row |= {name: change(s, row) for name, change in changes.items()}
                rows.append({"features": features, "sigma": sigma, "run": run, **row})
    return rows


def verdicts(name, rows):
    experiment = EXPERIMENTS[name]
    report = experiment.report(rows, experiment.settings())
    return [(claim.text, claim.holds) for claim in report.claims]


def failing(rows):
    return [text for text, holds in verdicts("figure-18-13", rows) if not holds]


def test_claims_of_the_sweep_hold_for_results_like_the_papers():
    assert failing(sweep_rows()) == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"best_layer": lambda s, row: row["svm"] + (s == 4.4)}, "no more errors than"),
        ({"chosen_layer": lambda s, row: 8 + 30 * (s != 4.4)}, "chosen by leaving ten out"),
        ({"flipper": lambda s, row: 5 + s}, "the best results of the flipper"),
        ({"escapes": lambda s, row: 0.02}, "the billiard closes"),
        ({"bounces": lambda s, row: 50 + s}, "seems to diverge"),
    ],
)
def test_each_claim_of_the_sweep_can_fail(changes, text):
    assert any(text in claim for claim in failing(sweep_rows(**changes)))


def test_closing_and_width():
    sweep = Sweep.of(sweep_rows(), "standardized")
    assert sweep.closing == 8  # the share is half of its largest value there, up to its edge
    assert sweep.best("svm").tolist() == [4.4]
    assert sweep.width("best_layer") > sweep.width("svm") >= 1


def table_rows(flipper, shift=0):
    rows = []
    for run in range(4):
        row = {"run": run, "svm": 10.0, "flipper": float(flipper[run]), "center_error": 0.05}
        for k, method in enumerate(METHODS):
            for a, b in np.ndindex(6, 6):
                for name, printed in zip(("neg", "pos"), PRINTED[a][b], strict=True):
                    row[f"{method}_{name}_{a}_{b}"] = float(printed + (k + shift) % 3)
        rows.append(row)
    return rows


@pytest.mark.parametrize(
    ("flipper", "shift", "expected"),
    [
        ([8, 8, 8, 9], 0, [True, True, True]),
        ([9, 8, 8, 9], 0, [False, True, True]),
        ([8, 8, 8, 9], 1, [True, True, False]),
    ],
)
def test_claims_of_the_table(flipper, shift, expected):
    found = verdicts("table-18-1", table_rows(flipper, shift))
    assert [holds for _, holds in found] == expected


def test_choice_of_a_layer():
    x, y = cone(m=43, r=4, seed=seed(930))
    gram = x @ x.T
    here = Sonar(VersionSpace(gram, y), gram, y.astype(float), gram, y.astype(float))
    candidates = np.ones((2, 2), dtype=bool)
    chosen = choose_layer(here, 200, np.random.default_rng(seed(930)), candidates)
    candidates[chosen] = False
    other = choose_layer(here, 200, np.random.default_rng(seed(930)), candidates)
    assert other != chosen
    assert candidates[other]


def test_errors_by_class():
    gram, y = np.eye(3), np.array([-1.0, 1.0, 1.0])
    here = Sonar(VersionSpace(gram, y), gram, y, gram, y)
    found = here.errors(np.array([[1.0, 1.0, -1.0], [-1.0, 1.0, 1.0], [np.nan, 0.0, 0.0]]))
    np.testing.assert_array_equal(found, [[1, 1], [0, 0], [np.nan, np.nan]])
