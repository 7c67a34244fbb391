//! The rungs: where they are, the path between two samples there, and the rate of refreshes.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};

use super::gaussians::{self, Drawn, Gaussians, Point};
use crate::ball::Ball;
use crate::base::{Control, Result, Stream};
use crate::ensemble::WorkerPool;
use crate::gram::Gram;
use crate::linalg::Isotropic;
use crate::space::VersionSpace;
use crate::trajectory::{Geodesic, Goal, Refresh, Trajectory};

/// Distance of neighboring rungs in standard deviations of ln of the ratio of their densities.
const STEP: f64 = 0.8;
/// Samples by which the next rung is placed.
const SAMPLES: usize = 64;
/// Bisections of the interval that has the next rung.
const HALVINGS: usize = 40;

/// A distribution between the fitted one and the prior, with what its billiard needs.
#[derive(Clone)]
pub struct Level {
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
pub fn place(
    space: &VersionSpace,
    gaussians: &Arc<Gaussians>,
    draws: &[Drawn],
    (mut dual, mut field): Point,
    rng: &mut Stream,
    pool: &WorkerPool,
) -> Result<Vec<(Level, Vec<f64>)>> {
    let control = pool.control;
    let mut samples = gaussians::inside(draws);
    let mut places = Vec::new();
    let mut t = 1.0;
    loop {
        t = next(&samples, t, gaussians.dimension());
        if t == 0.0 {
            return Ok(places);
        }
        let inner = gaussians.inner(t, control)?;
        let matrix = gaussians.matrix(&inner, pool)?;
        let source: Arc<dyn Isotropic> = Arc::new((Arc::clone(gaussians), inner));
        let mapped = space.mapped(Gram::new(&matrix, 0.0, vec![0.0; space.len()])?);
        gaussians.carry(&mut dual, &field, 0.0, t);
        let direction = source.draw(rng).dual;
        let ball = Ball::new(mapped.gram(), &dual, &direction, control)?;
        let stream = Stream::seed_from_u64(rng.random());
        let mut trajectory = Trajectory::new(&mapped, Geodesic, ball, stream);
        let (path, rate) = measure(&mut trajectory, &source, control)?;
        trajectory.reset();
        samples.clear();
        for k in 1..=SAMPLES {
            trajectory.run(Goal::path(k as f64 * path), control)?;
            samples.push(gaussians.statistic(t, trajectory.ball().f()));
        }
        (dual, field) = (trajectory.ball().position(0.0), trajectory.ball().f().to_vec());
        drop(trajectory);
        drop(mapped);
        gaussians.carry(&mut dual, &field, t, 0.0);
        places.push((Level { t, path, rate, source }, matrix));
    }
}

/// Path between two samples: arrivals at walls for each plane, and the largest path in radians.
const SAMPLE_ARRIVALS: f64 = 0.25;
const SAMPLE_PATH: f64 = 0.5;
/// Full refreshes between two samples, and the smallest rate per radian.
const REFRESHES: f64 = 0.1;
const LEAST_REFRESHES: f64 = 0.5;
/// Largest distance of two samples relative to the path between them, in the mean over `STRETCHES`. Beyond it the ball has
/// not turned round yet, as in a slit, where nearly all arrivals are at its two walls.
const LARGEST_DISTANCE: f64 = 0.5;
const STRETCHES: usize = 8;
/// A path shorter than this, radians, has no refresh: the ball keeps its first direction, which in a slit is that of the light
/// trap, from wall to wall. Each stretch then begins with this many refreshes, one for each arrival.
const SHORT: f64 = 0.02;
const FIRST_REFRESHES: f64 = 20.0;
/// Path on which arrivals are counted: radians, and arrivals for each plane.
const COUNTING_PATH: f64 = 10.0;
const COUNTING_ARRIVALS: u64 = 2;

/// Measures the path between samples by a run of a trajectory, radians, and the full refreshes per radian, and sets its refresh.
pub fn measure(
    trajectory: &mut Trajectory<Geodesic>,
    source: &Arc<dyn Isotropic>,
    control: &Control,
) -> Result<(f64, f64)> {
    let m = trajectory.space().len();
    let refresh = |rate| Refresh::Full { rate, source: Arc::clone(source) };
    trajectory.set_refresh(refresh(LEAST_REFRESHES));
    trajectory.reset();
    trajectory.run(Goal::either(COUNTING_PATH, COUNTING_ARRIVALS * m as u64 + 16), control)?;
    let tally = trajectory.tally();
    let rate = tally.arrivals() as f64 / tally.path;
    let is_short = tally.path < SHORT;
    // The mean angle between both ends of some stretches of path, in radians. It is computed from the chord, since the cosine of a
    // small angle is lost to rounding.
    let mut mean_distance = |path: f64| -> Result<f64> {
        let mut sum = 0.0;
        for _ in 0..STRETCHES {
            if is_short {
                trajectory.set_refresh(refresh(rate));
                trajectory.reset();
                trajectory.run(Goal::path(FIRST_REFRESHES / rate), control)?;
                trajectory.set_refresh(refresh(LEAST_REFRESHES));
            }
            let ball = trajectory.ball();
            let (dual, field) = (ball.position(0.0), ball.f().to_vec());
            trajectory.reset();
            trajectory.run(Goal::path(path), control)?;
            let ball = trajectory.ball();
            let ends = ball.position(0.0).into_iter().zip(dual).zip(ball.f().iter().zip(field));
            let square: f64 = ends.map(|((c, d), (f, e))| (c - d) * (f - e)).sum();
            sum += 2.0 * (0.5 * square.clamp(0.0, 4.0).sqrt()).asin();
        }
        Ok(sum / STRETCHES as f64)
    };
    let mut path = (SAMPLE_ARRIVALS * m as f64 / rate).min(SAMPLE_PATH);
    while path < SAMPLE_PATH && mean_distance(path)? > LARGEST_DISTANCE * path {
        path = (2.0 * path).min(SAMPLE_PATH);
    }
    let rate = (REFRESHES / path).max(LEAST_REFRESHES);
    trajectory.set_refresh(refresh(rate));
    Ok((path, rate))
}
