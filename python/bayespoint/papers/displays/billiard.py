"""Display of a version space on the sphere, or of a projection of the draws from it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import BaseEstimator

from bayespoint.base import validation
from bayespoint.base.linalg import threads_for
from bayespoint.base.validation import Floats
from bayespoint.papers.displays import sphere
from bayespoint.papers.rollback import without_warnings
from bayespoint.plotting.style import (
    COLORS,
    GRAY,
    Display,
    below,
    check_type,
    import_matplotlib,
    ink,
    posterior_of,
)
from bayespoint.results import BilliardResult
from bayespoint.version_space import VersionSpace

_STROKES = (
    (COLORS[0], "solid", "o"),
    (COLORS[1], "dashed", "^"),
    ("#009E73", "dashdot", "s"),
    ("#CC79A7", "dotted", "v"),
)
_VIEWS = ("sphere", "chart", "projection")
_PURPOSE = "a picture on the sphere"
_MAX_JOINED = 0.25  # spacing up to which draws are joined to a path, in radii of version space
_SPACING = 1 / 40  # spacing of draws in `from_space`, in radii
_LENGTH = 25  # default length of a path in `from_space`, in radii
_MAX_DRAWS = 50_000  # in `from_space`
_ELEVATION, _AZIMUTH = 55.0, -60.0  # viewing direction in degrees, with the center at the pole
_FILL = "#DCE9F4"  # light fill color of version space
_NO_SPREAD = 1e-12  # variance of unit vectors that counts as zero
_HALF_WIDTH = 1.25  # of the view, in radii


class BilliardDisplay(Display):
    """A version space in three dimensions with the paths of billiard balls, or projected draws.

    In three dimensions all points are unit vectors in coordinates whose third axis is the exact
    center of mass.

    In more dimensions the walls cannot be drawn, only the draws. Each is given by its decision
    values at the training examples, without softness, scaled to length 1. The two coordinates are
    their principal components of the largest variance.

    Parameters
    ----------
    normals : ndarray of shape (m, 3)
        Unit normals of the planes, toward version space; empty for projected draws.
    corners : ndarray of shape (n_corners, 3)
        Corners of version space, in order; empty for projected draws.
    paths : ndarray of shape (n_trajectories, n_draws, 3 or 2)
        Draws of each trajectory.
    center : ndarray of shape (3 or 2,)
        The center that the run found.
    spacing : float
        Path between draws, in radians.
    variance_ratio : ndarray of shape (2,), default=None
        Share of the variance of the draws along each coordinate, for projected draws; otherwise
        NaN.

    Attributes
    ----------
    projected : bool
        Whether the draws are projected.
    centroid : ndarray of shape (3,)
        The exact center of mass, computed from the corners; NaN without corners.
    radius : float
        Angle between the centroid and the farthest corner, in radians; NaN without corners.
    lines_ : list of matplotlib lines
        The paths.
    animation_ : matplotlib.animation.FuncAnimation
        The last animation.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayespoint import VersionSpace
    >>> from bayespoint.papers.displays import BilliardDisplay
    >>> space = VersionSpace(np.eye(3), [1, 1, -1])
    >>> display = BilliardDisplay.from_space(
    ...     space, length=20.0, view="chart", random_state=0, ax=Figure().add_subplot()
    ... )
    >>> len(display.corners), f"{display.radius:.2f}"
    (3, '0.96')
    """

    def __init__(
        self,
        *,
        normals: Floats,
        corners: Floats,
        paths: Floats,
        center: Floats,
        spacing: float,
        variance_ratio: Floats | None = None,
    ) -> None:
        self.normals, self.corners, self.paths = normals, corners, paths
        self.center, self.spacing = center, spacing
        self.variance_ratio = np.full(2, np.nan) if variance_ratio is None else variance_ratio
        self.projected = len(corners) == 0
        self.centroid, self.radius = np.full(3, np.nan), math.nan
        if not self.projected:
            self.centroid = sphere.center_of_mass(corners)
            self.radius = _radius(corners, self.centroid)

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, view: str | None = None, ax: Any = None
    ) -> BilliardDisplay:
        """Draw the draws of a fitted classifier, in its version space if that has three dimensions.

        It has them with a linear kernel on three features, or on two with an intercept, and no
        softness.

        Parameters
        ----------
        estimator : BayesPointClassifier, a pipeline that ends in one, or a fitted search of either
            Fitted. A singular matrix of kernel="precomputed" is not kept, and raises ValueError.
        ax
            As for `plot`.
        view
            As for `from_result`.

        Returns
        -------
        BilliardDisplay
            The drawing.

        Raises
        ------
        ValueError
            As `from_result`; with kernel="precomputed" if the matrix is singular, since it is not
            kept.
        """
        model = posterior_of(estimator).first
        problem = model.problem("the picture of version space")
        run = model.draws.run
        assert isinstance(run, BilliardResult)  # there is a problem
        return cls._of(run, VersionSpace.over(problem), view).plot(ax=ax, view=view)

    @classmethod
    def from_result(
        cls, result: BilliardResult, space: VersionSpace, *, view: str | None = None, ax: Any = None
    ) -> BilliardDisplay:
        """Draw a version space and the draws of a run in it.

        Parameters
        ----------
        result : BilliardResult
            The run. Its draws are joined to a path if their spacing is at most a quarter of
            version space's radius; otherwise they are drawn as dots.
        space : VersionSpace
            Its version space.
        view : {"sphere", "chart", "projection"}, default=None
            "sphere": the unit sphere in three dimensions. "chart": projection to the tangent plane
            at the center of mass, where great circles are straight lines. Both need three
            dimensions: a Gram matrix, with offset and softness, of rank 3. "projection": the draws
            alone, in any number of dimensions. None is "sphere" in three dimensions, and otherwise
            "projection", which is the only view of more than two classes.
        ax : matplotlib.axes.Axes or Axes3D, default=None
            Axes to draw on, with ``projection="3d"`` for "sphere". None makes a new figure.

        Returns
        -------
        BilliardDisplay
            The drawing.

        Raises
        ------
        ValueError, TypeError
            If the two do not belong together, or `ax` does not fit the view; for "sphere" and
            "chart" if the rank is not 3, or version space has fewer than three corners or does
            not fit into a chart; for "projection" if the draws do not differ in two directions.
        """
        _check_pair(result, space)
        return cls._of(result, space, view).plot(view=view, ax=ax)

    @classmethod
    def from_space(
        cls,
        space: VersionSpace,
        *,
        length: float | None = None,
        n_trajectories: int = 1,
        random_state: validation.RandomState = None,
        view: str = "sphere",
        ax: Any = None,
        **settings: Any,
    ) -> BilliardDisplay:
        """Run a short, densely recorded billiard and draw it.

        Parameters
        ----------
        space : VersionSpace
            A version space in three dimensions, as for `from_result`.
        length : float, default=None
            Path of each ball in radians, positive. None is 25 times the radius of version space.
        n_trajectories : int, default=1
            Number of balls, at least 1.
        random_state, **settings
            Settings of :meth:`VersionSpace.sample`, such as `options` for the
            transparency of the walls. There are no warnings about the short run.
        view : {"sphere", "chart"}, default="sphere"
            As for `from_result`.
        ax
            As for `from_result`.

        Returns
        -------
        BilliardDisplay
            The drawing.

        Raises
        ------
        ValueError, TypeError, InfeasibleError, FloatingPointError
            As in `from_result` and :meth:`VersionSpace.sample`, and if the path is longer than
            1250 radii of version space.
        """
        check_type("space", space, VersionSpace)
        n = validation.integer("n_trajectories", n_trajectories, low=1)
        validation.choice("view", view, _VIEWS[:2])
        space.problem.require_binary(_PURPOSE)
        points = sphere.feature_vectors(space, _PURPOSE)
        corners = _corners(points * space.y[:, None], space.max_margin().dual_coef @ points)
        radius = _radius(corners, sphere.center_of_mass(corners))
        path = _LENGTH * radius
        if length is not None:
            path = validation.positive("length", length)
        n_draws = max(2, math.ceil(path / (_SPACING * radius)))
        if n_draws > _MAX_DRAWS:
            raise ValueError(
                f"length must be at most {_MAX_DRAWS * _SPACING * radius:.4g} for a version space "
                f"of radius {radius:.3g}, or the path has too many points; got {path:.4g}"
            )
        with without_warnings():
            run = space.sample(
                length=path,
                n_draws=n_draws,
                n_trajectories=n,
                random_state=random_state,
                **settings,
            )
        return cls._of(run, space, view).plot(view=view, ax=ax)

    @classmethod
    def _of(cls, run: BilliardResult, space: VersionSpace, view: str | None) -> BilliardDisplay:
        if view is not None:
            validation.choice("view", view, _VIEWS)
        several = len(space.classes) > 2
        if view is None and (several or not sphere.has_three_dimensions(space)):
            view = "projection"
        if view == "projection":
            return cls._projected(run, space)
        space.problem.require_binary(_PURPOSE)
        points = sphere.feature_vectors(space, _PURPOSE)
        signed = points * space.y[:, None]
        inside = run.center
        if not space.contains(inside):  # behind transparent walls
            inside = space.max_margin().dual_coef
        pole = sphere.center_of_mass(_corners(signed, inside @ points))
        frame = np.stack([*sphere.chart(pole), pole])
        normals = signed @ frame.T
        return cls(
            normals=sphere.scaled(normals),
            corners=_corners(normals, np.array([0.0, 0.0, 1.0])),
            paths=run.draws @ points @ frame.T,
            center=run.center @ points @ frame.T,
            spacing=run.spacing,
        )

    @classmethod
    def _projected(cls, run: BilliardResult, space: VersionSpace) -> BilliardDisplay:
        def unit_values(vectors: NDArray[np.floating]) -> Floats:
            doubles = np.asarray(vectors, dtype=np.float64)
            values = space.problem.coordinates(doubles) - space.softness * doubles
            return sphere.scaled(values.reshape(*values.shape[: -len(space.problem.shape)], -1))

        values = unit_values(run.draws)
        middle = values.mean(axis=(0, 1))
        flat = (values - middle).reshape(-1, len(middle))
        n = len(flat)
        with threads_for(n):
            variances, vectors = linalg.eigh(flat @ flat.T, subset_by_index=(max(0, n - 2), n - 1))
        if not (n > 2 and variances[0] > _NO_SPREAD * n):
            raise ValueError(
                "result must have draws that differ in two or more directions for "
                f"view='projection'; got {n} draws that do not"
            )
        axes = (flat.T @ vectors / np.sqrt(variances))[:, ::-1]
        return cls(
            normals=np.empty((0, 3)),
            corners=np.empty((0, 3)),
            paths=(values - middle) @ axes,
            center=(unit_values(run.center) - middle) @ axes,
            spacing=run.spacing,
            variance_ratio=variances[::-1] / np.vdot(flat, flat),
        )

    @property
    def joined(self) -> bool:
        """Whether the draws are close enough to each other to be joined to a path."""
        return 0 < self.spacing <= _MAX_JOINED * self.radius

    def plot(self, *, view: str | None = None, ax: Any = None) -> BilliardDisplay:
        """Draw the display.

        Parameters
        ----------
        view, ax
            As for `from_result`. Projected draws have only the view "projection", others have
            only the other two.

        Returns
        -------
        BilliardDisplay
            The display itself.
        """
        self._prepare(view, ax, "center, by the run" if not self.projected else "center")
        for points, line in zip(self.paths, self.lines_, strict=True):
            self._move(line, points)
        self._move(self._center, self.center[None])
        if self.projected:
            for points, (color, _, mark) in zip(self.paths, self._strokes(), strict=True):
                mean = self._line(
                    mark, color, markersize=8, markeredgecolor=ink(), label="_mean", zorder=8
                )
                self._move(mean, points.mean(axis=0)[None])
            mean.set_label("mean of each")
            self._legend()
        return self

    def animate(
        self,
        *,
        n_frames: int = 100,
        interval: float = 50.0,
        view: str | None = None,
        ax: Any = None,
    ) -> Any:
        """Return an animation of the moving balls, with the mean of their positions so far.

        Parameters
        ----------
        n_frames : int, default=100
            Number of frames, at least 2 and at most the number of draws.
        interval : float, default=50.0
            Milliseconds between frames, positive.
        view, ax
            As for `plot`.

        Returns
        -------
        matplotlib.animation.FuncAnimation
            ``save("path.gif", writer="pillow")`` makes a file, ``to_jshtml()`` a player for
            notebooks. matplotlib warns if it is deleted without being saved or shown.

        Raises
        ------
        ValueError, TypeError
            If a setting is out of range.
        """
        n_draws = self.paths.shape[1]
        frames = validation.integer("n_frames", n_frames, low=2)
        if frames > n_draws:
            raise ValueError(
                f"n_frames must be at most the number of draws, {n_draws}; got {frames}"
            )
        interval = validation.positive("interval", interval)
        self._prepare(view, ax, "mean so far")
        balls = [self._line("o", color, markersize=7, zorder=9) for color, _, _ in self._strokes()]
        ends = np.linspace(1, n_draws, frames).round().astype(int)

        def draw(number: int) -> list[Any]:
            end = ends[number]
            for points, line, ball in zip(self.paths, self.lines_, balls, strict=True):
                self._move(line, points[:end])
                self._move(ball, points[end - 1 : end])
            mean = self.paths[:, :end].mean(axis=(0, 1))
            length = 1.0 if self.projected else np.linalg.norm(mean)
            self._move(self._center, (mean / length)[None])
            return [*self.lines_, *balls, self._center]

        if ax is None:
            # Compute the layout once: it is the same for all frames.
            self.figure_.draw_without_rendering()
            self.figure_.set_layout_engine("none")
        animation = import_matplotlib("animation")
        self.animation_ = animation.FuncAnimation(
            self.figure_, draw, frames=frames, interval=interval, blit=False
        )
        return self.animation_

    # --- both views ---

    def _strokes(self) -> list[tuple[str, str, str]]:
        return [_STROKES[k % len(_STROKES)] for k in range(len(self.paths))]

    def _prepare(self, view: str | None, ax: Any, center_label: str) -> None:
        """Draw version space and its walls, and make empty lines for paths and center."""
        views = _VIEWS[2:] if self.projected else _VIEWS[:2]
        view = views[0] if view is None else validation.choice("view", view, views)
        self._flat = view != "sphere"
        if self._flat:
            ax = self._begin(ax, (5.0, 5.2))
            if hasattr(ax, "get_zlim"):
                raise ValueError(f"ax must be plane for view={view!r}; got three dimensions")
            if self.projected:
                self._draw_projection(ax)
            else:
                self._draw_chart(ax)
        else:
            ax = self._begin(ax, (5.4, 5.7), projection="3d", computed_zorder=False)
            if not hasattr(ax, "get_zlim"):
                raise ValueError("ax must have projection=\"3d\" for view='sphere'; got plane axes")
            self._draw_sphere(ax)
        self.lines_ = [
            self._line(
                "none" if self.joined else mark,
                color,
                linestyle=stroke if self.joined else "none",
                linewidth=0.9,
                markersize=2.5 if self.projected else 1.8,
                zorder=6,
            )
            for color, stroke, mark in self._strokes()
        ]
        n = len(self.paths)
        names = f"{n} trajectories" if n > 1 else "path"
        if not self.joined:
            names = f"draws of {names}" if self.projected and n > 1 else "draws"
        self.lines_[0].set_label(names)
        if not self.projected:
            how = {"markersize": 9, "markeredgewidth": 2.0, "zorder": 11}
            exact = self._line("x", "black", label="center, exact", **how)
            self._move(exact, self.centroid[None])
        self._center = self._line(
            "x" if self.projected else "o",
            ink() if self.projected else "black",
            markersize=11,
            markeredgewidth=1.8,
            markerfacecolor="none",
            label=center_label,
            zorder=10,
        )
        self._legend()

    def _legend(self) -> None:
        y = -0.14 if self.projected else -0.12 if self._flat else 0.07
        below(self.ax_, ncols=3, y=y, fontsize="small", columnspacing=1.2)
        for handle in self.ax_.get_legend().legend_handles[1:]:
            handle.set_markeredgecolor(ink())

    def _line(self, marker: str, color: str, **how: Any) -> Any:
        """Return an empty line that the legend does not show."""
        how = {"linestyle": "none", "label": "_line"} | how
        empty: tuple[list[float], ...] = ([], []) if self._flat else ([], [], [])
        return self.ax_.plot(*empty, marker=marker, color=color, **how)[0]

    def _move(self, line: Any, points: Floats) -> None:
        """Set the data of a line to points of the sphere, or their images in the chart."""
        if self._flat:
            line.set_data(*(points if self.projected else _in_chart(points)).T)
        else:
            line.set_data_3d(*points.T)

    def _draw_projection(self, ax: Any) -> None:
        half = 1.08 * float(np.abs(self.paths).max())
        ax.set(xlim=(-half, half), ylim=(-half, half), aspect="equal")
        for axis, name, share in zip(
            (ax.xaxis, ax.yaxis), ("first", "second"), self.variance_ratio, strict=True
        ):
            axis.set_label_text(f"{name} component ({100 * share:.0f} % of the variance)")

    def _draw_chart(self, ax: Any) -> None:
        half = _HALF_WIDTH * math.tan(self.radius)
        for normal in self.normals:
            across = float(normal[:2] @ normal[:2])
            if across > 0:
                foot = -normal[2] * normal[:2] / across
                if np.hypot(*foot) < 2 * half:
                    along = foot + np.array([-normal[1], normal[0]])
                    ax.axline(foot, along, color=GRAY, linewidth=0.7, zorder=1)
        corners = _in_chart(self.corners)
        ax.fill(*corners.T, facecolor=_FILL, edgecolor="none", zorder=2)
        ax.plot(
            *sphere.closed(corners).T, color=ink(), linewidth=1.8, solid_joinstyle="round", zorder=5
        )
        ax.set(xlim=(-half, half), ylim=(-half, half), aspect="equal")
        ax.set_xlabel("tan(angle from the center of mass), first axis")
        ax.set_ylabel("second axis")

    def _draw_sphere(self, ax: Any) -> None:
        from mpl_toolkits.mplot3d import art3d

        ax.set_proj_type("ortho")
        ax.view_init(_ELEVATION, _AZIMUTH)
        up, aside = math.radians(_ELEVATION), math.radians(_AZIMUTH)
        eye = np.array(
            [math.cos(up) * math.cos(aside), math.cos(up) * math.sin(aside), math.sin(up)]
        )
        ax.plot_surface(
            *sphere.mesh(24), color=GRAY, alpha=0.13, linewidth=0, zorder=0, rasterized=True
        )
        ax.plot(*_great_circle(eye).T, color=GRAY, linewidth=0.8, zorder=1)
        for normal in self.normals:
            circle = _great_circle(normal)
            circle[circle @ eye < 0] = np.nan  # on the far side
            ax.plot(*circle.T, color=GRAY, linewidth=0.7, zorder=2)
        border = sphere.outline(self.corners)
        patch = art3d.Poly3DCollection([border], facecolor=_FILL, edgecolor="none", zorder=3)
        ax.add_collection3d(patch)
        ax.plot(*sphere.closed(border).T, color=ink(), linewidth=1.8, zorder=5)
        # The part around a small version space, or the whole sphere.
        half = max(_HALF_WIDTH * math.sin(min(self.radius, math.pi / 2)), 0.02)
        middle = self.centroid
        if half >= 0.6:
            half, middle = 1.0, np.zeros(3)
        xlim, ylim, zlim = middle[:, None] + np.array([-half, half])
        ax.set(xlim=xlim, ylim=ylim, zlim=zlim)
        ax.set_box_aspect((1, 1, 1), zoom=1.45)
        ax.set_axis_off()


def _radius(corners: Floats, centroid: Floats) -> float:
    return float(np.arccos(np.clip(corners @ centroid, -1, 1)).max())


def _in_chart(points: Floats) -> Floats:
    return np.asarray(points[:, :2] / points[:, 2:])


def _great_circle(normal: Floats) -> Floats:
    """Return points of the great circle with a unit normal, one for each degree."""
    first, second = sphere.chart(normal)
    angle = np.linspace(0, 2 * math.pi, 361)
    return np.asarray(np.outer(np.cos(angle), first) + np.outer(np.sin(angle), second))


def _corners(normals: Floats, inside: Floats) -> Floats:
    """Return the corners of version space, or raise if it does not fit into a chart."""
    try:
        found = sphere.corners_of(normals, inside)
    except ValueError as error:
        raise _unbounded(str(error)) from error
    if not (found @ inside > 0).all():
        raise _unbounded("a corner is farther away")
    return found


def _unbounded(what: str) -> ValueError:
    return ValueError(
        "space must have a version space with three or more corners, all within 90 degrees of its "
        f"points; got one that does not fit into a chart ({what}); view='projection' draws any"
    )


def _check_pair(result: BilliardResult, space: VersionSpace) -> None:
    """Raise if the arguments are not a run and a version space with the same labels."""
    check_type("result", result, BilliardResult)
    check_type("space", space, VersionSpace)
    if not np.array_equal(space.problem.label, result.label):
        raise ValueError(
            f"space must be that of result, with the same labels of {len(result.label)} examples; "
            f"got {len(space.y)} examples"
        )
