"""Every source of Gram rows: matrices of doubles and singles, explicit features."""

from collections import namedtuple

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_approximation import Nystroem

from bayespoint import InfeasibleError, SampleOptions, VersionSpace
from bayespoint.base import memory as base_memory
from bayespoint.base.linalg import factorize
from bayespoint.kernels import RBF
from bayespoint.papers import bounds, dynamics
from bayespoint.papers.correlation import correlation_length
from bayespoint.papers.dynamics import Chord, Flipper, Scattered
from bayespoint.papers.light_trap import light_trap
from bayespoint.papers.onion import choose_layer, onion
from bayespoint.papers.reweighting import reweight
from helpers import SHIFT as SEED

# Runs that are compared bit by bit are too short for their chains to agree.
SHORT = pytest.mark.filterwarnings(
    "ignore:.*disagree:sklearn.exceptions.ConvergenceWarning",
    "ignore:.*draws are worth:sklearn.exceptions.ConvergenceWarning",
)


def problem(m=120, d=4, seed=0):
    """Inputs and labels with a curved boundary."""
    X = np.random.default_rng([seed, SEED]).standard_normal((m, d))
    return X, np.where(X[:, 0] + np.sin(2 * X[:, 1]) / 2 > 0, 1, -1)


# --- singles ---


@SHORT
def test_singles_are_borrowed_and_give_the_bits_of_their_doubles():
    X, y = problem()
    singles = RBF(1.5)(X).astype(np.float32)
    before = singles.copy()
    space = VersionSpace(singles, y, softness=0.1, offset=0.3)
    twin = VersionSpace(singles.astype(float), y, softness=0.1, offset=0.3)
    assert space.gram.dtype == np.float32
    assert np.shares_memory(space.gram, singles)
    run = {"length": 20.0, "n_draws": 5, "random_state": 1}
    kinds = [{"refresh": "pair"}, {"refresh": "full"}, {"transparency": (0.0, 0.2)}]
    for options in [{}, *kinds]:
        found, expected = (s.sample(options=SampleOptions(**options), **run) for s in (space, twin))
        np.testing.assert_array_equal(found.draws, expected.draws)
        np.testing.assert_array_equal(found.center, expected.center)
        assert found.center_error == expected.center_error
    np.testing.assert_array_equal(space.max_margin().dual_coef, twin.max_margin().dual_coef)
    found, expected = (s.evidence(tol=0.5, random_state=2) for s in (space, twin))
    assert found.value == expected.value
    found, expected = (
        onion(s, (1, 1), tol=0.2, max_length=2e3, random_state=3) for s in (space, twin)
    )
    np.testing.assert_array_equal(found.center(1, 0), expected.center(1, 0))
    c = np.random.default_rng(0).standard_normal((3, len(y)))
    np.testing.assert_allclose(space.margins(c), twin.margins(c), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(singles, before)


def test_singles_in_another_order():
    X, y = problem(60)
    singles = RBF(1.5)(X).astype(np.float32)
    fortran = np.asfortranarray(singles)
    assert np.shares_memory(VersionSpace(fortran, y).gram, fortran)
    strided = np.repeat(singles, 2, axis=1)[:, ::2]
    space = VersionSpace(strided, y)
    assert space.gram.flags.c_contiguous
    np.testing.assert_array_equal(space.gram, singles)


def test_margins_of_singles_make_no_matrix_of_doubles(monkeypatch):
    """They are computed in blocks of any size."""
    monkeypatch.setattr("bayespoint.kernels.explicit._BLOCK_BYTES", 8 * 60 * 7)
    X, y = problem(60)
    singles = RBF(1.5)(X).astype(np.float32)
    c = np.random.default_rng(0).standard_normal((2, 3, 60))
    np.testing.assert_allclose(
        VersionSpace(singles, y).margins(c), (c @ singles.astype(float)) * y, atol=1e-12
    )


def test_a_factor_of_singles_is_in_doubles():
    X, _ = problem(80)
    singles = RBF(1.5)(X).astype(np.float32)
    softness = np.full(80, 0.1)
    found = factorize(singles, 0.5, softness)
    expected = factorize(singles.astype(float), 0.5, softness)
    np.testing.assert_array_equal(found.lower, expected.lower)


# --- explicit features ---


@SHORT
def test_everything_that_needs_no_factor():
    X, _ = problem(80)
    y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1, -1)
    dense = VersionSpace(X @ X.T, y, softness=0.05, offset=1.0)
    space = VersionSpace.from_features(X, y, softness=0.05, offset=1.0)
    assert space.gram.shape == (80, 80)
    for method in ["light_trap", "max_margin"]:
        assert dense.contains(space.feasible_point(method, random_state=0))
    assert dense.contains(light_trap(space, random_state=0).dual_coef)
    found, expected = (s.max_margin() for s in (space, dense))
    np.testing.assert_allclose(found.margin, expected.margin, rtol=1e-6)
    np.testing.assert_allclose(found.dual_coef, expected.dual_coef, atol=1e-6)
    for motion in (Chord(), Flipper()):
        result = dynamics.sample(space, motion, length=20.0, n_draws=5, random_state=0).run
        assert (dense.margins(result.draws) > 0).all()
    result = space.sample(
        options=SampleOptions(transparency=(0.0, 0.1)), length=20.0, n_draws=5, random_state=0
    )
    assert result.mean_violations > 0
    weighed = reweight(
        space,
        space.sample(length=200.0, n_draws=200, random_state=0),
        lambda margins: margins[:, 0],
    )
    assert dense.contains(weighed.center)
    table = onion(space, (1, 1), method="projected", tol=0.2, random_state=0)
    assert 0 < table.center_norm[0, 0] < 1
    choice = choose_layer(
        space, (1, 0), k=20, n_repeats=1, method="projected", tol=0.3, random_state=0
    )
    assert choice.n_tests.max() == 20


