r"""Predictions of two classes by all models of a mixture in one pass, in singles.

Means and variances of all models at a point depend on the same differences from the examples, as
`src/predictions` says. Their rounding errors are measured at some examples, where variances are
smallest: those of means relative to the prior standard deviation, those of variances relative to
the prior variance. The probability :math:`\Phi(z)`, :math:`z = c M / \sqrt V`, changes by at most

.. math:: \varphi(z) \left(\frac{c\,|dM|}{\sqrt V} + \frac{|z|}{2}\,\frac{|dV|}{V}\right)
   \le 0.399\,\frac{c\,|dM|}{\sqrt V} + 0.121\,\frac{|dV|}{V}

and its logarithm by the same with :math:`1 + |z|` in place of :math:`\varphi(z)`. Points where the
mean of this over the models is too large get predictions in doubles.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import joblib  # type: ignore[import-untyped]
import numpy as np

from bayespoint.base.linalg import blas_threads
from bayespoint.base.validation import Floats, Singles
from bayespoint.data.inputs import scaled
from bayespoint.kernels.one_pass import Coefficients, Predictor, parts_of, predictor
from bayespoint.posterior.model import Model
from bayespoint.posterior.quadratic import Quadratic

TOLERANCE = 1e-4
"""Largest change of a probability by singles, about."""
_MARGIN = 2.0  # errors at new points may be larger than the largest at some examples
_LEAST = 200  # fewest points of the basis: with fewer, doubles take little time
_CHECKED = 64  # number of these at which the errors are measured
_SPAN = 12  # number of directions that are taken out of kernel values
_OF_LOG = 0.01  # tolerance, relative to that of a logarithm of a probability
_SHARE = 0.5  # least share of these examples where singles must be accurate


class OnePass(NamedTuple):
    """The compiled predictions of some models, and their errors."""

    core: Predictor
    models: tuple[Model, ...]
    error: Floats  # (2, n_models, 1) of means and variances, relative to the prior

    @classmethod
    def of(cls, models: tuple[Model, ...]) -> OnePass | None:
        """Return the predictions of models; None where singles are inaccurate or do not apply."""
        first, parts, exact = models[0], [], []
        points = first.basis.points
        if not (isinstance(points, np.ndarray) and points.ndim == 2 and len(points) >= _LEAST):
            return None
        checked = points[np.linspace(0, len(points) - 1, _CHECKED).astype(np.intp)]
        for model in models:
            basis, draws, softness = model.basis, model.draws, model.hyper.softness
            summands = parts_of(basis.kernel, points.shape[1])
            scalers = first.hyper.transform, model.hyper.transform
            # A file does not tell that they are the same object.
            same = scalers[0] is scalers[1] or joblib.hash(scalers[0]) == joblib.hash(scalers[1])
            if not (summands and same and np.array_equal(basis.points, points)):
                return None
            form = Quadratic.of(basis, draws, softness)
            if form is None:
                return None
            k_star = basis.kernel_values(checked)
            exact.append(np.stack([draws.center_values(k_star)[0], form.form(k_star)]))
            span, whole = _deflated(form.upper, basis.factor.lower)
            parts.append(Coefficients(summands, basis.offset, softness, draws.mean, span, whole))
        core = predictor(points, parts)
        if core is None:
            return None
        moments = core.moments(checked, variances=True, n_threads=1)
        own = moments[1]
        wrong = np.abs(np.stack([moments[0], moments[2] - own], axis=1) - exact)
        wrong /= np.stack([np.sqrt(own), own], axis=1)
        one_pass = cls(core, models, wrong.max(axis=2).T[..., None])
        _, errors = one_pass._with_errors(moments)
        return one_pass if (errors <= TOLERANCE).mean() > _SHARE else None

    def values(self, X: Floats) -> Floats:
        """Return the (n_models, n) decision values, in doubles where singles are inaccurate."""
        values, errors = self.in_singles(X)
        poor = ~(errors <= TOLERANCE)
        if poor.any():
            values[:, poor] = [model.values(X[poor])[:, 0] for model in self.models]
        return values

    def in_singles(self, X: Floats) -> tuple[Floats, Floats]:
        """Return the (n_models, n) decision values in singles, and the (n,) bounds of errors."""
        return self._with_errors(self._moments(X, variances=True))

    def signs(self, X: Floats) -> Floats:
        """Return the (n_models, n) signs of the means, 0 or NaN where singles do not tell them."""
        means, own = self._moments(X, variances=False)
        certain = np.abs(means) > _MARGIN * self.error[0] * np.sqrt(own)
        return np.where(certain, np.sign(means), 0.0)

    def _moments(self, X: Floats, *, variances: bool) -> Floats:
        points = scaled(self.models[0].hyper.transform, X)
        return self.core.moments(points, variances=variances, n_threads=blas_threads())

    @np.errstate(all="ignore")
    def _with_errors(self, moments: Floats) -> tuple[Floats, Floats]:
        """Return the same for given moments.

        Where singles overflow, or a variance is not positive, bounds are NaN.
        """
        mean, own, total = moments
        models = [(model.calibration, model.hyper.weight) for model in self.models]
        calibration, weight = np.array(models).T[..., None]
        share, (of_mean, of_variance) = own / total, self.error
        z = calibration * mean / np.sqrt(total)
        change = calibration * of_mean * np.sqrt(share) + np.abs(z) / 2 * of_variance * share
        density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        change *= np.maximum(density, _OF_LOG * (1 + np.abs(z)))
        return z, _MARGIN * (weight * change).sum(axis=0) / weight.sum()


def _deflated(upper: Floats, lower: Floats) -> tuple[Singles, Singles]:
    """Return P, directions in which ``L L^T`` is largest, and the form of (k - P a, a), a = P^T k.

    For all P the form is that of k.
    """
    m = len(upper)
    span = np.random.default_rng(0).standard_normal((m, _SPAN))
    for _ in range(2):
        span = np.linalg.qr(lower @ (lower.T @ span))[0]
    singles = span.astype(np.float32)
    span = singles.astype(np.float64)
    half, form = upper @ span, np.zeros((m + _SPAN, m + _SPAN), dtype=np.float32)
    form[:m, :m], form[:m, m:] = upper, half + upper.T @ span
    corner = span.T @ half
    form[m:, m:] = np.triu(corner) + np.tril(corner, -1).T
    return singles, form
