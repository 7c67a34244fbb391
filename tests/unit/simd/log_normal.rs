//! Tests of `simd::log_normal` that need its private parts.

use super::*;
use crate::simd::special::normal;
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

#[test]
fn intervals_are_differences_of_two_halves() {
    let one = |c: f64, h: f64, bounded, [floor, span]: [f64; 2]| {
        let (mut c, mut h, mut value) = ([c], [h], [0.0]);
        let pair = [&mut c[..], &mut h[..]];
        ln_interval_all(Arch::new(), pair, &mut value, &[floor], span, &[bounded]);
        [value[0], c[0], h[0]]
    };
    let p = |z: f64| ln_normal_cdf_plain(z).exp();
    for k in -40..=40 {
        let c = 0.1 * f64::from(k);
        for h in [0.02, 0.4, 2.5] {
            for [floor, span] in [[0.0, 1.0], [0.1, 0.8]] {
                let exact = |c: f64, h: f64| (floor + span * (p(c + h) - p(c - h))).ln();
                let found = one(c, h, true, [floor, span]);
                assert_relative_eq!(found[0], exact(c, h), max_relative = 1e-9);
                let [by_c, by_h] = [[1e-5, 0.0], [0.0, 1e-5]]
                    .map(|[a, b]| (exact(c + a, h + b) - exact(c - a, h - b)) / 2e-5);
                assert_relative_eq!(found[1], by_c, max_relative = 1e-5, epsilon = 1e-6);
                assert_relative_eq!(found[2], by_h, max_relative = 1e-5, epsilon = 1e-6);
            }
            let [value, slope] = ln_normal_cdf_and_slope(c);
            let alone = one(c, 0.0, false, [0.0, 1.0]);
            assert_relative_eq!(alone[0], value, max_relative = 1e-12, epsilon = 1e-14);
            assert_relative_eq!(alone[1], slope, max_relative = 1e-12);
            assert!(alone[2].abs() < f64::MIN_POSITIVE);
        }
    }
    let without_room = one(0.3, -1e-9, true, [0.1, 0.8]);
    assert!(without_room[0].is_infinite());
    assert!(without_room[1..].iter().all(|slope| slope.abs() < f64::MIN_POSITIVE));
}

#[test]
fn vectors_agree_with_plain_logarithms() {
    for k in -2_000..2_000 {
        let z = 0.005_13 * f64::from(k);
        let plain = ln_normal_cdf_plain(z);
        let [value, slope] = ln_normal_cdf_and_slope(z);
        assert_relative_eq!(value, plain, max_relative = 1e-12, epsilon = 1e-12);
        assert_relative_eq!(slope, hazard_plain(z), max_relative = 1e-12, epsilon = 1e-15);
    }
    assert!(ln_normal_cdf(f64::NAN).is_nan());
    assert!(ln_normal_cdf(-1e200).is_infinite());
}
