//! The exact arc integral of a path, kept lazily in O(1) per jump of the direction, of all of it and layer by layer.

use serde::{Deserialize, Serialize};

use crate::ball::frame::Frame;
use crate::base::{Result, ensure_vectors};

/// The dual coefficients of `∫ b dt`, without a midpoint approximation.
///
/// With `b = p cos θ + q sin θ`, a coordinate of `p` and `q` is constant between the jumps that touch it, so its
/// integral since then is `p_j (sin θ - sin θ_j) + q_j (cos θ_j - cos θ)`. It is added only when the coordinate
/// changes, and for all coordinates at [`ArcIntegral::flush`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ArcIntegral {
    sum: Vec<f64>,
    /// `(sin θ_j, cos θ_j)` up to which coordinate j is in `sum`.
    mark: Vec<[f64; 2]>,
}

impl ArcIntegral {
    /// The integral of an empty path over m coordinates.
    pub(crate) fn new(m: usize) -> Self {
        Self { sum: vec![0.0; m], mark: vec![[0.0, 1.0]; m] }
    }

    pub(crate) fn check(&self, m: usize) -> Result<()> {
        ensure_vectors(m, &[&self.sum])?;
        ensure_vectors(2 * m, &[self.mark.as_flattened()])
    }

    /// Brings coordinate j up to the frame's angle. To be called before `p_j` or `q_j` changes.
    #[inline]
    pub(crate) fn catch_up(&mut self, j: usize, frame: &Frame) {
        let (sin, cos) = frame.sin_cos();
        let [sin_j, cos_j] = self.mark[j];
        self.sum[j] += frame.p(j) * (sin - sin_j) + frame.q(j) * (cos_j - cos);
        self.mark[j] = [sin, cos];
    }

    /// Brings all coordinates up to the frame's angle.
    pub(crate) fn flush(&mut self, frame: &Frame) {
        for j in 0..self.sum.len() {
            self.catch_up(j, frame);
        }
    }

    /// Says that the frame was laid anew: its angle is zero again. To be called after [`Self::flush`].
    pub(crate) fn frame_laid(&mut self) {
        self.mark.fill([0.0, 1.0]);
    }

    /// Takes the integral out and starts again from zero. To be called after [`Self::flush`].
    pub(crate) fn take(&mut self) -> Vec<f64> {
        let m = self.sum.len();
        std::mem::replace(&mut self.sum, vec![0.0; m])
    }
}

/// The dual coefficients of `∫ b dt` over the parts of a path in each of several layers.
///
/// Between two jumps of coordinate j the parts in layer L contribute `p_j A_L + q_j C_L`, where `A_L = Σ (sin θ' - sin θ)`
/// and `C_L = Σ (cos θ - cos θ')` over the visits from θ to θ': the same two numbers for every coordinate. A crossing
/// therefore costs O(1). A jump of `p_j` and `q_j` by dp and dq changes what the earlier visits contribute by
/// `dp A_L + dq C_L`, which is taken off at once, O(layers), so that the present `p_j` and `q_j` count for all visits since
/// the frame was laid (summation by parts).
#[derive(Clone, Debug)]
pub(crate) struct LayerIntegrals {
    /// Layer of the ball; `None` beyond those kept.
    now: Option<usize>,
    /// `(θ, sin θ, cos θ)` up to which the present visit is in the sums.
    mark: (f64, f64, f64),
    sines: Vec<f64>,
    cosines: Vec<f64>,
    /// Row-major (m, layers).
    sum: Vec<f64>,
    /// Radians in each layer.
    path: Vec<f64>,
    /// Jumps of the direction and crossings in each layer: the work spent there.
    events: Vec<u64>,
}

/// What was integrated in one layer.
#[derive(Clone, Debug)]
pub(crate) struct LayerIntegral {
    /// Dual coefficients of `∫ b dt`, shape (m,).
    pub integral: Vec<f64>,
    /// Radians.
    pub path: f64,
    /// Jumps of the direction and crossings.
    pub events: u64,
}

impl LayerIntegrals {
    /// The integrals of an empty path that begins in layer `now`.
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

    /// Brings the present visit up to the frame's angle.
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

    /// Says that the ball passes into another layer.
    #[inline]
    pub fn enter(&mut self, layer: Option<usize>, frame: &Frame) {
        self.catch_up(frame);
        if let Some(now) = self.now {
            self.events[now] += 1;
        }
        self.now = layer;
    }

    /// Adds the arc that a flight without events would have in `layer`, between two angles ahead of the frame's.
    #[inline]
    pub fn add_beyond(&mut self, layer: usize, from: f64, to: f64, frame: &Frame) {
        let at = |ahead: f64| frame.sin_cos_ahead((ahead.cos(), ahead.sin()));
        let ((sin, cos), (sin_to, cos_to)) = (at(from), at(to));
        self.path[layer] += to - from;
        self.sines[layer] += sin_to - sin;
        self.cosines[layer] += cos - cos_to;
    }

    /// Prepares for `v ← v + a φ_j`. To be called before `p_j` and `q_j` change.
    #[inline]
    pub fn before_jump(&mut self, j: usize, a: f64, frame: &Frame) {
        self.catch_up(frame);
        if let Some(now) = self.now {
            self.events[now] += 1;
        }
        let (dp, dq) = frame.jump(a);
        let layers = self.sines.len();
        let row = &mut self.sum[j * layers..(j + 1) * layers];
        for ((sum, sine), cosine) in row.iter_mut().zip(&self.sines).zip(&self.cosines) {
            *sum -= dp * sine + dq * cosine;
        }
    }

    /// Brings all coordinates of all layers up to the frame's angle.
    pub fn flush(&mut self, frame: &Frame) {
        self.catch_up(frame);
        let layers = self.sines.len();
        for (j, row) in self.sum.chunks_exact_mut(layers).enumerate() {
            let (p, q) = (frame.p(j), frame.q(j));
            for ((sum, sine), cosine) in row.iter_mut().zip(&self.sines).zip(&self.cosines) {
                *sum += p * sine + q * cosine;
            }
        }
        self.sines.fill(0.0);
        self.cosines.fill(0.0);
    }

    /// Says that the frame was laid anew. To be called after [`Self::flush`].
    pub fn frame_laid(&mut self) {
        self.mark = (0.0, 0.0, 1.0);
    }

    /// Takes out what was integrated in each layer and starts again from zero. To be called after [`Self::flush`].
    pub fn take(&mut self) -> Vec<LayerIntegral> {
        let layers = self.sines.len();
        let taken = (0..layers)
            .map(|layer| LayerIntegral {
                integral: self.sum.iter().skip(layer).step_by(layers).copied().collect(),
                path: self.path[layer],
                events: self.events[layer],
            })
            .collect();
        self.sum.fill(0.0);
        self.path.fill(0.0);
        self.events.fill(0);
        taken
    }
}
