"""Maximal margin against Bayes point where version space is long and thin.

Herbrich, Graepel and Campbell (1999, Section 6) show one problem of ten examples in three
dimensions where a hard-margin support vector machine has 15.1 % errors and the Bayes point 8.0 %.
This module makes the same comparison on many random problems.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.plotting.style import COLORS, pick_axes
from bayespoint.results import Estimate
from bayespoint.results.result import Result
from bayespoint.version_space import VersionSpace

__all__ = ["PAPER", "CenterErrors", "center_errors", "make_elongated", "plot_center_errors"]

PAPER = (0.151, 0.080)
"""Test errors of the maximal margin and of the Bayes point in the paper's example."""


def make_elongated(
    n_train: int = 10,
    n_test: int = 10_000,
    *,
    n_features: int = 3,
    random_state: RandomState = None,
) -> Any:
    """Make a linear problem of few examples, whose version space may be elongated.

    The toy problem of Herbrich, Graepel and Campbell (Figure 4): uniform points in the cube
    [-1, 1]^d, labeled by a random plane through the origin.

    Parameters
    ----------
    n_train, n_test, n_features : int, default=10, 10000 and 3
        Numbers of training and test examples, and dimension of the cube, at least 1.
    random_state : None, int, Generator or RandomState, default=None
        Seed.

    Returns
    -------
    problem : sklearn.utils.Bunch
        A dictionary whose keys are also attributes:

        data, test_data : ndarray of shape (n_train, n_features) and (n_test, n_features)
            Inputs.
        target, test_target : ndarray of shape (n_train,) and (n_test,)
            Labels -1 and +1, integers. For few examples all of them may be the same.
        teacher : ndarray of shape (n_features,)
            Unit normal of the plane, on the side of +1.
        DESCR : str
            Description of the data.

    References
    ----------
    R. Herbrich, T. Graepel, C. Campbell, "Bayesian Learning in Reproducing Kernel Hilbert Spaces",
    Technical Report 99-11, Technical University of Berlin, 1999, Section 6.

    Examples
    --------
    >>> from bayespoint.papers.elongated import make_elongated
    >>> problem = make_elongated(random_state=0)
    >>> problem.data.shape, problem.test_data.shape
    ((10, 3), (10000, 3))
    >>> bool((problem.target * (problem.data @ problem.teacher) > 0).all())
    True
    """
    sizes = [
        validation.integer(name, value, low=1, high=10**8)
        for name, value in (("n_train", n_train), ("n_test", n_test), ("n_features", n_features))
    ]
    n_features = sizes.pop()
    rng = np.random.default_rng(validation.seed(random_state))
    teacher = rng.standard_normal(n_features)
    teacher /= np.linalg.norm(teacher)
    data, test_data = (rng.uniform(-1, 1, size=(n, n_features)) for n in sizes)
    return Bunch(
        data=data,
        target=np.where(data @ teacher > 0, 1, -1),
        test_data=test_data,
        test_target=np.where(test_data @ teacher > 0, 1, -1),
        teacher=teacher,
        DESCR="Uniform points of a cube, labeled by a random plane through the origin: the toy "
        "problem of Herbrich, Graepel and Campbell (1999), Figure 4.",
    )


