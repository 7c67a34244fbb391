//! Tests of `ensemble::conditional_means` that need its private parts.

use super::*;
use approx::assert_relative_eq;

#[test]
fn densities_behind_transparent_walls() {
    let phi = |z: f64| normal(z) / hazard_plain(z);
    for z in [-7.0, -1.0, 0.0, 2.0] {
        for k in [1e-3, 0.3, 1.0] {
            let direct = (1.0 - k) * normal(z) / (phi(z) + k * phi(-z));
            assert_relative_eq!(density(z, k), direct, max_relative = 1e-8);
        }
    }
    assert_relative_eq!(density(-60.0, 0.5), normal(60.0), max_relative = 1e-8);
    for z in [9.0, 9.1, 37.0, 38.5, 39.0, 60.0, 1e200] {
        for k in [0.0, 1e-300, 0.1, 1.0] {
            assert_relative_eq!(density(z, k), (1.0 - k) * normal(z), max_relative = 1e-12);
        }
    }
    // The reciprocals of both overflow.
    for k in [5e-324, 4e-312, 1e-300] {
        for z in [-37.0, -37.6, -38.0, -60.0] {
            assert!((0.0..=-z + 1.0).contains(&density(z, k)), "{z} {k}");
        }
    }
}

#[test]
fn means_between_two_walls() {
    // By Simpson's rule about the end of larger density.
    let exact = |low: f64, high: f64| {
        let top = if low > 0.0 {
            low
        } else if high < 0.0 {
            high
        } else {
            0.0
        };
        let (low, high) = (low.max(top - 40.0), high.min(top + 40.0));
        let (n, mut sums) = (40_000, [0.0; 2]);
        for k in 0..=n {
            let x = low + (high - low) * f64::from(k) / f64::from(n);
            let weight = if k == 0 || k == n { 1.0 } else { f64::from(2 + 2 * (k % 2)) };
            let p = weight * (0.5 * (top * top - x * x)).exp();
            sums[0] += p;
            sums[1] += p * x;
        }
        sums[1] / sums[0]
    };
    for low in [-30.0, -6.0, -1.0, -0.1, 0.0, 0.4, 3.0, 9.0, 20.0] {
        for width in [1e-4, 1e-3, 9e-3, 0.02, 0.3, 1.0, 4.0, 50.0, f64::INFINITY] {
            let high = low + width;
            let found = between([-low, high], width);
            let close = 1e-7 * width.min(1.0) + 1e-11;
            assert!((found - exact(low, high)).abs() < close, "{low} {width} {found}");
            assert!((between([high, -low], width) + found).abs() < close);
        }
    }
    assert!(between([f64::INFINITY; 2], f64::INFINITY) == 0.0);
}

#[test]
fn tails_are_drawn_wherever_they_begin() {
    use rand::SeedableRng;
    let mut rng = Stream::seed_from_u64(1);
    for z in [3.0, 0.0, -2.0, -1e3, -0.9e8, -1.1e8, -1e200, f64::MIN, f64::INFINITY] {
        let n = 2_000;
        let mean = (0..n).map(|_| above_zero(z, &mut rng)).sum::<f64>() / f64::from(n);
        let exact = z + hazard_plain(z.max(-1e3));
        let exact = if z < -1e3 { -z.recip() } else { exact };
        assert_relative_eq!(mean, exact, max_relative = 0.12);
    }
    assert!(above_zero(f64::NAN, &mut rng).is_nan());
    assert!(above_zero(f64::NEG_INFINITY, &mut rng) == 0.0);
}
