"""All bounds for one weight vector, each refused if its assumptions are not met."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.bounds.result import RiskBounds
from bayespoint.bounds.rows import SOFT, Learned, Rows
from bayespoint.version_space import VersionSpace

__all__ = ["table"]

RULES = ("bayes_point", "max_margin", "perceptron")


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
    r"""Return all bounds for a linear classifier in feature space.

    Parameters
    ----------
    gram : array-like of shape (m, m)
        Kernel values between the examples.
    y : array-like of shape (m,)
        Labels: -1 and +1, or two classes of any type that sorts.
    dual_coef : array-like of shape (m,)
        Signed dual coefficients of the weight vector w, of any length but zero.
    softness, offset
        As for :class:`VersionSpace`: added to the diagonal, and to every entry.
    delta : float, default=0.05
        Probability in (0, 1) with which each statement may fail.
    rule : {"bayes_point", "max_margin", "perceptron"}, default="bayes_point"
        How w was found. "bayes_point": the table also has bounds for the vote and for one draw.
        "max_margin" and "perceptron": the examples with nonzero dual coefficients determine w, so
        that `sparsity` holds. "perceptron", started from zero with a constant learning rate:
        `margin` holds too, by the largest margin of any weight vector.
    label_noise : float or pair of floats, default=0.0
        With rule="bayes_point": the posterior's probability in [0, 0.5) that a label was flipped,
        or one for truly negative and one for truly positive examples.
    draws : array-like of shape (n_trajectories, n_draws, m), default=None
        With label noise: dual coefficients of draws from the posterior, whose violated examples are
        counted.
    candidates : int, default=1
        Length, at least 1, of the list of settings, fixed beforehand, from which these were
        selected by means of the examples. `delta` is divided by it.
    tol, max_length, n_jobs, random_state
        As for :meth:`VersionSpace.evidence`, for each volume.

    Returns
    -------
    RiskBounds
        One row for each bound, with its value, arguments and standard error. Bounds that do not
        hold are refused, with the reason: those that assume no label noise or training errors, and
        those whose volume could not be estimated.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range or the arrays do not fit together.
    MemoryError
        If the Gram matrix of 2 m examples does not fit into memory.

    Warns
    -----
    ConvergenceWarning
        If the standard error of a volume stayed above `tol`.

    See Also
    --------
    BayesPointClassifier.risk_bounds, MaxMarginClassifier.risk_bounds,
    MaxMarginClassifier.risk_bounds : The same for a fitted classifier.

    Notes
    -----
    All bounds assume that the kernel, including any scaling of features, was chosen without the
    examples. Feature vectors are scaled to unit length, so that the radius is 1; only for `margin`
    they are not, as in the perceptron.

    The dimension of `linear_svm` is the rank of the Gram matrix. It may depend on the examples,
    since directions outside their span do not change the share of the sphere.

    "one draw" is a weight vector in the whole feature space, with values as in
    :meth:`BayesPointClassifier.sample_functions`. The "vote" at x is the class with a probability
    above one half by ``predict_proba(method="mixture")``, without label noise.

    With softness the bounds are for feature vectors with an additional coordinate for every input,
    of squared length `softness`. At new inputs w has no component along that coordinate.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import VersionSpace, bounds
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.where(X[:, 0] > 0, 1, -1)
    >>> gram = X @ X.T
    >>> center = VersionSpace(gram, y).sample(random_state=0).center
    >>> found = bounds.table(gram, y, center, random_state=0)
    >>> 0.0 < found.find("pac_bayes_kl", of="center").value < 0.15
    True
    >>> found.find("sparsity").refused
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
        delta=delta,
        label_noise=label_noise,
        draws=draws,
        candidates=candidates,
        refusal="",
        tol=tol,
        max_length=max_length,
        n_jobs=n_jobs,
        random_state=random_state,
    )


def bounds_of(
    space: VersionSpace,
    learned: Learned,
    *,
    delta: float,
    label_noise: float | tuple[float, float],
    draws: Floats | None,
    candidates: int,
    refusal: str,
    tol: float,
    max_length: float,
    n_jobs: int | None,
    random_state: RandomState,
) -> RiskBounds:
    """Return the table for a version space; `refusal` is the reason if no bound holds, or ""."""
    delta = validation.real("delta", delta, low=0, high=1, low_open=True, high_open=True)
    noise = validation.label_noise(label_noise)
    candidates = validation.integer("candidates", candidates, low=1)
    # Settings are checked here, since not every table estimates a volume.
    validation.threads(n_jobs)
    settings = {
        "tol": validation.positive("tol", tol),
        "max_length": validation.positive("max_length", max_length),
        "n_jobs": n_jobs,
        "random_state": np.random.default_rng(validation.seed(random_state)),
    }
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
    rows = Rows(
        space=space,
        learned=learned,
        delta=delta / candidates,
        noise=noise,
        draws=draws,
        refusal=refusal,
        condition=SOFT if space.softness.any() else "",
        settings=settings,
    ).all()
    return RiskBounds(tuple(sorted(rows, key=lambda row: row.refused)), delta, len(space.y))
