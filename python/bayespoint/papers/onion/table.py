"""The onion: a center for each number of training errors of each class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.engine.problem import Problem
from bayespoint.papers.compiled import OnionSettings
from bayespoint.results.result import Result, as_columns, as_html

_SHOWN = 5  # largest number of layers named in a message


@dataclass(frozen=True, eq=False, repr=False)
class OnionTable(Result):
    """The centers of the layers of weight vectors around version space.

    Layer ``(a, b)`` holds the unit vectors that violate exactly `a` examples labeled -1 and `b`
    examples labeled +1; version space is layer ``(0, 0)``. Tables of layers have the shape
    (n_neg + 1, n_pos + 1): a row for each `a` and a column for each `b`, up to `max_errors`. ``m``
    is the number of examples. A weight vector is given by its signed dual coefficients ``c``:
    ``w = sum(c_i phi_i)``. Angles and path lengths are radians on the unit sphere.
    """

    _title = "Onion"
    _shapes = (
        "abm: centers plane_coordinates; l2: layers; rl: layer_log_shares; m: y; 2: classes; "
        "ab: center_norm center_error path_length log_volume log_volume_error"
    )

    centers: NDArray[np.float64]
    """(n_neg + 1, n_pos + 1, m) Dual coefficients of each layer's center of mass, scaled to a
    unit vector; NaN without a center."""

    plane_coordinates: NDArray[np.float64]
    """(n_neg + 1, n_pos + 1, m) ``<w, phi_i>`` of each center: its decision values for the
    training examples, softness included."""

    center_norm: NDArray[np.float64]
    """Table: length of the mean of each layer's unit vectors, in (0, 1]; NaN without a center."""

    center_error: NDArray[np.float64]
    """Table: standard error of each center's direction, in radians; NaN without a center or with
    too few visits. With "projected" it does not include the bias."""

    path_length: NDArray[np.float64]
    """Table: averaged path in each layer, the sum over all trajectories. With "exact" it does not
    depend on the layer's volume."""

    log_volume: NDArray[np.float64] | None
    """Table: ln of each layer's share of the sphere, -inf if not seen. Only with "exact"."""

    log_volume_error: NDArray[np.float64] | None
    """Table: standard error of `log_volume`, in nats. Only with "exact"."""

    layers: NDArray[np.int64]
    """(l, 2) All layers that were seen, also beyond `max_errors`. Only with "exact"."""

    layer_log_shares: NDArray[np.float64]
    """(1 + r, l) ln of the share of the sphere of each of `layers`: from all trajectories, and
    for the jackknife without each of the r trajectories (r = 0 for a single one)."""

    y: NDArray[np.int8]
    """(m,) Labels of the examples, -1 and +1."""

    classes: NDArray[Any]
    """(2,) The classes that -1 and +1 stand for."""

    offset: float
    """Constant that was added to all kernel values: 1 for an intercept."""

    method: str
    """``"exact"``, ``"projected"``, or ``"straight"`` from the papers' flipper."""

    length: float
    """Path in radians per trajectory, with "exact" including burn-in."""

    converged: bool
    """Whether all layers seen reached the tolerances."""

    @classmethod
    def from_run(
        cls,
        run: Mapping[str, Any],
        problem: Problem,
        settings: OnionSettings,
        classes: NDArray[Any],
    ) -> OnionTable:
        """Return the table of the engine's run, padded with the layers that cannot exist."""
        shape = tuple(np.add(settings.max_errors, 1))

        def padded(array: Floats | None, empty: float) -> Any:
            if array is None:
                return None
            table = np.full((*shape, *array.shape[2:]), empty)
            table[: array.shape[0], : array.shape[1]] = array
            return table

        empty = {"path_length": 0.0, "log_volume": -math.inf, "log_volume_error": math.inf}
        tables = ("centers", "center_norm", "center_error", *empty)
        padding = {name: padded(run[name], empty.get(name, math.nan)) for name in tables}
        return cls(
            **{**run, **padding},
            plane_coordinates=padded(problem.coordinates(run["centers"]), math.nan),
            y=problem.y,
            classes=classes,
            offset=problem.offset,
            method=settings.method,
        )

    # --- single layers ---

    @property
    def max_errors(self) -> tuple[int, int]:
        """The largest numbers of violated examples labeled -1 and +1 in the table."""
        rows, columns = self.center_error.shape
        return rows - 1, columns - 1

    @property
    def has_center(self) -> NDArray[np.bool_]:
        """Table: whether a layer has a center."""
        return ~np.isnan(self.center_norm)

    def center(self, n_neg: int, n_pos: int) -> Floats:
        """Return the center of one layer.

        Parameters
        ----------
        n_neg, n_pos : int
            Numbers of violated examples labeled -1 and +1, from 0 to `max_errors`.

        Returns
        -------
        ndarray of shape (m,)
            Dual coefficients of a unit vector.

        Raises
        ------
        ValueError
            If the layer is not in the table, is empty, was never visited, or has its center of
            mass at the origin.
        """
        rows, columns = self.max_errors
        a = validation.integer("n_neg", n_neg, low=0, high=rows)
        b = validation.integer("n_pos", n_pos, low=0, high=columns)
        if not self.has_center[a, b]:
            raise ValueError(f"layer ({a}, {b}) has no center: {self._reason(a, b)}")
        center: Floats = self.centers[a, b].copy()
        return center

    def _counts(self) -> tuple[int, int]:
        positive = int((self.y > 0).sum())
        return len(self.y) - positive, positive

    def _reason(self, a: int, b: int) -> str:
        """Return why a layer has no center."""
        negative, positive = self._counts()
        if a > negative or b > positive:
            return f"there are {negative} examples labeled -1 and {positive} labeled +1"
        if (2 * a, 2 * b) == (negative, positive):
            return "it contains the opposite of each of its vectors, so its mean is zero"
        return (
            f"it was not visited in {self.length:.4g} radians per trajectory; it is empty, or too "
            "small for a run of this length"
        )

    # --- all layers ---

    def combine(self, weights: ArrayLike) -> Floats:
        r"""Return the center of mass of several layers, each with a weight.

        Other weights need no further run (Ruján and Marchand, section 18.5.3).

        Parameters
        ----------
        weights : array-like of shape (n_neg + 1, n_pos + 1)
            Weights of the layers, at least 0, not all 0. With "exact" they are a density on the
            sphere: :math:`\kappa^{a + b}` gives the posterior under label noise :math:`\kappa /
            (1 + \kappa)`, restricted to the layers of the table. With other methods they multiply
            the integral of the position along the path.

        Returns
        -------
        ndarray of shape (m,)
            Dual coefficients of a unit vector.

        Raises
        ------
        ValueError
            If `weights` has another shape, is negative, not finite, or zero for all layers with a
            center, or if the weighted mean is zero.
        """
        w = np.asarray(validation.dense("weights", weights), dtype=np.float64)
        if w.shape != self.center_norm.shape:
            raise ValueError(f"weights must have shape {self.center_norm.shape}; got {w.shape}")
        if not np.isfinite(w).all() or (w < 0).any():
            raise ValueError("weights must be finite and at least 0")
        known = self.has_center
        with np.errstate(divide="ignore"):
            size = np.log(self.path_length) if self.log_volume is None else self.log_volume
            mass = np.log(w[known] * self.center_norm[known]) + size[known]
        if not (mass > -math.inf).any():
            raise ValueError("weights must be positive for at least one layer that was visited")
        mass = np.exp(mass - mass.max())
        combined: Floats = mass @ self.centers[known]
        square = float(combined @ (mass @ self.plane_coordinates[known]))
        if not square > 1e-20 * mass.sum() ** 2:
            raise ValueError("weights must not let the layers cancel; their mean is zero")
        return combined / math.sqrt(square)

    def test_errors(
        self, K_test: ArrayLike, y_test: ArrayLike, *, by_class: bool = False
    ) -> Floats:
        """Return the number of test errors of each layer's center (Ruján and Marchand, Table 18.1).

        Parameters
        ----------
        K_test : array-like of shape (n_test, m)
            Kernel values between test and training examples, without the offset.
        y_test : array-like of shape (n_test,)
            True labels, from the classes of the version space.
        by_class : bool, default=False
            Whether to count errors on negative and on positive examples separately.

        Returns
        -------
        ndarray of shape (n_neg + 1, n_pos + 1) or (n_neg + 1, n_pos + 1, 2)
            Numbers of errors; NaN for layers without a center. A decision value of 0 is negative.

        Raises
        ------
        ValueError
            If shapes do not fit, or a label is not one of the classes.
        TypeError
            If `K_test` does not hold real numbers.
        """
        by_class = validation.boolean("by_class", by_class)
        m = len(self.y)
        kernel = np.asarray(validation.dense("K_test", K_test), dtype=np.float64)
        if kernel.ndim != 2 or kernel.shape[1] != m or len(kernel) == 0:
            raise ValueError(f"K_test must have shape (n_test, {m}); got {kernel.shape}")
        if not np.isfinite(kernel).all():
            raise ValueError("K_test must be finite; it holds NaN or infinity")
        truth = validation.labels("y_test", y_test)
        if truth.shape != (len(kernel),):
            raise ValueError(
                f"y_test must have shape ({len(kernel)},), a label for each row of K_test; got "
                f"{truth.shape}"
            )
        known = truth[:, None] == self.classes
        if not known.any(axis=1).all():
            unknown = truth[~known.any(axis=1)].tolist()[0]
            raise ValueError(f"y_test must hold {self.classes.tolist()}; got {unknown!r}")
        positive = known[:, 1]
        layers = self.centers[self.has_center]
        decided = kernel @ layers.T + self.offset * layers.sum(axis=1) > 0
        wrong = decided != positive[:, None]
        errors = np.full((*self.center_norm.shape, 2), math.nan)
        errors[self.has_center] = np.stack([wrong[~positive].sum(0), wrong[positive].sum(0)], -1)
        return errors if by_class else errors.sum(axis=-1)

    # --- views ---

    def convergence_messages(self, tol: float, volume_tol: float | None) -> list[str]:
        """Return the texts of convergence warnings for a run to these tolerances."""
        messages = []
        known = self.has_center
        with np.errstate(invalid="ignore"):
            above = known & ~(self.center_error <= tol)
        if above.any():
            worst = np.where(above, np.nan_to_num(self.center_error, nan=math.inf), -math.inf)
            a, b = np.unravel_index(int(worst.argmax()), worst.shape)
            error = self.center_error[a, b]
            size = f"{error:.3g} radians" if error == error else "unknown for too few visits"
            messages.append(
                f"{int(above.sum())} of {int(known.sum())} layers have an estimated center_error "
                f"above tol={tol:g} after {self.length:.4g} radians per trajectory; the largest, "
                f"of layer ({a}, {b}), is {size}: raise max_length"
            )
        if volume_tol is not None and self.log_volume is not None:
            assert self.log_volume_error is not None
            error = float(self.log_volume_error[self.log_volume > -math.inf].max(initial=0.0))
            if not error <= volume_tol:
                messages.append(
                    f"ln volumes have standard errors up to {error:.3g} nats after "
                    f"{self.length:.4g} radians per trajectory; volume_tol={volume_tol:g} was "
                    "asked for: raise max_length"
                )
        missing = self._unvisited()
        if missing:
            names = ", ".join(str(layer) for layer in missing[:_SHOWN])
            more = ", ..." if len(missing) > _SHOWN else ""
            messages.append(
                f"{len(missing)} of {self.center_norm.size} layers were not visited in "
                f"{self.length:.4g} radians per trajectory: {names}{more}. They are empty, or too "
                "small for a run of this length"
            )
        return messages

    def _unvisited(self) -> list[tuple[int, int]]:
        """Return the layers that may exist, but were not visited."""
        negative, positive = self._counts()
        layers = [tuple(layer) for layer in np.argwhere(~self.has_center).tolist()]
        return [
            (a, b)
            for a, b in layers
            if a <= negative and b <= positive and (2 * a, 2 * b) != (negative, positive)
        ]

    def _rows(self) -> list[tuple[str, str]]:
        known = self.center_error[~np.isnan(self.center_error)]
        negative, positive = self._counts()
        shortest, longest = self.path_length.min(), self.path_length.max()
        return [
            ("examples", f"{negative} negative, {positive} positive"),
            ("method", self.method),
            ("layers with a center", f"{int(self.has_center.sum())} of {self.has_center.size}"),
            ("path", f"{self.length:.4g} rad per trajectory"),
            ("path in a layer", f"{shortest:.4g} to {longest:.4g} rad"),
            ("center error", f"{known.max():.2g} rad at most" if len(known) else "unknown"),
            ("converged", "yes" if self.converged else "no"),
        ]

    def _cells(self) -> tuple[str, list[list[str]]]:
        """Return the title of the grid and the texts of its cells."""
        if self.log_volume is not None:
            title, table = "ln volume", self.log_volume
        else:
            title, table = "path, rad", self.path_length
        seen = self.has_center | (np.isfinite(table) & (table != 0))
        texts = [
            [f"{value:.4g}" if known else "-" for value, known in zip(*row, strict=True)]
            for row in zip(table.tolist(), seen.tolist(), strict=True)
        ]
        return title, texts

    def summary(self) -> str:
        """Return the main figures as text, one to a line, and the layers as a grid.

        Returns
        -------
        str
            The text, without a newline at its end.
        """
        title, cells = self._cells()
        grid = as_columns(_with_names(title, cells))
        return super().summary() + "\n" + "\n".join(f"  {line}" for line in grid)

    def __repr__(self) -> str:
        rows, columns = self.center_norm.shape
        return (
            f"<OnionTable: {rows} x {columns} layers, {self.method}, "
            f"{int(self.has_center.sum())} with a center>"
        )

    def _repr_html_(self) -> str:
        title, cells = self._cells()
        head, *lines = _with_names("violated", cells)
        return super()._repr_html_() + as_html(title, lines, head)


def _with_names(corner: str, cells: list[list[str]]) -> list[list[str]]:
    """Return a grid of layers with a line and a column of names."""
    head = [corner, *(f"+{b}" for b in range(len(cells[0])))]
    return [head, *([f"-{a}", *row] for a, row in enumerate(cells))]
