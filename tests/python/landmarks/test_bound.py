"""Derivatives of the bound of the evidence."""

import numpy as np
import pytest

from bayespoint import kernels
from bayespoint.landmarks import bound, normal
from bayespoint.landmarks.basis import Basis
from bayespoint.likelihood import TwoClasses
from helpers import seed

STEP = 1e-3

KERNELS = {
    "default": (
        kernels.Weighted(kernels.Scaled(kernels.Matern(nu=2.5)) + kernels.Scaled(kernels.Linear()))
        + kernels.Weighted(kernels.Scaled(kernels.Laplacian()))
    ),
    "RBF": kernels.Scaled(kernels.RBF(per_feature=True)),
    "rational quadratic": kernels.Scaled(kernels.RationalQuadratic()),
    "Matern 3/2": kernels.Weighted(kernels.Scaled(kernels.Matern(nu=1.5)) + kernels.Constant()),
}


def examples(n=150, d=2):
    rng = np.random.default_rng(seed(0))
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] * X[:, 1] + 0.4 * rng.standard_normal(n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("noise", [(0.0, 0.0), (0.05, 0.1)])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_slopes_are_derivatives(monkeypatch, kernel, noise):
    # Values as accurate as differences of them need.
    monkeypatch.setattr(normal, "STEPS", 200)
    monkeypatch.setattr(normal, "_GAIN", 1e-8)
    monkeypatch.setattr(normal, "_CHANGE", 1e-6)
    X, y = examples()
    rng = np.random.default_rng(seed(1))
    names = [parameter.name for parameter in kernels.parameters(kernel, X)]
    starts = [parameter.start for parameter in kernels.parameters(kernel, X)]
    values = dict(zip(names, starts * np.exp(0.3 * rng.standard_normal(len(names))), strict=True))
    landmarks, softness = X[:20] + 0.1, np.full(len(y), 0.3)

    def at(values, softness=softness):
        basis = Basis.of_landmarks(kernels.replace(kernel, values), landmarks, 1.0)
        return bound.evaluate(basis, X, y, softness, TwoClasses(noise))

    found = at(values)
    assert set(found.slopes) == set(names)
    for name in names:
        ahead = at(values | {name: values[name] * np.exp(STEP)}).value
        behind = at(values | {name: values[name] * np.exp(-STEP)}).value
        expected = (ahead - behind) / (2 * STEP)
        assert found.slopes[name] == pytest.approx(expected, abs=0.05 + 0.01 * abs(expected))
    ahead, behind = (at(values, softness * np.exp(sign * STEP)).value for sign in (1, -1))
    expected = (ahead - behind) / (2 * STEP)
    assert found.by_softness @ softness == pytest.approx(expected, abs=0.05)


def test_threads_do_not_change_the_bound():
    X, y = examples(n=5000)
    given = Basis.of_landmarks(kernels.RBF(1.0), X[:20], 1.0), X, y, np.full(len(y), 0.3)
    one, two = (bound.evaluate(*given, TwoClasses(), n_threads=n).value for n in (1, 2))
    assert one == two
