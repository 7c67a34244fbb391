"""The evidence with landmarks, and its derivatives by the parameters of the kernel."""

import numpy as np
import pytest

from bayespoint import kernels
from bayespoint.landmarks.features import Features, SumPlan, propagate
from helpers import seed

STEP = 1e-3

KERNELS = {
    "default": kernels.Weighted(
        kernels.Scaled(kernels.Matern(nu=2.5))
        + kernels.Scaled(kernels.Laplacian())
        + kernels.Scaled(kernels.Linear())
    ),
    "RBF": kernels.Scaled(kernels.RBF(per_feature=True)),
    "rational quadratic": kernels.Scaled(kernels.RationalQuadratic()),
    "a product": kernels.Scaled(kernels.RBF()) * kernels.Polynomial(2),
    "categories": kernels.Weighted(
        kernels.Scaled(kernels.Matern(nu=2.5)) + kernels.Scaled(kernels.Linear()),
        limits=(np.inf, 1.0),
    ),
    "Matern 3/2": kernels.Weighted(kernels.Scaled(kernels.Matern(nu=1.5)) + kernels.Constant()),
}
SUMS = [KERNELS["default"], KERNELS["categories"]]  # whose values are of one plan
NOISES = [(0.0, 0.0), (0.05, 0.1)]


def examples(n=150, d=2, n_categories=0):
    rng = np.random.default_rng(seed(0))
    X = rng.standard_normal((n, d))
    X[:, d - n_categories :] = X[:, d - n_categories :].round()
    return X, np.where(X[:, 0] * X[:, 1] + 0.4 * rng.standard_normal(n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_slopes_are_derivatives(kernel, noise):
    n_categories = np.isfinite(getattr(kernel, "limits", None) or np.inf).sum()
    X, y = examples(n_categories=n_categories)
    rng = np.random.default_rng(seed(1))
    names = [parameter.name for parameter in kernels.parameters(kernel, X)]
    starts = [parameter.start for parameter in kernels.parameters(kernel, X)]
    values = dict(zip(names, starts * np.exp(0.3 * rng.standard_normal(len(names))), strict=True))
    landmarks, softness = X[:20] + 0.1 * (X % 1 != 0)[:20], np.full(len(y), 0.3)

    def at(values):
        features = Features.of(kernels.replace(kernel, values), landmarks, 1.0, X)
        level = softness + features.missed
        return features, propagate(features.psi, level, y[None] > 0, noise, change=1e-9)

    features, found = at(values)
    slopes = features.slopes(found, 1.0, found.by_level, 0.0)
    assert set(slopes) == set(names)
    plan = SumPlan.of(kernel, kernels.parameters(kernel, X), landmarks, 1.0, X)
    assert (plan is not None) == (kernel in SUMS)
    if plan is not None:
        of_plan = plan.features(np.log([values[name] for name in names]))
        np.testing.assert_allclose(of_plan.psi, features.psi, rtol=0, atol=1e-6)
        again = propagate(of_plan.psi, softness + of_plan.missed, y[None] > 0, noise, change=1e-9)
        assert of_plan.slopes(again, 1.0, again.by_level, 0.0) == pytest.approx(slopes, rel=1e-5)
    for name in names:
        ahead, behind = (
            at(values | {name: values[name] * np.exp(step)})[-1] for step in (STEP, -STEP)
        )
        [expected] = (ahead.log_evidence - behind.log_evidence) / (2 * STEP)
        assert slopes[name] == pytest.approx(expected, abs=0.02 + 0.01 * abs(expected))
