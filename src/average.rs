//! The exact arc integral of a path, kept lazily in O(1) per jump of the direction.

use crate::ball::Frame;

/// The dual coefficients of `∫ b dt`, without a midpoint approximation.
///
/// With `b = p cos θ + q sin θ`, a coordinate of `p` and `q` is constant between the jumps that touch it, so its
/// integral since then is `p_j (sin θ - sin θ_j) + q_j (cos θ_j - cos θ)`. It is added only when the coordinate
/// changes, and for all coordinates at [`ArcIntegral::flush`].
#[derive(Clone, Debug)]
pub struct ArcIntegral {
    sum: Vec<f64>,
    /// `(sin θ_j, cos θ_j)` up to which coordinate j is in `sum`.
    mark: Vec<(f64, f64)>,
}

impl ArcIntegral {
    /// The integral of an empty path over m coordinates.
    pub(crate) fn new(m: usize) -> Self {
        Self { sum: vec![0.0; m], mark: vec![(0.0, 1.0); m] }
    }

    /// Brings coordinate j up to the frame's angle. To be called before `p_j` or `q_j` changes.
    #[inline]
    pub(crate) fn settle(&mut self, j: usize, frame: &Frame) {
        let (sin, cos) = frame.sin_cos();
        let (sin_j, cos_j) = self.mark[j];
        self.sum[j] += frame.p(j) * (sin - sin_j) + frame.q(j) * (cos_j - cos);
        self.mark[j] = (sin, cos);
    }

    /// Brings all coordinates up to the frame's angle.
    pub(crate) fn flush(&mut self, frame: &Frame) {
        for j in 0..self.sum.len() {
            self.settle(j, frame);
        }
    }

    /// Says that the frame was laid anew: its angle is zero again. To be called after [`Self::flush`].
    pub(crate) fn frame_laid(&mut self) {
        self.mark.fill((0.0, 1.0));
    }

    /// Takes the integral out and starts again from zero. To be called after [`Self::flush`].
    pub(crate) fn take(&mut self) -> Vec<f64> {
        let m = self.sum.len();
        std::mem::replace(&mut self.sum, vec![0.0; m])
    }
}
