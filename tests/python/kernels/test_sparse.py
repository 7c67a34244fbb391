"""Sparse inputs: the same answers as dense ones, without a dense copy of the inputs."""

import tracemalloc
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process import kernels as gp

import bayespoint
from bayespoint import BayesPointClassifier, kernels
from bayespoint.papers.max_margin import MaxMarginClassifier
from helpers import seed

RNG = np.random.default_rng(seed(0))


def thin(n, d=9):
    values = RNG.standard_normal((n, d)) * (RNG.random((n, d)) < 0.4)
    values[0] = 0.0  # a row without any entry
    return values


X, NEW = thin(70), thin(25)
Y = X[:, 0] + X[:, 1] - X[:, 2] + 0.3 * RNG.standard_normal(70) > 0
SCALES = RNG.uniform(0.5, 3.0, 9)

KERNELS = [
    kernels.Linear(),
    kernels.Polynomial(2, 0.5),
    kernels.RBF(1.7),
    kernels.RBF(SCALES),
    0.5 * kernels.Linear() + kernels.RBF(2.0) * kernels.Polynomial(2, 1.0) + 2,
    kernels.normalize(kernels.Polynomial(3, 1.0) + kernels.RBF(1.0)),
]
DENSE_ONLY = [
    "precomputed",
    kernels.Laplacian(1.0),
    kernels.Matern(1.0),
    kernels.RationalQuadratic(1.0, 1.0),
    kernels.Linear() + kernels.Matern(1.0),
    kernels.normalize(kernels.Laplacian(1.0)),
    gp.RBF(),
    kernels.Linear() * gp.RBF(),
]
FORMATS = [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_matrix]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_and_derivatives(kernel, form):
    a, b = form(X), form(NEW)
    expected = kernel(X, NEW)
    for left, right in [(a, b), (a, NEW), (X, b)]:
        np.testing.assert_allclose(kernel(left, right), expected, rtol=1e-11, atol=1e-13)
    gram = kernel(a)
    assert type(gram) is np.ndarray
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(gram, kernel(X), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(kernel.diag(a), kernel.diag(X), rtol=1e-13)
    for one, other in zip(kernel.parameters(a), kernel.parameters(X), strict=True):
        assert one.name == other.name
        assert one.start == pytest.approx(other.start, rel=1e-12)
    for inputs, same in (((a,), (X,)), ((a, b), (X, NEW)), ((a, NEW), (X, NEW))):
        (values, pullback), (others, dense) = (
            kernels.with_pullback(kernel, *each) for each in (inputs, same)
        )
        np.testing.assert_allclose(values, others, rtol=1e-11, atol=1e-13)
        by_values = RNG.standard_normal(values.shape)
        assert pullback(by_values)[0] == pytest.approx(dense(by_values)[0], rel=1e-9, abs=1e-12)
    filled = kernels.gram_matrix(a.tocsr(), kernel, dtype=np.float64)
    np.testing.assert_allclose(filled, gram, rtol=1e-13)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e10])
def test_far_from_the_origin(offset):
    """Where inner products have lost the digits that tell close rows apart."""
    shift = np.where(np.arange(9) == 3, offset, 0.0)
    far, new = X + shift, NEW + shift
    for kernel in (kernels.RBF(1.7), kernels.RBF(SCALES)):
        expected = kernel(far, new)
        assert expected.max() > 0.1
        a, b = sparse.csr_array(far), sparse.csr_array(new)
        for left, right in [(a, b), (far, b), (a, new)]:
            np.testing.assert_allclose(kernel(left, right), expected, rtol=1e-8, atol=1e-15)
        gram = kernel(a)
        np.testing.assert_array_equal(gram, gram.T)
        np.testing.assert_allclose(gram, kernel(far), rtol=1e-8, atol=1e-15)


@pytest.mark.long
@pytest.mark.parametrize("kernel", ["linear", "poly", kernels.Linear() + kernels.RBF(1.0)], ids=str)
def test_the_classifier(kernel):
    """With the search by evidence, and all methods of a fitted model."""
    dense = BayesPointClassifier(kernel, random_state=seed(0), standardize=False).fit(X, Y)
    model = BayesPointClassifier(kernel, random_state=seed(0), standardize=False).fit(
        sparse.csr_array(X), Y
    )
    assert sparse.issparse(model.X_fit_)
    assert model.X_fit_.format == "csr"
    assert model.n_features_in_ == 9
    assert model.tuning_.log_evidence == pytest.approx(dense.tuning_.log_evidence, abs=1e-6)
    for form in (sparse.csr_matrix, sparse.lil_matrix, np.asarray):
        points = form(NEW)
        np.testing.assert_array_equal(model.predict(points), dense.predict(NEW))
        np.testing.assert_allclose(
            model.predict_proba(points), dense.predict_proba(NEW), rtol=1e-5, atol=1e-8
        )
    np.testing.assert_allclose(
        dense.decision_function(sparse.csc_matrix(NEW)), dense.decision_function(NEW), rtol=1e-8
    )
    points = sparse.csr_matrix(NEW)
    for question in (
        lambda one, x: one.predict(x, method="vote"),
        lambda one, x: one.reject(x, cost=0.2),
        lambda one, x: one.suggest_query(x, 3),
        lambda one, x: one.sample_functions(x, random_state=seed(0)).round(3),
    ):
        np.testing.assert_allclose(
            question(model, points), question(dense, NEW), rtol=1e-3, atol=2e-3
        )


