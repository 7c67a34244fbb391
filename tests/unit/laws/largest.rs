//! Tests of `laws::largest` that need its private parts.

use super::*;
use approx::{assert_abs_diff_eq, assert_relative_eq};

/// The same integrals, node by node.
fn largest_plain(behind: &[f64]) -> Vec<f64> {
    let node = |k: usize| FIRST + DISTANCE * k as f64;
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
                let mut contrasts = others(&behind, own);
                let found = largest.ln_probability(&mut contrasts);
                if p[own] > 1e-3 {
                    assert_abs_diff_eq!(found, p[own].ln(), epsilon = 1e-6);
                }
            }
        }
    }
}

/// By how much a value is above each other one.
fn others(behind: &[f64], own: usize) -> Vec<f64> {
    (0..behind.len()).filter(|&j| j != own).map(|j| behind[j] - behind[own]).collect()
}

const CONTRASTS: [&[f64]; 8] = [
    &[0.3],
    &[-2.0, 1.0],
    &[-6.5, 0.2, 3.0],
    &[-8.0, -7.5],
    &[-20.0, 0.0, -60.0],
    &[5.0, -1.0, f64::INFINITY],
    &[-6.4; 5],
    &[-4.0; 25],
];

#[test]
fn slopes_are_differences_of_log_probabilities() {
    let mut largest = Largest::new();
    for contrasts in CONTRASTS {
        let mut slopes = contrasts.to_vec();
        largest.ln_probability(&mut slopes);
        for c in 0..contrasts.len() {
            let mut beside = |by: f64| {
                let mut moved = contrasts.to_vec();
                moved[c] += by;
                largest.ln_probability(&mut moved)
            };
            let difference =
                if contrasts[c].is_finite() { (beside(1e-4) - beside(-1e-4)) / 2e-4 } else { 0.0 };
            assert_abs_diff_eq!(slopes[c], difference, epsilon = 1e-5 * (1.0 + difference));
        }
    }
}

#[test]
fn the_integral_about_the_mode_is_that_of_the_table_with_second_derivatives() {
    let mut largest = Largest::new();
    for contrasts in CONTRASTS {
        let k = contrasts.len();
        let (mut slopes, mut bends) = (contrasts.to_vec(), vec![0.0; k * k]);
        let found = about_mode(&mut slopes, Some(&mut bends));
        let mut others = contrasts.to_vec();
        assert_relative_eq!(found, largest.ln_probability(&mut others), max_relative = 1e-9);
        for c in (0..k).filter(|&c| contrasts[c].is_finite()) {
            let beside = |by: f64| {
                let mut moved = contrasts.to_vec();
                moved[c] += by;
                about_mode(&mut moved, None);
                moved
            };
            let (ahead, behind) = (beside(1e-4), beside(-1e-4));
            for l in 0..k {
                let curvature = bends[c * k + l] + slopes[c] * slopes[l];
                let difference = (behind[l] - ahead[l]) / 2e-4;
                assert_abs_diff_eq!(
                    curvature,
                    difference,
                    epsilon = 1e-6 * (1.0 + slopes[l].powi(2))
                );
            }
        }
    }
}
