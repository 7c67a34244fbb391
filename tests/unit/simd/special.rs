//! Tests of `simd::special`.

use approx::assert_relative_eq;

use crate::simd::special::{chi_mean, hazard, hazard_plain, normal, normal_quantile};

#[test]
fn quantiles_are_those_of_the_distribution() {
    for z in [-8.0, -3.5, -3.0, -1.2, -1e-3, 0.0, 0.7, 2.5, 5.0] {
        let p = normal(z) / hazard_plain(z);
        assert_relative_eq!(normal_quantile(p), z, max_relative = 1e-9, epsilon = 1e-15);
    }
    assert_relative_eq!(normal_quantile(0.975), 1.959_963_984_540_054, max_relative = 1e-12);
}

#[test]
fn hazards_agree_with_known_tails() {
    // Φ from tables with 15 digits.
    for (z, phi) in [
        (0.0, 0.5),
        (1.0, 0.841_344_746_068_543),
        (-1.0, 0.158_655_253_931_457),
        (-2.5, 6.209_665_325_776_132e-3),
        (-3.5, 2.326_290_790_355_25e-4),
        (-6.0, 9.865_876_450_376_98e-10),
        (-10.0, 7.619_853_024_160_52e-24),
        (4.2, 0.999_986_654_250_984),
    ] {
        assert_relative_eq!(hazard_plain(z), normal(z) / phi, max_relative = 1e-12);
    }
}

#[test]
fn table_agrees_with_series() {
    for k in -1_000..1_000 {
        let z = 0.0113 * f64::from(k);
        assert_relative_eq!(hazard(z), hazard_plain(z), max_relative = 1e-6, epsilon = 1e-12);
    }
    assert!(hazard(f64::NAN).is_nan());
}

#[test]
fn chi_means() {
    // √(2/π), 2√(2/π), and large n.
    let one = (2.0 / std::f64::consts::PI).sqrt();
    assert_relative_eq!(chi_mean(1.0), one, max_relative = 1e-10);
    assert_relative_eq!(chi_mean(3.0), 2.0 * one, max_relative = 1e-10);
    assert_relative_eq!(chi_mean(1e6), 1e3 * (1.0 - 0.25e-6), max_relative = 1e-12);
}
