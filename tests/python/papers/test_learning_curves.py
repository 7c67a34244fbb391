"""Learning curves against the equations, their limits, one another, and simulation."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from bayespoint import VersionSpace
from bayespoint.papers import learning_curves as curves
from helpers import SHIFT, SLOW

ALPHAS = np.concatenate([np.geomspace(1e-6, 1e6, 49), [0.5, 2.0, 5.0, 10.0]])


def integral(R):
    """The integral of Opper and Haussler by another quadrature, with SciPy's H."""

    def density(x):
        exponent = -(x**2) / 2 - R * x**2 / 2 - stats.norm.logsf(math.sqrt(R) * x)
        return math.exp(exponent) / math.sqrt(2 * math.pi)

    value, _ = integrate.quad(density, -13, 13, epsabs=0, epsrel=1e-12, limit=500, points=[0.0])
    return value


def test_overlap_solves_the_equation():
    R = curves.overlap(ALPHAS)
    for alpha, r in zip(ALPHAS, R, strict=True):
        # 1 - R from the angle, because R itself is too close to 1.
        rest = math.sin(math.pi * curves.bayes_error(alpha)) ** 2
        assert rest == pytest.approx(1 - r, abs=1e-14)
        assert r / math.sqrt(rest) == pytest.approx(alpha / math.pi * integral(r), rel=1e-11)


def test_errors_are_the_angles():
    alpha = np.geomspace(1e-3, 100, 30)
    R = curves.overlap(alpha)
    np.testing.assert_allclose(np.cos(np.pi * curves.bayes_error(alpha)), np.sqrt(R), rtol=1e-12)
    np.testing.assert_allclose(np.cos(np.pi * curves.gibbs_error(alpha)), R, rtol=1e-12)


def test_few_examples():
    assert curves.overlap(0.0) == 0
    assert curves.bayes_error(0.0) == curves.gibbs_error(0.0) == curves.adaline_error(0.0) == 0.5
    alpha = np.geomspace(1e-6, 1e-4, 5)
    np.testing.assert_allclose(curves.overlap(alpha), 2 * alpha / np.pi, rtol=1e-4)
    # With very few examples every rule adds them up, so all are equally good.
    hebb = np.arccos(np.sqrt(2 * alpha / np.pi)) / np.pi
    for error in (curves.bayes_error, curves.max_margin_error, curves.adaline_error):
        np.testing.assert_allclose(error(alpha), hebb, rtol=1e-6)


@pytest.mark.parametrize(
    ("rule", "error", "quoted"),
    [
        ("bayes", curves.bayes_error, 0.44),
        ("gibbs", curves.gibbs_error, 0.62),
        ("max_margin", curves.max_margin_error, 0.50),
        ("adaline", curves.adaline_error, 0.24),
    ],
)
def test_many_examples(rule, error, quoted):
    assert curves.asymptote(1.0, rule) == pytest.approx(quoted, abs=0.005)
    alpha = np.array([1e4, 1e5, 1e6])
    ratio = error(alpha) / curves.asymptote(alpha, rule)
    np.testing.assert_allclose(ratio, 1, rtol=2e-4)
    assert abs(ratio[-1] - 1) < abs(ratio[0] - 1)
    power = 0.5 if rule == "adaline" else 1.0
    assert curves.asymptote(100.0, rule) == pytest.approx(curves.asymptote(1.0, rule) / 100**power)


def test_order_of_the_rules():
    alpha = np.geomspace(1e-3, 1e4, 100)
    bayes, gibbs = curves.bayes_error(alpha), curves.gibbs_error(alpha)
    margin, adaline = curves.max_margin_error(alpha), curves.adaline_error(alpha)
    assert (bayes < margin).all()
    assert (margin < gibbs).all()
    assert (bayes < adaline).all()
    # A vote errs at most twice as often as one of its members.
    assert (gibbs < 2 * bayes).all()
    for curve in (bayes, gibbs, margin):
        assert (np.diff(curve) < 0).all()
    assert (np.diff(adaline[alpha > 1]) < 0).all()
    assert curves.adaline_error(1.0) == 0.5


@pytest.mark.long
@pytest.mark.parametrize("alpha", [0.3, 1.0, 3.0, 20.0])
def test_margin_is_the_largest(alpha):
    """Independently: the largest margin for which there is a student at some angle."""

    def left_side(kappa, theta):
        def density(z):
            return 2 * stats.norm.pdf(z) * stats.norm.cdf(z / math.tan(theta)) * (kappa - z) ** 2

        value, _ = integrate.quad(density, -12, kappa, epsrel=1e-9, limit=300)
        return alpha * value / math.sin(theta) ** 2

    angles = np.pi * curves.max_margin_error(alpha) * (1 + np.linspace(-0.02, 0.02, 5))
    low, high = 0.0, 10.0  # of the margin at the angle in the middle
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if left_side(middle, angles[2]) < 1 else (low, middle)
    around = [left_side(low, angle) for angle in angles]
    assert around[2] == pytest.approx(1, rel=1e-6)
    assert min(around) == around[2]
    assert around[1] - around[2] == pytest.approx(around[3] - around[2], rel=0.1)


def simulated(alpha, dimension, index, student):
    """Error of a student of random examples: its angle to the teacher over pi."""
    rng = np.random.default_rng(index + 7919 * SHIFT)
    x = rng.standard_normal((round(alpha * dimension), dimension))
    y = np.where(x[:, 0] > 0, 1, -1)
    w = student(x, y)
    return math.acos(w[0] / np.linalg.norm(w)) / math.pi


def least_squares(x, y):
    return np.linalg.lstsq(x, y, rcond=None)[0]


def widest(x, y):
    return x.T @ VersionSpace(x @ x.T, y).max_margin(tol=1e-3).dual_coef


def center(x, y):
    return x.T @ VersionSpace(x @ x.T, y).sample(tol=0.05, n_draws=10, random_state=SHIFT).center


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("alpha", "dimension", "student", "theory"),
    [
        (0.3, 200, least_squares, curves.adaline_error),
        (0.7, 200, least_squares, curves.adaline_error),
        (2.0, 150, least_squares, curves.adaline_error),
        (6.0, 100, least_squares, curves.adaline_error),
        (1.0, 100, widest, curves.max_margin_error),
        (2.0, 100, widest, curves.max_margin_error),
        (1.0, 100, center, curves.bayes_error),
        (2.0, 100, center, curves.bayes_error),
        (5.0, 100, center, curves.bayes_error),
    ],
)
def test_students(alpha, dimension, student, theory):
    repeats = 60 if SLOW else 15
    errors = [simulated(alpha, dimension, index, student) for index in range(repeats)]
    expected = theory(alpha)
    spread = np.std(errors, ddof=1) / math.sqrt(repeats)
    # The dimension is finite, so there is an error of the order of 1 / dimension.
    assert abs(np.mean(errors) - expected) < 4.5 * spread + expected / dimension
    assert spread < 0.05 * expected
