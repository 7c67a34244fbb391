//! Tests of `simd::largest` that need its private parts.

use super::*;
use approx::assert_abs_diff_eq;

/// The same integrals, node by node.
fn largest_plain(behind: &[f64]) -> Vec<f64> {
    let node = |k: usize| FIRST + k as f64 / DENSITY as f64;
    let integral = |c: usize| -> f64 {
        let height = |k: usize| {
            let others = (0..behind.len()).filter(|&j| j != c);
            let below = |j: usize| distribution((node(k) + behind[j]).min(20.0));
            let product: f64 = others.map(below).product();
            normal(node(k) + behind[c]) * product
        };
        if behind[c] < f64::from(FAR) { (0..NODES).map(height).sum() } else { 0.0 }
    };
    let p: Vec<f64> = (0..behind.len()).map(integral).collect();
    let total: f64 = p.iter().sum();
    p.iter().map(|p| p / total).collect()
}

#[test]
fn probabilities_are_the_integrals() {
    let mut largest = Largest::new();
    for n in [1, 2, 3, 10] {
        for step in [0.0, 1e-9, 0.013, 0.0078, 0.4, 1.19, 1.222_222_222_222, 5.5, 40.0] {
            // The largest is not the first.
            let behind: Vec<f64> = (0..n).map(|c| step * f64::from((c + 1) % n)).collect();
            let mut p = vec![f64::NAN; behind.len()];
            largest.probabilities(&behind, &mut p);
            for (p, plain) in p.iter().zip(largest_plain(&behind)) {
                assert_abs_diff_eq!(*p, plain, epsilon = 1e-14);
            }
            assert_abs_diff_eq!(p.iter().sum::<f64>(), 1.0, epsilon = 1e-15);
            for own in 0..behind.len() {
                assert_slopes(&mut largest, &behind, own, &p);
            }
        }
    }
}

/// The slopes are differences of log probabilities, for values that are not far behind.
fn assert_slopes(largest: &mut Largest, behind: &[f64], own: usize, p: &[f64]) {
    let (mut slopes, mut unused) = (vec![0.0; p.len()], vec![0.0; p.len()]);
    let found = largest.ln_probability(behind, own, &mut slopes);
    if p[own] > 1e-3 {
        assert_abs_diff_eq!(found, p[own].ln(), epsilon = 1e-6);
    }
    for c in (0..p.len()).filter(|_| behind[own] < 10.0) {
        let mut beside = |by: f64| {
            // The value moves by -by; then all are taken from the largest again.
            let mut moved = behind.to_vec();
            moved[c] += by;
            let first = moved.iter().copied().fold(f64::INFINITY, f64::min);
            moved.iter_mut().for_each(|b| *b -= first);
            largest.ln_probability(&moved, own, &mut unused)
        };
        let difference = (beside(-1e-4) - beside(1e-4)) / 2e-4;
        assert_abs_diff_eq!(slopes[c], difference, epsilon = 1e-4 * (1.0 + behind[own]));
    }
}
