//! Tests of `evidence::mbar` that need its private parts.

use super::*;

/// Steep weights and exact histograms: the search converges from a first guess of θ that is far off.
#[test]
fn the_search_converges_from_a_bad_guess() {
    let states = 8usize;
    let share = |v: usize| f64::exp(-6.0 * v as f64);
    let all: f64 = (0..states).map(share).sum();
    let level: Vec<f64> = (0..states).map(|v| 6.0 * v as f64).collect();
    for theta in [0.0, 60.0, -60.0, 500.0] {
        let rung = |log_weights: &[f64]| {
            let law: Vec<f64> = (0..states).map(|v| share(v) * log_weights[v].exp()).collect();
            let total: f64 = law.iter().sum();
            let piece = || (0..states).map(|v| (v, 50.0 * law[v] / total)).collect();
            Rung { log_weights: log_weights.to_vec(), pieces: vec![(0, piece()), (1, piece())] }
        };
        let rungs = vec![rung(&vec![0.0; states]), rung(&level)];
        let shares = Shares::new(rungs, vec![0.0, theta]);
        for v in 0..states {
            let exact = (share(v) / all).ln();
            let found = shares.log_share[v];
            assert!((found - exact).abs() < 1e-6, "θ = {theta}, state {v}: {found}, exact {exact}");
            let (value, error) = shares.log_z(|u| if u == v { 0.0 } else { f64::NEG_INFINITY });
            assert!((value - exact).abs() < 1e-6 && error < 1e-6);
        }
    }
}
