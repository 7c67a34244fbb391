"""Features are standardized inside the classifier, as by a StandardScaler before it."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from bayespoint import BayesPointClassifier, kernels
from bayespoint.papers.centers import closest_to_vote
from helpers import seed

GIVEN = {"kernel": kernels.RBF(2.0), "softness": 0.2, "tol": 0.2}
UNITS = np.array([1.0, 1e3, 1e-4, 10.0])


def data(classes=2, n=60):
    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(seed(0)).permutation(150)[: 2 * n]
    X, y = X[rows] * UNITS, np.minimum(y[rows], classes - 1)
    return X[:n], y[:n], X[n:]


ANSWERS = {
    "predict": lambda model, X: model.predict(X),
    "vote": lambda model, X: model.predict(X, method="vote"),
    "gibbs": lambda model, X: model.predict(X, method="gibbs"),
    "decision_function": lambda model, X: model.decision_function(X),
    "mixture": lambda model, X: model.predict_proba(X, method="mixture"),
    "predict_log_proba": lambda model, X: model.predict_log_proba(X),
    "reject": lambda model, X: model.reject(X, 0.2)[1],
    "sample_functions": lambda model, X: model.sample_functions(X, random_state=1),
    "suggest_query": lambda model, X: model.suggest_query(X, 7),
    "closest": lambda model, X: closest_to_vote(model.models_[0], X),
    "labeling": lambda model, X: model.log_labeling_probability(
        X[:3], model.predict(X[:3]), random_state=1
    ),
}


@pytest.mark.parametrize("classes", [2, 3])
def test_answers_are_those_of_a_scaler_before_the_classifier(classes):
    X, y, points = data(classes)
    inside = BayesPointClassifier(random_state=seed(0), **GIVEN).fit(X, y)
    scaler = StandardScaler().fit(X)
    outside = BayesPointClassifier(standardize=False, random_state=seed(0), **GIVEN)
    outside.fit(scaler.transform(X), y)
    for name, answer in ANSWERS.items():
        found, expected = answer(inside, points), answer(outside, scaler.transform(points))
        np.testing.assert_array_equal(found, expected, err_msg=name)


def test_sparse_inputs_are_scaled_and_not_centered():
    X, y, points = data()
    X[np.median(X, axis=0) > X] = 0.0
    given = GIVEN | {"random_state": seed(0)}
    model = BayesPointClassifier(**given).fit(sparse.csr_array(X), y)
    assert sparse.issparse(model.X_fit_)
    np.testing.assert_allclose(model.X_fit_.toarray(), X / X.std(axis=0))
    other = BayesPointClassifier(**given | {"standardize": False}).fit(X / X.std(axis=0), y)
    expected = other.predict_proba(points / X.std(axis=0))
    for form in (np.asarray, sparse.csr_array, sparse.csc_matrix):
        np.testing.assert_allclose(model.predict_proba(form(points)), expected, rtol=1e-6)
    # A classifier fitted to dense rows takes sparse ones.
    dense = BayesPointClassifier(**given).fit(X, y)
    np.testing.assert_array_equal(
        dense.predict_proba(sparse.csr_array(points)), dense.predict_proba(points)
    )


def test_units_do_not_matter():
    X, y = load_wine(return_X_y=True)
    one = BayesPointClassifier(random_state=seed(0)).fit(X, y)
    units = MaxAbsScaler().fit_transform(X)
    other = BayesPointClassifier(random_state=seed(0)).fit(units, y)
    assert one.score(X, y) == other.score(units, y) > 0.98
    assert one.softness_ == pytest.approx(other.softness_, rel=1e-3)


def test_what_is_not_a_table_is_left_alone():
    X, y, _ = data()
    gram = BayesPointClassifier("precomputed", softness=0.1).fit(X @ X.T, y)
    assert gram.scaler_ is None
    sets = [{int(10 * a), int(b) % 7} for a, b in X[:, [0, 3]]]
    assert (
        BayesPointClassifier(kernels.SetIntersection(2.0), softness=1.0).fit(sets, y).scaler_
        is None
    )


def test_constant_features_and_frames():
    pandas = pytest.importorskip("pandas")
    X, y, points = data()
    X[:, 1], points[:, 1] = 5.0, 5.0
    given = GIVEN | {"random_state": seed(0)}
    model = BayesPointClassifier(**given).fit(X, y)
    assert np.isfinite(model.predict_proba(points)).all()
    with sklearn.config_context(transform_output="pandas"):
        framed = BayesPointClassifier(**given).fit(pandas.DataFrame(X, columns=list("abcd")), y)
        found = framed.predict_proba(pandas.DataFrame(points, columns=list("abcd")))
    np.testing.assert_array_equal(found, model.predict_proba(points))


def test_refusals():
    X, y, _ = data()
    with pytest.raises(TypeError, match="standardize must be"):
        BayesPointClassifier(standardize="yes").fit(X, y)
    X[0, 2] = 1e200
    with pytest.raises(ValueError, match="variance of a feature overflows; column '2'"):
        BayesPointClassifier(**GIVEN).fit(X, y)
