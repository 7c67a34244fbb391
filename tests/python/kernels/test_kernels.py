"""Kernels agree with direct formulas; the values of callables are checked."""

import tracemalloc

import numpy as np
import pytest
from scipy.spatial import distance
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

import bayespoint
from bayespoint import kernels
from helpers import SETS, seed
from kernel_slopes import assert_slopes

RNG = np.random.default_rng(seed(0))
X, Y = RNG.standard_normal((300, 7)), RNG.standard_normal((41, 7))
SCALES = RNG.uniform(1, 4, 7).round(3)  # as kernels print them
OF_VECTORS = [
    kernels.Linear(),
    kernels.Polynomial(3, 1.0),
    kernels.RBF(1.0),
    kernels.Laplacian(1.0),
    kernels.Matern(1.0, nu=2.5),
]


def squares(a):
    return (np.einsum("ij,ij->i", a, a) + 1) ** 3 + 1


def cosine(gram, left, right):
    return gram / np.sqrt(np.outer(left, right))


PAIRS = [
    (kernels.Linear(), lambda a, b: a @ b.T),
    (kernels.Polynomial(3, 1.0), lambda a, b: (a @ b.T + 1) ** 3),
    (kernels.Polynomial(degree=2, coef0=0.5), lambda a, b: (a @ b.T + 0.5) ** 2),
    (kernels.RBF(1.7), lambda a, b: pairwise.rbf_kernel(a, b, gamma=1 / (2 * 1.7**2))),
    (kernels.RBF(SCALES), lambda a, b: gp.RBF(SCALES)(a, b)),
    # For a large exponent it is the Gaussian kernel.
    (kernels.RationalQuadratic(1.7, 1e14), lambda a, b: gp.RBF(1.7)(a, b)),
    (
        kernels.RBF(2.0) + 0.5 * kernels.Linear() + 2,
        lambda a, b: gp.RBF(2.0)(a, b) + 0.5 * a @ b.T + 2,
    ),
    (
        (kernels.Linear() + 1) * kernels.RBF(2.0) * (kernels.RBF(3.0) * 2.0 * np.float64(1.5)),
        lambda a, b: 3 * (a @ b.T + 1) * gp.RBF(2.0)(a, b) * gp.RBF(3.0)(a, b),
    ),
    (
        2.0 * kernels.normalize(3.0 * (kernels.Polynomial(3, 1.0) + kernels.RBF(1.0))),
        lambda a, b: 2 * cosine((a @ b.T + 1) ** 3 + gp.RBF()(a, b), squares(a), squares(b)),
    ),
]


@pytest.mark.parametrize(("kernel", "formula"), PAIRS, ids=[repr(pair[0]) for pair in PAIRS])
def test_values(kernel, formula):
    np.testing.assert_allclose(kernel(X, Y), formula(X, Y), rtol=1e-12, atol=1e-13)
    gram = kernel(X)
    np.testing.assert_allclose(gram, formula(X, X), rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(gram.diagonal(), kernel.diag(X), rtol=1e-13)
    assert isinstance(kernel, kernels.Kernel)
    assert eval(repr(kernel), vars(kernels)) == kernel


def test_the_gaussian_kernel_does_not_depend_on_the_origin():
    """Nor on how the points are split into blocks, to the last bits."""
    kernel, far = kernels.RBF(2.0), 1e6
    reference = kernel(X, Y)
    np.testing.assert_allclose(kernel(X + far, Y + far), reference, rtol=1e-8)
    pieces = [kernel(X[k : k + 7], Y) for k in range(0, len(X), 7)]
    np.testing.assert_allclose(np.concatenate(pieces), reference, rtol=1e-13)
    assert kernel(X).max() == 1.0


@pytest.mark.parametrize("kernel", OF_VECTORS, ids=repr)
def test_memory_beyond_the_matrix_is_small(kernel):
    points = np.random.default_rng(seed(1)).standard_normal((2500, 5))
    tracemalloc.start()
    gram = kernel(points)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.25 * gram.nbytes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kernel",
    [
        kernels.RBF(2.0),
        kernels.Matern(1.5),
        lambda X, Y: X @ Y.T + np.triu(np.full((len(X), len(Y)), 1e-9)),
    ],
)
def test_a_matrix_filled_in_place(kernel, dtype, monkeypatch):
    X = np.random.default_rng(seed(3)).standard_normal((50, 4))
    exact = kernels.evaluate(kernel, X)
    monkeypatch.setattr("bayespoint.kernels.gram._BLOCK", 16)
    gram = kernels.gram_matrix(X, kernel, dtype=dtype)
    assert gram.dtype == dtype
    assert gram.flags.c_contiguous
    np.testing.assert_allclose(gram, exact, atol=1e-6 if dtype == np.float32 else 1e-7)
    np.testing.assert_array_equal(gram, gram.T)  # the last kernel is not symmetric


