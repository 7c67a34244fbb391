"""Hyper-parameters by maximal evidence.

The evidence is the probability of the labels under the model: of all settings of a kernel's
parameters and of the softness, the one that makes the labels most probable is taken. Nothing is
held out and nothing is validated across folds.

The search runs on the approximation by expectation propagation, which is smooth and has
derivatives: a few dozen evaluations from two starts by a quasi-Newton method in the logarithms of
the parameters. It is within a nat or so of the exact evidence (which `VersionSpace.log_volume`
computes by billiards), and it is the same function at every point: nothing is won or lost by chance
between two settings.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from bayespoint import _ep, kernels

__all__ = ["Search", "settle", "tune"]

Floats: TypeAlias = NDArray[np.float64]

LARGEST = 1000
"""Examples that the search looks at, at most: an evaluation is O(m^3)."""

_SOFTNESS = (1e-4, 1e2)
"""Bounds of the softness relative to the mean diagonal of the kernel matrix."""

_STARTS = ((1.0, 0.3), (3.0, 0.05))
"""Starts: factor on the kernel's own starting values, and softness relative to the diagonal."""

_STEP = 0.02
"""Step in a logarithm where a kernel gives no derivatives: its error is far above the noise of the
evidence and far
below what matters."""


@dataclass(frozen=True, eq=False)
class Search:
    """What a search found and what it tried."""

    kernel: Callable[..., Any] | str
    """The kernel with the parameters of the best evidence."""

    softness: float
    """The softness of the best evidence, or the one given."""

    log_evidence: float
    """The best approximate evidence, nats: the sum over the binary problems, of the examples looked
    at."""

    n_examples: int
    """Examples looked at."""

    names: tuple[str, ...]
    """Names of the columns of `tried`: the kernel's parameters searched, softness, log_evidence."""

    tried: Floats = field(repr=False)
    """(n_tried, n_columns) All settings tried, in order, with their approximate evidence."""

    def __repr__(self) -> str:
        return (
            f"<Search: {self.kernel!r}, softness={self.softness:.4g}, "
            f"log_evidence={self.log_evidence:.2f} nats, "
            f"{len(self.tried)} settings tried on {self.n_examples} examples>"
        )


class _Objective:
    """The negative approximate evidence and its gradient at logarithms of the parameters."""

    def __init__(
        self,
        kernel: Any,
        X: Floats,
        labels: Floats,
        offset: float,
        weights: Floats,
        softness: float | None,
        search_kernel: bool,
    ) -> None:
        self.kernel = kernel
        self.X, self.labels, self.offset, self.weights = X, labels, offset, weights
        self.softness = softness
        self.parameters = kernels.parameters(kernel, X) if search_kernel else ()
        self.sites: list[_ep.Sites | None] = [None] * len(labels)
        self.tried: list[list[float]] = []

    def unpack(self, theta: Floats) -> tuple[Any, float]:
        """Return kernel and softness at the logarithms `theta`."""
        values = np.exp(theta)
        n = len(self.parameters)
        names = [parameter.name for parameter in self.parameters]
        kernel = kernels.replace(self.kernel, dict(zip(names, values[:n].tolist(), strict=True)))
        return kernel, float(values[n]) if self.softness is None else self.softness

    def evidence(self, gram: Floats, softness: float, *, derivatives: bool) -> Any:
        """Return the approximations of all binary problems."""
        found = []
        for k, y in enumerate(self.labels):
            one = _ep.approximate(
                gram,
                y,
                softness / self.weights,
                sites=self.sites[k],
                derivatives=derivatives,
            )
            # Sites that did not settle are a bad place to start from.
            self.sites[k] = one.sites if one.converged else None
            found.append(one)
        return found

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        kernel, softness = self.unpack(theta)
        gram = kernels.evaluate(kernel, self.X)
        slopes = kernels.derivatives(kernel, self.X, gram)
        found = self.evidence(
            gram + self.offset, softness, derivatives=bool(self.parameters) and bool(slopes)
        )
        value = sum(one.log_evidence for one in found)
        row = [*np.exp(theta[: len(self.parameters)]).tolist(), softness, value]
        self.tried.append(row)
        if not math.isfinite(value):
            return 1e10, np.zeros_like(theta)
        gradient = []
        for k, parameter in enumerate(self.parameters):
            if parameter.name in slopes:
                slope = slopes[parameter.name]
                gradient.append(sum(float(np.vdot(one.by_gram, slope)) for one in found))
            else:
                moved = theta.copy()
                moved[k] += _STEP
                other = kernels.evaluate(self.unpack(moved)[0], self.X) + self.offset
                ahead = self.evidence(other, softness, derivatives=False)
                gradient.append((sum(one.log_evidence for one in ahead) - value) / _STEP)
        if self.softness is None:
            by_softness = sum(float(one.by_softness @ (1 / self.weights)) for one in found)
            gradient.append(softness * by_softness)
        return -value, -np.array(gradient)