@dataclass(frozen=True, eq=False, repr=False)
class CenterErrors(Result):
    """Test errors of two centers of version space, problem by problem."""

    _title = "Maximal margin and Bayes point"

    seeds: NDArray[np.int64]
    """(n,) Seeds of the problems, for ``make_elongated(random_state=seed)``."""

    max_margin: Floats
    """(n,) Share of errors of the maximal margin without intercept."""

    bayes_point: Floats
    """(n,) Share of errors of the center of mass."""

    @property
    def gap(self) -> Estimate:
        """Mean of max_margin - bayes_point over the problems, with its standard error."""
        difference = self.max_margin - self.bayes_point
        n = len(difference)
        error = float(difference.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
        return Estimate(float(difference.mean()), error)

    def _rows(self) -> list[tuple[str, str]]:
        better = self.bayes_point < self.max_margin
        worse = self.bayes_point > self.max_margin
        row = int(np.hypot(self.max_margin - PAPER[0], self.bayes_point - PAPER[1]).argmin())
        return [
            ("problems", f"{len(self.seeds)}"),
            ("maximal margin", f"{self.max_margin.mean():.2%} errors"),
            ("Bayes point", f"{self.bayes_point.mean():.2%} errors"),
            ("mean gap", f"{self.gap.value:.2%} ± {self.gap.error:.2%}"),
            ("Bayes point better", f"in {better.mean():.0%}, worse in {worse.mean():.0%}"),
            (
                f"most like the paper's ({PAPER[0]:.1%}, {PAPER[1]:.1%})",
                f"seed {self.seeds[row]} ({self.max_margin[row]:.1%}, {self.bayes_point[row]:.1%})",
            ),
        ]

    def __repr__(self) -> str:
        return (
            f"<CenterErrors: {len(self.seeds)} problems, mean gap {self.gap.value:.3g} ± "
            f"{self.gap.error:.2g}>"
        )


def center_errors(
    n_problems: int = 200,
    *,
    first_seed: int = 0,
    n_train: int = 10,
    n_test: int = 10_000,
    tol: float = 0.01,
) -> CenterErrors:
    """Return the test errors of maximal margin and Bayes point on random problems.

    Parameters
    ----------
    n_problems : int, default=200
        Number of problems of :func:`make_elongated`, at least 1.
    first_seed : int, default=0
        Seed of the first, at least 0; the others have the seeds that follow.
    n_train, n_test : int, default=10 and 10000
        Number of training and test examples of each problem, at least 1.
    tol : float, default=0.01
        Angular error of the Bayes point at which to stop, in radians. Positive.

    Returns
    -------
    CenterErrors
        The errors, their mean gap and the problem most like the paper's.

    Raises
    ------
    FloatingPointError
        If double precision is not sufficient.

    Warns
    -----
    ConvergenceWarning
        If a billiard did not reach `tol`.

    Examples
    --------
    >>> from bayespoint.papers.elongated import center_errors
    >>> found = center_errors(5, n_test=1000)
    >>> found.seeds
    array([0, 1, 2, 3, 4])
    """
    n_problems = validation.integer("n_problems", n_problems, low=1, high=validation.MANY)
    first_seed = validation.integer("first_seed", first_seed, low=0)
    seeds = first_seed + np.arange(n_problems)
    errors = np.empty((n_problems, 2))
    for row, seed in enumerate(seeds.tolist()):
        problem = make_elongated(n_train, n_test, random_state=seed)
        space = VersionSpace(problem.data @ problem.data.T, problem.target)
        centers = np.stack(
            [space.max_margin().dual_coef, space.sample(tol=tol, random_state=seed).center]
        )
        values = problem.test_data @ problem.data.T @ centers.T
        errors[row] = (np.where(values > 0, 1, -1) != problem.test_target[:, None]).mean(axis=0)
    return CenterErrors(seeds, errors[:, 0], errors[:, 1])


def plot_center_errors(table: CenterErrors, *, ax: Any = None) -> Any:
    """Draw the error of the Bayes point against that of the maximal margin, a dot for each problem.

    Parameters
    ----------
    table : CenterErrors
        What `center_errors` returned.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn into.
    """
    ax = pick_axes(ax, (4.8, 4.6))
    errors = 100 * np.stack([table.max_margin, table.bayes_point])
    paper = 100 * np.array(PAPER)
    top = 1.05 * max(float(errors.max()), float(paper.max()))
    ax.plot([0, top], [0, top], color="gray", linewidth=1.0, label="_equal errors")
    label = f"{len(table.seeds)} random problems"
    ax.plot(*errors, ".", color=COLORS[0], label=label)
    ax.plot(*paper, "s", color=COLORS[1], markerfacecolor="none", label="the paper's example")
    ax.set(xlim=(0, top), ylim=(0, top), aspect="equal")
    ax.set(xlabel="error of the maximal margin, %", ylabel="error of the Bayes point, %")
    ax.legend(frameon=False, loc="upper left")
    return ax
