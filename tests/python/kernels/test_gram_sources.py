"""Matrices of singles beside those of doubles."""

import numpy as np
import pytest

from bayespoint import SampleOptions, VersionSpace
from bayespoint.base.linalg import factorize
from bayespoint.kernels import RBF
from bayespoint.papers.onion import onion
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


def test_margins_of_singles_make_no_matrix_of_doubles(monkeypatch):
    """They are computed in blocks of any size."""
    monkeypatch.setattr("bayespoint.kernels.gram._BLOCK_BYTES", 8 * 60 * 7)
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
