//! Exact integrals along the path of a ball, at O(1) per change of one dual coefficient.

use serde::{Deserialize, Serialize};

use crate::ball::frame::Frame;
use crate::base::{Result, ensure_vectors};

/// The dual coefficients of `∫ b dt`.
///
/// With `b = p cos θ + q sin θ`, coordinates `p_j` and `q_j` are constant between the kicks along `φ_j`. The integral since
/// the last of these, at angle `θ_j`, is `p_j (sin θ - sin θ_j) + q_j (cos θ_j - cos θ)`, added when coordinate j changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ArcIntegral {
    sum: Vec<f64>,
    /// `(sin θ_j, cos θ_j)` of the angle up to which `sum` includes coordinate j.
    mark: Vec<[f64; 2]>,
}

impl ArcIntegral {
    pub fn new(m: usize) -> Self {
        Self { sum: vec![0.0; m], mark: vec![[0.0, 1.0]; m] }
    }

    pub fn check(&self, m: usize) -> Result<()> {
        ensure_vectors(m, &[&self.sum])?;
        ensure_vectors(2 * m, &[self.mark.as_flattened()])
    }

    /// Integrates coordinate j up to the frame's angle. Must be called before `p_j` or `q_j` changes.
    #[inline]
    pub fn catch_up(&mut self, j: usize, frame: &Frame) {
        let (sin, cos) = frame.sin_cos();
        let [sin_j, cos_j] = self.mark[j];
        self.sum[j] += frame.p[j] * (sin - sin_j) + frame.q[j] * (cos_j - cos);
        self.mark[j] = [sin, cos];
    }

    fn flush(&mut self, frame: &Frame) {
        for j in 0..self.sum.len() {
            self.catch_up(j, frame);
        }
    }

    /// Integrates up to the angle of a frame that is about to be replaced by one at angle zero.
    pub fn close_frame(&mut self, frame: &Frame) {
        self.flush(frame);
        self.mark.fill([0.0, 1.0]);
    }

    /// Returns the integral up to the frame's angle and restarts from zero.
    pub fn take(&mut self, frame: &Frame) -> Vec<f64> {
        self.flush(frame);
        let m = self.sum.len();
        std::mem::replace(&mut self.sum, vec![0.0; m])
    }
}
