//! Position and direction as dual coefficients in a frame that stands still.

/// Dual coefficients of position and direction in a frame that stands still between jumps:
/// `b = p cos θ + q sin θ`, `v = -p sin θ + q cos θ`, with θ the angle flown since the frame was laid.
///
/// Flight changes θ alone, and a jump of `v` along one feature vector changes one coordinate of `p` and of `q`.
#[derive(Clone, Debug)]
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
    pub(super) fn turn(&mut self, angle: f64) {
        self.theta += angle;
        // From the angle itself, not by the addition theorem: no drift of sin² + cos².
        (self.sin, self.cos) = self.theta.sin_cos();
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
        let (sin, cos) = (self.theta + ahead).sin_cos();
        self.p.iter().zip(&self.q).map(|(p, q)| (p * cos + q * sin, q * cos - p * sin)).unzip()
    }
}
