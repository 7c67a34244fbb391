"""All bounds for one weight vector, each refused if its assumptions are not met."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.estimators.bayes_point import BayesPointClassifier, inputs_of_fit
from bayespoint.landmarks.basis import Basis
from bayespoint.papers.bounds.result import RiskBounds
from bayespoint.papers.bounds.rows import BoundRows, Learned
from bayespoint.version_space import VersionSpace

RULES = ("bayes_point", "max_margin", "perceptron")
_SAME = 1e-6  # relative difference up to which a matrix that is given again is the same

REFUSALS = {
    "": "",
    "evidence": (
        "Kernel or softness were chosen by the evidence of these examples, among infinitely many: "
        "choose from a list fixed beforehand and pass its length as candidates."
    ),
    "length scale": (
        "The length scale was computed from the inputs of these examples: give a kernel with a "
        "length scale fixed beforehand, such as kernel=RBF(1.0)."
    ),
    "scale of the features": (
        "The scale of the features, or what stands for categories and missing values, comes from "
        "the inputs of these examples: give numbers alone, scaled by numbers fixed beforehand, and "
        "set standardize=False."
    ),
}
"""Why no bound holds for a classifier, by what its prior took from the examples."""


def table(
    gram: ArrayLike,
    y: ArrayLike,
    dual_coef: ArrayLike,
    *,
    softness: ArrayLike = 0.0,
    offset: float = 0.0,
    delta: float = 0.05,
    rule: str = "bayes_point",
    label_noise: float | tuple[float, float] = 0.0,
    draws: ArrayLike | None = None,
    candidates: int = 1,
    tol: float = 0.3,
    max_length: float = 1e5,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> RiskBounds:
    """Return all bounds for a linear classifier in feature space.

    Parameters
    ----------
    gram, y, softness, offset
        As for :class:`VersionSpace`, with two classes.
    dual_coef : array-like of shape (m,)
        Signed dual coefficients of the weight vector w, of any length but zero.
    delta : float, default=0.05
        Probability in (0, 1) with which each statement may fail.
    rule : {"bayes_point", "max_margin", "perceptron"}, default="bayes_point"
        How w was found. "bayes_point": with bounds for the vote and for one draw. "max_margin" and
        "perceptron": the examples with nonzero dual coefficients determine w, so that `sparsity`
        holds. "perceptron", from zero with a constant learning rate: `margin` holds, too.
    label_noise : float or pair of floats, default=0.0
        With rule="bayes_point": the posterior's probability in [0, 0.5) of a flip, or two by class.
    draws : array-like of shape (n_trajectories, n_draws, m), default=None
        With label noise: dual coefficients of draws from the posterior.
    candidates : int, default=1
        Length of a list, fixed beforehand, from which settings were selected; divides `delta`.
    tol, max_length, n_jobs, random_state
        As for :meth:`VersionSpace.evidence`, for each volume.

    Returns
    -------
    RiskBounds
        One row for each bound. Bounds that do not hold are refused, with the reason: those that
        assume no noise or errors, or whose volume could not be estimated, as in `point_mirror`.

    Notes
    -----
    `risk_bounds` gives the same for a fitted classifier. The kernel, with any scaling of
    features, must have been chosen without the examples. Feature vectors are scaled to unit length,
    except for `margin`, as in the perceptron. The dimension of `linear_svm` is the rank of the Gram
    matrix: directions outside the span of the examples do not change the share of the sphere.

    "one draw" is a weight vector in the whole feature space, with values as in
    :meth:`BayesPointClassifier.sample_functions`. The "vote" at x is the class with a probability
    above one half by ``predict_proba(method="mixture")``, without label noise. With softness each
    input adds a coordinate, of squared length `softness`, along which w at new inputs is zero.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> space = VersionSpace(X @ X.T, np.where(X[:, 0] > 0, 1, -1))
    >>> found = table(space.gram, space.y, space.sample(random_state=0).center, random_state=0)
    >>> 0.0 < found.find("pac_bayes_kl", of="center").value < 0.15
    True
    """
    space = VersionSpace(gram, y, softness=softness, offset=offset)
    space.problem.require_binary("bounds")
    if draws is not None:
        draws = validation.dual_coef("draws", draws, len(space.y), many=True)
        if draws.ndim != 3:
            raise ValueError(
                f"draws must have shape (n_trajectories, n_draws, m); got shape {np.shape(draws)}"
            )
    coefficients = validation.dual_coef("dual_coef", dual_coef, len(space.y))
    if not coefficients.any():
        raise ValueError("dual_coef must be those of a weight vector other than zero")
    return bounds_of(
        space,
        Learned(coefficients, validation.choice("rule", rule, RULES)),
        delta,
        candidates,
        label_noise=label_noise,
        draws=draws,
        tol=tol,
        max_length=max_length,
        n_jobs=n_jobs,
        random_state=random_state,
    )


def risk_bounds(
    model: BayesPointClassifier,
    delta: float = 0.05,
    *,
    gram: ArrayLike | None = None,
    candidates: int = 1,
    tol: float = 0.3,
    max_length: float = 1e5,
    random_state: RandomState = None,
) -> RiskBounds:
    """Return bounds on the probability that the Bayes point errs on a new example.

    All bounds are refused if kernel, softness or label noise were found on the examples, with class
    weights, and with sample weights other than 0 and 1. What else depends on the examples cannot be
    recognized: see :doc:`/guide/risk-bounds`. With label noise the bounds for classifiers without
    training errors are refused; `pac_bayes_kl` is for noisy labels.

    Parameters
    ----------
    model : BayesPointClassifier
        A fitted classifier of two classes.
    delta, candidates
        As for `table`.
    gram : array-like of shape (n_samples, n_samples), default=None
        With kernel="precomputed", and only then: the matrix given to `fit`.
    tol, max_length, random_state
        As for :meth:`BayesPointClassifier.evidence`, for each volume, with its warning.

    Returns
    -------
    RiskBounds
        As `table`. ValueError is raised with landmarks, for more than two classes, if `gram` is
        missing or does not fit, or a setting is out of range.
    """
    check_is_fitted(model)
    first = model.posterior_.first
    first.basis.require_all("risk_bounds")
    if len(model.classes_) > 2:
        raise ValueError(
            "risk_bounds are bounds for binary classifiers, and of several classes jointly there "
            f"is none; the classifier was fitted to {len(model.classes_)} classes: fit one to each "
            "class against the rest; the risk of the most probable class is at most the sum of "
            "theirs"
        )
    refusal = REFUSALS[_from_examples(model)]
    if not refusal and model.posterior_.class_weight is not None:
        refusal = (
            "The classifier predicts with class weights, and the bounds are those of the rule "
            "without: fit with class_weight=None."
        )
    rows = model.sample_indices_
    weighs = len(np.unique(rows)) < len(rows) or (first.basis.softness != model.softness_).any()
    if not refusal and weighs:
        refusal = (
            "Examples have sample weights, and repeated examples are not independent: fit without "
            "sample_weight."
        )
    inputs = inputs_of_fit(model, gram)
    if isinstance(first.basis.kernel, str):
        _require_same(first.basis, inputs)
    return bounds_of(
        VersionSpace.over(first.problem_again(inputs)),
        Learned(model.dual_coef_[0], "bayes_point"),
        delta,
        candidates,
        label_noise=model.label_noise_,
        draws=np.asarray(first.draws.run.draws, dtype=np.float64),
        refusal=refusal,
        tol=tol,
        max_length=max_length,
        n_jobs=model.n_jobs,
        random_state=validation.generator(random_state),
    )


def _from_examples(model: BayesPointClassifier) -> str:
    """Return what the prior of a classifier took from its examples, a key of `REFUSALS`."""
    if model.tuning_ is not None:
        return "evidence"
    inputs, columns = model.X_fit_, getattr(model, "columns_", None)
    # The start of a search that found nothing, with parameters by a rule of thumb.
    if inputs is not None and kernels.parameters(kernels.resolve(model.kernel), inputs):
        return "length scale"
    if model.scaler_ is not None or not (columns is None or columns.plain):
        return "scale of the features"
    return ""


def bounds_of(
    space: VersionSpace,
    learned: Learned,
    delta: float,
    candidates: int,
    *,
    label_noise: float | tuple[float, float] = 0.0,
    draws: Floats | None = None,
    refusal: str = "",
    tol: float = 0.3,
    max_length: float = 1e5,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> RiskBounds:
    """Return the table for a version space; `refusal` is the reason if no bound holds."""
    delta = validation.real("delta", delta, low=0, high=1, low_open=True, high_open=True)
    noise = validation.label_noise(label_noise)
    candidates = validation.integer("candidates", candidates, low=1)
    # Settings are checked here, since not every table estimates a volume.
    validation.threads(n_jobs)
    tol, length = validation.positive("tol", tol), validation.positive("max_length", max_length)
    settings: dict[str, Any] = {"tol": tol, "max_length": length, "n_jobs": n_jobs}
    settings["random_state"] = validation.generator(random_state)
    if any(noise) and learned.rule != "bayes_point":
        raise ValueError(
            f"label_noise must be 0 with rule={learned.rule!r}, which has no posterior; got "
            f"{label_noise!r}"
        )
    if any(noise) and draws is None and not refusal:
        raise ValueError(
            "draws must be given with label_noise, to count the examples that they violate; got "
            "None"
        )
    rows = BoundRows(space, learned, delta / candidates, noise, draws, refusal, settings).all()
    return RiskBounds(tuple(sorted(rows, key=lambda row: row.refused)), delta, len(space.y))


def _require_same(basis: Basis, gram: Floats) -> None:
    """Raise ValueError unless a matrix is that of the fit, by its product with a vector."""
    factor = basis.factor
    chosen = np.arange(len(gram)) if factor.pivots is None else factor.pivots
    vector = np.random.default_rng(0).standard_normal(len(chosen))
    again = gram[np.ix_(chosen, chosen)] @ vector + basis.offset * vector.sum()
    again += basis.softness[chosen] * vector
    known = factor.lower @ (factor.lower.T @ vector)
    if np.abs(again - known).max() > _SAME * np.abs(known).max():
        raise ValueError("gram must be the matrix given to fit; got another one")
