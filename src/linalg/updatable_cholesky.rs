//! A Cholesky factor to which rows can be added and from which they can be removed.

use pulp::Arch;

use crate::simd::dot;

/// The Cholesky factor L of `Q = L Lᵀ` for the members of a working set, in the order of their addition.
#[derive(Clone, Debug)]
pub(crate) struct Cholesky {
    /// Row i of L, length i + 1.
    rows: Vec<Vec<f64>>,
    arch: Arch,
}

impl Cholesky {
    pub(crate) fn new(arch: Arch) -> Self {
        Self { rows: Vec::new(), arch }
    }

    /// `x ← L⁻¹ x`.
    pub(crate) fn forward(&self, x: &mut [f64]) {
        for (i, row) in self.rows.iter().enumerate() {
            let (done, rest) = x.split_at_mut(i);
            rest[0] = (rest[0] - dot::dot(self.arch, &row[..i], done)) / row[i];
        }
    }

    /// `x ← L⁻ᵀ x`.
    pub(crate) fn backward(&self, x: &mut [f64]) {
        for (i, row) in self.rows.iter().enumerate().rev() {
            let (rest, done) = x.split_at_mut(i);
            done[0] /= row[i];
            dot::axpy(self.arch, -done[0], &row[..i], rest);
        }
    }

    /// `x ← Q⁻¹ x`.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        self.forward(x);
        self.backward(x);
    }

    pub(crate) fn log_determinant(&self) -> f64 {
        2.0 * self.rows.iter().enumerate().map(|(i, row)| row[i].ln()).sum::<f64>()
    }

    /// Adds a member, given `l = L⁻¹ Q_e`, where `Q_e` is its column of Q, and the positive pivot `Q_ee - |l|²`.
    pub(crate) fn push(&mut self, mut forwarded: Vec<f64>, pivot: f64) {
        forwarded.push(pivot.sqrt());
        self.rows.push(forwarded);
    }

    /// Removes member `k`, by Givens rotations of the rows below. `carried = L⁻¹ b` is updated too, without the member's entry
    /// of b.
    pub(crate) fn remove(&mut self, k: usize, carried: &mut Vec<f64>) {
        self.rows.remove(k);
        debug_assert_eq!(carried.len(), self.rows.len() + 1);
        let mut rotations: Vec<(f64, f64)> = Vec::with_capacity(self.rows.len() - k);
        for i in k..self.rows.len() {
            let row = &mut self.rows[i];
            for (column, &(cos, sin)) in (k..).zip(&rotations) {
                let (x, y) = (row[column], row[column + 1]);
                row[column] = cos * x + sin * y;
                row[column + 1] = cos * y - sin * x;
            }
            let (x, y) = (row[i], row[i + 1]);
            let r = x.hypot(y);
            row[i] = r;
            row.pop();
            let (cos, sin) = (x / r, y / r);
            let (x, y) = (carried[i], carried[i + 1]);
            carried[i] = cos * x + sin * y;
            carried[i + 1] = cos * y - sin * x;
            rotations.push((cos, sin));
        }
        carried.pop();
    }
}

#[cfg(test)]
mod tests {
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
}
