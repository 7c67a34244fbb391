"""Tangent pairs for directions in which feature vectors are thin: enough of them, or a warning."""

import dataclasses
import warnings

import numpy as np
import pytest

from bayespoint import ConvergenceWarning, VersionSpace, kernels
from bayespoint.engine import pairs
from taught import seed


@pytest.mark.parametrize(("width", "softness"), [(1.0, 0.1), (1.0, 0.01), (2.0, 0.0)])
def test_few_pairs_for_thin_directions(width, softness):
    """A run of pairs without a warning has the center norm of fresh directions."""
    x = np.random.default_rng(seed(4)).standard_normal((100, 3))
    labels = np.where(x[:, 0] > 0, 1, -1)
    space = VersionSpace(kernels.RBF(width)(x), labels, softness=softness)
    fresh = space.sample(length=3000.0, refresh="full", random_state=0).center_norm
    warned = []
    for rate in (0.05, 10.0, 100.0):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = space.sample(length=1000.0, refresh="pair", refresh_rate=rate, random_state=1)
        pattern = "tangent pairs in a trajectory are too few for 100 examples"
        warned.append(any(pattern in str(warning.message) for warning in caught))
        far = run.center_norm / fresh - 1
        assert warned[-1] or abs(far) < 0.02
        # Without softness next to nothing turns in so few.
        assert rate > 1 or softness or far > 0.1
    assert warned[0]
    assert warned == sorted(warned, reverse=True)
    # What the narrow gap of wide kernels takes, nobody has.
    assert warned[-1] == (softness == 0)


def test_few_pairs_where_planes_close_all_directions():
    x = np.random.default_rng(seed(4)).standard_normal((501, 3))
    gram, labels = x @ x.T, np.where(x[:, 0] > 0, 1, -1)
    few = {"tol": 0.3, "refresh": "pair", "random_state": 0}
    VersionSpace(gram, labels).sample(**few)
    VersionSpace(gram, labels, softness=0.1).sample(tol=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="tangent pairs"):
        VersionSpace(gram, labels, softness=0.1).sample(**few)


def test_fresh_directions_are_taken_where_a_factor_is_cheap():
    x = np.random.default_rng(seed(4)).standard_normal((60, 60))
    labels = np.where(x[:, 0] > 0, 1, -1)
    for inputs in (x, x[:, :20], x[:, :15]):
        found = VersionSpace.from_features(inputs, labels).sample(tol=0.3, random_state=0)
        assert found.refresh == "full"
    assert VersionSpace(x @ x.T, labels).sample(tol=0.3, random_state=0).refresh == "full"
    # What was asked for is judged like what was chosen.
    with pytest.warns(ConvergenceWarning, match="tangent pairs"):
        VersionSpace(x @ x.T, labels).sample(tol=0.3, refresh="pair", random_state=0)


def test_more_examples_than_are_looked_at():
    x = np.random.default_rng(seed(5)).standard_normal((1200, 8))
    labels = np.where(x[:, 0] > 0, 1, -1)
    space = VersionSpace(x @ x.T, labels)
    run = space.sample(tol=0.3, refresh="pair", random_state=0)
    few, many = (
        dataclasses.replace(run, refreshes=np.full(4, n, dtype=np.uint64)) for n in (50_000, 2e6)
    )
    # Of a matrix nobody knows how many dimensions the examples span that were not looked at: where
    # the engine, free to choose, took pairs, they are many.
    assert pairs.too_few_pairs(many, space.gram, chosen=True) is None
    assert "takes 1.4e+06 pairs" in pairs.too_few_pairs(few, space.gram, chosen=True)
    assert pairs.too_few_pairs(few, space.gram, chosen=False) is None
    rows = VersionSpace.from_features(x, labels).gram
    assert pairs.too_few_pairs(few, rows, chosen=True) is None
    soft = VersionSpace(x @ x.T, labels, softness=50.0)
    for n, enough in ((40_000, False), (48_000, True)):
        run = dataclasses.replace(few, softness=50.0, refreshes=np.full(4, n, dtype=np.uint64))
        text = pairs.too_few_pairs(run, soft.gram, chosen=False)
        assert (text is None) == enough


def test_no_memory_for_a_look_at_the_pairs_does_not_take_the_result(monkeypatch):
    def refuse(*_):
        raise MemoryError

    x = np.random.default_rng(seed(6)).standard_normal((40, 3))
    space = VersionSpace(x @ x.T, np.where(x[:, 0] > 0, 1, -1))
    monkeypatch.setattr(pairs, "_needed", refuse)
    with pytest.warns(ConvergenceWarning, match="to turn them takes 1.6e\\+03 pairs"):
        assert space.sample(tol=0.3, refresh="pair", random_state=0).center.shape == (40,)
