"""The bounds against printed numbers, exact values, brute force, and one another."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from bayespoint.papers import bounds
from helpers import seed

# --- printed numbers ---

# Support vectors, and the bound in percent digit by digit (Graepel et al., Table 1, m = 60 000):
# of perceptrons and of machines.
SUPPORT = [740, 643, 1168, 1512, 1078, 1277, 823, 1103, 1856, 1920]
SUPPORT += [1379, 989, 1958, 1900, 1224, 2024, 1527, 2064, 2332, 2765]
PERCENT = [6.7, 6.0, 9.8, 12.0, 9.2, 10.5, 7.4, 9.4, 14.3, 14.6]
PERCENT += [11.2, 8.6, 14.9, 14.5, 10.2, 15.3, 12.2, 15.5, 17.1, 19.6]


def test_table_of_sparsity_bounds():
    found = 100 * bounds.sparsity(60_000, SUPPORT)
    [off] = np.flatnonzero(found.round(1) != PERCENT)
    assert SUPPORT[off] == 1512
    assert found[off] == pytest.approx(12.084, abs=5e-4)


@pytest.mark.parametrize("n", [4, 10, 99])
def test_relaxed_margin_bound(n):
    exact, relaxed = bounds.margin(60_000, 600), bounds.margin(60_000, 600, n=n)
    expected = (600 * math.log(math.e * 60_000 / 600) + math.log(60_000) + math.log(20)) / 60_000
    assert relaxed == pytest.approx(n / (n - 1) * expected, rel=1e-13)
    assert exact < relaxed


def test_volume_bound_that_is_trivial():
    log_volume = math.log(100) - 100 * math.log(2)
    assert math.exp(log_volume) == pytest.approx(7.8e-29, rel=0.02)
    assert round(bounds.volume_bayes(100, log_volume), 3) == 1.558
    assert round(bounds.volume_gibbs(100, log_volume), 3) == 0.779
    # The paper's "less than 70 %" is Eq. 15 without its term 2 ln m.
    assert round(bounds.volume_gibbs(100, log_volume) - 2 * math.log(100) / 100, 3) == 0.687


# --- compression ---


def test_mistakes_rounds_up_but_not_by_rounding_errors():
    squares = np.arange(1.0, 3000.0)
    np.testing.assert_array_equal(bounds.mistakes(1 / np.sqrt(squares)), squares)
    np.testing.assert_array_equal(bounds.mistakes(7 / np.sqrt(squares), 7.0), squares)
    np.testing.assert_array_equal(bounds.mistakes(1 / np.sqrt(squares + 1e-6)), squares + 1)


def test_number_of_subsets_for_few_and_many_examples():
    for m, d in ((30, 4), (1000, 500), (10**6, 10), (10**9, 3), (10**15, 2)):
        exact = (math.log(math.comb(m, d)) + math.log(m) + math.log(10)) / (m - d)
        assert bounds.sparsity(m, d, 0.1) == pytest.approx(exact, rel=1e-11)
    assert bounds.sparsity(50, 50) == math.inf
    assert bounds.margin(50, 50) == bounds.margin(50, 10**6) == math.inf
    assert bounds.sparsity(50, 49) < math.inf


# --- caps ---


@pytest.mark.parametrize("n", [2, 3, 4, 7, 50, 1001, 10**6])
def test_caps_against_quadrature(n):
    # Logarithm of the integral of sin^(n-2), scaled by its largest value in the range.
    def log_integral(upper):
        peak = min(upper, math.pi / 2)
        width = min(
            peak, 60 / math.sqrt(n) if upper > math.pi / 2 - 1e-9 else 60 / n * math.tan(peak)
        )
        low = max(peak - max(width, 1e-12), 0.0)
        scale = (n - 2) * math.log(math.sin(peak))
        value, _ = integrate.quad(
            lambda t: math.exp((n - 2) * math.log(math.sin(t)) - scale) if t > 0 else float(n == 2),
            low,
            min(upper, peak + 60 / math.sqrt(n)),
            epsabs=0,
            epsrel=1e-11,
            limit=400,
            points=[peak] if low < peak < upper else None,
        )
        return scale + math.log(value)

    for angle in (1e-3, 0.2, 0.7, 1.2, 1.5, math.pi / 2 - 1e-3):
        exact = log_integral(angle) - log_integral(math.pi)
        assert bounds.cap_log_fraction(n, angle) == pytest.approx(exact, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("n", [3, 20, 1000, 10**6])
def test_caps_are_smooth_where_the_method_changes(n):
    """From the incomplete beta function to its continued fraction, near 1e-280."""
    low, high = 1e-200, math.pi / 2
    for _ in range(80):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if bounds.cap_log_fraction(n, middle) < -644.7 else (low, middle)
    angles = low * (1 + 1e-9 * np.arange(-200, 201))
    values = bounds.cap_log_fraction(n, angles)
    slopes = np.diff(values) / np.diff(angles)
    assert values.min() < -644.7 < values.max()
    np.testing.assert_allclose(slopes, slopes.mean(), rtol=2e-3)


def test_lemma_1_against_points_on_the_sphere():
    rng = np.random.default_rng(seed(2))
    n_points = 400_000
    for n, angle in ((3, 0.5), (5, 1.0), (10, 1.2), (30, 1.5), (10, 1.9)):
        z = rng.standard_normal((n_points, n))
        inside = z[:, 0] > math.cos(angle) * np.linalg.norm(z, axis=1)
        exact = math.exp(bounds.cap_log_fraction(n, angle))
        assert abs(inside.mean() - exact) < 4.5 * math.sqrt(exact * (1 - exact) / n_points)
        # The chord of Lemma 1: a point is within the cap if it is nearer than gamma.
        gamma = 2 * math.sin(angle / 2)
        assert math.acos(1 - gamma**2 / 2) == pytest.approx(angle)


def test_lemma_2():
    x = np.concatenate([np.geomspace(1e-12, 0.4, 200), 0.5 - np.geomspace(1e-9, 0.1, 50)])
    for n in (*range(4, 104), 400):
        cap = bounds.cap_log_fraction(n, np.arccos(1 - 2 * x))
        assert (-cap <= -(n - 2) * np.log(x) * (1 + 1e-12)).all()
    # Corollary 2 uses a weaker form of it, in every dimension.
    gamma = np.geomspace(1e-6, 1.0, 100)
    for n in (1, 2, 3, 4, 10, 101, 1000):
        corollary = bounds.linear_svm(1000, n, gamma)
        chord = bounds.volume_bayes(1000, bounds.cap_log_fraction(n, 2 * np.arcsin(gamma / 2)))
        exact = bounds.volume_bayes(1000, bounds.cap_log_fraction(n, np.arcsin(gamma)))
        assert (exact <= chord * (1 + 1e-12)).all()
        assert (chord <= corollary).all()


# --- relative entropy ---


def test_inverted_relative_entropy():
    m = 100
    for error in (0.0, 1e-9, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9):
        for kl in (0.0, 0.1, 5.0, 80.0):
            p = bounds.pac_bayes_kl(m, kl, 0.1, empirical_error=error)
            budget = (kl + math.log(2 * math.sqrt(m) / 0.1)) / m
            assert error <= p <= 1
            if p < 1 - 1e-12:
                back = stats.entropy([error, 1 - error], [p, 1 - p])
                assert back == pytest.approx(budget, rel=1e-6)
    assert bounds.pac_bayes_kl(m, 5.0, empirical_error=1.0) == 1
    assert bounds.pac_bayes_kl(m, 5.0) == pytest.approx(1 - math.exp(-(5 + math.log(400)) / 100))


def test_constant_of_maurer():
    """The mean of exp(m kl(S/m || p)) over binomial S is at most 2 sqrt(m), for every m."""
    for m in [*range(1, 60), 500, 5000]:
        k = np.arange(m + 1)
        worst = stats.binom.pmf(k, m, k / m).sum()  # the same for every p inside (0, 1)
        assert math.sqrt(m) <= worst <= 2 * math.sqrt(m)


def test_it_is_tighter_than_the_form_of_1998():
    m = np.array([20.0, 100, 1000, 10**6])
    kl = np.geomspace(0.7, 1e5, 40)[:, None]
    assert (bounds.pac_bayes_kl(m, kl) <= bounds.volume_gibbs(m, -kl)).all()


# --- properties of all bounds ---


def test_never_nan_nor_below_what_is_known():
    """Random arguments over all of their ranges, and their ends."""
    rng = np.random.default_rng(seed(4))
    n_cases = 4000

    def ends(values, *more):
        """Put the ends of a range among values."""
        values[: 20 * len(more)] = np.repeat(more, 20)
        return rng.permutation(values)

    m = ends(np.floor(10 ** rng.uniform(0, 15, n_cases)), 1.0, 2.0, 1e9)
    delta = ends(rng.uniform(1e-12, 1, n_cases), 1e-300, 1 - 1e-16)
    d = np.maximum(np.floor(m * ends(rng.uniform(0, 1, n_cases) ** 3, 0.0, 1.0)), 1)
    kappa = ends(np.floor(10 ** rng.uniform(0, 18, n_cases)), 1.0, 1e300)
    gamma = ends(10 ** rng.uniform(-12, 0, n_cases), 1.0, 1e-150)
    log_volume = -ends(10 ** rng.uniform(-12, 12, n_cases), 0.0, 1e6, 1e300)
    errors = ends(rng.uniform(0, 1, n_cases), 0.0, 1e-300, 1 - 1e-16, 1.0)
    n = ends(np.floor(10 ** rng.uniform(0, 6, n_cases)), 1.0, 2.0, 1e6)
    with np.errstate(invalid="raise", over="raise"):
        finite = {
            "pac_margin": bounds.pac_margin(m, kappa, delta),
            "luckiness": bounds.luckiness(m, gamma, delta),
            "volume_gibbs": bounds.volume_gibbs(m, log_volume, delta),
            "volume_bayes": bounds.volume_bayes(m, log_volume / 2, delta),
            "linear_svm": bounds.linear_svm(m, n, gamma, delta),
            "pac_bayes_kl": bounds.pac_bayes_kl(m, -log_volume, delta, empirical_error=errors),
            "mistakes": bounds.mistakes(gamma),
        }
        compressed = bounds.sparsity(m, d, delta)
        limited = bounds.margin(m, kappa, delta)
        caps = bounds.cap_log_fraction(n, np.pi * gamma)
    for name, values in finite.items():
        assert np.isfinite(values).all(), name
        assert (values > 0).all(), name  # the empirical error of a consistent classifier is 0
    assert (finite["pac_bayes_kl"] >= errors).all()
    np.testing.assert_array_equal(np.isinf(compressed), d == m)
    np.testing.assert_array_equal(np.isinf(limited), kappa >= m)
    assert (compressed > 0).all()
    assert (limited > 0).all()
    assert np.isfinite(caps).all()
    assert (caps <= 0).all()


def test_hoeffding_is_sufficient():
    n, epsilon, eta = 5, 0.5, 0.1
    k = bounds.hoeffding_samples(n, epsilon, eta)
    exact = n * 4 / (2 * epsilon**2) * math.log(2 * n / eta)
    assert k - 1 <= exact < k
    # Components at the ends of the interval vary the most.
    rng = np.random.default_rng(seed(3))
    means = 2 * rng.binomial(int(k), 0.5, (20_000, n)) / k - 1
    assert (np.linalg.norm(means, axis=1) >= epsilon).mean() <= eta
    assert bounds.hoeffding_samples(n, epsilon, eta, low=0.0, high=0.2) < k / 50


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: bounds.sparsity([10, np.nan], 1), "m"),
        (lambda: bounds.sparsity(10, 11), "d"),
        (lambda: bounds.sparsity(10, 1, 1.0), "delta"),
        (lambda: bounds.margin(100, 20, n=3), "n"),
        (lambda: bounds.margin(100, 25, n=4), "kappa"),
        (lambda: bounds.mistakes(2.0), "margin"),
        (lambda: bounds.mistakes(0.5, np.inf), "radius"),
        (lambda: bounds.luckiness(10, 0.2, radius=0.1), "margin"),
        (lambda: bounds.volume_bayes(10, -np.inf), "log_volume"),
        (lambda: bounds.linear_svm(10, 3, 1.1), "margin"),
        (lambda: bounds.pac_bayes_kl(10, 1.0, empirical_error=1.5), "empirical_error"),
        (lambda: bounds.cap_log_fraction(3, 3.2), "angle"),
        (lambda: bounds.hoeffding_samples(3, 0.1, low=1.0), "low"),
        (lambda: bounds.hoeffding_samples(3, 1e-200), "epsilon"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError, match=f"^{name} must "):
        call()


def test_luckiness_by_hand():
    # kappa = ceil(577 * 4 / 0.25) = 9232
    expected = (
        9232 * math.log2(8 * math.e * 1e6 / 9232) * math.log2(32e6) + math.log2(8e6 / 0.1)
    ) / 5e5
    assert bounds.luckiness(10**6, 0.5, 0.1, radius=2.0) == pytest.approx(expected, rel=1e-13)


def test_shapes_must_broadcast():
    with pytest.raises(ValueError, match=r"broadcast .* m \(2,\), d \(3,\)"):
        bounds.sparsity([10, 20], [1, 2, 3])
