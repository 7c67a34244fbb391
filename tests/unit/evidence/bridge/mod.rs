//! Tests of `evidence::bridge` that need its private parts.

use super::*;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{ChiSquared, Distribution};

/// Gaussian vectors in r dimensions, the first k of which have precision 1 + t a: the ratio is the root of a determinant.
#[test]
fn determinants() {
    let (r, k, a) = (20.0, 8.0, 6.0f64);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let ladder = [0.0, 0.3, 1.0];
    let pieces: Vec<Vec<Piece>> = ladder
        .iter()
        .map(|t| {
            (0..40)
                .map(|trip| {
                    let piece = (0..200)
                        .map(|_| {
                            let within: f64 = ChiSquared::new(k).expect("k > 0").sample(&mut rng);
                            let rest: f64 = ChiSquared::new(r - k).expect("r > k").sample(&mut rng);
                            let within = within / (1.0 + t * a);
                            a * within / (within + rest)
                        })
                        .collect();
                    (trip, piece)
                })
                .collect()
        })
        .collect();
    let (found, error) = log_ratio(&ladder, &pieces, r);
    let exact = -0.5 * k * (1.0 + a).ln();
    assert!((found - exact).abs() < 4.0 * error && error < 0.05, "{found} ± {error}, {exact}");
}

#[test]
fn shares_exceed_one_by_their_error_at_most() {
    assert!(gaussians::may_be_log_share(-3.0, 0.1));
    assert!(gaussians::may_be_log_share(0.4, 0.1));
    assert!(gaussians::may_be_log_share(4.9, 1e3));
    assert!(!gaussians::may_be_log_share(0.6, 0.1));
    assert!(!gaussians::may_be_log_share(5.1, 1e3));
    assert!(!gaussians::may_be_log_share(f64::NAN, 0.1));
}
