"""The density of hyperparameters: its gradient, and what the roles of parameters change."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.kernels import RBF, Parameter
from bayespoint.tuning.climbing import climb, sharpened
from bayespoint.tuning.defaults import default_kernel
from bayespoint.tuning.density import Density
from bayespoint.tuning.drawing import drawn
from helpers import seed
from objects import assert_slopes, objective, task


def test_the_gradient_of_the_density():
    X = np.random.default_rng(seed(4)).standard_normal((60, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    target = Density.of(objective(default_kernel(X), X, y, offset=1.0), spreads=True)
    u = 0.5 * np.random.default_rng(seed(5)).standard_normal(target.dimension)
    assert_slopes(SimpleNamespace(point=target), u, abs=0.01)


@dataclass(frozen=True)
class OfUser:
    """A kernel of a user's own, with what the guide asks for, and names of the user's."""

    width: float | None = None
    first: float | None = None
    second: float | None = None

    role, family = "", ""

    def __call__(self, A, B):
        weights = np.array([self.first, self.second])
        return RBF(self.width)(A * weights, B * weights)

    def parameters(self, X):
        weight = {"role": self.role and "weight", "family": self.family}
        return (
            Parameter("width", 0.05, 50.0, 1.0, role=self.role),
            Parameter("first", 0.01, 100.0, 1.0, **weight),
            Parameter("second", 0.01, 100.0, 1.0, **weight),
        )


class WithRoles(OfUser):
    role, family = "length", "weights"


def stripes(m=200):
    X = np.random.default_rng(seed(9)).uniform(-1, 1, size=(m, 2))
    return X, np.where((4 * X[:, 0]) // 1 % 2 == 0, 1.0, -1.0)


@pytest.mark.parametrize(("kernel", "has_roles"), [(OfUser(), False), (WithRoles(), True)])
def test_parameters_of_users_are_what_their_roles_say(kernel, has_roles):
    X, y = stripes()
    target = Density.of(objective(kernel, X, y), spreads=True)
    assert [group.tolist() for group in target.groups] == ([[1, 2]] if has_roles else [])
    assert target.dimension == 4 + has_roles
    plain = Density.of(objective(kernel, X, y), spreads=False)
    best = climb(plain, 20)
    far = best.u.copy()
    far[0] += np.log(4.0) / plain.spread[0]
    moved = sharpened(plain, plain(far)).u - far
    assert (moved[0] < 0) == has_roles
    np.testing.assert_array_equal(moved[1:], 0.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("kernel", "n_features"), [(OfUser(), 0), (WithRoles(), 2)])
def test_kernels_of_users_are_drawn(kernel, n_features):
    X, y = stripes(40)
    settings, limit = drawn(task(kernel, X, y), 2)
    assert limit == ""
    for setting in settings:
        assert isinstance(setting.kernel, type(kernel))
        assert min(setting.kernel.width, setting.kernel.first, setting.kernel.second) > 0
    relevance = settings[0].relevance
    assert relevance.shape[1] == n_features
    if n_features:  # the labels follow the first feature
        assert relevance[:, 0].mean() > relevance[:, 1].mean()


def test_a_stop_iteration_of_a_kernel_arrives():
    class Stops(RBF):
        def with_pullback(self, X, Y=None):
            raise StopIteration("of a user")

    X = np.random.default_rng(seed(4)).standard_normal((30, 2))
    with pytest.raises(StopIteration, match="of a user"):
        BayesPointClassifier(Stops(), n_models=1, random_state=seed(0)).fit(X, X[:, 0] > 0)
