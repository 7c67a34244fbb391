"""What a fitted Bayes point classifier can guarantee, as a mixin of its class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.bounds.result import RiskBounds
from bayespoint.bounds.rows import Learned
from bayespoint.bounds.tables import bounds_of
from bayespoint.estimators.spaces import SpacesMixin
from bayespoint.results import BilliardResult, Search

_TUNED = (
    "Kernel or softness were searched for the largest evidence of these examples, among "
    "infinitely many: choose from a list fixed beforehand and give its length as candidates."
)
_SCALED = (
    "The length scale was computed from the inputs of these examples: give a kernel with a length "
    "scale fixed beforehand, such as kernel=RBF(1.0)."
)
_BALANCED = (
    "The class weights, and so the softness, were computed from these labels: give them as a "
    "dictionary fixed beforehand."
)


class RiskMixin(SpacesMixin):
    """Bounds on the risk of a classifier that plays billiards."""

    kernel: Any
    class_weight: Any
    n_jobs: int | None
    classes_: NDArray[Any]
    dual_coef_: Floats
    softness_: float
    tuning_: Search | None
    label_noise_: tuple[float, float]
    billiard_: Any
    _no_guarantee: str

    @property
    def _results(self) -> list[BilliardResult]:
        raise NotImplementedError

    def risk_bounds(
        self,
        delta: float = 0.05,
        *,
        gram: ArrayLike | None = None,
        candidates: int = 1,
        tol: float = 0.3,
        max_length: float = 1e5,
        random_state: RandomState = None,
    ) -> RiskBounds | list[RiskBounds]:
        """Return bounds on the probability of an error on new examples.

        Parameters
        ----------
        delta : float, default=0.05
            Probability in (0, 1) with which each statement may fail.
        gram : array-like of shape (n_samples, n_samples), default=None
            With kernel="precomputed", and only then: the matrix given to `fit`.
        candidates : int, default=1
            Number of settings among which these were chosen after a look at the examples, at
            least 1, as by a grid search with a list fixed beforehand. `delta` is divided among
            them.
        tol : float, default=0.3
            Standard error of ln of the estimated volumes at which to stop, in nats. Positive.
        max_length : float, default=1e5
            Path in radians per trajectory at which to stop all the same, for each volume.
        random_state : None, int, Generator or RandomState, default=None
            Seed. None asks NumPy's global generator.

        Returns
        -------
        RiskBounds or list of RiskBounds
            One row for each bound, with those refused at the end: see
            :func:`bayespoint.bounds.table`. For more than two classes a table for each class
            against the rest: `predict` errs at most with the sum of their probabilities.

        Raises
        ------
        ValueError
            If `gram` is needed and missing or does not fit, or a setting is out of range.
        MemoryError
            If the kernel matrix of twice the examples does not fit into memory.

        Warns
        -----
        ConvergenceWarning
            If the standard error of a volume stayed above `tol`.

        Notes
        -----
        No bound holds of a kernel that was fitted to the examples. So all are refused after a
        search by evidence, for the length scale that ``kernel="rbf"`` and ``None`` take from the
        inputs, and for ``class_weight="balanced"`` with softness. Features standardized with
        the mean and deviation of the same examples are such a case too, and so is a callable or a
        precomputed matrix made with them, which cannot be seen from here.

        With label noise the bounds for classifiers without training errors are refused, and
        `pac_bayes_kl` is given for the posterior as it is. It bounds the probability that a
        label as observed, noise included, is predicted wrongly.

        Examples
        --------
        >>> from bayespoint import BayesPointClassifier
        >>> from bayespoint.kernels import RBF
        >>> from sklearn.datasets import make_moons
        >>> X, y = make_moons(400, noise=0.1, random_state=0)
        >>> model = BayesPointClassifier(
        ...     RBF(1.0), softness=0.01, optimizer=None, random_state=0
        ... ).fit(X, y)
        >>> found = model.risk_bounds(random_state=0)
        >>> 0.0 < found.find("pac_bayes_kl", of="center").value < 0.2
        True
        """
        check_is_fitted(self)
        space_of = self._spaces(gram)
        rng = np.random.default_rng(validation.seed(random_state))
        tables = [
            bounds_of(
                space,
                Learned(center, "bayes_point"),
                delta=delta,
                label_noise=self.label_noise_,
                draws=result.draws,
                candidates=candidates,
                refusal=self._no_guarantee,
                tol=tol,
                max_length=max_length,
                n_jobs=self.n_jobs,
                random_state=rng,
            )
            for space, center, result in zip(space_of, self.dual_coef_, self._results, strict=True)
        ]
        return tables[0] if len(self.classes_) == 2 else tables

    def _refusal(self) -> str:
        """Return why no bound will hold of a fit, if its prior was made from the examples."""
        if self.tuning_ is not None:
            return _TUNED
        if self.kernel is None or (isinstance(self.kernel, str) and self.kernel == "rbf"):
            return _SCALED
        if isinstance(self.class_weight, str) and self._softness.any():
            return _BALANCED
        return ""