def test_a_matrix_in_place_is_checked():
    X = np.ones((40, 2))
    with pytest.raises(ValueError, match=r"dtype must be np\.float32 or np\.float64; got int64"):
        kernels.gram_matrix(X, kernels.Linear(), dtype=np.int64)
    with pytest.raises(ValueError, match="at least one example"):
        kernels.gram_matrix(X[:0], kernels.Linear())
    with pytest.raises(ValueError, match="must be finite"):
        kernels.gram_matrix(X * np.nan, kernels.Linear())
    strings = ["abc", "abd", "xyz"]
    spectrum = kernels.Spectrum(2)
    np.testing.assert_array_equal(kernels.gram_matrix(strings, spectrum), spectrum(strings))
    with pytest.raises(MemoryError, match="the kernel matrix of 4000000 examples"):
        kernels.gram_matrix(np.ones((4_000_000, 1)), kernels.Linear())


def test_rule_of_thumb():
    for scale in (2.0**-600, 1.0, 2.0**1000):
        start = kernels.at_start(kernels.RBF(), scale * X)
        assert start.sigma == scale * np.sqrt(7 * X.var() / 2)
    assert np.isfinite(kernels.at_start(kernels.RBF(), np.ones((3, 2))).sigma)


@pytest.mark.parametrize(
    "make",
    [
        lambda: kernels.RBF(0.0),
        lambda: kernels.RBF(np.nan),
        lambda: kernels.RBF([]),
        lambda: kernels.RBF(np.array(2.0)),
        lambda: kernels.RBF([1.0, 0.0]),
        lambda: kernels.RBF([1.0, 2.0])(X),
        lambda: kernels.Matern(1.0, nu=1.0),
        lambda: kernels.Matern(1.0, nu=True),
        lambda: kernels.RationalQuadratic(alpha=0.0),
        lambda: kernels.Constant(0.0),
        lambda: 0.0 * kernels.Linear(),
        lambda: kernels.Sum((kernels.Linear(), 3)),
        lambda: kernels.Product(()),
        lambda: kernels.Linear() + kernels.Spectrum(),
        lambda: kernels.normalize(kernels.Linear),
        lambda: kernels.Scaled(3.0, 2.0),
        lambda: kernels.SetIntersection(base=1.0),
        lambda: kernels.Spectrum(length=0),
        lambda: kernels.Polynomial(0, 1.0),
        lambda: kernels.Polynomial(coef0=-1.0),
        lambda: kernels.resolve("gaussian"),
        lambda: kernels.resolve(kernels.RBF),
    ],
)
def test_bad_parameters(make):
    with pytest.raises((ValueError, TypeError), match="must be"):
        make()


def test_callables_are_checked():
    def returning(value):
        return lambda a, b: value

    with pytest.raises(ValueError, match=r"must have shape \(300, 41\); got shape \(41, 300\)"):
        kernels.evaluate(returning(np.ones((41, 300))), X, Y)
    with pytest.raises(ValueError, match=r"kernel\(X, Y\) must be finite"):
        kernels.evaluate(returning(np.full((300, 41), np.nan)), X, Y)
    with pytest.raises(TypeError, match="must hold real numbers"):
        kernels.evaluate(returning(np.ones((300, 41), dtype=complex)), X, Y)
    with pytest.raises(ValueError, match=r"kernel\(X, Y\) must be finite"):
        kernels.evaluate(kernels.Polynomial(9, 1.0), 1e40 * X)


def test_diagonals_of_callables():
    """From the kernel's own ``diag``, or else from small blocks of its matrix."""
    mixed = gp.RBF(2.0) * gp.DotProduct(1.0)
    expected = mixed.diag(X)
    np.testing.assert_allclose(kernels.diagonal(mixed, X), expected)
    np.testing.assert_allclose(kernels.diagonal(lambda a, b: mixed(a, b), X), expected)

    class Wrong:
        def __call__(self, a, b):
            return mixed(a, b)

        def diag(self, a):
            return np.ones((len(a), 1))

    with pytest.raises(ValueError, match=r"kernel.diag\(X\) must have shape \(300,\)"):
        kernels.diagonal(Wrong(), X)


