//! Centers of mass: the exact arc integral of a path, kept lazily in O(1) per jump of the direction, and layer by layer; the
//! running centers of the papers, which add unit vectors on the sphere.

use crate::ball::{Ball, Frame};
use crate::base::checkpoint::{Loader, Saver};
use crate::base::control::Control;
use crate::base::error::Result;
use crate::gram::Gram;
use crate::simd::dot;
use crate::simd::dot::Precision;

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

    pub(crate) fn save(&self, saver: &mut Saver) {
        saver.all(&self.sum);
        for &(sin, cos) in &self.mark {
            saver.all(&[sin, cos]);
        }
    }

    pub(crate) fn load(m: usize, loader: &mut Loader<'_>) -> Result<Self> {
        let sum = loader.finite(m)?;
        let marks = loader.finite(2 * m)?;
        Ok(Self { sum, mark: marks.chunks_exact(2).map(|mark| (mark[0], mark[1])).collect() })
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
    pub fn settle(&mut self, j: usize, a: f64, frame: &Frame) {
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

/// How the papers add a unit vector t to a unit vector s: the sum is `ρ₁ s + ρ₂ t`, on the arc between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addition {
    /// `s ⊕_μ t` (Herbrich et al., Eqs. 21-24): `|t - s ⊕_μ t| = μ |t - s|`, with μ the old share of the weight.
    Chord,
    /// Ruján and Marchand, Eq. 18.27: the angle between s and t is divided in proportion to the weights.
    Arc,
}

impl Addition {
    /// `(ρ₁, ρ₂)` for `cosine` = <s, t> > -1, the weight `old` > 0 of s and the weight `new` ≥ 0 of t.
    pub fn shares(self, cosine: f64, old: f64, new: f64) -> (f64, f64) {
        match self {
            Self::Chord => {
                let mu = old / (old + new);
                let missing = mu * mu * (1.0 - cosine);
                let first = mu * ((2.0 - missing) / (1.0 + cosine)).sqrt();
                // The sign of the printed root that makes it positive.
                (first, (1.0 - missing - first * cosine).max(0.0))
            }
            Self::Arc => {
                let share = new / (old + new);
                let angle = cosine.clamp(-1.0, 1.0).acos();
                let sin = angle.sin();
                if sin > 0.0 {
                    (((1.0 - share) * angle).sin() / sin, (share * angle).sin() / sin)
                } else {
                    (1.0 - share, share)
                }
            }
        }
    }
}

/// A running center of mass on the sphere: unit vectors added one by one.
#[derive(Clone, Debug)]
pub struct RunningCenter {
    addition: Addition,
    /// Dual coefficients, unit length; meaningless while the weight is zero.
    dual: Vec<f64>,
    weight: f64,
    /// The smallest cosine between the center and a vector added to it.
    least_cosine: f64,
    largest_weight: f64,
}

impl RunningCenter {
    pub(crate) fn new(m: usize, addition: Addition) -> Self {
        Self { addition, dual: vec![0.0; m], weight: 0.0, least_cosine: 1.0, largest_weight: 0.0 }
    }

    pub(crate) fn save(&self, saver: &mut Saver) {
        saver.all(&self.dual);
        saver.all(&[self.weight, self.least_cosine, self.largest_weight]);
    }

    pub(crate) fn load(&mut self, loader: &mut Loader<'_>) -> Result<()> {
        self.dual = loader.finite(self.dual.len())?;
        let rest = loader.finite(3)?;
        (self.weight, self.least_cosine, self.largest_weight) = (rest[0], rest[1], rest[2]);
        Ok(())
    }

    /// Dual coefficients of the unit vector, shape (m,); zeros while nothing was added.
    pub fn dual(&self) -> &[f64] {
        &self.dual
    }

    /// Weight of all that was added.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Adds the point `ahead` radians from the ball on its great circle. O(m).
    pub(crate) fn add(&mut self, gram: &Gram<'_>, ball: &Ball, ahead: f64, weight: f64) {
        if self.weight > 0.0 {
            let (sin, cos) = ahead.sin_cos();
            // <w, b> = Σ c_j f_j for the coefficients c of w.
            let cosine = cos * dot::dot(gram.arch(), &self.dual, ball.f())
                + sin * dot::dot(gram.arch(), &self.dual, ball.g());
            let shares = self.addition.shares(cosine, self.weight, weight);
            ball.blend(ahead, shares, &mut self.dual);
            self.least_cosine = self.least_cosine.min(cosine);
        } else {
            ball.blend(ahead, (0.0, 1.0), &mut self.dual);
        }
        self.weight += weight;
        self.largest_weight = self.largest_weight.max(weight);
    }

    /// Adds the center of another trajectory.
    pub(crate) fn join(&mut self, gram: &Gram<'_>, other: &Self, control: &Control) -> Result<()> {
        if other.weight == 0.0 {
            return Ok(());
        }
        if self.weight == 0.0 {
            self.dual.clone_from(&other.dual);
        } else {
            let mut field = vec![0.0; self.dual.len()];
            gram.multiply(&[&other.dual], &mut [&mut field], Precision::Compensated, control)?;
            let cosine = dot::dot(gram.arch(), &self.dual, &field);
            let (first, second) = self.addition.shares(cosine, self.weight, other.weight);
            for (c, new) in self.dual.iter_mut().zip(&other.dual) {
                *c = first * *c + second * new;
            }
        }
        self.weight += other.weight;
        Ok(())
    }

    /// An upper bound of the share ρ₂ of the next vector, if it is no further from the center and no heavier than all before;
    /// 1 before the first. (ρ₂ falls with the cosine: the smallest counts, not the largest as printed in Algorithm 1.)
    pub fn next_share(&self) -> f64 {
        if self.weight > 0.0 {
            self.addition.shares(self.least_cosine, self.weight, self.largest_weight).1
        } else {
            1.0
        }
    }

    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.dual.len(), self.addition);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use crate::base::control::Control;
    use crate::evidence::integration::isotropic;
    use crate::gram::Gram;
    use crate::interior::light_trap;
    use crate::linalg::factor::Factor;
    use crate::space::layers::LayerRange;
    use crate::space::mirror::Mirror;
    use crate::space::version_space::VersionSpace;
    use crate::trajectory::refresh::Refresh;
    use crate::trajectory::tally::Goal;

    /// The same path twice: integrated by layer, and arrival by arrival with the arc integral of all of it.
    #[test]
    fn layers_have_the_arcs_that_were_flown_in_them() {
        let (m, softness) = (12, 0.3);
        let gram: Vec<f64> = (0..m * m)
            .map(|k| f64::exp(-0.05 * ((k / m) as f64 - (k % m) as f64).powi(2)))
            .collect();
        let gram = Gram::new(&gram, 0.5, vec![softness; m]).expect("a matrix");
        let labels = (0..m).map(|i| if i % 3 == 0 { -1 } else { 1 }).collect();
        let space = VersionSpace::new(gram, labels).expect("a space");
        let control = Control::new();
        let factor = Arc::new(Factor::new(space.gram(), &control).expect("a factor"));
        let range = LayerRange { most: [2, 3] };
        for refresh in [
            Refresh::Pair { rate: 3.0 },
            Refresh::Full { rate: 0.5, source: Arc::clone(&factor) as _ },
        ] {
            let start = || {
                let rng = random::stream(7, 0);
                let mut trajectory = isotropic(&space, &factor, rng, &control).expect("a ball");
                trajectory.set_mirror(Mirror::alike(0.7));
                trajectory.set_refresh(refresh.clone());
                trajectory.reset(None);
                trajectory
            };
            // Long enough for many re-projections.
            let path = 500.0;
            let mut whole = start();
            whole.keep_layers(Some(range), false);
            whole.run(Goal::path(path), &control).expect("a run");
            let layers = whole.take_layer_integrals();
            let mut steps = start();
            let mut sums: BTreeMap<Option<usize>, (Vec<f64>, f64)> = BTreeMap::new();
            while steps.tally().path < path {
                let layer = range.index(space.layer(steps.ball().f()));
                let (from, arrivals) = (steps.tally().path, steps.tally().arrivals());
                steps.run(Goal::either(path, arrivals + 1), &control).expect("a run");
                let entry = sums.entry(layer).or_insert_with(|| (vec![0.0; m], 0.0));
                let arc = steps.ball_mut().take_arc_integral();
                entry.0.iter_mut().zip(arc).for_each(|(sum, arc)| *sum += arc);
                entry.1 += steps.tally().path - from;
            }
            assert_eq!(whole.tally().hits, steps.tally().hits, "the same path");
            let mut compared = 0;
            for (index, layer) in layers.iter().enumerate() {
                let Some((integral, path)) = sums.get(&Some(index)) else {
                    assert!(layer.events == 0 && layer.path <= 0.0);
                    continue;
                };
                assert!((layer.path - path).abs() < 1e-9 * (1.0 + path), "layer {index}");
                for (a, b) in layer.integral.iter().zip(integral) {
                    assert!((a - b).abs() < 1e-9 * (1.0 + path), "layer {index}: {a} {b}");
                }
                compared += 1;
            }
            assert!(compared >= 8, "{compared} layers were seen");
            // Taken out is taken out.
            assert!(whole.take_layer_integrals().iter().all(|layer| {
                layer.path == 0.0 && layer.events == 0 && layer.integral.iter().all(|x| *x == 0.0)
            }));
        }
    }
}
