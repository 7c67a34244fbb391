"""The scale of numbers that the evidence chooses."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.data.warps import Warped
from helpers import seed

QUICK = {"n_models": 1, "tol": 0.3, "random_state": 0}


def skewed(n=300):
    """Labels that depend on the logarithm of a number with a long tail."""
    rng = np.random.default_rng(seed(3))
    X = rng.standard_normal((n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n) > 0
    X[:, 0] = np.exp(3 * X[:, 0])
    return X, y


def test_a_long_tail_gets_another_scale():
    X, y = skewed()
    model = BayesPointClassifier(**QUICK).fit(X, y)
    assert isinstance(model.scaler_, Warped)
    assert model.scaler_.places.tolist() == [0]
    plain = BayesPointClassifier(model.kernel_, **QUICK).fit(X, y)
    assert isinstance(plain.scaler_, StandardScaler)
    new = skewed(2000)
    assert model.score(*new) > plain.score(*new) + 0.02
    again = BayesPointClassifier(**QUICK).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize("settings", [{"kernel": "rbf"}, {"standardize": False}, {"max_iter": 30}])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_when_none_is_chosen(settings):
    X, y = skewed(100)
    model = BayesPointClassifier(**QUICK | settings).fit(X, y)
    assert not isinstance(model.scaler_, Warped)


def test_normal_and_few_valued_numbers_keep_theirs():
    rng = np.random.default_rng(seed(4))
    X = np.column_stack([rng.standard_normal(200), rng.integers(0, 5, 200) ** 3])
    model = BayesPointClassifier(**QUICK).fit(X, X[:, 0] > 0)
    assert isinstance(model.scaler_, StandardScaler)


def test_one_outlier_does_not_erase_a_number():
    rng = np.random.default_rng(seed(5))
    X = rng.standard_normal((200, 2))
    y = X[:, 0] > 0
    X[7, 0] = 1e12
    model = BayesPointClassifier(**QUICK).fit(X, y)
    new = rng.standard_normal((500, 2))
    assert model.score(new, new[:, 0] > 0) > 0.95
