"""How :class:`VersionSpace` finds single points: inside it, and the largest margin; as a mixin."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from bayespoint import _core
from bayespoint._core import InfeasibleError
from bayespoint.base import validation
from bayespoint.base.validation import Floats, Labels, RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine import settings as engine_settings
from bayespoint.kernels import sources
from bayespoint.results import LightTrap, MaxMargin


class InteriorMixin:
    """The methods of a version space that find a point inside it."""

    gram: sources.Gram
    y: Labels
    softness: Floats
    offset: float

    def _refuse_conflicts(self, fewest: int | None = None) -> None:
        raise NotImplementedError

    def feasible_point(
        self,
        method: str = "light_trap",
        *,
        random_state: RandomState = None,
        callback: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> Floats:
        """Return a unit vector in version space.

        Parameters
        ----------
        method : {"light_trap", "one_way", "perceptron", "max_margin"}, default="light_trap"
            "light_trap": a billiard whose walls become mirrors that let the ball in but not out.
            "one_way": with such mirrors from the first, see `light_trap`. "perceptron": the
            kernel perceptron, on for as long as an example is violated. "max_margin": the search
            for the largest margin, up to where every example is satisfied (`max_margin` goes on
            from there).
        random_state : None, int, Generator or RandomState, default=None
            Seed. None asks NumPy's global generator.
        callback : callable, default=None
            Called about ten times a second with a mapping. What it raises ends the search.

        Returns
        -------
        ndarray of shape (m,)
            Dual coefficients.

        Raises
        ------
        InfeasibleError
            If there is none, or none was found.
        FloatingPointError
            If double precision gives out for the ball of a light trap, as for `sample`.
        MemoryError
            If there is no room for rows on demand.

        Warns
        -----
        ConvergenceWarning
            If a light trap did not catch the ball, and the search for the largest margin took over.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> space = VersionSpace(np.eye(2), ["no", "yes"])
        >>> space.contains(space.feasible_point("perceptron", random_state=0))
        True
        """
        method = validation.choice(
            "method", method, ("light_trap", "one_way", "perceptron", "max_margin")
        )
        seed = validation.seed(random_state)
        sources.require(self.gram, 0.0, "the search for a point in version space")
        self._refuse_conflicts()
        found = _core.feasible_point(
            self.gram,
            self.y,
            offset=self.offset,
            softness=self.softness,
            method=method,
            seed=seed,
            callback=callback,
        )
        if found["method"] != method:
            warn(
                f"method={method!r} did not find a point of version space; this one is from the "
                "search for the largest margin",
                ConvergenceWarning,
            )
        return found["dual_coef"]

    def light_trap(
        self,
        *,
        random_state: RandomState = None,
        callback: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> LightTrap:
        """Let a ball into version space through one-way mirrors, and count the errors on its way.

        Parameters
        ----------
        random_state : None, int, Generator or RandomState, default=None
            Seed. None asks NumPy's global generator.
        callback : callable, default=None
            Called about ten times a second with a mapping. What it raises ends the search.

        Returns
        -------
        LightTrap
            The point, and how many bounces each number of errors took.

        Raises
        ------
        InfeasibleError
            If version space is empty, or no point of it was found.
        FloatingPointError
            If double precision gives out, as for `sample`.
        MemoryError
            If there is no room for rows on demand.

        Notes
        -----
        As Ruján and Marchand (2000, section 18.5.2) have it, the ball starts at the difference of
        the class means in feature space, the solution in the limit of an RBF kernel of no width,
        and every wall it meets from the violated side lets it pass. The flight is along great
        circles, with a refresh by pairs. After 1000 arrivals at walls per example the search for
        the largest margin takes over.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> found = VersionSpace(np.eye(3), [1, -1, 1]).light_trap(random_state=0)
        >>> found.caught, found.errors.tolist()
        (True, [0])
        """
        seed = validation.seed(random_state)
        sources.require(self.gram, 0.0, "the light trap")
        self._refuse_conflicts()
        return LightTrap(
            **_core.light_trap(
                self.gram,
                self.y,
                offset=self.offset,
                softness=self.softness,
                seed=seed,
                callback=callback,
            )
        )

    def max_margin(
        self,
        *,
        C: float = math.inf,
        free_bias: bool = False,
        tol: float = 1e-8,
        max_iter: int = 10_000_000,
        callback: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> MaxMargin:
        r"""Return the weight vector with the largest ``min_i y_i <w, phi_i>``, hard or soft.

        Minimizes :math:`\frac12 |w|^2 + C \sum_i \max(0, 1 - y_i(\langle w, \phi_i\rangle + b))`,
        where C = inf stands for no loss at all.

        Parameters
        ----------
        C : float, default=inf
            Price of a unit of hinge loss, positive: the largest multiplier. inf: a hard margin.
        free_bias : bool, default=False
            Add a bias b to ``<w, phi_i>`` that has no price. Both labels must occur.
        tol : float, default=1e-8
            Largest violation of the conditions for the optimum, in units of the margin, in
            (0, 1). What rounding of the multipliers explains is no violation.
        max_iter : int, default=10000000
            Coordinate steps and changes of the active set at most, at least 1. Each reads rows
            of the Gram matrix.
        callback : callable, default=None
            Called about ten times a second with a mapping. What it raises ends the search.

        Returns
        -------
        MaxMargin
            Dual coefficients, the margin, and how far the search went.

        Raises
        ------
        InfeasibleError
            For a hard margin: if version space is empty, or `max_iter` steps did not lead into
            it. Its `certificate` has weights :math:`a \ge 0` with :math:`\sum_i a_i y_i \phi_i`
            close to zero, and with a free bias :math:`\sum_i a_i y_i` too.
        ValueError
            If a setting is out of range, or with a free bias only one label occurs. For a hard
            margin without one: if the examples can be separated, but lengths of feature vectors
            that differ by 1e4 and more hide the margin in the rounding of the longest.
        MemoryError
            If there is no room for the factor of the examples that matter, or for rows on demand.

        Warns
        -----
        ConvergenceWarning
            If `max_iter` steps did not reach `tol`.

        Notes
        -----
        Without a free bias an intercept takes part through `offset`, in the norm too. Some steps
        of dual coordinate ascent tell which examples matter; an active set finds the exact
        solution from there (Goldfarb and Idnani, 1983), and is corrected by residuals in twice
        the working precision. So ill-conditioned matrices, where such steps alone would take
        for ever, are no obstacle.

        References
        ----------
        D. Goldfarb and A. Idnani, "A numerically stable dual method for solving strictly convex
        quadratic programs", Mathematical Programming 27, 1983.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> found = VersionSpace(np.eye(2), [1, -1]).max_margin()
        >>> print(f"{found.margin:.3f}")
        0.707
        """
        settings = engine_settings.margin_settings(
            C=C, free_bias=free_bias, tol=tol, max_iter=max_iter
        )
        if settings.free_bias and (self.y == self.y[0]).all():
            raise ValueError(f"y must hold both labels with a free bias; got only {int(self.y[0])}")
        free = sources.most_free(self.gram, self.offset, self.softness)
        what = f"the factor of at most {free} examples that matter"
        sources.require(self.gram, 4.0 * free * free, what)
        try:
            found = _core.max_margin(
                self.gram,
                self.y,
                offset=self.offset,
                softness=self.softness,
                cost=settings.C,
                free_bias=settings.free_bias,
                tol=settings.tol,
                max_iter=settings.max_iter,
                callback=callback,
            )
        except InfeasibleError as error:
            if not settings.free_bias:
                # Which names two examples, if two are enough.
                self._refuse_conflicts(error.violations)
            raise
        result = MaxMargin(**found)
        if not result.converged:
            warn(
                f"max_margin violates a condition by {result.kkt:.2g} margins after "
                f"{result.iterations} steps; tol={settings.tol:g} was asked for: raise max_iter",
                ConvergenceWarning,
            )
        return result
