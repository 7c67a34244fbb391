//! Tests of `linalg::updatable_cholesky`.

use proptest::prelude::*;

use crate::linalg::Cholesky;

/// x_i · x_j + δ_ij of points in the plane.
fn entry(points: &[(f64, f64)], i: usize, j: usize) -> f64 {
    let ((a, b), (c, d)) = (points[i], points[j]);
    a * c + b * d + f64::from(u8::from(i == j))
}

proptest! {
    /// After additions and removals Q Q⁻¹ b = b for the members.
    #[test]
    fn solves_for_the_members(
        points in prop::collection::vec((-3.0..3.0f64, -3.0..3.0f64), 1..40),
        leaving in prop::collection::vec(0..1000usize, 0..30),
    ) {
        let mut factor = Cholesky::default();
        let mut members: Vec<usize> = Vec::new();
        let mut leaving = leaving.iter();
        for i in 0..points.len() {
            let mut column: Vec<f64> =
                members.iter().map(|&j| entry(&points, j, i)).collect();
            factor.forward(&mut column);
            let pivot = entry(&points, i, i) - column.iter().map(|x| x * x).sum::<f64>();
            factor.push(column, pivot);
            members.push(i);
            if i % 3 == 2 && let Some(number) = leaving.next() {
                let k = number % members.len();
                factor.remove(k);
                members.remove(k);
            }
        }
        let b: Vec<f64> = (0..members.len()).map(|k| (k as f64).sin()).collect();
        let mut x = b.clone();
        factor.solve(&mut x);
        for (k, &i) in members.iter().enumerate() {
            let back: f64 = members.iter().zip(&x).map(|(&j, x)| entry(&points, i, j) * x).sum();
            prop_assert!((back - b[k]).abs() < 1e-9, "{back} {}", b[k]);
        }
    }
}
