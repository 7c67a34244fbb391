"""Predictions very far from the examples or very near the origin: limits, or errors."""

import numpy as np
import pytest
from scipy import special

from bayespoint import BayesPointClassifier, kernels
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.perceptron import KernelPerceptron
from helpers import seed

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

RNG = np.random.default_rng(seed(0))
X = RNG.standard_normal((20, 3))
LABELS = {2: np.where(X[:, 0] > 0, 1, -1), 3: np.digitize(X[:, 0], [-0.5, 0.5])}
RAYS = RNG.standard_normal((16, 3))
LINEAR, SQUARE = kernels.Linear(), kernels.Polynomial(2, 1.0)


def fitted(kernel, classes, **settings):
    settings = {"softness": 0.1, "fit_intercept": True, **settings}
    model = BayesPointClassifier(
        kernel, tol=0.3, n_draws=30, random_state=seed(0), standardize=False
    )
    return model.set_params(**settings).fit(X, LABELS[classes])


VALUES = {
    "decision values": lambda model, points: model.decision_function(points),
    "moments": lambda model, points: model.predict_proba(points),
    "mixture": lambda model, points: model.predict_proba(points, method="mixture"),
    "classes to report": lambda model, points: model.reject(points, 0.2)[0],
    "rejected": lambda model, points: model.reject(points, 0.2)[1],
}
ANSWERS = {
    "vote": lambda model, points: model.predict(points, method="vote"),
    **VALUES,
    "classes": lambda model, points: model.predict(points),
    "one draw": lambda model, points: model.posterior_.predict(
        points, method="gibbs", random_state=seed(0)
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("kernel", "lengths"),
    [
        (LINEAR, [1e76, 1e130]),
        (3.0 * LINEAR + kernels.RBF(1e200), [1e78, 1e130]),
        (SQUARE, [1e40, 1e65]),
        (kernels.Polynomial(3, 1.0), [1e40]),
    ],
)
def test_limits_along_rays(classes, kernel, lengths):
    """Far out, the distribution of f, scaled to the input, depends on the direction alone."""
    model = fitted(kernel, classes)
    for name, answer in ANSWERS.items():
        limit = answer(model, 1e10 * RAYS)
        for length in lengths:
            np.testing.assert_allclose(answer(model, length * RAYS), limit, rtol=1e-6, err_msg=name)
    # The limits are not all the same.
    assert np.ptp(model.decision_function(1e10 * RAYS)) > 0.5


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("kernel", "length"), [(SQUARE, 1e72), (LINEAR, 1e143), (LINEAR, 1e160)])
def test_values_too_large_to_square_are_refused(classes, kernel, length):
    """Votes, the values of one draw and the signs of two classes need no squares."""
    model = fitted(kernel, classes)
    points = length * np.concatenate([RAYS, -RAYS])
    known = ["vote", "one draw", *(["classes"] if classes == 2 else [])]
    for name, answer in ANSWERS.items():
        if name in known:
            near = answer(model, points / length * 1e10)
            np.testing.assert_array_equal(answer(model, points), near, err_msg=name)
            continue
        with pytest.raises(ValueError, match=r"X must not be so large|kernel\.diag\(X\) must be"):
            pytest.fail(f"{name}: {answer(model, points)}")
    with pytest.raises(ValueError, match=r"X must not be so large|kernel\(X, Y\) must be finite"):
        model.sample_functions(points)


def test_the_diagonal_of_a_plain_function():
    """It is computed from small blocks of the matrix."""

    def plain(a, b):
        with np.errstate(over="ignore"):
            return a @ b.T

    with pytest.raises(ValueError, match=r"kernel\(X, Y\) must be finite"):
        fitted(plain, 2).decision_function(np.full((1, 3), 1e155))


