"""Version space on the sphere with the ball's path."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base import validation
from bayespoint.plotting import sphere
from bayespoint.plotting.runs import checked_pair, run_of, space_of
from bayespoint.plotting.style import COLORS, GRAY, Display, below, import_matplotlib, ink
from bayespoint.version_space import VersionSpace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bayespoint.results import BilliardResult

    Floats = NDArray[np.float64]

_STROKES = (
    (COLORS[0], "solid"),
    (COLORS[1], "dashed"),
    ("#009E73", "dashdot"),
    ("#CC79A7", "dotted"),
)
_FINE = 0.25  # of version space's radius: draws closer than that are joined to a path
_FINER = 1 / 40  # of it: the spacing of a run of its own
_BOUNCING = 25  # radii: a path that can still be followed with the eye
_MOST = 50_000  # draws of such a run
_ELEVATION, _AZIMUTH = 55.0, -60.0  # of the eye, degrees: the center of mass is at the pole
_FILL = "#DCE9F4"  # of version space, light enough for all that is drawn on it
_ROOM = 1.25  # around version space, as a multiple of its radius


class BilliardDisplay(Display):
    """A version space in three dimensions, with the paths of billiard balls.

    All points are unit vectors in a frame whose third axis is the center of mass.

    Parameters
    ----------
    normals : ndarray of shape (m, 3)
        Unit normals of the planes, toward the side where the example has its label.
    corners : ndarray of shape (n_corners, 3)
        Corners of version space, in order.
    paths : ndarray of shape (n_trajectories, n_draws, 3)
        Draws of each trajectory.
    center : ndarray of shape (3,)
        The center that the run found.
    spacing : float
        Path between draws, in radians.

    Attributes
    ----------
    centroid : ndarray of shape (3,)
        The exact center of mass, by the polygon's edges: the third axis.
    radius : float
        Angle from there to the farthest corner, in radians.
    lines_ : list of matplotlib lines
        The paths.
    animation_ : matplotlib.animation.FuncAnimation
        The last animation.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayespoint import VersionSpace
    >>> from bayespoint.plotting import BilliardDisplay
    >>> space = VersionSpace(np.eye(3), [1, 1, -1])
    >>> display = BilliardDisplay.from_space(
    ...     space, length=20.0, view="chart", random_state=0, ax=Figure().add_subplot()
    ... )
    >>> len(display.corners), f"{display.radius:.2f}"
    (3, '0.96')
    """

    def __init__(
        self, *, normals: Floats, corners: Floats, paths: Floats, center: Floats, spacing: float
    ) -> None:
        self.normals, self.corners, self.paths = normals, corners, paths
        self.center, self.spacing = center, spacing
        self.centroid = sphere.center_of_mass(corners)
        self.radius = float(np.arccos(np.clip(corners @ self.centroid, -1, 1)).max())

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, label: Any = None, view: str = "sphere", ax: Any = None
    ) -> BilliardDisplay:
        """Draw the version space of a fitted classifier, with the draws of its run.

        Parameters
        ----------
        estimator : BayesPointClassifier, a pipeline that ends in one, or a fitted search of either
            Fitted, with a kernel matrix of rank 3: a linear kernel on three features, or on two
            with an intercept; a softness of 0.
        label : class label, default=None
            With more than two classes: whose run against the rest.
        view, ax
            As for `from_result`.

        Returns
        -------
        BilliardDisplay
            The drawing.

        Raises
        ------
        ValueError, TypeError
            As `from_result`, and if `label` is not one of several classes or the estimator has no
            run.
        """
        result, number = run_of(estimator, label)
        space = space_of(estimator, number, "the picture of version space")
        return cls.from_result(result, space, view=view, ax=ax)

    @classmethod
    def from_result(
        cls, result: BilliardResult, space: VersionSpace, *, view: str = "sphere", ax: Any = None
    ) -> BilliardDisplay:
        """Draw a version space and the draws of a run in it.

        Parameters
        ----------
        result : BilliardResult
            The run. Draws nearer to each other than a quarter of version space's radius are joined
            to a path; others are dots.
        space : VersionSpace
            The version space it is of, in three dimensions: its Gram matrix, with offset and
            softness, has rank 3.
        view : {"sphere", "chart"}, default="sphere"
            "sphere": in three dimensions, on the unit sphere. "chart": in the plane that touches
            the sphere at the center of mass, where great circles are straight lines.
        ax : matplotlib.axes.Axes or Axes3D, default=None
            Where to draw, with ``projection="3d"`` for "sphere"; by default a new figure is made.

        Returns
        -------
        BilliardDisplay
            The drawing.

        Raises
        ------
        ValueError
            If the two do not belong together, the rank is another, `ax` does not fit the view, or
            version space reaches a quarter of a turn from one of its points: it has fewer than
            three corners, or is all but a half of the sphere.
        TypeError
            If an argument is of another type.
        """
        run, checked = checked_pair(result, space)
        return cls._of(run, checked).plot(view=view, ax=ax)

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
        """Play a short billiard, recorded densely, and draw it.

        Parameters
        ----------
        space : VersionSpace
            In three dimensions, as for `from_result`.
        length : float, default=None
            Path of each ball in radians, positive. None is 25 times the radius of version space.
        n_trajectories : int, default=1
            Balls, at least 1.
        random_state : None, int, Generator or RandomState, default=None
            Seed. None draws one from NumPy's global generator.
        view, ax
            As for `from_result`.
        **settings
            Of :meth:`VersionSpace.sample`: `refresh`, `dynamics`, `transparency`, ... A run too
            short to be trusted is what is asked for: it brings no warning.

        Returns
        -------
        BilliardDisplay
            The drawing.

        Raises
        ------
        InfeasibleError
            If version space is empty, or no point of it was found.
        ValueError, TypeError
            As `from_result` and :meth:`VersionSpace.sample`; or if the path is too long to be
            recorded, 50 000 draws of a fortieth of the radius.
        FloatingPointError
            If double precision is not sufficient, as in :meth:`VersionSpace.sample`.
        """
        if not isinstance(space, VersionSpace):
            raise TypeError(f"space must be a VersionSpace; got a {type(space).__name__}")
        n = validation.integer("n_trajectories", n_trajectories, low=1)
        points = sphere.feature_vectors(space, "the picture of version space")
        vertices = _corners(points * space.y[:, None], space.max_margin().dual_coef @ points)
        centroid = sphere.center_of_mass(vertices)
        radius = float(np.arccos(np.clip(vertices @ centroid, -1, 1)).max())
        path = _BOUNCING * radius
        if length is not None:
            path = validation.real("length", length, low=0.0, low_open=True)
        n_draws = max(2, math.ceil(path / (_FINER * radius)))
        if n_draws > _MOST:
            raise ValueError(
                f"length must be at most {_MOST * _FINER * radius:.4g} where version space has the "
                f"radius {radius:.3g}, or the path has too many points; got {path:.4g}"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            run = space.sample(
                length=path,
                n_draws=n_draws,
                n_trajectories=n,
                random_state=random_state,
                **settings,
            )
        return cls._of(run, space).plot(view=view, ax=ax)

    @classmethod
    def _of(cls, run: BilliardResult, space: VersionSpace) -> BilliardDisplay:
        points = sphere.feature_vectors(space, "the picture of version space")
        signed = points * space.y[:, None]
        inside = run.center
        if not space.contains(inside):  # behind transparent walls
            inside = space.max_margin().dual_coef
        pole = sphere.center_of_mass(_corners(signed, inside @ points))
        frame = np.stack([*sphere.chart(pole), pole])
        normals = signed @ frame.T
        return cls(
            normals=normals / np.linalg.norm(normals, axis=1, keepdims=True),
            corners=_corners(normals, np.array([0.0, 0.0, 1.0])),
            paths=run.draws @ points @ frame.T,
            center=run.center @ points @ frame.T,
            spacing=run.spacing,
        )

    @property
    def joined(self) -> bool:
        """Whether the draws are near enough to each other to be joined to a path."""
        return 0 < self.spacing <= _FINE * self.radius

    def plot(self, *, view: str = "sphere", ax: Any = None) -> BilliardDisplay:
        """Draw the display.

        Parameters
        ----------
        view : {"sphere", "chart"}, default="sphere"
            The sphere in space, or its chart in the plane.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None: a new figure.

        Returns
        -------
        BilliardDisplay
            The display itself.
        """
        validation.choice("view", view, ("sphere", "chart"))
        self._stage(view, ax, "center, by the run")
        for points, line in zip(self.paths, self.lines_, strict=True):
            self._move(line, points)
        self._move(self._center, self.center[None])
        return self

    def animate(
        self,
        *,
        n_frames: int = 100,
        interval: float = 50.0,
        view: str = "sphere",
        ax: Any = None,
    ) -> Any:
        """Return an animation of the balls on their way, with the mean of where they were.

        Parameters
        ----------
        n_frames : int, default=100
            Pictures, at least 2 and not more than draws.
        interval : float, default=50.0
            Milliseconds between them, positive.
        view, ax
            As for `from_result`.

        Returns
        -------
        matplotlib.animation.FuncAnimation
            ``save("path.gif", writer="pillow")`` makes a file, ``to_jshtml()`` a player for
            notebooks. Save or show it before it goes out of use: matplotlib warns if not.

        Raises
        ------
        ValueError, TypeError
            If a setting is out of range.
        """
        validation.choice("view", view, ("sphere", "chart"))
        n_draws = self.paths.shape[1]
        frames = validation.integer("n_frames", n_frames, low=2)
        if frames > n_draws:
            raise ValueError(
                f"n_frames must be at most the number of draws, {n_draws}; got {frames}"
            )
        interval = validation.real("interval", interval, low=0.0, low_open=True)
        self._stage(view, ax, "mean so far")
        heads = [self._line("o", color, markersize=7, zorder=9) for color, _ in self._strokes()]
        ends = np.linspace(1, n_draws, frames).round().astype(int)

        def draw(number: int) -> list[Any]:
            end = ends[number]
            for points, line, head in zip(self.paths, self.lines_, heads, strict=True):
                self._move(line, points[:end])
                self._move(head, points[end - 1 : end])
            mean = self.paths[:, :end].mean(axis=(0, 1))
            self._move(self._center, (mean / np.linalg.norm(mean))[None])
            return [*self.lines_, *heads, self._center]

        if ax is None:
            # Nothing but the balls moves: one layout serves all pictures.
            self.figure_.draw_without_rendering()
            self.figure_.set_layout_engine("none")
        animation = import_matplotlib("animation")
        self.animation_ = animation.FuncAnimation(
            self.figure_, draw, frames=frames, interval=interval, blit=False
        )
        return self.animation_

    # --- what both views are drawn with ---

    def _strokes(self) -> list[tuple[str, str]]:
        return [_STROKES[k % len(_STROKES)] for k in range(len(self.paths))]

    def _stage(self, view: str, ax: Any, name: str) -> None:
        """Draw version space and its walls, and make empty lines for what moves."""
        self._flat = view == "chart"
        if self._flat:
            ax = self._begin(ax, (5.0, 5.2))
            if hasattr(ax, "get_zlim"):
                raise ValueError("ax must be plane for view='chart'; got axes in three dimensions")
            self._draw_chart(ax)
        else:
            ax = self._begin(ax, (5.4, 5.7), projection="3d", computed_zorder=False)
            if not hasattr(ax, "get_zlim"):
                raise ValueError("ax must have projection=\"3d\" for view='sphere'; got plane axes")
            self._draw_sphere(ax)
        n = len(self.paths)
        self.lines_ = []
        for k, (color, stroke) in enumerate(self._strokes()):
            label = f"{n} trajectories" if n > 1 else "path"
            self.lines_.append(
                self._line(
                    "none" if self.joined else ".",
                    color,
                    linestyle=stroke if self.joined else "none",
                    linewidth=0.9,
                    markersize=3,
                    label=label if k == 0 else "_path",
                    zorder=6,
                )
            )
            if not self.joined and k == 0:
                self.lines_[0].set_label("draws")
        exact = self._line("x", "black", markersize=9, markeredgewidth=2.0, zorder=11)
        exact.set_label("center, exact")
        self._move(exact, self.centroid[None])
        self._center = self._line(
            "o", "black", markersize=11, markeredgewidth=1.8, markerfacecolor="none", zorder=10
        )
        self._center.set_label(name)
        below(ax, ncols=3, y=-0.12 if self._flat else 0.07, fontsize="small", columnspacing=1.2)
        for handle in ax.get_legend().legend_handles[1:]:
            handle.set_markeredgecolor(ink())

    def _line(self, marker: str, color: str, **how: Any) -> Any:
        how = {"linestyle": "none", "label": "_moves"} | how
        empty: tuple[list[float], ...] = ([], []) if self._flat else ([], [], [])
        return self.ax_.plot(*empty, marker=marker, color=color, **how)[0]

    def _move(self, line: Any, points: Floats) -> None:
        """Put a line where points of the sphere are, seen in the chart or a little above it."""
        if self._flat:
            line.set_data(*self._in_chart(points).T)
        else:
            line.set_data_3d(*points.T)

    @staticmethod
    def _in_chart(points: Floats) -> Floats:
        return np.asarray(points[:, :2] / points[:, 2:])

    def _draw_chart(self, ax: Any) -> None:
        room = _ROOM * math.tan(self.radius)
        for normal in self.normals:
            across = float(normal[:2] @ normal[:2])
            if across > 0:
                foot = -normal[2] * normal[:2] / across
                if np.hypot(*foot) < 2 * room:
                    along = foot + np.array([-normal[1], normal[0]])
                    ax.axline(foot, along, color=GRAY, linewidth=0.7, zorder=1)
        vertices = self._in_chart(self.corners)
        ax.fill(*vertices.T, facecolor=_FILL, edgecolor="none", zorder=2)
        around = np.vstack([vertices, vertices[:1]])
        ax.plot(*around.T, color=ink(), linewidth=1.8, solid_joinstyle="round", zorder=5)
        ax.set(xlim=(-room, room), ylim=(-room, room), aspect="equal")
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
        around, down = np.mgrid[0 : 2 * math.pi : 49j, 0 : math.pi : 25j]
        ball = np.stack(
            [np.cos(around) * np.sin(down), np.sin(around) * np.sin(down), np.cos(down)]
        )
        ax.plot_surface(*ball, color=GRAY, alpha=0.13, linewidth=0, zorder=0, rasterized=True)
        turn = np.linspace(0, 2 * math.pi, 361)
        limb = _circle(eye, turn)
        ax.plot(*limb.T, color=GRAY, linewidth=0.8, zorder=1)
        for normal in self.normals:
            circle = _circle(normal, turn)
            circle[circle @ eye < 0] = np.nan  # on the far side
            ax.plot(*circle.T, color=GRAY, linewidth=0.7, zorder=2)
        border = sphere.outline(self.corners)
        patch = art3d.Poly3DCollection([border], facecolor=_FILL, edgecolor="none", zorder=3)
        ax.add_collection3d(patch)
        closed = np.vstack([border, border[:1]])
        ax.plot(*closed.T, color=ink(), linewidth=1.8, zorder=5)
        # The ball as a whole, or as much of it as version space and its surroundings take.
        half = min(1.0, max(_ROOM * math.sin(min(self.radius, math.pi / 2)), 0.02))
        middle = self.centroid if half < 0.6 else np.zeros(3)
        half = half if half < 0.6 else 1.0
        ax.set(
            xlim=middle[0] + np.array([-half, half]),
            ylim=middle[1] + np.array([-half, half]),
            zlim=middle[2] + np.array([-half, half]),
        )
        ax.set_box_aspect((1, 1, 1), zoom=1.45)
        ax.set_axis_off()


def _circle(normal: Floats, turn: Floats) -> Floats:
    """Return points of the great circle across a unit vector."""
    first, second = sphere.chart(normal)
    return np.asarray(np.outer(np.cos(turn), first) + np.outer(np.sin(turn), second))


def _corners(normals: Floats, inside: Floats) -> Floats:
    try:
        found = sphere.corners_of(normals, inside)
    except ValueError as error:
        raise _unbounded(str(error)) from error
    if not (found @ inside > 0).all():
        raise _unbounded("a corner is farther away")
    return found


def _unbounded(what: str) -> ValueError:
    return ValueError(
        "space must have a version space with corners, all of them within a quarter of a turn "
        f"of its points; got one that a chart does not hold ({what})"
    )
