"""What all estimators have: parameters, fitted attributes, and the one fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bayespoint.base import validation
from bayespoint.base.io import Savable
from bayespoint.base.validation import Floats, RandomState
from bayespoint.base.warnings import Report
from bayespoint.data.columns import Columns
from bayespoint.data.examples import Table
from bayespoint.data.plan import Budget
from bayespoint.engine.interior import advising
from bayespoint.engine.settings import EvidenceSettings
from bayespoint.estimators.inputs import has_columns
from bayespoint.posterior import Mixture, evidence, several
from bayespoint.posterior.fitting import Fit
from bayespoint.results import Evidence
from bayespoint.tuning import scale
from bayespoint.tuning.search import search, with_matrix

ADVICE = "Use softness > 0, or label_noise > 0"  # for examples that are not separable

_OF_SVC = {
    "C": "softness takes its place, large where C is small; by default it is found",
    "gamma": "kernel=RBF(sigma) has sigma = 1 / sqrt(2 gamma); by default it is found",
    "probability": "predict_proba is always there",
    "degree": "write kernel=Polynomial(degree, coef0)",
    "coef0": "write kernel=Polynomial(degree, coef0)",
}
"""What takes the place of parameters of scikit-learn's SVC."""


def of_posterior(path: str, doc: str) -> Any:
    """Return a property that reads a part of the posterior of a fitted estimator."""
    part = attrgetter(path)

    def read(self: Estimator) -> Any:  # by a name, which numpydoc looks for
        return part(self._mixture)

    return property(read, doc=doc)


@dataclass(eq=False, repr=False)
class Estimator(Savable, BaseEstimator):  # type: ignore[misc]
    """Base class: the parameters and attributes that all estimators have."""

    kernel: str | Callable[..., Any] | None = None
    _: KW_ONLY
    categorical_features: ArrayLike | str | None = "from_dtype"
    standardize: bool = True
    softness: float | None = None
    label_noise: float | tuple[float, float] | tuple[None, None] | None = 0.0
    n_models: int | str = "auto"
    approximation: str | None = "auto"
    n_components: int | str = "auto"
    n_trajectories: int = 4
    n_draws: int | str = "auto"
    tol: float | str = "auto"
    max_iter: int | None = None
    max_time: float | None = None
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0

    posterior_: Mixture = field(init=False)
    columns_: Columns = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: NDArray[np.object_] = field(init=False)
    seed_: int = field(init=False)

    _first = of_posterior("first", "The first model.")

    def __new__(cls, *args: object, **parameters: object) -> Self:
        """Refuse parameters of SVC with what takes their place."""
        cls._refuse_those_of_svc(parameters)
        return super().__new__(cls)

    @classmethod
    def _refuse_those_of_svc(cls, parameters: Mapping[str, object]) -> None:
        for name in parameters.keys() & _OF_SVC.keys():
            raise TypeError(
                f"{cls.__name__} has no parameter {name!r}, as SVC has: {_OF_SVC[name]} (see the "
                "guide on migration)"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = tags.input_tags.categorical = has_columns(self.kernel)
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters as in scikit-learn, also ``kernel__<name>`` of a kernel object."""
        self._refuse_those_of_svc(params)
        require_kernel_object(params.get("kernel", self.kernel), params)
        return super().set_params(**params)

    def _publish(self, **attributes: Any) -> Self:
        """Set attributes in one step, which nothing interrupts; those that are None go."""
        state = vars(self) | attributes
        gone = {name for name, value in attributes.items() if value is None}
        self.__dict__ = {name: state[name] for name in state if name not in gone}
        return self

    @property
    def _mixture(self) -> Mixture:
        check_is_fitted(self)
        return self.posterior_

    def _posterior(
        self,
        table: Table,
        fit: Fit,
        budget: Budget,
        report: Report,
        class_weight: Floats,
    ) -> Mixture:
        """Return the posterior of the examples that were read: the fit of every estimator."""
        labels, plan, examples = fit.labels, fit.plan, fit.examples
        begun, transform = budget.part(0.5), table.transform
        if plan.scales and table.columns is not None:
            transform = scale.choose(
                transform,
                table.columns,
                plan=plan,
                examples=examples,
                labels=labels,
                budget=begun,
            )
            examples = examples.warped(transform)
        compared, of_pairs = labels.compared(examples)
        compared = with_matrix(plan, compared)
        hypers = search(plan, compared, of_pairs, transform=transform, budget=begun, report=report)
        if labels.n_inputs == 1:
            examples = compared
        plan = replace(plan, n_models=len(hypers))  # a limit may leave fewer
        with advising(ADVICE):
            fit = replace(fit, examples=examples, plan=plan)
            models = several.fit_models(hypers, fit, budget, report)
        return Mixture.of(models, class_weight)

    def evidence(
        self,
        *,
        tol: float = 0.3,
        max_length: float = 1e5,
        random_state: RandomState = None,
    ) -> Evidence:
        """Return the log probability of the training labels, or choices, under the first model.

        It is without class weights. With landmarks it follows from the draws of the fit, without
        `max_length` and `random_state`. The search has an approximation, ``tuning_.log_evidence``.

        Parameters
        ----------
        tol : float, default=0.3
            Standard error at which to stop, in nats; ConvergenceWarning for a larger one.
        max_length, random_state
            As for :meth:`VersionSpace.evidence`.

        Returns
        -------
        Evidence
            In nats, with its standard error.

        Raises
        ------
        InfeasibleError, FloatingPointError
            As :meth:`VersionSpace.evidence`.
        ValueError
            If a setting is out of range, or for a precomputed singular matrix, which is not kept.
        """
        rng = validation.generator(random_state)
        settings = EvidenceSettings(tol, max_length)
        return evidence.evidence(self._first, settings, n_jobs=self.n_jobs, rng=rng)


def require_kernel_object(kernel: object, params: Mapping[str, Any]) -> None:
    """Raise ValueError for parameters ``kernel__...`` of a kernel setting that has none."""
    nested = [name for name in params if name.startswith("kernel__")]
    if nested and not hasattr(kernel, "set_params"):
        raise ValueError(
            f"{nested[0]} is a parameter of a kernel object: give one, as in "
            f"kernel=bayespoint.kernels.RBF(); got kernel={kernel!r}"
        )