@pytest.mark.parametrize("classes", [2, 3])
def test_next_to_the_origin(classes):
    """Without intercept and softness f is as small as the input, and its square may underflow."""
    settings = {"softness": 0.0, "fit_intercept": False, "random_state": seed(0)}
    y = LABELS[2] if classes == 2 else np.arange(20) % 3
    examples = X if classes == 2 else 0.1 * X + np.eye(3)[y]
    model = BayesPointClassifier(LINEAR, tol=0.3, n_draws=30, **settings, standardize=False).fit(
        examples, y
    )
    for name, answer in ANSWERS.items():
        limit, found = answer(model, RAYS), answer(model, 1e-80 * RAYS)
        np.testing.assert_allclose(found, limit, rtol=1e-6, atol=1e-9, err_msg=name)
    for length in (1e-150, 1e-200, 1e-300):
        expected = model.predict(RAYS, method="vote")
        np.testing.assert_array_equal(model.predict(length * RAYS, method="vote"), expected)
        for name, answer in VALUES.items():
            with pytest.raises(ValueError, match="X must not be so small that the squares of dec"):
                pytest.fail(f"{name}: {answer(model, length * RAYS)}")
    # At the zero vector f is known to be 0: all classes are as probable.
    zero = model.decision_function(np.zeros((1, 3)))
    np.testing.assert_allclose(zero, special.ndtri(1 / classes), rtol=1e-12)


@pytest.mark.parametrize("kernel", [LINEAR, SQUARE, kernels.Polynomial(2, coef0=0.0)])
@pytest.mark.parametrize("length", [1e-150, 1e-200])
def test_with_softness_the_origin_is_reached(kernel, length):
    model = fitted(kernel, 2)
    for name, answer in ANSWERS.items():
        limit = answer(model, 0.0 * RAYS)
        np.testing.assert_allclose(answer(model, length * RAYS), limit, rtol=1e-12, err_msg=name)
    # A short f has the sign of the center, and so has z.
    model = fitted(LINEAR, 2, fit_intercept=False)
    values = model.decision_function(length * RAYS)
    np.testing.assert_array_equal(np.sign(values), model.predict(RAYS))
    np.testing.assert_allclose(values / length, model.decision_function(1e-20 * RAYS) / 1e-20)


@pytest.mark.parametrize("size", [1e150, 1e300, 2e307])
def test_impossible_kernel_values(size):
    """Precomputed values larger than k(x, x) allows: a certain decision, or an error."""
    model = BayesPointClassifier(
        "precomputed", softness=1e-9, tol=0.5, n_draws=8, random_state=seed(0)
    ).fit(X @ X.T, LABELS[2])
    rows, diag = RAYS @ X.T, np.ones(len(RAYS))
    second = model.predict(1e9 * rows) == model.classes_[1]
    np.testing.assert_array_equal(model.predict_proba(1e9 * rows, diag=diag)[:, 1] > 0.5, second)
    for answer in (
        lambda: model.predict_proba(size * rows, diag=diag),
        lambda: model.predict_proba(size * rows, diag=diag, method="mixture"),
        lambda: model.sample_functions(size * rows, gram=np.eye(len(RAYS))),
    ):
        with pytest.raises(ValueError, match="X must not be so large that decision values over"):
            answer()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", [KernelPerceptron, MaxMarginClassifier])
def test_classifiers_of_one_vector(kind, classes):
    model = kind(kernel=LINEAR).fit(X, LABELS[classes])
    limit = model.decision_function(1e10 * RAYS) / 1e10
    for length in (1e77, 1e150, 1e200):
        found = model.decision_function(length * RAYS) / length
        np.testing.assert_allclose(found, limit, rtol=1e-9, atol=1e-9)
    square = kind(kernel=SQUARE).fit(X, LABELS[classes])
    with pytest.raises(ValueError, match=r"kernel\(X, Y\) must be finite"):
        square.predict(1e160 * RAYS)


def test_distances_beyond_doubles_are_refused():
    """Decision values are finite, but distances overflow for a vector shorter than 1."""
    model = KernelPerceptron(kernel=LINEAR).fit(X, LABELS[2])
    model.norm_ = 1e-20 * model.norm_
    with pytest.raises(ValueError, match="X must not be so large that decision values overflow"):
        model.predict(np.full((1, 3), 1e300))
    assert np.isfinite(model.margins(np.full((1, 3), 1e300), [1])).all()


def test_infinite_diagonals_are_refused():
    for kernel in (SQUARE, 2.0 * SQUARE, SQUARE + LINEAR, SQUARE * LINEAR):
        with pytest.raises(ValueError, match=r"kernel\.diag\(X\) must be finite; it holds"):
            kernels.diagonal(kernel, 1e100 * X)
    with pytest.raises(ValueError, match=r"kernel\.diag\(X\) must be finite; it holds"):
        kernels.normalize(SQUARE)(1e10 * X, 1e100 * X)