def test_duplicate_entries_are_summed_and_the_matrix_is_unchanged():
    given = sparse.csr_matrix(
        (np.array([1.0, 2.0, 3.0, 1.0]), np.array([1, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 2)
    )
    plain = np.array([[5.0, 1.0], [0.0, 1.0]])
    np.testing.assert_array_equal(given.toarray(), plain)
    model = BayesPointClassifier(kernels.RBF(1.5), softness=0.1, random_state=seed(0))
    z = model.fit(given, [0, 1]).decision_function(given)
    assert given.nnz == 4
    np.testing.assert_allclose(z, model.fit(plain, [0, 1]).decision_function(plain), rtol=1e-9)


@pytest.mark.parametrize(
    "kernel", DENSE_ONLY, ids=lambda kernel: getattr(kernel, "__name__", None) or str(kernel)
)
def test_kernels_without_sparse_support(kernel):
    message = r"X must be a dense array for .*; got a sparse csr_array: use kernel=\"rbf\""
    model = BayesPointClassifier(kernel, softness=1.0, random_state=seed(0))
    assert not model.__sklearn_tags__().input_tags.sparse
    with pytest.raises(TypeError, match=message):
        model.fit(sparse.csr_array(X), Y)
    with pytest.raises(TypeError, match=message):
        MaxMarginClassifier(kernel).fit(sparse.csr_array(X), Y)


class Overlap:
    """A user's kernel that takes only sparse rows."""

    accepts_sparse = True

    def __call__(self, a, b):
        return (a.minimum(0) @ b.minimum(0).T + a.maximum(0) @ b.maximum(0).T).toarray()


def test_callables_may_accept_sparse_inputs():
    given = {"softness": 1.0, "random_state": seed(0)}
    model = BayesPointClassifier(kernels.Linear() + Overlap(), **given, standardize=False).fit(
        sparse.csr_matrix(X), Y
    )

    def dense(a, b):
        return np.minimum(a, 0) @ np.minimum(b, 0).T + np.maximum(a, 0) @ np.maximum(b, 0).T

    expected = BayesPointClassifier(kernels.Linear() + dense, **given, standardize=False).fit(X, Y)
    np.testing.assert_allclose(
        model.predict_proba(sparse.csr_matrix(NEW)), expected.predict_proba(NEW), rtol=1e-6
    )


def test_functions_take_sparse_rows_and_strings_as_in_svc():
    plain = BayesPointClassifier("linear", softness=1.0, random_state=seed(0))
    function = BayesPointClassifier(lambda a, b: a @ b.T, softness=1.0, random_state=seed(0))
    rows = sparse.csr_matrix(X)
    np.testing.assert_allclose(
        function.fit(rows, Y).predict_proba(rows), plain.fit(rows, Y).predict_proba(rows), rtol=1e-9
    )

    def common(a, b):
        return np.array([[len(set(x) & set(y)) for y in b] for x in a], dtype=float)

    words = ["A A", "A", "B", "B B", "A B"] * 3
    for settings in ({}, {"approximation": "landmarks", "n_components": 3}):
        model = BayesPointClassifier(common, softness=0.1, random_state=seed(0), **settings)
        assert model.fit(words, [0, 0, 1, 1, 1] * 3).predict(["A A A", "B B B"]).tolist() == [0, 1]
    with pytest.raises(ValueError, match="Expected 2D array"):
        function.fit(np.arange(6.0), Y[:6])


def test_missing_values_and_labels_of_odd_types_are_named():
    rows = sparse.csr_array(X)
    rows.data[0] = np.nan
    with pytest.raises(ValueError, match="X must not hold NaN where it is sparse"):
        BayesPointClassifier("linear").fit(rows, Y)
    labels = [Decimal(int(label)) for label in Y]
    with pytest.raises(ValueError, match=r"y must hold strings or .* of the type Decimal"):
        BayesPointClassifier("linear").fit(X, labels)


def test_fitted_models_are_saved(tmp_path):
    """The older kind of matrix is what scikit-learn's text vectorizers return."""
    model = BayesPointClassifier("linear", softness=1.0, random_state=seed(0)).fit(
        sparse.csr_matrix(X), Y
    )
    model.save(tmp_path / "model")
    again = bayespoint.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.predict_proba(sparse.csr_matrix(NEW)), model.predict_proba(sparse.csr_matrix(NEW))
    )


@pytest.mark.parametrize(
    "kernel", [kernels.Linear(), kernels.Polynomial(3, 1.0), 2.0 * kernels.RBF(3.0) + 1], ids=repr
)
def test_the_inputs_are_never_dense(kernel):
    """A dense copy of these would take 1.6 GB."""
    d = 2_000_000
    rng = np.random.default_rng(seed(1))
    places = np.repeat(np.arange(100), 20), rng.integers(d, size=2000)
    wide = sparse.csr_array((rng.standard_normal(2000), places), shape=(100, d))
    y = np.resize([0, 1], 100)
    given = {"softness": 0.1, "random_state": seed(0)}
    tracemalloc.start()
    BayesPointClassifier(kernel, random_state=seed(0)).fit(wide, y)
    probability = BayesPointClassifier(kernel, **given).fit(wide, y).predict_proba(wide)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Sixteen dense rows: the transpose has a pointer for each feature, the scaler four numbers.
    assert peak < 16 * 8 * d
    narrow = wide[:, np.unique(places[1])]
    expected = BayesPointClassifier(kernel, **given).fit(narrow, y).predict_proba(narrow)
    np.testing.assert_allclose(probability, expected, rtol=1e-6)
