//! A Cholesky factor to which rows can be added and from which they can be removed.

use crate::simd::dot;

/// The Cholesky factor L of `Q = L Lᵀ` for the members of a working set, in the order of their addition.
#[derive(Default)]
pub struct Cholesky {
    /// Row i of L, length i + 1.
    rows: Vec<Vec<f64>>,
}

impl Cholesky {
    /// `x ← L⁻¹ x`.
    pub fn forward(&self, x: &mut [f64]) {
        for (i, row) in self.rows.iter().enumerate() {
            let (done, rest) = x.split_at_mut(i);
            rest[0] = (rest[0] - dot::dot(&row[..i], done)) / row[i];
        }
    }

    /// `x ← L⁻ᵀ x`.
    pub fn backward(&self, x: &mut [f64]) {
        for (i, row) in self.rows.iter().enumerate().rev() {
            let (rest, done) = x.split_at_mut(i);
            done[0] /= row[i];
            dot::axpy(-done[0], &row[..i], rest);
        }
    }

    /// `x ← Q⁻¹ x`.
    pub fn solve(&self, x: &mut [f64]) {
        self.forward(x);
        self.backward(x);
    }

    pub fn log_determinant(&self) -> f64 {
        2.0 * self.rows.iter().enumerate().map(|(i, row)| row[i].ln()).sum::<f64>()
    }

    /// Adds a member, given `l = L⁻¹ Q_e`, where `Q_e` is its column of Q, and the positive pivot `Q_ee - |l|²`.
    pub fn push(&mut self, mut forwarded: Vec<f64>, pivot: f64) {
        forwarded.push(pivot.sqrt());
        self.rows.push(forwarded);
    }

    /// Removes member `k`, by Givens rotations of the rows below.
    pub fn remove(&mut self, k: usize) {
        self.rows.remove(k);
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
            rotations.push((x / r, y / r));
        }
    }
}
