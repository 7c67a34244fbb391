r"""The effect of a soft boundary on the parameter space.

Softness :math:`\lambda` on the diagonal of the kernel matrix makes it of full rank (Herbrich,
Graepel and Campbell, Section 5): the ellipsoid of all weight vectors of length 1 grows into new
dimensions, from a flat one to a ball. The experiment ``figure-6`` measures the
angle between the centers.

References
----------
R. Herbrich, T. Graepel, C. Campbell, "Bayesian Learning in Reproducing Kernel Hilbert Spaces",
Technical Report 99-11, Technical University of Berlin, 1999.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.papers.displays import sphere
from bayespoint.papers.pictures import SHADES
from bayespoint.plotting.style import COLORS, import_matplotlib

__all__ = ["ParameterSpace", "parameter_space", "plot_parameter_space"]

_MESH = 24  # half of the points around a drawn ellipsoid


@dataclass(frozen=True, eq=False)
class ParameterSpace:
    r"""The ellipsoid of all weight vectors of length 1, by its axes in plane coordinates.

    With A the kernel matrix, offset and softness included, the plane coordinates
    :math:`f = A c` of unit vectors fulfill :math:`f^\top A^{-1} f = 1`, their dual coefficients
    :math:`c^\top A c = 1`. Both ellipsoids have the eigenvectors of A as axes.
    """

    eigenvalues: Floats
    """(m,) Eigenvalues of A in decreasing order; those within rounding error of 0 are 0."""

    @property
    def lengths(self) -> Floats:
        """(m,) Semi-axes in plane coordinates: the square roots of the eigenvalues."""
        return np.asarray(np.sqrt(self.eigenvalues))


def parameter_space(
    gram: ArrayLike, *, softness: ArrayLike = 0.0, offset: float = 0.0
) -> ParameterSpace:
    r"""Return the axes of the ellipsoid that the weight vectors of length 1 form.

    Parameters
    ----------
    gram, softness, offset
        As for :class:`VersionSpace`.

    Returns
    -------
    ParameterSpace
        The semi-axes, the longest in plane coordinates first.

    Raises
    ------
    ValueError, TypeError
        As :class:`VersionSpace` for the same arguments.
    MemoryError
        If the matrix does not fit into memory.

    Notes
    -----
    Figure 3 of Herbrich, Graepel and Campbell shows three examples in two dimensions: a flat
    ellipse without softness, a pancake with a little of it, and a ball in the end. That is the
    ellipsoid in plane coordinates, with semi-axes :math:`\sqrt{\sigma_i + \lambda}`. Their text
    derives the one in dual coefficients, with semi-axes :math:`1/\sqrt{\sigma_i + \lambda}`: an
    infinite cylinder without softness, a cigar with a little, and in the end a ball, too.

    Eigenvalues below :math:`m \epsilon` times the largest are set to 0, with :math:`\epsilon` the
    machine precision.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.papers.soft_boundary import parameter_space
    >>> found = parameter_space(np.diag([1.0, 4.0, 9.0]), softness=7.0)
    >>> found.lengths.round(3)
    array([4.   , 3.317, 2.828])
    """
    kernel, exact = validation.gram_matrix(gram)
    m = len(kernel)
    diagonal = validation.softness(softness, m)
    offset = validation.real("offset", offset, low=0.0)
    validation.positive_semidefinite(kernel, offset, diagonal, exact=exact)
    matrix = kernel + offset
    matrix.flat[:: m + 1] += diagonal
    values = linalg.eigvalsh(matrix)[::-1]
    seen = values > m * np.finfo(np.float64).eps * values[0]
    return ParameterSpace(np.where(seen, values, 0.0))


def plot_parameter_space(spaces: Any, *, axes: Any = None) -> Any:
    """Draw the ellipsoids of three examples, as Figure 3 of Herbrich et al. does.

    Parameters
    ----------
    spaces : mapping of float to ParameterSpace
        Ellipsoids in three dimensions, by their softness.
    axes : sequence of matplotlib Axes3D, default=None
        Where to draw, one for each; by default a new figure is made.

    Returns
    -------
    ndarray of Axes3D
        The axes drawn into. Each ellipsoid is scaled by its longest semi-axis, and has its own
        axes as coordinates.

    Raises
    ------
    ValueError
        If `spaces` is empty, one is not of three examples, or the number of `axes` differs.
    """
    if not spaces:
        raise ValueError("spaces must hold at least one ParameterSpace; got none")
    for space in spaces.values():
        if len(space.eigenvalues) != 3:
            raise ValueError(f"spaces must be of 3 examples; got {len(space.eigenvalues)}")
    pyplot = import_matplotlib("pyplot")
    if axes is None:
        _, axes = pyplot.subplots(
            1,
            len(spaces),
            figsize=(2.4 * len(spaces), 2.7),
            subplot_kw={"projection": "3d"},
            squeeze=False,
            layout="constrained",
        )
    axes = np.ravel(np.asarray(axes, dtype=object))
    if len(axes) != len(spaces):
        raise ValueError(f"axes must be as many as spaces, {len(spaces)}; got {len(axes)}")
    ball = sphere.mesh(_MESH)
    for ax, (softness, space) in zip(axes, spaces.items(), strict=True):
        scaled = space.lengths / space.lengths[0]
        shown = ball[:, :, : _MESH // 2 + 1] if scaled[2] < 1e-3 else ball  # flat: one side is all
        mesh = shown * scaled[:, None, None]
        ax.plot_surface(*mesh, color=SHADES[0], alpha=0.55, linewidth=0, rasterized=True)
        for axis, length in zip(np.eye(3), scaled, strict=True):
            ax.plot(*np.outer(axis * length, [-1, 1]), color=COLORS[1], linewidth=1.8)
        ax.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1), title=f"λ = {softness:g}")
        ax.set_box_aspect((1, 1, 1))
        ax.set(xticks=[], yticks=[], zticks=[])
        ax.set_xlabel("first axis", labelpad=-12)
        ax.set_ylabel("second axis", labelpad=-12)
        ax.set_zlabel("third axis", labelpad=-12)
    return axes
