"""Classifiers that learn on: longer runs, more examples, other settings; a mixin of their class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.engine import continuation
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import SampleSettings
from bayespoint.estimators import inputs as estimators_inputs
from bayespoint.estimators import settings as estimators_settings
from bayespoint.estimators.progress import Progress
from bayespoint.estimators.rollback import as_it_was
from bayespoint.estimators.spaces import SpacesMixin
from bayespoint.results import BilliardResult

if TYPE_CHECKING:
    from typing_extensions import Self

GoesOn = Callable[[int, Problem, SampleSettings, int], tuple[SampleSettings, dict[str, Any]]]
"""From the number of a binary problem, the problem and the settings and seed of a new run to the
settings and keywords that `engine.sampling.sample` is called with."""


@dataclass(frozen=True)
class Before:
    """What a classifier knew before a fit that may go on from there."""

    classes: NDArray[Any]
    index: NDArray[np.intp]
    inputs: Any
    """None with kernel="precomputed"."""
    kernel: Any
    results: list[BilliardResult]

    def goes_on(
        self, classes: NDArray[Any], index: NDArray[np.intp], inputs: Any, kernel: Any
    ) -> GoesOn | None:
        """Return how a fit to these examples goes on: not at all if the first are not the old."""
        m = len(self.index)
        if not np.array_equal(self.classes, classes) or not np.array_equal(self.index, index[:m]):
            return None
        if self.inputs is not None and not _equal(self.inputs, inputs[:m]):
            return None
        same = self.inputs is not None and len(index) == m and self.kernel == kernel

        def asked(
            k: int, problem: Problem, new: SampleSettings, seed: int
        ) -> tuple[SampleSettings, dict[str, Any]]:
            old = self.results[k]
            if same and continuation.fits(old, problem, new):
                return SampleSettings(tol=new.tol), {"continue_from": old}
            return new, {"seed": seed} | _started(problem, new, old.center)

        return asked


def _equal(a: Any, b: Any) -> bool:
    """Whether two sets of inputs are the same."""
    if sparse.issparse(a) != sparse.issparse(b) or a.shape != b.shape:
        return False
    return (a != b).nnz == 0 if sparse.issparse(a) else bool(np.array_equal(a, b))


def _started(problem: Problem, new: SampleSettings, center: Floats) -> dict[str, Any]:
    """Return the start of a run at an old center, of the first examples, if it may start there.

    Where the center is to be one of conditional means no point need be looked for, and balls
    start about the center in any case.
    """
    if new.average == "conditional":
        return {}
    start = np.zeros(len(problem))
    start[: len(center)] = center
    inside = not new.opaque or (problem.margins(start) > 0).all()
    return {"start": start} if inside else {}


class RefineMixin(SpacesMixin):
    """A classifier that can go on from what it has learned."""

    classes_: NDArray[Any]
    softness_: float
    fit_intercept: bool
    class_weight: Any
    softness: float | str
    optimizer: str | None
    label_noise: Any
    dynamics: str
    calibration: str | None
    verbose: int
    _evidence_seed: int

    @property
    def _results(self) -> list[BilliardResult]:
        raise NotImplementedError

    def _weights(self, y: Any) -> Floats:
        raise NotImplementedError

    def _require_memory(self, m: int) -> None:
        raise NotImplementedError

    def _checked_inputs(self, X: ArrayLike) -> NDArray[Any]:
        raise NotImplementedError

    def _learn(
        self,
        inputs: Any,
        index: NDArray[np.intp],
        weights: Floats,
        settings: estimators_settings.FitSettings,
        goes_on: GoesOn | None,
        progress: Progress,
    ) -> None:
        raise NotImplementedError

    def _problem_names(self) -> list[str]:
        raise NotImplementedError

    def refine(
        self,
        more_length: float | None = None,
        *,
        tol: float | None = None,
        gram: ArrayLike | None = None,
    ) -> Self:
        """Go on with the billiard where it ended: a better center, draws from a longer path.

        Kernel, softness and label noise stay as they are, and so does what the billiard of the fit
        was told: `n_trajectories`, `n_draws`, `dynamics`, `refresh` and the seed. What was set
        meanwhile is for the next fit, but for `n_jobs`, `verbose` and `calibration`, which count.
        `fit_intercept` and `class_weight` have to be those of the fit. Center, draws, calibration
        and all that is predicted from them are made anew.

        Parameters
        ----------
        more_length : float, default=None
            Radians to fly for each trajectory, positive. In how many calls does not matter: two of
            them give the bits of one with their sum.
        tol : float, default=None
            In its place: the angular error of the center at which to stop. The bits are those of a
            fit with this `tol`.
        gram : array-like of shape (n_samples, n_samples), default=None
            With kernel="precomputed", and only then: the matrix given to fit.

        Returns
        -------
        BayesPointClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If not one of `more_length` and `tol` is given, it is out of range, `gram` is missing or
            another matrix, `fit_intercept` or `class_weight` are others than in the fit, or nothing
            flies, in one dimension.
        FloatingPointError
            As for `fit`.
        MemoryError
            If the kernel matrix does not fit into the memory available.

        Warns
        -----
        ConvergenceWarning
            With `tol`: as for `fit`. With `more_length` the run is one that no tolerance ended, so
            that its draws are looked at, too: also if R-hat is high, or the draws are worth few
            independent ones, as :meth:`VersionSpace.sample` has it. A fit by `tol` that came before
            may have had as few, without a word.

        Notes
        -----
        The kernel matrix and its factor are computed again. What raises an exception, Ctrl-C too,
        leaves the estimator as it was.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bayespoint import BayesPointClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = BayesPointClassifier(random_state=0).fit(X[50:], y[50:])
        >>> before = model.billiard_.length
        >>> round(model.refine(300.0).billiard_.length - before, 6)
        300.0
        """
        check_is_fitted(self)
        if (more_length is None) == (tol is None):
            raise ValueError(
                f"refine needs one of more_length and tol; got more_length={more_length!r} and "
                f"tol={tol!r}"
            )
        if more_length is not None:
            more_length = validation.real("more_length", more_length, low=0.0, low_open=True)
        else:
            tol = validation.real("tol", tol, low=0.0, low_open=True)
        results, settings = self._results, self._settings()
        weights = self._weights(self.classes_[self._index])[self._index]
        self._require_as_fitted(settings.offset, weights)

        def asked(
            k: int, problem: Problem, new: SampleSettings, seed: int
        ) -> tuple[SampleSettings, dict[str, Any]]:
            length = None if more_length is None else results[k].length + more_length
            return SampleSettings(length=length, tol=tol), {"continue_from": results[k]}

        inputs = self._training_inputs(gram)
        with as_it_was(self):
            try:
                self._learn(inputs, self._index, weights, settings, asked, self._progress())
            except ValueError as error:
                if gram is None:
                    raise
                # All else has been looked at.
                raise ValueError(f"gram must be the matrix given to fit: {error}") from error
        return self

    def _require_as_fitted(self, offset: float, weights: Floats) -> None:
        """Raise ValueError if settings that the version space of the fit depends on have changed.

        `weights` are those of the examples.
        """
        if any(result.state is None for result in self._results):
            raise ValueError(
                "refine needs a billiard_ with its state, from which it goes on; got one without "
                "(in one dimension nothing flies)"
            )
        if offset != self._offset:
            raise ValueError(
                f"fit_intercept must be {bool(self._offset)} as in the fit, for refine to go on "
                f"with it; got {self.fit_intercept!r}"
            )
        if not np.array_equal(self.softness_ / weights, self._softness):
            of_fit = {
                label: float(f"{self.softness_ / self._softness[self._index == k][0]:.6g}")
                for k, label in enumerate(self.classes_.tolist())
            }
            raise ValueError(
                f"class_weight must give the weights of the fit, {of_fit}, for refine to go on "
                f"with it; got {self.class_weight!r}"
            )

    def add_examples(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from more examples, with kernel, softness and label noise as they are.

        The law is exactly that of all examples together: new walls are new, so that the balls
        settle again and averages begin anew. They start at the old center where it gives the new
        examples their labels too; else they are caught by a light trap. Where the center is one of
        conditional means, as on all kernel matrices that are far from singular, no such point is
        needed.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            Inputs, as for `fit`.
        y : array-like of shape (n_new,)
            Labels, of the classes seen in `fit`.

        Returns
        -------
        BayesPointClassifier
            The estimator itself. `X_fit_` has the new examples behind the old ones.

        Raises
        ------
        InfeasibleError
            If `softness` and `label_noise` are 0 and the examples are no longer separable.
        ValueError
            With kernel="precomputed" (fit to the larger matrix, with ``warm_start=True``), for
            labels of no class seen in `fit`, and for inputs as `fit` has it.
        FloatingPointError
            As for `fit`.
        MemoryError
            If the kernel matrix does not fit into the memory available.

        Notes
        -----
        What raises an exception, Ctrl-C too, leaves the estimator as it was. To choose kernel and
        softness anew, fit to all examples.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bayespoint import BayesPointClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = BayesPointClassifier(random_state=0).fit(X[::2], y[::2])
        >>> model.add_examples(X[1::2], y[1::2]).dual_coef_.shape
        (3, 150)
        """
        check_is_fitted(self)
        if self.X_fit_ is None:
            raise ValueError(
                "add_examples takes inputs, which kernel='precomputed' has none of: fit to the "
                "larger matrix, with warm_start=True"
            )
        new = self._checked_inputs(X)
        labels = validation.labels("y", y)
        if labels.ndim != 1:
            raise ValueError(f"y must have shape (n_new,); got shape {labels.shape}")
        check_consistent_length(new, labels)
        known = np.isin(labels, self.classes_)
        if not known.all():
            raise ValueError(
                f"y must be of the classes seen in fit, {self.classes_.tolist()}; got "
                f"{labels[~known][0]!r}"
            )
        index = np.concatenate([self._index, np.searchsorted(self.classes_, labels)])
        inputs = estimators_inputs.joined(self.X_fit_, new)
        self._require_memory(len(index))
        weights = self._weights(self.classes_[index])[index]
        results = self._results

        def asked(
            k: int, problem: Problem, new: SampleSettings, seed: int
        ) -> tuple[SampleSettings, dict[str, Any]]:
            return new, {"seed": seed} | _started(problem, new, results[k].center)

        with as_it_was(self):
            self._learn(inputs, index, weights, self._settings(), asked, self._progress())
        return self

    def _progress(self) -> Progress:
        """Return what tells of a billiard outside of a fit, but not to callbacks."""
        return Progress(None, self.verbose, self._problem_names(), None, None)

    def _settings(self) -> estimators_settings.FitSettings:
        """Return the settings of a fit, of which kernel, softness and noise are known already."""
        return estimators_settings.fit_settings(
            fit_intercept=self.fit_intercept,
            softness=self.softness,
            optimizer=self.optimizer,
            label_noise=self.label_noise,
            dynamics=self.dynamics,
            calibration=self.calibration,
            random_state=self._evidence_seed,
            verbose=self.verbose,
        )

    def _before(self) -> Before | None:
        """Return what was learned so far, if anything was."""
        if not hasattr(self, "billiard_"):
            return None
        return Before(self.classes_, self._index, self.X_fit_, self.kernel_, self._results)
