"""The experiments of the two sets of lecture notes, and the problems that they make."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from bayespoint.papers.experiments import lecture_kernels, lectures
from bayespoint.papers.experiments.framework import Settings
from bayespoint.papers.experiments.registry import EXPERIMENTS
from bayespoint.papers.experiments.rows import Rows
from helpers import seed


def measured(experiment, n):
    """Return the rows of a quick run of an experiment, and its settings."""
    settings = Settings(n, quick=True, seed=seed(0))
    units = experiment.units(settings)
    return Rows([unit | experiment.measure(unit, settings) for unit in units]), settings


@pytest.fixture(scope="module")
def perceptrons():
    return measured(EXPERIMENTS["perceptron-margins"], 12)


def holds(report, text):
    (found,) = [claim.holds for claim in report.claims if text in claim.text]
    return found


def changed(rows, **values):
    """Return the rows with other values in the first one."""
    first, *others = rows
    return Rows([first | values, *others])


def test_the_printed_algorithm_by_hand():
    X, y = np.array([[2.0], [1.0]]), np.array([1, -1])
    path = lectures.literal(X, y, 2.0)
    assert [(float(w[0]), b) for w, b, _ in path[:3]] == [(2.0, 2.0), (1.0, 0.0), (0.0, -2.0)]
    w, b, _ = path[-1]
    assert 2 * w[0] + b > 0 > w[0] + b
    assert lectures.literal(X, y, 2.0, strict=True) == []


def test_margins(perceptrons):
    rows, settings = perceptrons
    report = EXPERIMENTS["perceptron-margins"].report
    of_rows = report(rows, settings)
    for misprint in ("as the sign of a mistake", "b is the mean of", "wᵀx + b < -1"):
        assert not holds(of_rows, misprint)
    for key, value, text in (
        ("same R", 0, "makes the same updates"),
        ("support", 99, "never has more than D + 1"),
    ):
        assert holds(of_rows, text)
        assert not holds(report(changed(rows, **{key: value}), settings), text)


@pytest.mark.parametrize("name", ["R", "R2"])
def test_mistakes(perceptrons, name):
    rows, settings = perceptrons
    report = EXPERIMENTS["perceptron-mistakes"].report
    assert [claim.holds for claim in report(rows, settings).claims] == [True] * 3
    for key, value, text in (
        ("mistakes", 10**9, "no perceptron made more mistakes than the bound allows"),
        ("length", 1.1, "after k updates"),
        ("progress", 0.9, "after k updates"),
    ):
        wrong = report(changed(rows, **{f"{key} {name}": value}), settings)
        (claim,) = [claim for claim in wrong.claims if not claim.holds]
        assert text in claim.text
        assert f": {lectures.UPDATES[name].split()[-1]} (" in claim.text
        assert len(wrong.claims) == 4


def test_boundary(perceptrons):
    rows, settings = perceptrons
    report = EXPERIMENTS["perceptron-boundary"].report
    for claim in report(rows, settings).claims[:3]:
        assert claim.holds
    assert not holds(report(changed(rows, **{"off d_O": 0.1}), settings), "Eq. 3 gives")
    signs = changed([row | {"d_O": 1.0, "closest label": 1} for row in rows])
    assert all(claim.holds for claim in report(signs, settings).claims)


@pytest.mark.long
def test_width():
    experiment = EXPERIMENTS["kernel-width"]
    rows, settings = measured(experiment, 3)
    report = experiment.report(rows, settings)
    assert holds(report, "makes the surface flat")
    assert holds(report, "classes apart: σ = d")
    assert not holds(report, "classes overlapping: σ = d")
    small = f"training {lecture_kernels.WIDTHS[0]:g}"
    assert not holds(experiment.report(changed(rows, **{small: 0.1}), settings), "overfits")


def test_exclusive_or():
    experiment = EXPERIMENTS["exclusive-or"]
    rows, settings = measured(experiment, 2)
    report = experiment.report(rows, settings)
    assert holds(report, "no linear classifier gives")
    assert holds(report, "a hard margin with an RBF kernel does")
    assert not holds(report, "D + 1 support vectors")
    assert not holds(experiment.report(changed(rows, separable=1), settings), "no linear")
