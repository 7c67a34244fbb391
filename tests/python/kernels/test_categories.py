"""Weighted kernels of categories are those of the indicators of their levels."""

import copy
import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gp

from bayespoint import kernels
from bayespoint.kernels import RBF, Laplacian, Linear, Matern, RationalQuadratic, Weighted
from helpers import seed
from kernel_slopes import assert_slopes

RNG = np.random.default_rng(seed(0))
LIMITS, N_LEVELS = (math.inf, math.inf, 0.7, 1.3), (6, 3)
GROUPS, WEIGHTS = (0, 1, 2, 2), (0.5, 2.0, 1.5)
SCALES = (1.2, 0.9, 2.0, 1.4)


def table(n):
    codes = [limit * RNG.integers(0, k, n) for limit, k in zip(LIMITS[2:], N_LEVELS, strict=True)]
    return np.column_stack([RNG.standard_normal((n, 2)), *codes])


X, Y = table(90), table(21)
FOUND = [
    RBF(),
    Laplacian(),
    RBF(per_feature=True),
    Laplacian(per_feature=True),
    *(Matern(nu=nu, per_feature=each) for nu in (0.5, 1.5, 2.5) for each in (False, True)),
    *(RationalQuadratic(per_feature=each) for each in (False, True)),
    Linear(),
    kernels.Polynomial(2),
    kernels.Scaled(Matern(nu=2.5)) + kernels.Scaled(Laplacian()) + kernels.Scaled(Linear()),
    2.0 * Matern(nu=1.5) * Linear() + kernels.Constant(),
    kernels.normalize(RationalQuadratic() + Linear()),
    Weighted(RBF(), SCALES),
]


def indicators(X, weights, length):
    """Return numbers, and indicators of each limit times a length."""
    numbers, codes = X[:, :2] * weights[:2], X[:, 2:]
    parts = [numbers]
    for k, n in enumerate(N_LEVELS):
        limit = LIMITS[2 + k]
        levels = limit * np.arange(n + 1)
        equal = np.isclose(codes[:, [k]], levels)
        parts.append(equal * limit * weights[2 + k] * length)
    return np.hstack(parts)


@pytest.mark.parametrize(
    ("kernel", "length"),
    [
        (RBF(1.3), 0.5**0.5),
        (Laplacian(1.3), 0.5),
        *((Matern(1.3, nu=nu), 0.5**0.5) for nu in (0.5, 1.5, 2.5)),
        (RationalQuadratic(1.3, 0.7), 0.5**0.5),
        (Linear(), 0.5**0.5),
        (kernels.Polynomial(3, 0.5), 0.5**0.5),
        (kernels.Constant(2.0) + 0.5 * Matern(1.3) * Linear(), 0.5**0.5),
        (kernels.normalize(Linear() + RBF(2.0)), 0.5**0.5),
    ],
    ids=repr,
)
def test_values_are_those_of_indicators(kernel, length):
    weighted = Weighted(kernel, WEIGHTS, groups=GROUPS, limits=LIMITS)
    each, unseen = np.array(WEIGHTS)[list(GROUPS)], Y.copy()
    unseen[:4, 2:] = np.array(LIMITS[2:]) * N_LEVELS
    left = indicators(X, each, length)
    for other in (Y, unseen):
        expected = kernel(left, indicators(other, each, length))
        np.testing.assert_allclose(weighted(X, other), expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(weighted.with_pullback(X, other)[0], weighted(X, other))
    gram = weighted(X)
    np.testing.assert_allclose(gram, kernel(left), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(weighted.diag(X), gram.diagonal(), rtol=1e-13)


@pytest.mark.parametrize("of", ["X", "X and Y", "diagonal"])
@pytest.mark.parametrize("limits", [LIMITS, None])
@pytest.mark.parametrize("inner", FOUND, ids=repr)
def test_derivatives(inner, limits, of):
    """Those by all log parameters agree with central differences."""
    points = (X, Y) if of == "X and Y" else (X,)
    kernel = Weighted(inner, groups=GROUPS, limits=limits)
    declared = kernel.parameters(X)
    assert [one.name for one in declared[-3:]] == ["weights[0]", "weights[1]", "weights[2]"]
    assert all(0 < one.low < one.start < one.high for one in declared)
    values = {one.name: one.start * (0.7 + 0.2 * k) for k, one in enumerate(declared)}
    found = assert_slopes(kernel, values, points, RNG, of_diagonal=of == "diagonal")
    assert (found is None) == (limits is not None)


@pytest.mark.parametrize("kernel", [Matern(), Matern(per_feature=True), Linear() + RBF()], ids=repr)
def test_tables_of_numbers_alone_do_not_change(kernel):
    """Nor if their limits are given, or a group for each feature."""
    plain = Weighted(kernel)
    values = {one.name: one.start for one in plain.parameters(X)}
    expected = plain.with_values(values)(X, Y)
    for one in ({"groups": range(4)}, {"limits": [math.inf] * 4}):
        other = Weighted(kernel, **one)
        assert other.parameters(X) == plain.parameters(X)
        np.testing.assert_array_equal(other.with_values(values)(X, Y), expected)


def test_length_scales_start_as_for_indicators():
    hot = indicators(X, np.ones(4), 0.5**0.5)
    each = kernels.at_start(Weighted(Matern(per_feature=True), limits=LIMITS), X).kernel.sigma
    columns = [hot[:, :1], hot[:, 1:2], hot[:, 2:9], hot[:, 9:]]
    spreads = [math.sqrt(4 * column.var(axis=0).sum() / 2) for column in columns]
    assert each == pytest.approx(spreads)
    alone = Weighted(RBF(), limits=[1.0])
    assert kernels.at_start(alone, np.zeros((5, 1))).kernel == RBF(math.sqrt(0.5))
    assert kernels.at_start(alone, [[0.0], [1.0]]).kernel == RBF(math.sqrt(1 / 8))


def test_only_categories():
    codes = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 3.0]])
    kernel = Weighted(Linear(), (1.0, 2.0), limits=(1.0, 1.0))
    expected = [[2.5, 2.0, 0.0], [2.0, 2.5, 0.0], [0.0, 0.0, 2.5]]
    np.testing.assert_allclose(kernel(codes), expected, atol=1e-15)
    apart = Weighted(RBF(1.0), (1.0, 2.0), limits=(1.0, 1.0))(codes)[0]
    np.testing.assert_allclose(apart, np.exp([0.0, -0.5, -2.5]))


