"""The Bayes point machine of the papers, by their own billiards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.engine import interior
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import SampleOptions
from bayespoint.papers import dynamics
from bayespoint.papers.dynamics import Chord, Flight, Flipper
from bayespoint.papers.linear import LinearClassifier
from bayespoint.papers.onion import OnionTable, onion
from bayespoint.papers.onion.straight import flipper_onion
from bayespoint.papers.rollback import roll_back_on_error
from bayespoint.results import BilliardResult
from bayespoint.version_space import VersionSpace

__all__ = ["BayesPointMachine"]

_LACKING = {"chord": "errors", "flipper": "TOL", "geodesic": "tau_max"}
"""The parameter that a motion does not have."""
_MOST = 1000
"""Largest number of errors of a layer."""


class BayesPointMachine(LinearClassifier):
    r"""The Bayes point machine of the papers: the center of version space by their own billiards.

    One ball or several fly in version space, or in a layer of the onion around it, and the center
    of their path is the weight vector. More than two classes are treated one against the rest. For
    probabilities, evidence and the choice of kernel and softness there is
    :class:`bayespoint.BayesPointClassifier`.

    Parameters
    ----------
    kernel : str, kernel object or callable, default="rbf"
        As for :class:`bayespoint.papers.max_margin.MaxMarginClassifier`. The papers'
        :math:`\sigma` is that of ``kernels.RBF(sigma)``.
    motion : {"chord", "flipper", "geodesic"}, default="chord"
        "chord": Algorithm 1 of Herbrich, Graepel and Campbell, as
        :class:`bayespoint.papers.dynamics.Chord`. "flipper": Algorithm 18.1 of Ruján and Marchand,
        as :class:`bayespoint.papers.dynamics.Flipper`. Their centers are biased. "geodesic": great
        circles, whose center is exact, as :meth:`bayespoint.VersionSpace.sample`.
    softness : float, default=0.1
        :math:`\lambda` of Eq. 18 of Herbrich et al., at least 0: added to the diagonal of the
        training kernel matrix, which makes any labels separable. 0: hard walls, as in most of the
        papers' comparisons.
    TOL : float, default=None
        In (0, 1), where the run ends before `N_max`. "chord": the largest share of the center that
        the next flight may have. "geodesic": the standard error of the center, in radians. None:
        `N_max` alone ends the run; the layers of "geodesic" have 0.1. "flipper" has none.
    tau_max : float, default=None
        Positive flight time from which a flight of "chord" or "flipper" counts as escaped. None:
        1e6 for "chord", none for "flipper".
    N_max : int, default=10000
        Bounces of each ball at most, at least 1. With layers of "flipper" its flights, also those
        that escape; with layers of "geodesic" the radians of its path.
    errors : int, pair of ints or array-like of shape (n_neg + 1, n_pos + 1), default=None
        The layer of the onion, for "flipper" and "geodesic". An int k: all weight vectors with k
        training errors. A pair :math:`(n_-, n_+)`: with so many on examples of the first class (the
        rest) and of the second. A table: weights of all layers, at least 0 and not all 0, which
        multiply volumes, for "flipper" lengths of paths. None: version space.
    threshold : bool, default=False
        Whether there is a threshold b (Eqs. 18.18 to 18.26): 1 is added to all kernel values.
    n_balls : int, default=1
        Number of balls, at least 1, whose centers are averaged.
    random_state : None, int, Generator or RandomState, default=None
        Seed. None draws one from NumPy's global generator.

    Attributes
    ----------
    classes_, dual_coef_, intercept_, norm_, support_
        As for :class:`bayespoint.papers.perceptron.KernelPerceptron`.
    X_fit_, kernel_, n_features_in_, feature_names_in_
        As for that class, too.
    runs_ : list of Flight, BilliardResult or OnionTable
        The run of each binary problem: a flight, with "geodesic" a result of the billiard, with
        layers the table of all of them.

    Warns
    -----
    ConvergenceWarning
        As the runs: the limit is their `max_bounces`, or for layers of "geodesic" `max_length`.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : Chooses a layer by leaving out, over `errors`.

    Notes
    -----
    The decision function is the signed distance from the plane in feature space. A layer of
    "flipper" starts at the largest margin, and the balls are those of Algorithm 18.1.

    References
    ----------
    R. Herbrich, T. Graepel and C. Campbell, "Bayesian Learning in Reproducing Kernel Hilbert
    Spaces", Technical Report TR 99-11, Technical University of Berlin, 1999.

    P. Ruján and M. Marchand, "Computing the Bayes Kernel Classifier", in Advances in Large Margin
    Classifiers, MIT Press, 2000.

    Examples
    --------
    >>> from bayespoint import kernels
    >>> from bayespoint.datasets import load_sonar
    >>> from bayespoint.papers.machine import BayesPointMachine
    >>> X, y = load_sonar(return_X_y=True)
    >>> model = BayesPointMachine(kernels.RBF(1.0), softness=0, random_state=0)
    >>> model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.8
    True
    """

    rule = "bayes_point"

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "rbf",
        *,
        motion: str = "chord",
        softness: float = 0.1,
        TOL: float | None = None,
        tau_max: float | None = None,
        N_max: int = 10_000,
        errors: ArrayLike | None = None,
        threshold: bool = False,
        n_balls: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.motion = motion
        self.softness = softness
        self.TOL = TOL
        self.tau_max = tau_max
        self.N_max = N_max
        self.errors = errors
        self.threshold = threshold
        self.n_balls = n_balls
        self.random_state = random_state

    @roll_back_on_error
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the center.

        Parameters
        ----------
        X, y
            As for :meth:`bayespoint.BayesPointClassifier.fit`.

        Returns
        -------
        BayesPointMachine
            The estimator itself.

        Raises
        ------
        InfeasibleError
            If the examples are not separable, but for layers of "geodesic".
        ValueError, TypeError, MemoryError, FloatingPointError
            As :meth:`bayespoint.BayesPointClassifier.fit`. ValueError also if no flight crossed the
            layer, and for parameters that the motion does not have.
        """
        offset = float(validation.boolean("threshold", self.threshold))
        softness = validation.real("softness", self.softness, low=0.0)
        motion, weights = self._motion(), _weights(self.errors)
        validation.integer("N_max", self.N_max, low=1)
        validation.integer("n_balls", self.n_balls, low=1)
        seed = validation.seed(self.random_state)
        problems = self._problems(X, y, offset, softness)
        with interior.advising("Use softness > 0"):
            flown = [self._flown(problem, motion, weights, seed) for problem in problems]
        centers, self.runs_ = map(list, zip(*flown, strict=True))
        dual_coef = np.stack(centers)
        self._keep(dual_coef, offset * dual_coef.sum(axis=1))
        self.norm_ = np.ones(len(centers))
        return self

    def _motion(self) -> Chord | Flipper | None:
        """Return the straight motion, or None for "geodesic"; raise for what it does not have."""
        name = validation.choice("motion", self.motion, tuple(_LACKING))
        if (other := getattr(self, _LACKING[name])) is not None:
            raise ValueError(
                f"{_LACKING[name]} must be None with motion={name!r}, which has none; got {other!r}"
            )
        if self.TOL is not None:
            validation.real("TOL", self.TOL, low=0, high=1, low_open=True, high_open=True)
        if name == "geodesic":
            return None
        motion = Chord(weight_tol=self.TOL) if name == "chord" else Flipper()
        return motion if self.tau_max is None else replace(motion, tau_max=self.tau_max)

    def _flown(
        self, problem: Problem, motion: Chord | Flipper | None, weights: Floats | None, seed: int
    ) -> tuple[Floats, Flight | BilliardResult | OnionTable]:
        """Return the center of a binary problem, and the run that found it."""
        space = VersionSpace.over(problem)
        balls: dict[str, Any] = {"n_trajectories": self.n_balls, "random_state": seed}
        if weights is None:
            balls |= {"n_draws": 1, "options": SampleOptions(max_bounces=self.N_max)}
            if motion is None:
                run = space.sample(tol=self.TOL, **balls)
                return run.center, run
            flight = dynamics.sample(space, motion, **balls)
            return flight.run.center, flight
        a, b = weights.shape
        if motion is None:
            tol, path = self.TOL or 0.1, float(self.N_max)
            table = onion(space, (a - 1, b - 1), tol=tol, max_length=path, **balls)
        else:
            table = flipper_onion(
                space, self.N_max, validation.generator(seed), max_errors=(a - 1, b - 1),
                n_balls=self.n_balls, tau_max=motion.tau_max,
            )  # fmt: skip
        if not (weights * table.has_center).any():
            raise ValueError(
                f"errors must be a layer that a flight has crossed; got {self.errors!r}, which "
                "none has: raise N_max, or allow fewer errors"
            )
        return table.combine(weights), table


def _weights(errors: ArrayLike | None) -> Floats | None:
    """Return the weights of the layers, by violated examples labeled -1 and +1."""
    if errors is None:
        return None
    count = partial(validation.integer, low=0, high=_MOST)
    table = np.asarray(validation.dense("errors", errors), dtype=np.float64)
    if table.ndim == 0:
        return np.eye(count("errors", errors) + 1)[::-1]
    if table.ndim == 1:
        pair = validation.pair("errors", errors, count)
        table = np.zeros(np.add(pair, 1))
        table[pair] = 1.0
    if table.ndim > 2 or not (table.any() and (table >= 0).all() and np.isfinite(table).all()):
        raise ValueError(
            "errors must be a number, a pair of numbers, or a table of finite weights of at least "
            f"0, not all 0; got {errors!r}"
        )
    return table
