"""Invalid input raises errors that name it; valid input is copied only where necessary."""

import numpy as np
import pytest
from scipy import sparse

from bayespoint import BayesPointClassifier, SampleOptions, VersionSpace
from bayespoint.base import validation
from helpers import sample, seed

LABELS = [1, -1, 1, -1]


def gram(m=4):
    """A well-conditioned kernel matrix."""
    points = np.random.default_rng(0).standard_normal((m, m + 3))
    return points @ points.T


def with_entry(value, at=(1, 2)):
    matrix = gram()
    matrix[at] = value
    return matrix


# --- the Gram matrix ---


@pytest.mark.parametrize(
    ("matrix", "error", "text"),
    [
        (with_entry(np.nan), ValueError, "gram must be finite; it holds NaN"),
        (gram()[:3], ValueError, r"gram must be a square matrix; got shape \(3, 4\)"),
        (3.0, ValueError, r"gram must be a square matrix; got shape \(\)"),
        (np.empty((0, 0)), ValueError, "gram must have at least one row"),
        ([[1.0, 2.0], [3.0]], ValueError, "gram must be an array of numbers"),
        (with_entry(5.0), ValueError, r"gram must be symmetric; got .*5\.0.* at \[1, 2\]"),
        (gram() * 1j, TypeError, "gram must hold real numbers; got an array of dtype complex128"),
        (gram().astype(object), TypeError, "gram must hold real numbers; got .* object"),
        (sparse.csr_array(gram()), TypeError, r"gram must be a dense array; .*toarray\(\)"),
        (np.ma.masked_less(gram(), 0), TypeError, "gram must not be a masked array"),
        (list(np.ma.masked_greater(gram(), 0)), TypeError, "gram must not be a masked array"),
        (with_entry(-5.0, (2, 2)), ValueError, "diagonal entry of gram .* got .*-5.* at example 2"),
        (
            np.diag([1.0, 0.0, 1.0, 1.0]),
            ValueError,
            "diagonal entry of gram plus offset and softness must be positive; got .* example 1",
        ),
        (
            np.eye(4) + 2 * np.eye(4)[::-1],
            ValueError,
            "gram plus offset and softness must be positive semidefinite",
        ),
    ],
)
def test_bad_gram(matrix, error, text):
    with pytest.raises(error, match=text):
        VersionSpace(matrix, LABELS)


@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.long)])
def test_not_semidefinite_beyond_direct_factorization(dtype):
    """Above 2000 examples Lanczos steps find the negative eigenvalue."""
    m = 2100
    points = np.random.default_rng(0).standard_normal((m, 60)).astype(dtype)
    matrix = points @ points.T / 60
    labels = np.resize([1, -1], m)
    VersionSpace(matrix, labels)  # singular, but no eigenvalue is negative
    direction = np.random.default_rng(1).standard_normal(m).astype(dtype) / np.sqrt(m)
    matrix -= 0.5 * np.outer(direction, direction).astype(dtype)
    with pytest.raises(ValueError, match="positive semidefinite"):
        VersionSpace(matrix, labels)


@pytest.mark.parametrize("m", [300, 2100])
def test_rounding_noise_passes(m):
    """A numerically singular kernel matrix is not taken for an indefinite one."""
    x = np.random.default_rng(0).uniform(size=(m, 2))
    x += 100.0  # large inner products: cancellation in the squared distances
    squares = (x**2).sum(axis=1)
    matrix = np.exp(-0.5 * (squares[:, None] + squares - 2 * x @ x.T))
    matrix = (matrix + matrix.T) / 2
    assert np.linalg.eigvalsh(matrix[:300, :300])[0] < 0
    VersionSpace(matrix, np.resize([1, -1], m))


def test_offset_and_softness_count():
    """The matrix with offset and softness must be positive semidefinite."""
    matrix = np.eye(4) + 2 * np.eye(4)[::-1]
    VersionSpace(matrix, LABELS, softness=1.1)
    with pytest.raises(ValueError, match="positive semidefinite"):
        VersionSpace(matrix, LABELS, softness=0.9)
    VersionSpace(np.zeros((4, 4)), LABELS, softness=1.0)
    VersionSpace(np.diag([1.0, 0.0]), [1, -1], offset=1.0)


# --- layout and precision ---


