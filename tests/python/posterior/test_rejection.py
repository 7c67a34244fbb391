"""Abstention: coverage and error at every cost."""

import numpy as np
import pytest

import bayespoint
from bayespoint.posterior.questions import rejection_curve
from helpers import seed


def test_coverage_and_error_by_hand():
    proba = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.4, 0.4, 0.2], [0.1, 0.1, 0.8]]
    coverage, error, cost = rejection_curve(["a", "b", "b", "a"], proba, labels=["a", "b", "c"])
    # Two points of loss 0.2 are accepted together. The tie of the third goes to "a".
    np.testing.assert_allclose(cost, [0.2, 0.3, 0.6])
    np.testing.assert_allclose(coverage, [0.5, 0.75, 1.0])
    np.testing.assert_allclose(error, [1 / 2, 1 / 3, 1 / 2])


def test_costs_and_coverage_rise():
    """Costs and coverage rise, the coverage to 1; the last error is that of all points."""
    rng = np.random.default_rng(seed(1))
    proba = rng.dirichlet(np.ones(3), size=500).round(2)
    proba[:, 2] = 1 - proba[:, :2].sum(axis=1)
    proba = np.clip(proba, 0, 1)
    y = rng.integers(0, 3, 500)
    coverage, error, cost = rejection_curve(y, proba)
    assert len(coverage) == len(error) == len(cost) < 100
    assert (np.diff(coverage) > 0).all()
    assert (np.diff(cost) > 0).all()
    assert coverage[-1] == 1
    wrong = proba.argmax(axis=1) != y
    assert error[-1] == pytest.approx(wrong.mean())
    for c, e, t in zip(coverage, error, cost, strict=True):
        accepted = 1 - proba.max(axis=1) <= t
        assert c == pytest.approx(accepted.mean())
        assert e == pytest.approx(wrong[accepted].mean())
    order = rng.permutation(500)
    for one, two in zip(
        rejection_curve(y, proba), rejection_curve(y[order], proba[order]), strict=True
    ):
        np.testing.assert_allclose(one, two)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([0, 1], [0.5]), "a row for each of the 2 labels in y_true"),
        (([0, 1, 2], [0.5, 0.1, 0.2]), "a column for each of 3 classes"),
        (([1, 1], [0.5, 0.1]), "set labels if y_true lacks a class"),
        (([0, 1], [0.5, 1.5]), r"proba must lie in \[0, 1\]"),
        (([], []), "y_true must have shape"),
    ],
)
def test_error_names_the_argument(arguments, text):
    with pytest.raises(ValueError, match=text):
        rejection_curve(*arguments)


def test_classes_may_be_given():
    with pytest.raises(ValueError, match="got 3"):
        rejection_curve([1, 3], [0.5, 0.5], labels=[1, 2])
    coverage, error, _ = rejection_curve([1, 1], [0.2, 0.9], labels=[1, 2])
    assert (coverage[-1], error[-1]) == (1.0, 0.5)
    assert bayespoint.posterior.questions.rejection_curve is rejection_curve
