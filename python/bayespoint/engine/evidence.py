"""What :class:`VersionSpace` tells of its size, as a mixin of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayespoint._core import InfeasibleError
from bayespoint.base.validation import Floats, Labels, RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine.ladder import Callback, Settings, complaint, log_evidence, noise_rates
from bayespoint.kernels.sources import Gram
from bayespoint.results import Evidence


class EvidenceMixin:
    """The methods of a version space that weigh it."""

    gram: Gram
    y: Labels
    softness: Floats
    offset: float

    def _refuse_conflicts(self) -> None:
        raise NotImplementedError

    def log_volume(
        self,
        *,
        method: str = "auto",
        tol: float = 0.1,
        max_length: float = 1e5,
        n_trajectories: int = 4,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        callback: Callback = None,
    ) -> Evidence:
        r"""Return ln of the share of the sphere that version space takes.

        With `softness` that is the log marginal likelihood of Gaussian-process classification
        with probit noise, exact but for the sampling error that is reported.

        Parameters
        ----------
        method : {"auto", "bridge", "integration", "annealing"}, default="auto"
            "bridge", which "auto" is: billiards inside version space under Gaussian laws between
            one fitted to it, whose part inside plain draws tell, and the isotropic one, combined by
            multi-histogram reweighting. "integration": the same on a ladder of transparencies
            from 1 to 0, often many times as long a path to the same error, but with what is
            violated on the way. "annealing": annealed importance sampling down that ladder, an
            independent check with a larger error still.
        tol : float, default=0.1
            Standard error at which to stop, in nats. Positive.
        max_length : float, default=1e5
            Path in radians per trajectory at which to stop all the same. Positive. The first round
            is made in full, however long.
        n_trajectories : int, default=4
            Independent trajectories, at least 1.
        n_jobs : int, default=None
            Threads, as joblib counts them: None is 1, -1 all processors. It does not change the
            result.
        random_state : None, int, Generator or RandomState, default=None
            Seed. None asks NumPy's global generator.
        callback : callable, default=None
            Called about ten times a second, on the calling thread, with a mapping of ``length``
            (radians per trajectory) and ``error`` (nats) so far. What it raises ends the run.

        Returns
        -------
        Evidence
            The value in nats, at most 0, with its standard error.

        Raises
        ------
        InfeasibleError
            If no point of version space was found: it is empty, or too small for the search, or
            with the other methods for the run. ``violations`` is the smallest number of violated
            examples seen.
        ValueError
            If a setting is out of range.
        FloatingPointError
            If double precision gives out, as for `sample`, or version space is too narrow for it.
        MemoryError
            If there is no room for the matrices: about :math:`1.5 \sqrt m` of the size of the Gram
            matrix for a bridge, two for the ladder.

        Warns
        -----
        ConvergenceWarning
            If the run ended with a standard error above `tol`. The text has the bias that the
            difference between the ways to and fro suggests.

        Notes
        -----
        With transparency :math:`\kappa` the share becomes
        :math:`Z(\kappa) = E[\kappa^{\text{violations}}]` over the sphere. It is 1 at
        :math:`\kappa = 1`, and the volume at :math:`\kappa = 0`. A bridge leaves the walls as they
        are and changes the measure: the center, its distance from the walls and the spread of
        the plane coordinates make a Gaussian law, of which a good part lies in version space;
        seven to thirty laws lead from there to the isotropic one.

        References
        ----------
        B. Cousins and S. Vempala, "Bypassing KLS: Gaussian cooling and an O*(n^3) volume
        algorithm", STOC 2015.

        M. R. Shirts and J. D. Chodera, "Statistically optimal analysis of samples from multiple
        equilibrium states", Journal of Chemical Physics 129, 2008.

        R. M. Neal, "Annealed importance sampling", Statistics and Computing 11, 2001.

        Examples
        --------
        Ten orthogonal planes cut the sphere into 1024 equal pieces.

        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> found = VersionSpace(np.eye(10), np.ones(10)).log_volume(random_state=0)
        >>> bool(abs(found.value + 10 * np.log(2)) < 4 * found.error < 0.4)
        True
        """
        settings = Settings.check(
            method=method,
            tol=tol,
            max_length=max_length,
            n_trajectories=n_trajectories,
            n_jobs=n_jobs,
            random_state=random_state,
            callback=callback,
        )
        self._refuse_conflicts()
        found = log_evidence(self, 0.0, settings)
        if (message := complaint(found, settings.tol)) is not None:
            warn(message, ConvergenceWarning)
        return found

    def evidence(
        self,
        label_noise: float | tuple[float, float] | Sequence[float] | Floats = 0.0,
        *,
        method: str = "auto",
        tol: float = 0.1,
        max_length: float = 1e5,
        n_trajectories: int = 4,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        callback: Callback = None,
    ) -> Evidence:
        r"""Return the log probability of the labels, given a rate of label noise.

        Parameters
        ----------
        label_noise : float, tuple of two floats, or array-like of shape (n,), default=0.0
            Probability in [0, 0.5) that a label was flipped. A tuple of two gives it for
            examples that truly are negative and for those that truly are positive. A list or
            array holds rates for both classes alike: one ladder serves them all.
        method : {"auto", "bridge", "integration", "annealing"}, default="auto"
            As for `log_volume`, where no label is noisy. Behind walls that let through, the
            posterior may have modes that a bridge does not find: a rate above 0, and any array,
            takes a ladder, and "auto" is "integration" then.
        tol : float, default=0.1
            Standard error at which to stop, in nats, for each of the rates. Positive.
        max_length : float, default=1e5
            As for `log_volume`.
        n_trajectories : int, default=4
            Independent trajectories, at least 1.
        n_jobs, random_state, callback
            As for `log_volume`.

        Returns
        -------
        Evidence
            The value in nats with its standard error: floats, or arrays of shape (n,) for n
            rates.

        Raises
        ------
        InfeasibleError
            If every value is minus infinity, which takes a rate of 0: see `log_volume`. In an
            array with other rates such a value stays. Its error is infinite, or 0 where two
            examples prove that no weight vector satisfies both. With a rate of 0 in one class
            alone: if no weight vector satisfies the examples of that class, or none was met.
        ValueError
            If a rate or a setting is out of range, or the rates do not go with the method.
        TypeError
            If a rate is not a number.
        FloatingPointError
            As for `log_volume`.
        MemoryError
            As for `log_volume`.

        Warns
        -----
        ConvergenceWarning
            As for `log_volume`.

        Notes
        -----
        For a rate :math:`\epsilon` of either class the value is
        :math:`m \ln(1 - \epsilon) + \ln Z(\epsilon / (1 - \epsilon))`, with Z as in
        `log_volume`. For :math:`\epsilon_-` and :math:`\epsilon_+` it is :math:`n_-
        \ln(1 - \epsilon_-) + n_+ \ln(1 - \epsilon_+) + \ln Z(\kappa_-, \kappa_+)`. Here
        :math:`n_\pm` examples are labeled :math:`\pm`, :math:`\kappa_- = \epsilon_+ / (1 -
        \epsilon_-)` and :math:`\kappa_+ = \epsilon_- / (1 - \epsilon_+)`. On the ladder to them
        either class stays at its own transparency as soon as that is reached.

        Examples
        --------
        Orthogonal planes leave every label to chance, however noisy.

        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> space = VersionSpace(np.eye(6), [1, -1, 1, 1, -1, 1])
        >>> found = space.evidence([0.0, 0.1, 0.3], random_state=0)
        >>> bool((abs(found.value + 6 * np.log(2)) < 4 * found.error).all())
        True
        """
        settings = Settings.check(
            method=method,
            tol=tol,
            max_length=max_length,
            n_trajectories=n_trajectories,
            n_jobs=n_jobs,
            random_state=random_state,
            callback=callback,
        )
        rates = noise_rates(label_noise)
        if not np.any(rates):
            self._refuse_conflicts()
        if isinstance(rates, np.ndarray) and 0 < np.count_nonzero(rates) < len(rates):
            found = self._with_rates_of_zero(rates, settings)
        else:
            found = log_evidence(self, rates, settings)
        if (message := complaint(found, settings.tol)) is not None:
            warn(message, ConvergenceWarning)
        return found

    def _with_rates_of_zero(self, rates: Floats, settings: Settings) -> Evidence:
        """Return the evidence for rates of which some are zero, of a provable value perhaps."""
        try:
            self._refuse_conflicts()
        except InfeasibleError:
            noisy = rates > 0
            found = log_evidence(self, rates[noisy], settings)
            value, error = np.full(len(rates), -math.inf), np.zeros(len(rates))
            lag = np.zeros(len(rates))
            value[noisy], error[noisy], lag[noisy] = found.value, found.error, found.lag
            return replace(found, value=value, error=error, lag=lag)
        return log_evidence(self, rates, settings)