@pytest.mark.parametrize(
    ("variant", "borrowed"),
    [
        (lambda k: k, True),
        (np.asfortranarray, True),
        (lambda k: np.pad(k, 1)[1:-1, 1:-1], False),
        (lambda k: np.repeat(np.repeat(k, 2, axis=0), 2, axis=1)[::2, ::2], False),
        (lambda k: k[::-1, ::-1].copy()[::-1, ::-1], False),
        (lambda k: k.astype(">f8"), False),
        (lambda k: k.tolist(), False),
    ],
    ids=["C", "Fortran", "inner", "strided", "reversed", "byte order", "list"],
)
def test_layouts(variant, borrowed):
    reference = gram(30)
    value = variant(gram(30))
    labels = np.resize(LABELS, 30)
    space = VersionSpace(value, labels)
    assert space.gram.flags.c_contiguous
    assert space.gram.dtype == np.float64
    np.testing.assert_array_equal(space.gram, reference)
    assert np.may_share_memory(space.gram, value) == borrowed


def test_read_only_is_borrowed_and_never_written():
    matrix = gram(30)
    before = matrix.copy()
    matrix.flags.writeable = False
    space = VersionSpace(matrix, np.resize(LABELS, 30), softness=0.5, offset=1.0)
    space.sample(length=5.0, n_draws=2, random_state=0)
    space.max_margin()
    assert np.shares_memory(space.gram, matrix)
    np.testing.assert_array_equal(matrix, before)


def test_float32_is_made_symmetric():
    points = np.random.default_rng(0).standard_normal((600, 9)).astype(np.float32)
    matrix = np.exp(-0.1 * ((points[:, None] - points) ** 2).sum(axis=2))
    matrix[3, 7] *= 1 + 3e-7
    assert matrix.dtype == np.float32
    before = matrix.copy()
    space = VersionSpace(matrix, np.resize([1, -1], 600))
    assert space.gram.dtype == np.float32
    np.testing.assert_array_equal(space.gram, space.gram.T)
    np.testing.assert_array_equal(matrix, before)
    np.testing.assert_allclose(space.gram, matrix, rtol=1e-6)


def test_large_matrices_are_checked_in_blocks():
    """An asymmetric or infinite entry is found in any block."""
    labels = np.resize([1, -1], 1300)
    for at in [(0, 1299), (700, 3), (1299, 1298), (511, 512)]:
        matrix = np.eye(1300)
        matrix[at] = 0.1
        with pytest.raises(ValueError, match="symmetric"):
            VersionSpace(matrix, labels)
        matrix[at] = np.nan
        with pytest.raises(ValueError, match="finite"):
            VersionSpace(matrix, labels)


# --- labels ---


@pytest.mark.parametrize(
    ("labels", "error", "text"),
    [
        (["a", "a", "a", "a"], ValueError, "two classes or more; got 1 class: .'a'"),
        ([1, -1, 1], ValueError, "as many labels as gram has rows, 4; got 3"),
        ([[1, -1, 1, -1]], ValueError, r"y must have one dimension; got shape \(1, 4\)"),
        ([1.0, np.nan, 1.0, -1.0], ValueError, "y must be finite"),
        (
            np.array([1, "a", None, 1], dtype=object),
            TypeError,
            "y must hold labels that can be sorted",
        ),
        (np.ma.masked_less([1, -1, 1, -1], 0), TypeError, "y must be a plain array"),
    ],
)
def test_bad_labels(labels, error, text):
    with pytest.raises(error, match=text):
        VersionSpace(gram(), labels)


def test_one_class_of_signs_and_one_example():
    """A single class is accepted if its label is -1 or +1."""
    assert VersionSpace(np.eye(3), [1, 1, 1]).y.tolist() == [1, 1, 1]
    space = VersionSpace([[4.0]], [-1.0])
    np.testing.assert_allclose(space.max_margin().dual_coef, [-0.5])


# --- scales ---


@pytest.mark.parametrize("scale", [1e-149, 1.0, 1e149])
def test_the_scale_of_the_matrix_does_not_matter(scale):
    labels = np.resize([1, -1, -1], 5)
    for refresh in ("pair", "full", "auto"):
        space = VersionSpace(scale * np.eye(5), labels)
        result = space.sample(
            length=3000.0, options=SampleOptions(refresh=refresh), random_state=seed(0)
        )
        exact = labels / np.sqrt(5 * scale)
        np.testing.assert_allclose(result.center / exact, 1.0, atol=6 * result.center_error)
        assert result.center_norm == pytest.approx(0.8385, abs=0.01)
        assert space.max_margin().margin == pytest.approx(np.sqrt(scale / 5))
        assert space.contains(space.feasible_point("max_margin"))