def test_errors_where_a_factor_is_needed():
    X, y = problem(30)
    space = VersionSpace.from_features(X, y, softness=0.1)
    point = space.max_margin().dual_coef
    text = r"needs a factor of the Gram matrix, .* VersionSpace\(X @ X.T, y\)"
    for call in [
        lambda: space.sample(options=SampleOptions(refresh="full")),
        lambda: dynamics.sample(space, Scattered()),
        space.evidence,
        lambda: space.evidence(0.1, method="integration"),
        lambda: onion(space),
        lambda: choose_layer(space, (1, 1)),
        lambda: correlation_length(space),
        lambda: bounds.mirrored_space(space, point),
    ]:
        with pytest.raises(ValueError, match=text):
            call()
    # Any other access to the matrix raises an error that names the alternative.
    for look in [np.asarray, lambda gram: gram + 1.0, lambda gram: np.eye(30) @ gram]:
        with pytest.raises(TypeError, match=r"needs the Gram matrix, .* VersionSpace\(X @ X.T"):
            look(space.gram)


def test_singles_are_mirrored_in_doubles():
    X, y = problem(30)
    singles = RBF(1.5)(X).astype(np.float32)
    spaces = [VersionSpace(gram, y, softness=0.1) for gram in (singles, singles.astype(float))]
    point = spaces[0].feasible_point(random_state=0)
    first, second = (bounds.mirrored_space(space, point).gram for space in spaces)
    assert first.dtype == np.float64
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"X": np.ones(5)}, ValueError, r"X must have shape \(n_samples, n_features\) .* \(5,\)"),
        ({"X": np.ones((5, 0))}, ValueError, "X must have shape .* with at least one of each"),
        ({"X": np.full((4, 2), np.nan)}, ValueError, "X must be finite"),
        ({"X": np.ones((4, 2)) * 1j}, TypeError, "X must hold real numbers"),
        ({"X": sparse.csr_array(np.eye(4))}, TypeError, "X must be a dense array"),
        ({"X": np.zeros((4, 2))}, ValueError, "diagonal entry of X @ X.T plus offset"),
        ({"X": np.full((4, 2), 1e200)}, ValueError, "diagonal entry of X @ X.T"),
        ({"y": [1, -1]}, ValueError, "y must have as many labels"),
        ({"y": [2, 2, 2, 2]}, ValueError, "two classes or more"),
        (
            {"y": [1, -1, 1]},
            ValueError,
            "y must have as many labels as .* has rows, 4; got 3",
        ),
        ({"softness": -1.0}, ValueError, "softness must be finite and at least 0"),
        ({"offset": -1.0}, ValueError, "offset must be a finite number"),
    ],
)
def test_bad_input_is_refused(change, error, text):
    good = {"X": np.random.default_rng(0).standard_normal((4, 2)), "y": [1, -1, 1, -1]}
    with pytest.raises(error, match=text):
        VersionSpace.from_features(**good | change)