def test_copies_and_settings():
    kernel = Weighted(RBF(), groups=np.array(GROUPS), limits=np.array(LIMITS))
    assert (kernel.groups, kernel.limits) == (GROUPS, LIMITS)
    assert repr(kernel) == "Weighted(RBF(), groups=(0, 1, 2, 2), limits=(inf, inf, 0.7, 1.3))"
    for other in (clone(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert (other, hash(other)) == (kernel, hash(kernel))
    kernel.set_params(weights=WEIGHTS, kernel__sigma=2.0)
    assert kernel == Weighted(RBF(2.0), WEIGHTS, groups=GROUPS, limits=LIMITS)
    with pytest.raises(TypeError, match="takes numbers only"):
        kernel.set_params(kernel=gp.RBF())
    assert kernel.kernel == RBF(2.0)


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        ({"groups": (0, 2)}, ValueError, r"groups must hold each of 0 to 2; got \(0, 2\)"),
        ({"groups": (0, -1)}, ValueError, r"groups\[1\] must be an integer of at least 0; got -1"),
        ({"groups": 3}, TypeError, "groups must hold one number for each feature; got 3"),
        ({"groups": (0, 0), "weights": (1.0, 2.0)}, ValueError, "each of 1 groups; got 2"),
        ({"limits": (1.0, math.inf)}, ValueError, r"numbers, which come first; got \(1.0, inf\)"),
        ({"limits": (math.inf, math.nan)}, ValueError, r"limits\[1\] must be .*; got nan"),
        ({"limits": "ab"}, TypeError, "limits must hold one number for each feature; got 'ab'"),
    ],
)
def test_wrong_parameters_are_refused(wrong, error, text):
    with pytest.raises(error, match=text):
        Weighted(RBF(1.0), **wrong)


def test_other_numbers_of_features_are_refused():
    with pytest.raises(ValueError, match="weights must hold one for each of 4 features; got 2"):
        Weighted(RBF(1.0), (1.0, 2.0))(X)
    with pytest.raises(ValueError, match=r"weights of .* must be given outside a fit"):
        Weighted(RBF(1.0))(X)
    with pytest.raises(ValueError, match="groups must hold one for each of 4 features; got 3"):
        Weighted(RBF(1.0), (1.0, 1.0), groups=(0, 1, 1))(X)
    with pytest.raises(ValueError, match="limits must hold one for each of 4 features; got 2"):
        Weighted(RBF(), limits=(math.inf, 1.0)).parameters(X)


@pytest.mark.parametrize(
    "kernel",
    [
        lambda a, b: a @ b.T,
        RBF(1.0) + gp.RBF(),
        kernels.Scaled(kernels.normalize(lambda a, b: a @ b.T)),
        Weighted(RBF(), limits=LIMITS),
    ],
)
def test_kernels_of_numbers_alone_are_refused(kernel):
    with pytest.raises(TypeError, match=r"limits must be None for .*, which takes numbers only"):
        Weighted(kernel, limits=LIMITS)
