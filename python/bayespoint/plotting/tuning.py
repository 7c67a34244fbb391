"""Display of the approximate evidence over hyperparameters, with the settings tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.plotting.style import (
    COLORS,
    GRAY,
    Display,
    below,
    check_type,
    import_matplotlib,
    ink,
    label_decades,
    posterior_of,
)
from bayespoint.posterior import Model
from bayespoint.results import Search
from bayespoint.tuning.objective import log_evidence_of

_NATS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # contours below the best evidence
_CLASSES = ("negative", "positive")
_BEYOND_TRIED = 1.6  # factor by which the surface extends beyond the settings tried
_AROUND_BEST = 30.0  # largest factor by which it extends beyond the best setting


@dataclass(kw_only=True, eq=False, repr=False)
class TuningDisplay(Display):
    """Approximate evidence of the settings that a search tried, over one or two of them.

    Attributes
    ----------
    scatter_ : matplotlib.collections.PathCollection
        The settings tried.
    contours_ : matplotlib.contour.ContourSet or None
        The contours of the surface, if there are any.
    """

    search: Search
    """The search."""
    params: tuple[str, ...]
    """One or two settings on the axes."""
    tried: Floats
    """(n_tried, 1 or 2) Values of these in the trials on the largest number of examples."""
    log_evidence: Floats
    """(n_tried,) Log evidence of these trials, in nats."""
    grid: tuple[Floats, ...] | None = None
    """Values along each axis at which the surface was computed."""
    surface: Floats | None = None
    """Log evidence on the grid, of shape (len(grid[0]),) or (len(grid[1]), len(grid[0])), with all
    other settings at their best values; -inf where the approximation does not converge."""

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        params: Sequence[str] | None = None,
        grid_resolution: int | None = None,
        ax: Any = None,
    ) -> TuningDisplay:
        """Draw the settings that the search of a fitted classifier tried, with their evidence.

        Parameters
        ----------
        estimator : BayesPointClassifier, a pipeline that ends in one, or a fitted search of either
            Fitted, with a search for hyperparameters.
        params, ax
            As for `from_result`.
        grid_resolution : int, default=None
            Number of points along each axis, at least 2, at which the evidence is computed for
            contours, in 0.01 seconds for 100 examples, up to half a second for 500. None: no grid.

        Returns
        -------
        TuningDisplay
            The drawing. ValueError is raised as by `from_result`, or for a grid on kernel values.
        """
        model = posterior_of(estimator).first
        search = model.hyper.search
        if search is None:
            raise ValueError("estimator must have searched; got one with all settings given")
        display = cls._of(search, params)
        if grid_resolution is None:
            return display.plot(ax=ax)
        n = validation.integer("grid_resolution", grid_resolution, low=2)
        if model.basis.points is None:
            raise ValueError(
                "estimator must have inputs for grid_resolution; got one of kernel='precomputed'"
            )
        # Around the settings tried, within a factor of the best.
        tried, best = display.tried, display.tried[display.log_evidence.argmax()]
        low = np.maximum(tried.min(axis=0) / _BEYOND_TRIED, best / _AROUND_BEST)
        high = np.minimum(tried.max(axis=0) * _BEYOND_TRIED, best * _AROUND_BEST)
        display.grid = tuple(np.geomspace(low, high, n).T)
        evidence = _evidence(model, search, display.params)
        places = np.stack(np.meshgrid(*display.grid), axis=-1)
        display.surface = np.apply_along_axis(evidence, -1, places)
        return display.plot(ax=ax)

    @classmethod
    def from_result(
        cls, result: Search, *, params: Sequence[str] | None = None, ax: Any = None
    ) -> TuningDisplay:
        """Draw the settings that a search tried.

        Parameters
        ----------
        result : Search
            The search.
        params : sequence of one or two str, default=None
            Settings on the axes, from ``result.names``. None: the first but factors, and softness.
        ax
            As for `plot`.

        Returns
        -------
        TuningDisplay
            The drawing. ValueError is raised if `params` were not searched, or nothing was.
        """
        check_type("result", result, Search)
        return cls._of(result, params).plot(ax=ax)

    @classmethod
    def _of(cls, search: Search, params: Sequence[str] | None) -> TuningDisplay:
        settings = search.names[:-2]
        full = search.tried[search.tried[:, -2] == search.n_examples]
        full = full[np.isfinite(full[:, -1])]
        # A logarithmic axis cannot show a label noise of 0.
        counts = [len(np.unique(column[column > 0])) for column in full.T]
        varied = [name for name, count in zip(settings, counts, strict=False) if count > 1]
        if params is None:
            if not varied:
                raise ValueError("result must have tried several values of a setting; got none")
            # A factor of the kernel and the softness have similar effects: prefer other parameters.
            others = [name for name in varied if name.split(".")[-1] != "factor"] or varied
            params = [others[0], "softness" if "softness" in varied else others[-1]]
            params = list(dict.fromkeys(params))
        chosen = (params,) if isinstance(params, str) else tuple(params)
        if not 1 <= len(chosen) <= 2 or len(set(chosen)) < len(chosen):
            raise ValueError(f"params must name one or two settings; got {params!r}")
        for name in chosen:
            if name not in varied:
                raise ValueError(
                    f"params must be settings with several positive values tried, of {varied}; got "
                    f"{name!r}"
                )
        columns = [settings.index(name) for name in chosen]
        full = full[(full[:, columns] > 0).all(axis=1)]
        return cls(search=search, params=chosen, tried=full[:, columns], log_evidence=full[:, -1])

    def _draw(self, ax: Any) -> None:
        ax = self._begin(ax, (6.0, 4.6) if len(self.params) == 2 else (5.4, 3.8))
        self.contours_ = None
        draw = self._draw_plane if len(self.params) == 2 else self._draw_line
        draw(ax, int(self.log_evidence.argmax()))
        ax.set(xscale="log", xlabel=self._axis_label(0))
        label_decades(ax)

    def _axis_label(self, k: int) -> str:
        name = self.params[k]
        if name.startswith("label_noise") and _tied(self.search):
            return "label noise (probability)"
        names = {
            "sigma": "length scale σ (units of the features)",
            "softness": "softness λ (units of the kernel)",
            "label_noise_negative": "label noise of the first class (probability)",
            "label_noise_positive": "label noise of the second class (probability)",
        }
        return names.get(name.removeprefix("kernel."), name)

    def _draw_plane(self, ax: Any, best: int) -> None:
        levels = [0, *_NATS]
        norm = import_matplotlib("colors").BoundaryNorm(levels, 256, extend="max")
        colors = {"norm": norm, "cmap": "cividis_r"}
        top, shown = self.log_evidence[best], None
        if self.surface is not None and self.grid is not None:
            below_best = np.ma.masked_invalid(max(top, np.max(self.surface)) - self.surface)
            shown = ax.contourf(*self.grid, below_best, levels, extend="max", **colors)
            if met := [nats for nats in _NATS[:7] if below_best.min() < nats < below_best.max()]:
                self.contours_ = ax.contour(
                    *self.grid, below_best, met, colors="black", linewidths=0.5
                )
                ax.clabel(self.contours_, fmt="%g", fontsize=8)
            ends = {"xlim": self.grid[0][[0, -1]], "ylim": self.grid[1][[0, -1]]}
            look = {"color": "white", "edgecolors": "black"}
        else:
            ends, look = {}, {"c": top - self.log_evidence, "edgecolors": ink()} | colors
        self.scatter_ = ax.scatter(
            *self.tried.T, s=26, linewidths=0.8, label="settings tried", zorder=4, **look
        )
        bar = ax.figure.colorbar(shown or self.scatter_, ax=ax, ticks=levels)
        bar.set_label("approximate log evidence below the best (nats)")
        bar.ax.set_yticklabels([f"{nats:g}" for nats in levels])
        bar.ax.invert_yaxis()
        self._mark_best(ax, *self.tried[best])
        ax.set(yscale="log", ylabel=self._axis_label(1), **ends)
        below(ax, ncols=2)

    def _draw_line(self, ax: Any, best: int) -> None:
        if self.surface is not None and self.grid is not None:
            [x] = self.grid
            ax.plot(x, self.surface, color=GRAY, linewidth=1.4, label="approximate evidence")
        self.scatter_ = ax.scatter(
            self.tried[:, 0], self.log_evidence, s=26, color=COLORS[0], label="settings tried"
        )
        self._mark_best(ax, self.tried[best, 0], self.log_evidence[best])
        ax.set_ylabel("approximate log evidence (nats)")
        ax.legend(frameon=False)

    def _mark_best(self, ax: Any, x: float, y: float) -> None:
        ax.plot(
            x,
            y,
            "*",
            label="best",
            zorder=5,
            color=COLORS[1],
            markersize=15,
            markeredgecolor="black",
        )


def _tied(search: Search) -> bool:
    """Return whether both classes had the same rate of label noise in all settings tried."""
    columns = [search.names.index(f"label_noise_{name}") for name in _CLASSES]
    first, second = search.tried[:, columns].T
    return bool((first == second).all())


def _evidence(model: Model, search: Search, params: tuple[str, ...]) -> Callable[[Floats], float]:
    """Return the approximate evidence of a model's examples, as a function of some settings."""
    examples, tied = model.examples.sample(search.n_examples, search.seed), _tied(search)

    def evidence(point: Floats) -> float:
        values = dict(zip(params, point.tolist(), strict=True))
        softness = values.pop("softness", search.softness)
        first, second = (values.pop(f"label_noise_{name}", None) for name in _CLASSES)
        if tied:  # one rate was searched for both classes
            first, second = first or second, second or first
        old = search.label_noise
        noise = (old[0] if first is None else first, old[1] if second is None else second)
        kernel = kernels.replace(search.kernel, values)
        labels = model.labels.with_noise(noise)
        return log_evidence_of(
            kernel, examples, labels, offset=model.basis.offset, softness=softness
        )

    return evidence
