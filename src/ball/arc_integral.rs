//! Exact integrals along the path of a ball, in total and for each layer, at O(1) per change of one dual coefficient.

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

/// The dual coefficients of `∫ b dt` over the parts of a path in each of several layers.
///
/// Between two kicks along `φ_j` the visits to layer L contribute `p_j A_L + q_j C_L`, with `A_L = Σ (sin θ' - sin θ)` and
/// `C_L = Σ (cos θ - cos θ')` over all visits from θ to θ'. These sums do not depend on j, so a crossing costs O(1). A kick
/// that changes `p_j` and `q_j` by dp and dq subtracts `dp A_L + dq C_L` in each layer, for all visits since the frame was laid.
#[derive(Clone, Debug)]
pub(super) struct LayerIntegrals {
    /// Layer of the ball; `None` beyond the range.
    now: Option<usize>,
    /// `(θ, sin θ, cos θ)` of the angle up to which the sums include the present visit.
    mark: (f64, f64, f64),
    /// `A_L`.
    sines: Vec<f64>,
    /// `C_L`.
    cosines: Vec<f64>,
    /// Row-major (m, layers).
    sum: Vec<f64>,
    /// Path in each layer, radians.
    path: Vec<f64>,
    /// Kicks and crossings in each layer, a measure of the work.
    events: Vec<u64>,
}

/// The integral `∫ b dt` in one layer, shape (m,), the path in radians, and the number of kicks and crossings.
pub(crate) type LayerIntegral = (Vec<f64>, f64, u64);

impl LayerIntegrals {
    /// Returns the integrals of an empty path that begins in layer `now`.
    pub fn new(m: usize, layers: usize, now: Option<usize>, frame: &Frame) -> Self {
        Self {
            now,
            mark: frame.angle_sin_cos(),
            sines: vec![0.0; layers],
            cosines: vec![0.0; layers],
            sum: vec![0.0; m * layers],
            path: vec![0.0; layers],
            events: vec![0; layers],
        }
    }

    #[inline]
    fn catch_up(&mut self, frame: &Frame) {
        let ahead = frame.angle_sin_cos();
        if let Some(now) = self.now {
            self.path[now] += ahead.0 - self.mark.0;
            self.sines[now] += ahead.1 - self.mark.1;
            self.cosines[now] += self.mark.2 - ahead.2;
        }
        self.mark = ahead;
    }

    #[inline]
    pub fn enter(&mut self, layer: Option<usize>, frame: &Frame) {
        self.catch_up(frame);
        if let Some(now) = self.now {
            self.events[now] += 1;
        }
        self.now = layer;
    }

    /// Adds the arc between two angles ahead of the frame's to `layer`.
    #[inline]
    pub fn add_beyond(&mut self, layer: usize, from: f64, to: f64, frame: &Frame) {
        let at = |ahead: f64| frame.sin_cos_ahead((ahead.cos(), ahead.sin()));
        let ((sin, cos), (sin_to, cos_to)) = (at(from), at(to));
        self.path[layer] += to - from;
        self.sines[layer] += sin_to - sin;
        self.cosines[layer] += cos - cos_to;
    }

    /// Prepares for `v ← v + a φ_j`. Must be called before `p_j` and `q_j` change.
    #[inline]
    pub fn before_kick(&mut self, j: usize, a: f64, frame: &Frame) {
        self.catch_up(frame);
        if let Some(now) = self.now {
            self.events[now] += 1;
        }
        let [dp, dq] = frame.jump(a);
        let layers = self.sines.len();
        let row = &mut self.sum[j * layers..(j + 1) * layers];
        for ((sum, sine), cosine) in row.iter_mut().zip(&self.sines).zip(&self.cosines) {
            *sum -= dp * sine + dq * cosine;
        }
    }

    fn flush(&mut self, frame: &Frame) {
        self.catch_up(frame);
        let layers = self.sines.len();
        for (j, row) in self.sum.chunks_exact_mut(layers).enumerate() {
            let (p, q) = (frame.p[j], frame.q[j]);
            for ((sum, sine), cosine) in row.iter_mut().zip(&self.sines).zip(&self.cosines) {
                *sum += p * sine + q * cosine;
            }
        }
        self.sines.fill(0.0);
        self.cosines.fill(0.0);
    }

    /// Integrates up to the angle of a frame that is about to be replaced by one at angle zero.
    pub fn close_frame(&mut self, frame: &Frame) {
        self.flush(frame);
        self.mark = (0.0, 0.0, 1.0);
    }

    /// Returns the integral in each layer up to the frame's angle and restarts from zero.
    pub fn take(&mut self, frame: &Frame) -> Vec<LayerIntegral> {
        self.flush(frame);
        let layers = self.sines.len();
        let taken = (0..layers)
            .map(|layer| {
                let integral = self.sum.iter().skip(layer).step_by(layers).copied().collect();
                (integral, self.path[layer], self.events[layer])
            })
            .collect();
        self.sum.fill(0.0);
        self.path.fill(0.0);
        self.events.fill(0);
        taken
    }
}