@SHORT
def test_inputs_are_borrowed_or_converted():
    X, y = problem(40)
    assert np.shares_memory(VersionSpace.from_features(X, y).gram.X, X)
    for other in [np.asfortranarray(X), X.tolist(), np.repeat(X, 2, axis=0)[::2]]:
        np.testing.assert_array_equal(VersionSpace.from_features(other, y).gram.X, X)
    before = X.copy()
    X.flags.writeable = False
    VersionSpace.from_features(X, y, softness=1.0).sample(length=5.0)
    np.testing.assert_array_equal(X, before)


def test_one_example():
    space = VersionSpace.from_features([[2.0, 1.0]], [1])
    with pytest.raises(ValueError, match="gram must be of two dimensions or more"):
        space.sample(random_state=0)
    np.testing.assert_allclose(space.max_margin().dual_coef, [1 / np.sqrt(5)])


def test_no_room_for_a_copy(monkeypatch):
    X, y = problem(10_000, 50)
    memory = namedtuple("memory", "available")
    monkeypatch.setattr(base_memory.psutil, "virtual_memory", lambda: memory(2**20))
    with pytest.raises(MemoryError, match="a copy of the 10000 x 50 features"):
        VersionSpace.from_features(X, y)


# --- contradictions ---


@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_examples_that_contradict_each_other_are_named(offset):
    X, y = problem(50)
    X[37], y[37] = X[11], -y[11]
    space = VersionSpace.from_features(X, y, offset=offset)
    with pytest.raises(InfeasibleError, match="because of examples 11 and 37 alone"):
        space.feasible_point(random_state=0)
    VersionSpace.from_features(X, y, offset=offset, softness=0.1).max_margin()


def test_opposite_directions_contradict_each_other():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 5))
    y = np.sign(X @ rng.standard_normal(5))
    X[40], y[40] = -2.5 * X[7], y[7]
    with pytest.raises(InfeasibleError, match="because of examples 7 and 40 alone"):
        VersionSpace.from_features(X, y).sample()
    y[40] = -y[7]
    VersionSpace.from_features(X, y).max_margin()
    # With a constant coordinate they are no longer on one line.
    y[40] = y[7]
    with pytest.raises(InfeasibleError) as caught:
        VersionSpace.from_features(X, y, offset=1.0).sample()
    assert "alone" not in str(caught.value)


# --- many examples ---


@SHORT
def test_nystroem_features_never_form_their_matrix():
    """A matrix would take too much memory and time."""
    X, _ = problem(3000, 3, seed=9)
    features = Nystroem(gamma=0.1, n_components=25, random_state=0).fit_transform(X)
    y = np.sign(features @ np.random.default_rng(9).standard_normal(25))
    space = VersionSpace.from_features(features, y, softness=0.01)
    result = space.sample(options=SampleOptions(max_bounces=3000), length=100.0, random_state=0)
    weights = result.draws @ features
    own = np.einsum("tni,tni->tn", weights, weights)
    own += 0.01 * np.einsum("tni,tni->tn", result.draws, result.draws)
    np.testing.assert_allclose(own, 1.0, atol=1e-9)
    assert (space.margins(result.draws) > 0).all()
    assert np.mean(np.sign(features @ (result.center @ features)) == y) > 0.9


def test_the_margin_of_features_needs_no_more_than_their_rank(monkeypatch):
    """The active set of a hard margin has at most as many free examples as features."""
    rng = np.random.default_rng(5)
    features = rng.standard_normal((3000, 5))
    y = np.sign(features @ rng.standard_normal(5))
    space = VersionSpace.from_features(features, y)
    memory = namedtuple("memory", "available")
    monkeypatch.setattr(base_memory.psutil, "virtual_memory", lambda: memory(3 * 2**20))
    found = space.max_margin()
    expected = VersionSpace(features[:500] @ features[:500].T, y[:500]).max_margin()
    assert 0 < found.margin <= expected.margin * (1 + 1e-6)


@pytest.mark.filterwarnings("ignore:the plane coordinates drifted")
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_singles_on_one_line(offset):
    """Rounding adds spurious dimensions, which do not count; an offset adds a true one."""
    x = np.random.default_rng([11, SEED]).standard_normal((30, 1))
    y = np.where(x[:, 0] > 0, 1, -1)
    K = (x @ x.T).astype(np.float32)
    space = VersionSpace(K, y, offset=offset)
    if offset == 0:
        with pytest.raises(ValueError, match="gram must be of two dimensions or more"):
            space.sample(random_state=0)
    else:
        plane = space.sample(tol=0.1, random_state=0)
        assert (np.sign(plane.draws @ (K.astype(float) + offset)) == y).all()
