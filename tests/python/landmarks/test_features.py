"""The evidence with landmarks, and its derivatives by the parameters of the kernel."""

import numpy as np
import pytest

from bayespoint import kernels
from bayespoint.landmarks.basis import Basis
from bayespoint.landmarks.features import Features
from bayespoint.landmarks.propagation import propagate
from bayespoint.tuning import expectation_propagation
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
    "Matern 3/2": kernels.Weighted(kernels.Scaled(kernels.Matern(nu=1.5)) + kernels.Constant()),
}
NOISES = [(0.0, 0.0), (0.05, 0.1)]


def examples(n=150, d=2):
    rng = np.random.default_rng(seed(0))
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] * X[:, 1] + 0.4 * rng.standard_normal(n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_slopes_are_derivatives(kernel, noise):
    X, y = examples()
    rng = np.random.default_rng(seed(1))
    names = [parameter.name for parameter in kernels.parameters(kernel, X)]
    starts = [parameter.start for parameter in kernels.parameters(kernel, X)]
    values = dict(zip(names, starts * np.exp(0.3 * rng.standard_normal(len(names))), strict=True))
    landmarks, softness = X[:20] + 0.1, np.full(len(y), 0.3)

    def at(values):
        basis = Basis.of_landmarks(kernels.replace(kernel, values), landmarks, 1.0)
        features = Features.of(basis, X)
        level = softness + features.missed
        return features, propagate(features.psi, level, y[None] > 0, noise, change=1e-9)

    features, found = at(values)
    by_psi = found.by_features - 2 * found.by_level[:, None] * features.psi
    slopes = features.slopes(by_psi, found.by_level)
    assert set(slopes) == set(names)
    for name in names:
        ahead, behind = (
            at(values | {name: values[name] * np.exp(step)})[-1] for step in (STEP, -STEP)
        )
        [expected] = (ahead.log_evidence - behind.log_evidence) / (2 * STEP)
        assert slopes[name] == pytest.approx(expected, abs=0.02 + 0.01 * abs(expected))


@pytest.mark.parametrize("noise", NOISES)
def test_all_examples_as_landmarks_give_the_dense_approximation(noise):
    X, y = examples(60)
    gram = kernels.RBF(1.5)(X) + 1.0
    lower, level = np.linalg.cholesky(gram + 1e-9 * np.eye(60)), np.full(60, 0.2)
    found = propagate(lower, level, y[None] > 0, noise, change=1e-9)
    expected = expectation_propagation.approximate(gram, y, level, noise=noise, change=1e-9)
    assert found.converged.all()
    assert found.log_evidence[0] == pytest.approx(expected.log_evidence, abs=1e-5)
    np.testing.assert_allclose(found.by_noise, expected.by_noise, rtol=1e-3, atol=1e-3)
    assert ((found.left_out > 0) & (found.left_out < 1)).all()


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_slopes_of_the_diagonal(kernel):
    X, _ = examples()
    values = {one.name: 1.3 * one.start for one in kernels.parameters(kernel, X)}
    by_diag = np.random.default_rng(seed(2)).standard_normal(len(X))
    slopes, _ = kernels.diag_slopes(kernels.replace(kernel, values), X, by_diag)
    for name, slope in slopes.items():
        ahead, behind = (
            by_diag @ kernels.diagonal(kernels.replace(kernel, values | {name: value}), X)
            for value in (values[name] * np.exp(STEP), values[name] * np.exp(-STEP))
        )
        assert slope == pytest.approx((ahead - behind) / (2 * STEP), rel=1e-4, abs=1e-4)
