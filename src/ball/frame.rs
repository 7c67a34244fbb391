//! Position and direction as dual coefficients in a fixed frame.

use serde::{Deserialize, Serialize};

use crate::base::{Result, ensure_finite, ensure_vectors};

/// Dual coefficients of position and direction, `b = p cos θ + q sin θ` and `v = -p sin θ + q cos θ`, with θ the angle flown
/// since the frame was laid. A flight changes only θ, without trigonometric functions, a kick of `v` along `φ_j` only p and q.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Frame {
    pub p: Vec<f64>,
    pub q: Vec<f64>,
    sin: f64,
    cos: f64,
}

impl Frame {
    pub fn lay(p: Vec<f64>, q: Vec<f64>) -> Self {
        Self { p, q, sin: 0.0, cos: 1.0 }
    }

    pub fn check(&self, m: usize) -> Result<()> {
        ensure_vectors(m, &[&self.p, &self.q])?;
        ensure_finite(&[&[self.sin, self.cos]])
    }

    #[inline]
    pub fn sin_cos(&self) -> (f64, f64) {
        (self.sin, self.cos)
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
        self.p[j] -= a * self.sin;
        self.q[j] += a * self.cos;
    }

    /// Returns position and direction `ahead` radians further.
    pub fn unfold(&self, ahead: f64) -> (Vec<f64>, Vec<f64>) {
        let (sin, cos) = self.sin_cos_ahead((ahead.cos(), ahead.sin()));
        self.p.iter().zip(&self.q).map(|(p, q)| (p * cos + q * sin, q * cos - p * sin)).unzip()
    }
}

#[cfg(test)]
#[path = "../../tests/unit/ball/frame.rs"]
mod tests;