# --- the algebra ---


def test_kernels_combine():
    """Nested sums and products are flattened, and are equal if their parts are."""
    a, b, c = kernels.RBF(2.0), kernels.Linear(), kernels.Matern(1.0)
    assert (a + b) + c == a + (b + c) == kernels.Sum((a, b, c))
    assert (a * b) * c == a * (b * c) == kernels.Product((a, b, c))
    assert 2 * (3 * a) == a * 6.0 == kernels.Scaled(a, 6.0)
    assert kernels.normalize(2 * kernels.normalize(a + b)) == kernels.Normalized(a + b)
    assert a + b != b + a
    with pytest.raises(TypeError, match=r"added to .* kernels and positive numbers; got 'one'"):
        a + "one"
    with pytest.raises(TypeError, match="multiplied with kernels and positive numbers"):
        [1.0, 2.0] * a


@pytest.mark.long
def test_callables_are_parts_but_not_trusted():
    """A matrix that involves a callable is tested for negative eigenvalues."""
    labels = np.resize([-1, 1], len(X))
    mixed = kernels.RBF(2.0) + gp.DotProduct(1.0)
    np.testing.assert_allclose(mixed(X, Y), kernels.RBF(2.0)(X, Y) + X @ Y.T + 1)
    np.testing.assert_allclose(mixed.diag(X), mixed(X).diagonal())
    assert mixed.semidefinite is False
    assert (kernels.RBF(1.0) * kernels.Linear()).semidefinite
    bayespoint.BayesPointClassifier(kernel=mixed, random_state=seed(0)).fit(X, labels)
    for kernel in (kernels.Linear() + wrong, 2.0 * (kernels.RBF(1.0) * wrong)):
        with pytest.raises(ValueError, match="must be positive semidefinite"):
            bayespoint.BayesPointClassifier(kernel=kernel, random_state=seed(0)).fit(X, labels)


def wrong(a, b):
    """Return a symmetric matrix that is positive only on the diagonal."""
    return 100.0 * (2 * (a[:, None] == b).all(axis=2) - 1.0)


def test_normalized_kernels():
    gram = kernels.normalize(kernels.Linear())(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))
    np.testing.assert_allclose(gram, [[0, 0, 0], [0, 1, 1], [0, 1, 1]])
    with pytest.raises(ValueError, match="at least 0 on the diagonal to be normalized; got -1"):
        kernels.normalize(lambda a, b: -np.ones((len(a), len(b))))(X)


# --- parameters to be tuned ---

EACH = {"per_feature": True}
TUNED = [
    kernels.RBF(),
    kernels.RBF(**EACH),
    kernels.Laplacian(),
    kernels.Laplacian(**EACH),
    *(kernels.Matern(nu=nu, per_feature=each) for each in (True, False) for nu in (0.5, 1.5, 2.5)),
    *(kernels.RationalQuadratic(per_feature=each) for each in (True, False)),
    kernels.Polynomial(3),
    kernels.Polynomial(1),
    kernels.Constant(),
    kernels.Scaled(kernels.RBF()) + kernels.Polynomial(2) + kernels.Constant(bounds=(0.1, 9.0)),
    kernels.RBF(**EACH) * kernels.Polynomial(2) * kernels.Scaled(kernels.Matern()),
    kernels.normalize(kernels.Polynomial(2) + kernels.Scaled(kernels.RBF())),
    kernels.SetIntersection(),
    kernels.normalize(kernels.SetIntersection()) + kernels.Constant(),
]
OF_OTHERS = [  # with the parameters whose derivatives are known
    (gp.ConstantKernel(0.7) * gp.RBF(SCALES) + gp.WhiteKernel(0.2), set()),
    (
        kernels.Scaled(kernels.Matern() + gp.DotProduct(1.3, "fixed") * gp.RBF(2.0)),
        {"factor", "kernel.0.sigma"},
    ),
    (kernels.normalize(kernels.Polynomial() + gp.Matern(1.2, nu=2.5)), {"0.coef0"}),
    (kernels.Weighted(kernels.Constant() + (lambda a, b: a @ b.T)), {"kernel.0.value"}),
]


