"""The ellipsoid of all weight vectors."""

import numpy as np
import pytest

from bayespoint.papers.soft_boundary import (
    parameter_space,
    plot_parameter_space,
)

X = np.array([[1.0, 0.2], [0.3, 0.9], [-0.5, 0.6]])


def test_axes_by_hand():
    """[[2, 1], [1, 2]] has the eigenvalues 3 and 1 along the diagonals."""
    found = parameter_space([[2.0, 1.0], [1.0, 2.0]], softness=6.0)
    np.testing.assert_allclose(found.eigenvalues, [9.0, 7.0])
    np.testing.assert_allclose(found.lengths, [3.0, np.sqrt(7)])
    each = parameter_space(np.diag([1.0, 4.0, 9.0]), softness=[3.0, 0.0, 7.0])
    np.testing.assert_allclose(each.lengths, [4.0, 2.0, 2.0])
    offset = parameter_space(np.zeros((2, 2)), softness=1.0, offset=2.0)
    np.testing.assert_allclose(offset.eigenvalues, [5.0, 1.0])


def test_from_an_ellipse_to_a_ball():
    """Herbrich et al., Figure 3: flat without softness, a pancake, and a ball at the end."""
    assert parameter_space(X @ X.T).lengths[2] == 0.0
    shapes = [parameter_space(X @ X.T, softness=value) for value in (1e-3, 0.1, 2.5, 1e4)]
    ratios = [shape.lengths[2] / shape.lengths[0] for shape in shapes]
    assert (np.diff(ratios) > 0).all()
    assert ratios[0] < 0.05
    assert ratios[-1] > 0.9999
    assert shapes[0].lengths[1] / shapes[0].lengths[0] > 0.5


def test_bad_matrices():
    with pytest.raises(ValueError, match=r"gram must be a square matrix; got shape \(3, 2\)"):
        parameter_space(X)
    with pytest.raises(ValueError, match="positive semidefinite"):
        parameter_space([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="softness must be finite and at least 0; got -1"):
        parameter_space(np.eye(2), softness=-1.0)


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
