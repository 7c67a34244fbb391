"""What maximal margins and perceptrons can guarantee, as mixins of their classes."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.bounds.result import RiskBounds
from bayespoint.bounds.rows import Learned
from bayespoint.bounds.tables import bounds_of
from bayespoint.engine.problem import Problem
from bayespoint.estimators.risk import _SCALED
from bayespoint.estimators.spaces import SpacesMixin
from bayespoint.version_space import InfeasibleError, VersionSpace

_AGREEMENT = 1e-4
"""How far decision values may be from those of a second fit, relative to the larger of the margin
and themselves."""

_NOT_ALONE = (
    "The {d} examples with coefficients do not determine the classifier: fitted to them alone it "
    "is another one. The fit did not converge, or leaves a free intercept open."
)
_ORDERED = "the order of presentation was chosen without a look at the examples"


class MachineRiskMixin(SpacesMixin):
    """Bounds on the risk of a machine with one weight vector for each binary problem."""

    classes_: NDArray[Any]
    dual_coef_: Floats
    intercept_: Floats
    _scaled_by_inputs: bool
    _rule: ClassVar[str]

    def _learned(self, space: VersionSpace, k: int) -> Learned:
        """Return the weight vector of one binary problem, and how it was found."""
        raise NotImplementedError

    def risk_bounds(
        self,
        delta: float = 0.05,
        *,
        gram: ArrayLike | None = None,
        candidates: int = 1,
        tol: float = 0.3,
        max_length: float = 1e5,
        n_jobs: int | None = None,
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
            Standard error of ln of the estimated volume at which to stop, in nats. Positive.
        max_length : float, default=1e5
            Path in radians per trajectory at which to stop all the same.
        n_jobs : int, default=None
            Threads, as joblib counts them.
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
            If the standard error of the volume stayed above `tol`.

        Notes
        -----
        No bound holds of a kernel that was fitted to the examples. So all are refused for the
        length scale that ``kernel="rbf"``, the default, takes from the inputs: give a kernel with
        a length scale fixed beforehand. Features standardized with the mean and deviation of the
        same examples are such a case too, and so is a callable or a precomputed matrix made with
        them, which cannot be seen from here.

        `sparsity` speaks of a classifier that the examples with coefficients determine. Those of
        a perceptron do: the same examples in the same order make the same mistakes. Those of a
        maximal margin do too, hard or soft: here the fit is repeated on them alone, and the bound
        refused if that gives other decisions. The examples left out must be on their side of the
        plane, the others need not.

        The other bounds speak of a weight vector in version space, without a training error, and
        are refused after one, or for a free intercept, which has no prior. With softness they
        hold of the extended feature vectors, as :func:`bayespoint.bounds.table` says.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import KernelPerceptron, MaxMarginClassifier
        >>> X = np.random.default_rng(0).normal(size=(400, 3))
        >>> y = np.where(X @ [1.0, 2.0, 3.0] > 0, 1, 0)
        >>> model = MaxMarginClassifier("linear", C=np.inf, fit_intercept=False).fit(X, y)
        >>> found = model.risk_bounds(random_state=0)
        >>> print(f"{found.find('sparsity').value:.3f}")
        0.063
        >>> found.find("bayes_point").value < 0.3
        True
        >>> model = KernelPerceptron("linear", fit_intercept=False).fit(X, y)
        >>> found = model.risk_bounds(random_state=0).find("sparsity")
        >>> found.quantities["d"] <= found.quantities["mistakes"]
        True
        """
        check_is_fitted(self)
        spaces = self._spaces(gram)
        rng = np.random.default_rng(validation.seed(random_state))
        refusal = _SCALED if self._scaled_by_inputs else ""
        tables = [
            bounds_of(
                space,
                Learned(self.dual_coef_[k], self._rule) if refusal else self._learned(space, k),
                delta=delta,
                label_noise=0.0,
                draws=None,
                candidates=candidates,
                refusal=refusal,
                tol=tol,
                max_length=max_length,
                n_jobs=n_jobs,
                random_state=rng,
            )
            for k, space in enumerate(spaces)
        ]
        return tables[0] if len(self.classes_) == 2 else tables


class MarginRiskMixin(MachineRiskMixin):
    """The same for the maximal margin."""

    C: float
    tol: float
    max_iter: int
    _free: bool
    _rule = "max_margin"

    def _learned(self, space: VersionSpace, k: int) -> Learned:
        c = self.dual_coef_[k]
        bias = float(self.intercept_[k]) if self._free else None
        kept = np.flatnonzero(c)
        alone = self._alone(space, c, bias or 0.0, kept)
        reason = "" if alone else _NOT_ALONE.format(d=len(kept))
        return Learned(c, self._rule, bias, undetermined=reason)

    def _alone(self, space: VersionSpace, c: Floats, bias: float, kept: NDArray[np.intp]) -> bool:
        """Return whether the examples kept give the same decision values by themselves."""
        y = space.y[kept]
        if len(kept) == 0 or (self._free and (y == y[0]).all()):
            return False
        gram = np.asarray(space.gram, dtype=np.float64)  # a fit's is a matrix of doubles
        few = VersionSpace.over(
            Problem(gram[np.ix_(kept, kept)], y, space.softness[kept], space.offset)
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the values tell
                found = few.max_margin(
                    C=self.C, free_bias=self._free, tol=self.tol, max_iter=self.max_iter
                )
        except InfeasibleError:
            return False
        again = np.zeros(len(c))
        again[kept] = found.multipliers * y
        values = space.margins(c) + bias * space.y
        difference = space.margins(again - c) + (found.bias - bias) * space.y
        return bool((np.abs(difference) <= _AGREEMENT * np.maximum(np.abs(values), 1)).all())


class PerceptronRiskMixin(MachineRiskMixin):
    """The same for the perceptron."""

    order: str | ArrayLike
    n_mistakes_: NDArray[np.int64]
    _rule = "perceptron"

    def _learned(self, space: VersionSpace, k: int) -> Learned:
        return Learned(
            self.dual_coef_[k],
            self._rule,
            condition="" if isinstance(self.order, str) else _ORDERED,
            mistakes=int(self.n_mistakes_[k]),
        )
