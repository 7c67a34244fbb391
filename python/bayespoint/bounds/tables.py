"""All bounds for one weight vector, each refused if its assumptions are not met."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.bounds.result import RiskBounds
from bayespoint.bounds.rows import Learned, Rows
from bayespoint.posterior import Mixture
from bayespoint.version_space import VersionSpace

RULES = ("bayes_point", "max_margin", "perceptron")

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
"""Why no bound holds for a classifier, by its `prior_from_examples_`."""


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
    The methods `risk_bounds` of classifiers give the same. The kernel, with any scaling of
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
    posterior: Mixture,
    inputs: Any,
    delta: float = 0.05,
    *,
    prior_from_examples: str,
    repeats: bool = False,
    candidates: int = 1,
    random_state: RandomState = None,
    **settings: Any,
) -> RiskBounds:
    """Return bounds on the probability that the Bayes point errs on a new example.

    Parameters
    ----------
    posterior : Mixture
        The posterior of a fitted classifier of two classes; others raise ValueError.
    inputs
        Training inputs as the kernel gets them, or the kernel matrix that was given.
    prior_from_examples : str
        The attribute `prior_from_examples_` of the classifier.
    repeats : bool, default=False
        Whether sample weights repeat examples.
    delta, candidates, random_state, **settings
        As for `table`, with the same errors.

    Returns
    -------
    RiskBounds
        The table.
    """
    model = posterior.models[0]
    if len(posterior.classes) > 2:
        raise ValueError(
            "risk_bounds are bounds for binary classifiers, and of several classes jointly there "
            f"is none; the classifier was fitted to {len(posterior.classes)} classes: fit one to "
            "each class against the rest; the risk of the most probable class is at most the sum "
            "of theirs"
        )
    refusal = REFUSALS[prior_from_examples]
    if not refusal and posterior.class_weight is not None:
        refusal = (
            "The classifier predicts with class weights, and the bounds are those of the rule "
            "without: fit with class_weight=None."
        )
    if not refusal and (repeats or (model.basis.softness != model.hyper.softness).any()):
        refusal = (
            "Examples have sample weights, and repeated examples are not independent: fit without "
            "sample_weight."
        )
    if isinstance(model.basis.kernel, str):
        model.basis.require_same(inputs)
    return bounds_of(
        VersionSpace.over(model.problem_again(inputs)),
        Learned(posterior.dual_coef[0], "bayes_point"),
        delta,
        candidates,
        label_noise=model.likelihood.label_noise,
        draws=np.asarray(model.draws.run.draws, dtype=np.float64),
        refusal=refusal,
        random_state=np.random.default_rng(validation.seed(random_state)),
        **settings,
    )


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
    settings["random_state"] = np.random.default_rng(validation.seed(random_state))
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
    rows = Rows(space, learned, delta / candidates, noise, draws, refusal, settings).all()
    return RiskBounds(tuple(sorted(rows, key=lambda row: row.refused)), delta, len(space.y))
