//! Tests of `linalg::updatable_cholesky` that need its private parts.

use super::*;
use proptest::prelude::*;

/// x_i · x_j + δ_ij of points in the plane.
fn entry(points: &[(f64, f64)], i: usize, j: usize) -> f64 {
    let ((a, b), (c, d)) = (points[i], points[j]);
    a * c + b * d + f64::from(u8::from(i == j))
}

proptest! {
    /// After additions and removals Q Q⁻¹ b = b for the members, and the carried vector is L⁻¹ b.
    #[test]
    fn solves_for_the_members(
        points in prop::collection::vec((-3.0..3.0f64, -3.0..3.0f64), 1..40),
        leaving in prop::collection::vec(0..1000usize, 0..30),
    ) {
        let mut factor = Cholesky::new(Arch::new());
        let mut members: Vec<usize> = Vec::new();
        let mut carried: Vec<f64> = Vec::new();
        let mut leaving = leaving.iter();
        for i in 0..points.len() {
            let mut column: Vec<f64> =
                members.iter().map(|&j| entry(&points, j, i)).collect();
            factor.forward(&mut column);
            let pivot = entry(&points, i, i) - column.iter().map(|x| x * x).sum::<f64>();
            let known: f64 = carried.iter().zip(&column).map(|(a, b)| a * b).sum();
            carried.push(((i as f64).cos() - known) / pivot.sqrt());
            factor.push(column, pivot);
            members.push(i);
            if i % 3 == 2 && let Some(number) = leaving.next() {
                let k = number % members.len();
                factor.remove(k, &mut carried);
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
        let mut fresh: Vec<f64> = members.iter().map(|&i| (i as f64).cos()).collect();
        factor.forward(&mut fresh);
        for (old, new) in carried.iter().zip(&fresh) {
            prop_assert!((old - new).abs() < 1e-9, "{old} {new}");
        }
    }
}
