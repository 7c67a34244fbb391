//! Position and direction as dual coefficients in a frame that stands still.

use serde::{Deserialize, Serialize};

use crate::base::{Result, ensure_finite, ensure_vectors};

/// Dual coefficients of position and direction in a frame that stands still between jumps:
/// `b = p cos θ + q sin θ`, `v = -p sin θ + q cos θ`, with θ the angle flown since the frame was laid.
///
/// Flight changes θ alone (its sine and cosine are carried along, so that no event asks for trigonometry), and a jump of `v` along one feature vector changes one coordinate of `p` and of `q`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Frame {
    pub(super) p: Vec<f64>,
    pub(super) q: Vec<f64>,
    pub(super) theta: f64,
    sin: f64,
    cos: f64,
}

impl Frame {
    pub(super) fn lay(p: Vec<f64>, q: Vec<f64>) -> Self {
        Self { p, q, theta: 0.0, sin: 0.0, cos: 1.0 }
    }

    pub(super) fn check(&self, m: usize) -> Result<()> {
        ensure_vectors(m, &[&self.p, &self.q])?;
        ensure_finite(&[&[self.theta, self.sin, self.cos]])
    }

    #[inline]
    pub(crate) fn p(&self, j: usize) -> f64 {
        self.p[j]
    }

    #[inline]
    pub(crate) fn q(&self, j: usize) -> f64 {
        self.q[j]
    }

    #[inline]
    pub(crate) fn sin_cos(&self) -> (f64, f64) {
        (self.sin, self.cos)
    }

    #[inline]
    pub(crate) fn angle_sin_cos(&self) -> (f64, f64, f64) {
        (self.theta, self.sin, self.cos)
    }

    #[inline]
    pub(super) fn turn(&mut self, angle: f64, rotation: (f64, f64)) {
        self.theta += angle;
        let (sin, cos) = self.sin_cos_ahead(rotation);
        // One step of Newton's to the reciprocal root of a number next to 1: sin² + cos² does not drift.
        let scale = 1.5 - 0.5 * (sin * sin + cos * cos);
        (self.sin, self.cos) = (sin * scale, cos * scale);
    }

    /// Sine and cosine of the present angle plus one of the given cosine and sine.
    #[inline]
    pub(crate) fn sin_cos_ahead(&self, (cos, sin): (f64, f64)) -> (f64, f64) {
        (self.sin * cos + self.cos * sin, self.cos * cos - self.sin * sin)
    }

    /// What `v ← v + a φ_j` adds to `p_j` and `q_j`.
    #[inline]
    pub(crate) fn jump(&self, a: f64) -> (f64, f64) {
        (-a * self.sin, a * self.cos)
    }

    /// `v ← v + a φ_j`.
    #[inline]
    pub(super) fn kick(&mut self, j: usize, a: f64) {
        let (dp, dq) = self.jump(a);
        self.p[j] += dp;
        self.q[j] += dq;
    }

    /// Position and direction at the present angle plus `ahead`.
    pub(super) fn unfold(&self, ahead: f64) -> (Vec<f64>, Vec<f64>) {
        let (sin, cos) = self.sin_cos_ahead((ahead.cos(), ahead.sin()));
        self.p.iter().zip(&self.q).map(|(p, q)| (p * cos + q * sin, q * cos - p * sin)).unzip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sine and cosine that are carried along stay those of the angle.
    #[test]
    fn ten_thousand_turns_keep_sine_and_cosine() {
        let mut frame = Frame::lay(vec![1.0], vec![0.0]);
        for k in 0..10_000 {
            let angle = 0.3 + f64::from(k % 7) * 0.1;
            frame.turn(angle, (angle.cos(), angle.sin()));
        }
        let (theta, sin, cos) = frame.angle_sin_cos();
        assert!((sin * sin + cos * cos - 1.0).abs() <= 1e-15);
        // The sum of the angles has the larger rounding: additions to numbers of some thousands.
        assert!((sin - theta.sin()).abs() <= 1e-8 && (cos - theta.cos()).abs() <= 1e-8);
    }
}