@pytest.mark.parametrize("scale", [1e-151, 1e-300, 1e151, 1e300])
def test_a_scale_that_cannot_be_squared_is_refused(scale):
    for matrix, settings in [
        (scale * gram(), {}),
        (np.diag([1.0, scale, 1.0, 1.0]), {}),
        (np.zeros((4, 4)), {"softness": scale}),
    ]:
        with pytest.raises(ValueError, match=r"diagonal entry of gram .* from 1e-150 to 1e\+150"):
            VersionSpace(matrix, LABELS, **settings)
    x = np.random.default_rng(0).standard_normal((10, 2))
    with pytest.raises(ValueError, match=r"diagonal entry of .* from 1e-150 to"):
        BayesPointClassifier(softness=1e200).fit(x, np.resize([0, 1], 10))


# --- settings ---


@pytest.mark.parametrize(
    ("setting", "value", "error"),
    [
        ("refresh", "sometimes", ValueError),
        ("refresh_rate", 3.0, ValueError),  # "auto" chooses the rate as well
        ("refresh_rate", None, ValueError),
        ("n_jobs", 0, ValueError),
        ("n_jobs", "all", TypeError),
        ("random_state", -1, ValueError),
        ("random_state", "seed", ValueError),
        ("start", [1.0, 2.0], ValueError),
        ("start", [np.nan, 1.0, 1.0, 1.0], ValueError),
        ("start", [0.0, 0.0, 0.0, 0.0], ValueError),
        ("start", [-1.0, 1.0, -1.0, 1.0], ValueError),
    ],
)
def test_bad_settings_of_a_run(setting, value, error):
    with pytest.raises(error, match=rf"^{setting}\b.* must .*") as caught:
        sample(VersionSpace(np.eye(4), LABELS), **{setting: value})
    if setting != "start":
        assert repr(value).lower() in str(caught.value).lower(), "the message has the value"


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"softness": -0.1}, ValueError, "softness must be finite and at least 0; got -0.1"),
        ({"softness": [0.1, 0.2]}, ValueError, r"softness must be a number or have shape \(4,\)"),
        ({"softness": "evidence"}, TypeError, "softness must hold real numbers"),
        ({"offset": np.inf}, ValueError, "offset must be"),
    ],
)
def test_bad_settings_of_a_space(settings, error, text):
    with pytest.raises(error, match=text):
        VersionSpace(gram(), LABELS, **settings)


def test_choices_are_listed():
    with pytest.raises(ValueError, match=r"'light_trap', 'max_margin'; got 'svm'"):
        VersionSpace(np.eye(4), LABELS).feasible_point("svm")


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"kernel": "laplace"}, "kernel must be one of 'linear', 'rbf', 'poly', 'precomputed'"),
        ({"label_noise": (None, 0.1)}, "label_noise must be two rates, or None for both"),
        ({"calibration": "sigmoid"}, "calibration must be one of 'auto', 'leave-one-out', None"),
        ({"tol": "small"}, "tol must be a positive number or \"auto\"; got 'small'"),
        ({"softness": -1.0}, "softness must be"),
        ({"label_noise": 0.5}, "label_noise must be"),
        ({"label_noise": (0.1, 0.7)}, r"label_noise\[1\] must be"),
        ({"class_weight": {0: -1.0}}, "class_weight must give every class a positive weight"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False; got 1"),
        ({"verbose": -1}, "verbose must be"),
        ({"tol": 0.0}, "tol must be"),
    ],
)
def test_bad_settings_of_a_classifier(settings, text):
    x = np.random.default_rng(0).standard_normal((10, 2))
    with pytest.raises((ValueError, TypeError), match=text):
        BayesPointClassifier(**settings).fit(x, np.resize([0, 1], 10))


def test_threads(monkeypatch):
    monkeypatch.setattr(validation.joblib, "cpu_count", lambda: 6)
    assert [validation.threads(n) for n in (None, 1, 3, -1, -2, -6, -9)] == [1, 1, 3, 6, 5, 1, 1]
    # No more than there are trajectories: 100 000 threads would take minutes to start.
    VersionSpace(np.eye(4), LABELS).sample(n_jobs=100_000, length=100.0, random_state=0)
