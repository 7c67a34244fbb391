"""Display of the numbers of training errors: layers of an onion, or draws of a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from bayespoint.base.validation import Floats
from bayespoint.papers.onion import OnionTable
from bayespoint.plotting.style import GRAY, Display, check_type, import_matplotlib, posterior_of
from bayespoint.posterior import Model
from bayespoint.version_space import VersionSpace

# Label of the color bar for each field.
_QUANTITIES = {
    "log_volume": "log share of the sphere (nats)",
    "path_length": "path in the layer (rad)",
    "center_norm": "length of the mean vector",
    "center_error": "error of the center (rad)",
}
_MAX_LABELED = 12  # columns up to which the cells are labeled with their numbers


class OnionDisplay(Display):
    """A heat map over the numbers of training errors in either class.

    Each cell is a layer of weight vectors around version space, or several layers for a classifier
    with many training errors.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        The values shown; NaN for empty cells. Rows count errors in the negative class.
    name : str
        Label of the values, with their unit.
    classes : pair of str
        Names of the negative and of the positive class.
    first : pair of int, default=(0, 0)
        Number of errors in the first row and in the first column.
    step : pair of int, default=(1, 1)
        Numbers of errors that a row and a column hold.

    Attributes
    ----------
    im_ : matplotlib.image.AxesImage
        The cells.
    text_ : ndarray of shape (n_rows, n_columns) or None
        Their texts; None where the table is too large for them.
    colorbar_ : matplotlib.colorbar.Colorbar
        The scale.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayespoint import VersionSpace
    >>> from bayespoint.papers.displays import OnionDisplay
    >>> from bayespoint.papers.onion import onion
    >>> space = VersionSpace(np.eye(4), [1, 1, -1, -1])
    >>> table = onion(space, max_errors=(1, 1), tol=0.05, random_state=0)
    >>> display = OnionDisplay.from_result(table, ax=Figure().add_subplot())
    >>> display.values.shape
    (2, 2)
    """

    def __init__(
        self,
        *,
        values: Floats,
        name: str,
        classes: tuple[str, str],
        first: tuple[int, int] = (0, 0),
        step: tuple[int, int] = (1, 1),
    ) -> None:
        self.values, self.name, self.classes = values, name, classes
        self.first, self.step = first, step

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, values_format: str | None = None, ax: Any = None
    ) -> OnionDisplay:
        """Draw how many training errors the draws of a fitted classifier make in either class.

        The draws are functions without softness, as at new points. Nothing is computed but their
        values at the training examples.

        Parameters
        ----------
        estimator, ax
            As for `BilliardDisplay.from_estimator`.
        values_format
            As for `from_result`.

        Returns
        -------
        OnionDisplay
            The drawing: each cell has the share of the draws with these numbers of errors.

        Raises
        ------
        ValueError
            Without softness and label noise, since no draw makes errors; for several classes
            jointly; with kernel="precomputed" if the matrix is singular, since it is not kept.
        """
        model = posterior_of(estimator).first
        return cls._of_draws(model).plot(values_format=values_format, ax=ax)

    @classmethod
    def _of_draws(cls, model: Model) -> OnionDisplay:
        space = VersionSpace.over(model.problem("the number of training errors"))
        if len(model.classes) > 2:
            raise ValueError(
                f"estimator must be of two classes; got one of {len(model.classes)} classes"
            )
        if not (space.softness.any() or any(model.hyper.label_noise)):
            raise ValueError(
                "estimator must have softness or label noise, or no draw makes a training error; "
                "OnionDisplay.from_result(onion(VersionSpace(gram, y))), with the function of "
                "bayespoint.papers.onion, draws the layers around its version space"
            )
        draws = model.draws.run.draws.reshape(-1, len(space.y))
        wrong = space.margins(draws) - space.y * space.softness * draws < 0
        errors = np.stack([wrong[:, space.y == sign].sum(axis=1) for sign in (-1, 1)], axis=1)
        first, last = errors.min(axis=0), errors.max(axis=0)
        step = (last - first) // _MAX_LABELED + 1
        rows, columns = ((errors - first) // step).T
        shape = (last - first) // step + 1
        counts = np.zeros(shape)
        np.add.at(counts, (rows, columns), 1)
        return cls(
            values=np.where(counts > 0, 100 * counts / len(draws), np.nan),
            name="share of the draws (%)",
            classes=(str(model.classes[0]), str(model.classes[1])),
            first=(int(first[0]), int(first[1])),
            step=(int(step[0]), int(step[1])),
        )

    @classmethod
    def from_result(
        cls,
        result: OnionTable,
        *,
        values: str | ArrayLike | None = None,
        name: str | None = None,
        values_format: str | None = None,
        ax: Any = None,
    ) -> OnionDisplay:
        """Draw a table of layers.

        Parameters
        ----------
        result : OnionTable
            The layers.
        values : str or array-like of shape (n_neg + 1, n_pos + 1), default=None
            The values to show: "log_volume", "path_length", "center_norm", "center_error", or an
            array, such as the table's `test_errors`; NaN leaves a cell empty. None is "log_volume"
            if the table has it, else "path_length".
        name : str, default=None
            Label of the color bar; by default that of the quantity, or "values".
        values_format : str, default=None
            Format of the numbers in the cells; None is ".3g".
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on. None makes a new figure.

        Returns
        -------
        OnionDisplay
            The drawing.

        Raises
        ------
        ValueError
            If the table has no such field, the numbers have another shape, or there is nothing to
            show.
        """
        check_type("result", result, OnionTable)
        if values is None:
            values = "path_length" if result.log_volume is None else "log_volume"
        if isinstance(values, str):
            if values not in _QUANTITIES:
                listed = ", ".join(map(repr, _QUANTITIES))
                raise ValueError(f"values must be one of {listed} or an array; got {values!r}")
            table = getattr(result, values)
            if table is None:
                raise ValueError(
                    f"values must be a field of the table; got {values!r}, which method="
                    f"{result.method!r} does not provide"
                )
            name = _QUANTITIES[values] if name is None else name
        else:
            table = np.asarray(values, dtype=np.float64)
            if table.shape != result.center_norm.shape:
                raise ValueError(
                    f"values must have shape {result.center_norm.shape}; got {table.shape}"
                )
        shown = np.where(np.isfinite(table), table, np.nan)
        if np.isnan(shown).all():
            raise ValueError("values must be finite for at least one layer; got none")
        negative, positive = map(str, result.classes.tolist())
        display = cls(values=shown, name=name or "values", classes=(negative, positive))
        return display.plot(values_format=values_format, ax=ax)

    def plot(self, *, values_format: str | None = None, ax: Any = None) -> OnionDisplay:
        """Draw the display.

        Parameters
        ----------
        values_format, ax
            As for `from_result`.

        Returns
        -------
        OnionDisplay
            The display itself.
        """
        rows, columns = self.values.shape
        width = min(9.0, max(3.8, 2.0 + 0.62 * columns))
        ax = self._begin(ax, (width, min(8.0, max(3.2, 1.2 + 0.5 * rows))))
        # Dark for large values, so that cells without a value are not taken for them in gray print.
        cmap = import_matplotlib("pyplot").get_cmap("cividis_r").with_extremes(bad="none")
        self.im_ = ax.imshow(self.values, cmap=cmap, aspect="auto")
        self.text_ = None
        if columns <= _MAX_LABELED:
            self.text_ = np.empty(self.values.shape, dtype=object)
            for place, value in np.ndenumerate(self.values):
                text, color = "–", GRAY
                if np.isfinite(value):
                    text = format(value, values_format or ".3g")
                    color = _contrasting(self.im_.cmap(self.im_.norm(value)))
                self.text_[place] = ax.text(
                    place[1], place[0], text, ha="center", va="center", color=color, fontsize=9
                )
        self.colorbar_ = ax.figure.colorbar(self.im_, ax=ax)
        self.colorbar_.set_label(self.name)
        ax.set(
            xlabel=f"training errors, y = {self.classes[1]}",
            ylabel=f"training errors, y = {self.classes[0]}",
        )
        ax.set_xticks(*_ticks(columns, self.first[1], self.step[1]))
        ax.set_yticks(*_ticks(rows, self.first[0], self.step[0]))
        return self


def _ticks(n: int, first: int, step: int) -> tuple[list[int], list[str]]:
    """Return the places of the ticks of n cells, and the numbers of errors there."""
    places = list(range(0, n, 1 if n <= _MAX_LABELED else 5))
    lows = [first + step * place for place in places]
    return places, [f"{low}–{low + step - 1}" if step > 1 else str(low) for low in lows]


def _contrasting(color: Any) -> str:
    """Return black or white, whichever has the better contrast with a color."""
    red, green, blue, _ = import_matplotlib("colors").to_rgba(color)
    # Approximate relative luminance; at 0.45 both contrasts seem equal.
    return "black" if 0.30 * red + 0.59 * green + 0.11 * blue > 0.45 else "white"