@pytest.mark.parametrize("of", ["X", "X and Y", "diagonal"])
@pytest.mark.parametrize("factor", [0.7, 1.3])
@pytest.mark.parametrize(("kernel", "known"), [*((one, None) for one in TUNED), *OF_OTHERS])
def test_derivatives(kernel, known, factor, of):
    """Those by log parameters and log weights of features agree with central differences."""
    of_vectors = kernels.requires_vectors(kernel) is not False
    points = (X[:110], Y) if of_vectors else (SETS, SETS[:7])
    points = points if of == "X and Y" else points[:1]
    declared = kernels.parameters(kernel, points[0])
    assert all(0 < one.low < one.start < one.high for one in declared)
    values = {one.name: factor * one.start for one in declared}
    assert values.keys() >= (known or set())
    diagonal = of == "diagonal"
    found = assert_slopes(kernel, values, points, RNG, names=known, of_diagonal=diagonal)
    assert (found is None) == (known is not None or not of_vectors)


def test_parameters_that_cannot_be_tuned():
    assert kernels.parameters(kernels.Linear(), X) == ()
    assert kernels.parameters(kernels.Spectrum(), ["abc"]) == ()
    assert kernels.parameters(lambda a, b: a @ b.T, X) == ()


def test_class_distance():
    assert kernels.class_distance(X, np.arange(len(X))) == pytest.approx(
        np.min(distance.pdist(X)), rel=1e-12
    )
    labels = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    apart = distance.cdist(X, X)[labels[:, None] != labels]
    assert kernels.class_distance(X, labels) == pytest.approx(apart.min(), rel=1e-12)
    for points, y, text in [
        (X, labels[1:], "y must have shape"),
        (X, np.zeros(len(X)), "at least two classes"),
        (np.zeros((2, 2)), [0, 1], "two of them coincide"),
        (X * np.nan, labels, "X must be finite"),
    ]:
        with pytest.raises(ValueError, match=text):
            kernels.class_distance(points, y)


@pytest.mark.parametrize("kernel", [kernels.RBF(1.0), kernels.Laplacian(1.0)], ids=str)
def test_errors_of_distances_that_overflow(kernel):
    with pytest.raises(ValueError, match="relative to X that distances overflow"):
        kernel(np.diag([1e200, 1.0]))
    with pytest.raises(ValueError, match=r"relative to .*Y that distances overflow"):
        kernel(np.ones((2, 2)), np.diag([1e200, 1.0]))


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.RBF(1.0),
        kernels.Laplacian(1.0),
        kernels.Matern(1.0),
        kernels.RationalQuadratic(1.0, 1.0),
    ],
)
def test_underflow_of_far_points_is_silent(kernel):
    far = np.array([[0.0], [1e3]])
    with np.errstate(all="raise"):
        gram = kernel(far)
    np.testing.assert_allclose(gram.diagonal(), 1.0)
    assert gram[0, 1] < 1e-2


NO_VECTORS = [np.zeros(3), np.zeros((2, 2, 2)), [[1.0], [2.0, 3.0]], np.array([["a"]]), 3]
NO_VECTORS += [np.ma.masked_all((2, 2))]
NO_SEQUENCES = ["text", {"a": 1}, np.array(None), 3]


@pytest.mark.parametrize(
    ("kernel", "good", "bad"),
    [
        *((kernel, np.ones((2, 2)), NO_VECTORS) for kernel in OF_VECTORS),
        (kernels.normalize(kernels.RBF(1.0)), np.ones((2, 2)), NO_VECTORS),
        (kernels.Spectrum(), ["ab", "cd"], NO_SEQUENCES),
        (kernels.SetIntersection(2.0), [{1}], NO_SEQUENCES),
        (kernels.Constant(1.0), ["ab", "cd"], NO_SEQUENCES),
    ],
)
def test_invalid_inputs_are_named(kernel, good, bad):
    for inputs in (None, *bad):
        for call in (kernel, kernel.diag):
            with pytest.raises((TypeError, ValueError), match=r"^X must"):
                call(inputs)
    for inputs in (*bad, np.zeros((1, 3))) if bad is NO_VECTORS else bad:
        with pytest.raises((TypeError, ValueError), match=r"^Y must"):
            kernel(good, inputs)
