//! The placing of the rungs.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::law::{self, Drawn, Law, Point};
use super::spacing::measure;
use crate::ball::Ball;
use crate::base::Result;
use crate::ensemble::WorkerPool;
use crate::gram::Gram;
use crate::linalg::Isotropic;
use crate::space::VersionSpace;
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::{Goal, Refresh, Trajectory};

/// Distance of neighboring rungs in standard deviations of ln of the ratio of their densities.
const STEP: f64 = 0.8;
/// Samples by which the next rung is placed.
const SAMPLES: usize = 64;
/// Bisections of the interval that has the next rung.
const HALVINGS: usize = 40;

/// A distribution between the fitted one and the prior, with what its billiard needs.
#[derive(Clone)]
pub(super) struct Level {
    pub t: f64,
    /// Path between samples, radians.
    pub path: f64,
    /// Full refreshes per radian.
    pub rate: f64,
    pub source: Arc<dyn Isotropic>,
}

impl Level {
    pub fn refresh(&self) -> Refresh<'static> {
        Refresh::Full { rate: self.rate, source: Arc::clone(&self.source) }
    }
}

/// Returns the t of the rung after the one at t, from the statistics of samples there.
fn next(samples: &[f64], t: f64, dimension: f64) -> f64 {
    let n = samples.len() as f64;
    let distance = |to: f64| {
        let ratio = |x: f64| 0.5 * dimension * ((t * x).ln_1p() - (to * x).ln_1p());
        let mean = samples.iter().map(|&x| ratio(x)).sum::<f64>() / n;
        let variance = samples.iter().map(|&x| (ratio(x) - mean).powi(2)).sum::<f64>() / n;
        variance.sqrt()
    };
    if distance(0.0) <= STEP {
        return 0.0;
    }
    let (mut near, mut far) = (t, 0.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (near + far);
        if distance(middle) <= STEP {
            near = middle;
        } else {
            far = middle;
        }
    }
    // Always a step, however small.
    near.min((1.0 - 1e-6) * t)
}

/// Places the rungs between t = 1, where `draws` are the samples, and t = 0: each `STEP` from the one before. A pilot run begins
/// at a point and samples each rung. Also returns the Gram matrix at each t, row-major.
pub(super) fn place(
    space: &VersionSpace<'_>,
    law: &Arc<Law>,
    draws: &[Drawn],
    (mut dual, mut field): Point,
    rng: &mut ChaCha8Rng,
    pool: &WorkerPool<'_>,
) -> Result<Vec<(Level, Vec<f64>)>> {
    let control = pool.control;
    let mut samples = law::inside(draws);
    let mut places = Vec::new();
    let mut t = 1.0;
    loop {
        t = next(&samples, t, law.dimension());
        if t == 0.0 {
            return Ok(places);
        }
        let inner = law.inner(t, control)?;
        let matrix = law.matrix(&inner, pool)?;
        let source: Arc<dyn Isotropic> = Arc::new((Arc::clone(law), inner));
        let mapped = space.mapped(Gram::new(&matrix, 0.0, vec![0.0; space.len()])?);
        law.carry(&mut dual, &field, 0.0, t);
        let direction = source.draw(rng).dual;
        let ball = Ball::new(mapped.gram(), &dual, &direction, control)?;
        let stream = ChaCha8Rng::seed_from_u64(rng.random());
        let mut trajectory = Trajectory::new(&mapped, Geodesic, ball, stream);
        let (path, rate) = measure(&mut trajectory, &source, control)?;
        trajectory.reset();
        samples.clear();
        for k in 1..=SAMPLES {
            trajectory.run(Goal::path(k as f64 * path), control)?;
            samples.push(law.statistic(t, trajectory.ball().f()));
        }
        (dual, field) = (trajectory.ball().position(0.0), trajectory.ball().f().to_vec());
        drop(trajectory);
        drop(mapped);
        law.carry(&mut dual, &field, t, 0.0);
        places.push((Level { t, path, rate, source }, matrix));
    }
}
