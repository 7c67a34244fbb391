"""Which features matter: what scikit-learn's selection of features looks for."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_selection import RFE, RFECV, SelectFromModel

from bayespoint import BayesPointClassifier, kernels
from helpers import seed

RNG = np.random.default_rng(seed(1))
X = RNG.standard_normal((150, 6))
Y = (X[:, 0] + X[:, 1] + 0.3 * RNG.standard_normal(150) > 0).astype(int)


def test_default_classifiers_select_features():
    model = BayesPointClassifier(random_state=seed(0))
    for tool in (RFE(model, n_features_to_select=2), SelectFromModel(model, max_features=2)):
        assert tool.fit(X, Y).get_support().tolist() == [True] * 2 + [False] * 4
    found = RFECV(model.set_params(n_models=1), cv=3, scoring="neg_log_loss").fit(X, Y)
    assert found.get_support()[:2].all()


def test_one_setting_has_weights_without_intervals():
    model = BayesPointClassifier(random_state=seed(0), n_models=1).fit(X, Y)
    assert set(model.feature_relevance_.ranking[:2]) == {0, 1}
    assert np.isnan(model.feature_relevance_.low).all()


def test_importances_are_shares_of_the_variance():
    model = BayesPointClassifier("linear", softness=1.0, random_state=seed(0)).fit(X, Y)
    variances = model.coef_[0] ** 2 * model.X_fit_.var(axis=0)
    np.testing.assert_allclose(model.feature_importances_, variances / variances.sum(), atol=0.05)
    three = BayesPointClassifier(kernels.RBF(2.0), softness=0.3).fit(X[:, :3], Y)
    assert three.feature_importances_[:2].min() > 4 * three.feature_importances_[2]


def test_importances_are_of_columns():
    level = RNG.choice(["a", "b", "c"], 150)
    frame = pd.DataFrame(
        {"noise": X[:, 2], "level": level, "x": np.where(X[:, 3] > 1, np.nan, X[:, 0])}
    )
    y = (X[:, 0] > 0) ^ (level == "a")
    importances = BayesPointClassifier(random_state=seed(0)).fit(frame, y).feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert importances[1:].min() > 5 * importances[0]


@pytest.mark.parametrize("kind", ["two", "three", "sparse"])
def test_a_linear_kernel_has_coefficients(kind):
    y = Y + (X[:, 0] > 0.5) if kind == "three" else Y
    inputs = sparse.csr_array(X) if kind == "sparse" else X
    model = BayesPointClassifier("linear", softness=1.0, random_state=seed(0)).fit(inputs, y)
    assert model.coef_.shape == (3 if kind == "three" else 1, 6)
    points = model.X_fit_
    values = model.kernel_(points, points) @ model.dual_coef_.T
    np.testing.assert_allclose(points @ model.coef_.T, values, atol=1e-9)
    rfe = RFE(model, n_features_to_select=2).fit(inputs, y)
    assert rfe.get_support()[0]


def test_other_kernels_have_none():
    model = BayesPointClassifier(kernels.RBF(1.0), softness=0.3).fit(sparse.csr_array(X), Y)
    for name in ("coef_", "feature_importances_", "feature_relevance_"):
        assert not hasattr(model, name)
    given = BayesPointClassifier("precomputed", softness=0.3).fit(X @ X.T, Y)
    assert not hasattr(given, "feature_importances_")
