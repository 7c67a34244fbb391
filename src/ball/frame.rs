//! Position and direction as dual coefficients in a fixed frame, and exact integrals of the position.

use serde::{Deserialize, Serialize};

use crate::base::{Result, ensure_finite, ensure_vectors};

/// Dual coefficients of position and direction, `b = p cos θ + q sin θ` and `v = -p sin θ + q cos θ`, with θ the angle flown
/// since the frame was laid. A flight changes only θ, without trigonometric functions, a kick of `v` along `φ_j` only p and q.
///
/// The integral `∫ b dt` takes O(1) per kick: coordinates `p_j` and `q_j` are constant between the kicks along `φ_j`. Since the
/// last of these, at angle `θ_j`, it is `p_j (sin θ - sin θ_j) + q_j (cos θ_j - cos θ)`, added when coordinate j changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Frame {
    pub p: Vec<f64>,
    pub q: Vec<f64>,
    sin: f64,
    cos: f64,
    /// Dual coefficients of the integral.
    sum: Vec<f64>,
    /// `(sin θ_j, cos θ_j)` of the angle up to which `sum` includes coordinate j.
    mark: Vec<[f64; 2]>,
}

impl Frame {
    pub fn new(p: Vec<f64>, q: Vec<f64>) -> Self {
        let m = p.len();
        Self { p, q, sin: 0.0, cos: 1.0, sum: vec![0.0; m], mark: vec![[0.0, 1.0]; m] }
    }

    /// Replaces position and direction, at angle zero, with the integral complete up to here.
    pub fn lay(&mut self, p: Vec<f64>, q: Vec<f64>) {
        self.flush();
        self.mark.fill([0.0, 1.0]);
        (self.p, self.q, self.sin, self.cos) = (p, q, 0.0, 1.0);
    }

    pub fn check(&self, m: usize) -> Result<()> {
        ensure_vectors(m, &[&self.p, &self.q, &self.sum])?;
        ensure_vectors(2 * m, &[self.mark.as_flattened()])?;
        ensure_finite(&[&[self.sin, self.cos]])
    }

    /// Integrates coordinate j up to the present angle.
    #[inline]
    fn catch_up(&mut self, j: usize) {
        let [sin_j, cos_j] = self.mark[j];
        self.sum[j] += self.p[j] * (self.sin - sin_j) + self.q[j] * (cos_j - self.cos);
        self.mark[j] = [self.sin, self.cos];
    }

    fn flush(&mut self) {
        for j in 0..self.sum.len() {
            self.catch_up(j);
        }
    }

    /// Returns the integral up to here and restarts it from zero.
    pub fn take_integral(&mut self) -> Vec<f64> {
        self.flush();
        let m = self.sum.len();
        std::mem::replace(&mut self.sum, vec![0.0; m])
    }

    #[inline]
    pub fn turn(&mut self, rotation: (f64, f64)) {
        let (sin, cos) = self.sin_cos_ahead(rotation);
        // One Newton step for the reciprocal square root of sin² + cos², which is close to 1, prevents drift.
        let scale = 1.5 - 0.5 * (sin * sin + cos * cos);
        (self.sin, self.cos) = (sin * scale, cos * scale);
    }

    /// Returns sine and cosine of the sum of the present angle and one with the given cosine and sine.
    #[inline]
    pub fn sin_cos_ahead(&self, (cos, sin): (f64, f64)) -> (f64, f64) {
        (self.sin * cos + self.cos * sin, self.cos * cos - self.sin * sin)
    }

    /// `v ← v + a φ_j`.
    #[inline]
    pub fn kick(&mut self, j: usize, a: f64) {
        self.catch_up(j);
        self.p[j] -= a * self.sin;
        self.q[j] += a * self.cos;
    }

    /// Returns position and direction.
    pub fn unfold(&self) -> (Vec<f64>, Vec<f64>) {
        let (sin, cos) = (self.sin, self.cos);
        self.p.iter().zip(&self.q).map(|(p, q)| (p * cos + q * sin, q * cos - p * sin)).unzip()
    }
}

#[cfg(test)]
#[path = "../../tests/unit/ball/frame.rs"]
mod tests;