def tune(
    kernel: Any,
    X: Floats,
    labels: Floats,
    *,
    offset: float = 0.0,
    softness: float | None = None,
    weights: Floats | None = None,
    search_kernel: bool = True,
    seed: int = 0,
) -> Search:
    """Search the hyper-parameters of maximal evidence.

    Parameters
    ----------
    kernel : kernel object or callable
        Its parameters are searched if it declares them (see `bayespoint.kernels`), starting from
        the data's own scale.
    X : ndarray of shape (m, d)
        Inputs.
    labels : ndarray of shape (n_problems, m)
        Labels -1 and +1 of one or several binary problems on the same inputs, whose evidences are
        added.
    offset : float, default=0.0
        Added to every kernel value.
    softness : float or None, default=None
        At least 0; None searches it.
    weights : ndarray of shape (m,), default=None
        Positive; the softness of an example is divided by its weight.
    search_kernel : bool, default=True
        Search the kernel's parameters; otherwise they stay as they are.
    seed : int, default=0
        For the choice of examples where there are more than 1000.

    Returns
    -------
    Search
        The best setting, and all that were tried.
    """
    chosen = _subset(labels, seed)
    X, labels = X[chosen], labels[:, chosen].astype(np.float64)
    weights = np.ones(len(chosen)) if weights is None else weights[chosen]
    objective = _Objective(kernel, X, labels, offset, weights, softness, search_kernel)
    scale = float(np.mean(kernels.diagonal(kernel, X)))
    scale = scale if scale > 0 and math.isfinite(scale) else 1.0
    best: tuple[float, Floats] | None = None
    for factor, start in _STARTS:
        bounds, theta = [], []
        for parameter in objective.parameters:
            bounds.append((math.log(parameter.low), math.log(parameter.high)))
            theta.append(math.log(parameter.start * factor))
        if softness is None:
            bounds.append((math.log(_SOFTNESS[0] * scale), math.log(_SOFTNESS[1] * scale)))
            theta.append(math.log(start * scale))
        point = np.clip(theta, *np.array(bounds).T) if bounds else np.array([])
        objective.sites = [None] * len(labels)
        if not bounds:
            objective(point)
            best = (0.0, point)
            break
        # Differences of a thousandth of a nat decide nothing.
        found = optimize.minimize(
            objective,
            point,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 40, "ftol": 1e-5},
        )
        if best is None or found.fun < best[0]:
            best = (float(found.fun), found.x)
    if best is None:  # pragma: no cover - there is always a start
        raise RuntimeError("the search had no start")
    tuned, found_softness = objective.unpack(best[1])
    tried = np.array(objective.tried)
    names = (*(p.name for p in objective.parameters), "softness", "log_evidence")
    value = -best[0] if best[0] else float(tried[-1, -1])
    return Search(tuned, found_softness, value, len(chosen), names, tried)


def settle(
    kernel: Any,
    inputs: NDArray[Any],
    labels: Floats,
    *,
    offset: float,
    softness: float | None,
    weights: Floats,
    optimizer: str | None,
    seed: int,
) -> tuple[Any, float, Search | None]:
    """Return kernel, softness and search of a classifier's settings.

    Parameters
    ----------
    kernel : None, str, kernel object or callable
        The setting. None is an RBF kernel whose length scale is searched. A name is a kernel with
        fixed parameters. Parameters that an object declares are searched.
    inputs : ndarray of shape (m, d), or (m, m) for "precomputed"
        Training inputs.
    labels, offset, softness, weights, seed
        As for `tune`.
    optimizer : "evidence" or None
        None keeps the kernel as it is.
    """
    resolved = kernels.resolve("rbf" if kernel is None else kernel, inputs)
    search_kernel = (
        optimizer is not None
        and not isinstance(kernel, str)
        and bool(kernels.parameters(resolved, inputs))
    )
    if not search_kernel and softness is not None:
        return resolved, softness, None
    if search_kernel:
        found = tune(
            resolved,
            inputs,
            labels,
            offset=offset,
            softness=softness,
            weights=weights,
            seed=seed,
        )
        return found.kernel, found.softness, found
    # One matrix serves all values of the softness. Whatever it will be, it is positive: a
    # feature vector of length zero is no fault.
    least = np.full(len(inputs), np.finfo(float).tiny)
    gram, _ = kernels.training_gram(resolved, inputs, offset, least)

    def entries(rows: Floats, columns: Floats) -> Floats:
        part: Floats = gram[np.ix_(rows[:, 0].astype(np.intp), columns[:, 0].astype(np.intp))]
        return part

    places = np.arange(len(gram), dtype=np.float64)[:, None]
    found = tune(entries, places, labels, offset=offset, weights=weights, seed=seed)
    found = dataclasses.replace(found, kernel=resolved)
    return resolved, found.softness, found


def _subset(labels: Floats, seed: int) -> NDArray[np.intp]:
    """Return the examples to look at: all, or a part stratified by their labels."""
    m = labels.shape[1]
    if m <= LARGEST:
        return np.arange(m)
    _, kind = np.unique(labels, axis=1, return_inverse=True)
    kind = np.asarray(kind).reshape(-1)
    rng = np.random.default_rng(seed)
    order = rng.permutation(m)
    # Within each kind in random order, every kind spread evenly over the whole: the first thousand
    # hold all in proportion.
    place = np.empty(m)
    for value in np.unique(kind):
        members = order[kind[order] == value]
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    chosen: Sequence[int] = np.argsort(place, kind="stable")[:LARGEST].tolist()
    return np.sort(np.asarray(chosen, dtype=np.intp))
