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
