//! Tests of `simd::log_normal` that need its private parts.

use super::*;
use crate::simd::special::{hazard_plain, normal};
use approx::assert_relative_eq;

/// Returns ln Φ(z) to full precision.
fn ln_normal_cdf_plain(z: f64) -> f64 {
    // Φ = N / h, in logarithms or for the other tail without cancellation.
    if z > 0.0 {
        (-normal(z) / hazard_plain(-z)).ln_1p()
    } else {
        -0.5 * (z * z + std::f64::consts::TAU.ln()) - hazard_plain(z).ln()
    }
}

#[test]
fn plain_logarithms_agree_with_known_values() {
    // From tables with 15 digits.
    for (z, known) in [
        (1.0, f64::ln(0.841_344_746_068_543)),
        (-10.0, f64::ln(7.619_853_024_160_52e-24)),
        (6.0, -9.865_876_450_376_98e-10),
        (-50.0, -1_254.831_361_139_42),
    ] {
        assert_relative_eq!(ln_normal_cdf_plain(z), known, max_relative = 1e-12);
    }
}

/// Returns ln Φ(z) and its derivative.
fn ln_normal_cdf(z: f64) -> [f64; 2] {
    let (mut slope, mut value) = ([z], [0.0]);
    ln_normal_cdf_all(&mut slope, &mut value);
    [value[0], slope[0]]
}

/// Returns `ln(Φ(a) - Φ(-b))` and its derivatives.
fn ln_interval(mut a: f64, mut b: f64) -> [f64; 3] {
    let mut value = [0.0];
    let ends = [&mut a, &mut b].map(std::slice::from_mut);
    ln_interval_all(ends, &mut value);
    [value[0], a, b]
}

#[test]
fn intervals_are_differences_of_two_tails() {
    let p = |z: f64| ln_normal_cdf_plain(z).exp();
    let exact = |a: f64, b: f64| (p(a) - p(-b)).ln();
    for k in -40..=40 {
        let c = 0.1 * f64::from(k);
        for h in [0.02, 0.4, 2.5] {
            let (a, b) = (h + c, h - c);
            let [value, by_a, by_b] = ln_interval(a, b);
            assert_relative_eq!(value, exact(a, b), max_relative = 1e-9);
            let slopes = [[1e-5, 0.0], [0.0, 1e-5]]
                .map(|[da, db]| (exact(a + da, b + db) - exact(a - da, b - db)) / 2e-5);
            assert_relative_eq!(by_a, slopes[0], max_relative = 1e-5, epsilon = 1e-6);
            assert_relative_eq!(by_b, slopes[1], max_relative = 1e-5, epsilon = 1e-6);
        }
        // With one end it is a wall.
        let [value, slope] = ln_normal_cdf(c);
        for [alone, by_c, by_other] in [[c, f64::INFINITY], [f64::INFINITY, c]].map(|[a, b]| {
            let [value, by_a, by_b] = ln_interval(a, b);
            if a.is_finite() { [value, by_a, by_b] } else { [value, by_b, by_a] }
        }) {
            assert_relative_eq!(alone, value, max_relative = 1e-12, epsilon = 1e-14);
            assert_relative_eq!(by_c, slope, max_relative = 1e-12);
            assert!(by_other.abs() < 1e-300);
        }
    }
    let [value, slopes @ ..] = ln_interval(0.3, -0.3 - 1e-9);
    assert!(value == f64::NEG_INFINITY && slopes.iter().all(|slope| *slope == 0.0));
}

#[test]
fn narrow_intervals_have_the_density_times_their_width() {
    // The sum of two distances has the rounding of the larger one.
    for c in [-30.0, -9.0, 0.3, 5.0, 30.0] {
        for half in [1e-10, 4e-7, 6e-7, 1e-5] {
            let [value, by_a, by_b] = ln_interval(half + c, half - c);
            let exact = -0.5 * (c * c + std::f64::consts::TAU.ln()) + (2.0 * half).ln();
            assert_relative_eq!(value, exact, epsilon = 1e-8 + 4e-15 * c.abs() / half);
            assert_relative_eq!(by_a + by_b, 1.0 / half, max_relative = 1e-4);
        }
    }
}

#[test]
fn noise_is_a_mixture() {
    let (floors, spans) = ([0.1, 0.02, 0.3, 0.1, 0.0], [0.8, 0.96, 0.4, 0.8, 0.9]);
    let mut values = [-0.3, -700.0, 0.0, f64::NEG_INFINITY, -9e3];
    let (before, mut shares) = (values, [0.0; 5]);
    ln_with_noise_all(&mut values, &mut shares, [&floors, &spans]);
    for i in 0..3 {
        let p = floors[i] + spans[i] * before[i].exp();
        assert_relative_eq!(values[i], p.ln(), max_relative = 1e-12);
        assert_relative_eq!(shares[i], spans[i] * before[i].exp() / p, epsilon = 1e-15);
    }
    assert!(values[3] == f64::NEG_INFINITY);
    // Only a floor is a bound.
    assert_relative_eq!(values[4], before[4] + f64::ln(0.9), max_relative = 1e-15);
    assert_relative_eq!(shares[4], 1.0);
}

#[test]
fn vectors_agree_with_plain_logarithms() {
    for k in -2_000..2_000 {
        let z = 0.005_13 * f64::from(k);
        let [value, slope] = ln_normal_cdf(z);
        assert_relative_eq!(value, ln_normal_cdf_plain(z), max_relative = 1e-12, epsilon = 1e-12);
        assert_relative_eq!(slope, hazard_plain(z), max_relative = 1e-12, epsilon = 1e-15);
    }
    assert!(ln_normal_cdf(f64::NAN)[0].is_nan());
    assert!(ln_normal_cdf(-1e200)[0].is_infinite());
}
