"""The ellipsoid of all weight vectors."""

import math

import numpy as np
import pytest

from bayespoint import VersionSpace
from bayespoint.papers.soft_boundary import (
    parameter_space,
    plot_parameter_space,
)
from helpers import SHIFT as SEED

X = np.array([[1.0, 0.2], [0.3, 0.9], [-0.5, 0.6]])


def test_axes_by_hand():
    """[[2, 1], [1, 2]] has the eigenvalues 3 and 1 along the diagonals."""
    found = parameter_space([[2.0, 1.0], [1.0, 2.0]], softness=6.0)
    np.testing.assert_allclose(found.eigenvalues, [9.0, 7.0])
    np.testing.assert_allclose(found.lengths, [3.0, math.sqrt(7)])
    np.testing.assert_allclose(found.dual_lengths, [1 / 3, 1 / math.sqrt(7)])
    half = math.sqrt(0.5)
    np.testing.assert_allclose(abs(found.directions), half)
    assert found.directions[0] @ [half, half] == pytest.approx(
        math.copysign(1, found.directions[0, 0])
    )
    assert found.directions[1] @ [half, half] == pytest.approx(0.0)
    assert found.log_volume == pytest.approx(math.log(math.pi * 3 * math.sqrt(7)))  # an ellipse
    each = parameter_space(np.diag([1.0, 4.0, 9.0]), softness=[3.0, 0.0, 7.0])
    np.testing.assert_allclose(each.lengths, [4.0, 2.0, 2.0])
    assert each.log_volume == pytest.approx(math.log(4 / 3 * math.pi * 16))


@pytest.mark.parametrize(("softness", "offset"), [(0.0, 0.0), (0.3, 0.0), (0.1, 1.0)])
def test_surface_holds_unit_vectors(softness, offset):
    """Plane coordinates of random unit vectors are on the ellipsoid, and vice versa."""
    rng = np.random.default_rng([SEED, 1])
    gram = X @ X.T
    found = parameter_space(gram, softness=softness, offset=offset)
    space = VersionSpace(gram, [1, 1, 1], softness=softness, offset=offset)
    assert found.rank == (2 if softness == 0.0 else 3)
    c = rng.standard_normal((50, 3))
    f = space.margins(c)
    c /= np.sqrt((c * f).sum(axis=1))[:, None]
    f = space.margins(c)
    along = f @ found.directions.T
    np.testing.assert_allclose(along[:, found.rank :], 0.0, atol=1e-12)
    shares = (along[:, : found.rank] / found.lengths[: found.rank]) ** 2
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    # Dual coefficients lie on the other ellipsoid.
    dual = c @ found.directions.T
    dual = (dual[:, : found.rank] / found.dual_lengths[: found.rank]) ** 2
    np.testing.assert_allclose(dual.sum(axis=1), 1.0)
    units = rng.standard_normal((50, 3))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    if softness > 0:
        f = found.surface(units)
        matrix = gram + offset + softness * np.eye(3)
        np.testing.assert_allclose((f * np.linalg.solve(matrix, f.T).T).sum(axis=1), 1.0)


def test_from_an_ellipse_to_a_ball():
    """Herbrich et al., Figure 3: flat without softness, a ball at the end."""
    flat = parameter_space(X @ X.T)
    assert (flat.rank, flat.lengths[2], flat.dual_lengths[2]) == (2, 0.0, np.inf)
    assert flat.log_volume == -np.inf
    shapes = [parameter_space(X @ X.T, softness=value) for value in (1e-3, 0.1, 2.5, 1e4)]
    ratios = [shape.lengths[2] / shape.lengths[0] for shape in shapes]
    assert (np.diff(ratios) > 0).all()
    assert ratios[0] < 0.05
    assert ratios[-1] > 0.9999
    # A pancake has two long axes, a cigar one. The figure shows a pancake.
    assert shapes[0].lengths[1] / shapes[0].lengths[0] > 0.5
    assert shapes[0].dual_lengths[1] / shapes[0].dual_lengths[2] < 0.05
    assert "2 of 3 dimensions" in repr(flat)
    assert "shortest over longest" in flat.summary()


def test_bad_matrices():
    with pytest.raises(ValueError, match=r"gram must be a square matrix; got shape \(3, 2\)"):
        parameter_space(X)
    with pytest.raises(ValueError, match="positive semidefinite"):
        parameter_space([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="softness must be finite and at least 0; got -1"):
        parameter_space(np.eye(2), softness=-1.0)
    with pytest.raises(ValueError, match=r"points must have shape \(\.\.\., 3\); got shape \(2,\)"):
        parameter_space(np.eye(3)).surface([1.0, 0.0])


# --- pictures ---


def test_drawn_ellipsoids():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    spaces = {value: parameter_space(X @ X.T, softness=value) for value in (0.0, 0.1, 2.5)}
    axes = figure.subplots(1, 3, subplot_kw={"projection": "3d"})
    assert list(plot_parameter_space(spaces, axes=axes)) == list(axes)
    for ax, space in zip(axes, spaces.values(), strict=True):
        drawn = [np.ptp(np.array(line.get_data_3d()), axis=1).max() / 2 for line in ax.lines]
        np.testing.assert_allclose(drawn, space.lengths / space.lengths[0])
    with pytest.raises(ValueError, match="axes must be as many as spaces, 3; got 2"):
        plot_parameter_space(spaces, axes=axes[:2])
