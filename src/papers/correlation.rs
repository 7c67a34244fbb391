//! The correlation length Λ of the billiard (Ruján and Marchand, sec. 18.5.1).

use std::sync::Arc;

use ndarray::Array2;
use rand::Rng;
use serde::Deserialize;

use super::motions::{Motion, Radius, Scattered, with_scatterer};
use crate::ball::{Ball, laying};
use crate::base::{Control, Error, Result, check_count, count, random, require};
use crate::ensemble::burn_in::burn_in;
use crate::ensemble::chain::{Context, check_memory};
use crate::ensemble::{Settings, WorkerPool};
use crate::gram::Gram;
use crate::linalg::Factor;
use crate::simd::dot;
use crate::space::VersionSpace;
use crate::trajectory::dynamics::{Arrival, Dynamics, Geodesic};
use crate::trajectory::{Goal, Trajectory};

/// Path or arrivals between two pairs of a trajectory, whichever is first: refreshes then leave little correlation.
const APART_PATH: f64 = std::f64::consts::FRAC_PI_2;
const APART_ARRIVALS: u64 = 1_000;

/// Bounces between two re-projections, and between two checks of the stop flag.
const REPROJECT_EVERY: u64 = 4096;
const CHECK_EVERY: u64 = 32;

/// Planes count as equal if the squared sine between their normals is at most this.
const PARALLEL: f64 = 1e-14;

/// Settings of [`correlation`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CorrelationSettings {
    /// Initial angle between the directions of a pair, radians, in (0, 1).
    pub angle: f64,
    /// Number of trajectories.
    #[serde(deserialize_with = "count")]
    pub n_trajectories: usize,
    /// Number of pairs per trajectory.
    #[serde(deserialize_with = "count")]
    pub n_pairs: usize,
    /// Bounces after which a pair is abandoned.
    #[serde(deserialize_with = "count")]
    pub max_bounces: u64,
    /// Scattered, or none for great circles. With the cosine law the two balls of a pair use different random numbers.
    pub motion: Option<Motion>,
    /// Worker threads.
    pub n_threads: usize,
    /// Seed of the random streams.
    pub seed: u64,
}

impl Default for CorrelationSettings {
    fn default() -> Self {
        Self {
            angle: 1e-3,
            n_trajectories: 4,
            n_pairs: 100,
            max_bounces: 1_000,
            motion: None,
            n_threads: 1,
            seed: 0,
        }
    }
}

impl CorrelationSettings {
    /// Checks the ranges. [`Error::Invalid`] for the first setting out of its range.
    pub fn check(&self) -> Result<()> {
        self.scattering().map(drop)
    }

    /// Checks the ranges and returns the settings of [`Motion::Scattered`].
    fn scattering(&self) -> Result<(bool, Option<Radius>)> {
        require(self.angle > 0.0 && self.angle < 1.0, "angle", self.angle, "in (0, 1)")?;
        check_count("n_trajectories", self.n_trajectories as u64)?;
        check_count("n_pairs", self.n_pairs as u64)?;
        check_count("max_bounces", self.max_bounces)?;
        check_count("n_threads", self.n_threads as u64)?;
        let Some(motion) = self.motion else { return Ok((false, None)) };
        motion.check()?;
        let Motion::Scattered { cosine, scatterer } = motion else {
            return Err(Error::invalid("motion", "a straight flight", "None or Scattered(...)"));
        };
        Ok((cosine, scatterer))
    }
}

/// How long the two balls of a pair met the same planes: common bounces off planes and off the scatterer; the path of the first ball
/// to the first obstacle that the second does not meet, radians; and whether they parted, false if the pair was abandoned.
pub type Pair = (u64, f64, bool);

/// Follows pairs of balls without refresh until they meet different planes, or one meets the scatterer and the other a
/// plane. Both balls of a pair start at the same point of version space, in directions `angle` apart. The points are
/// uniform outside the scatterer. Returns the (`n_trajectories`, `n_pairs`) pairs and its radius, radians, if there is one.
///
/// [`Error::Invalid`] for settings out of range, or a span of fewer than three dimensions, in which directions cannot be
/// tilted; [`Error::Infeasible`], [`Error::Breakdown`], [`Error::Interrupted`] as [`crate::run`].
pub fn correlation(
    space: &VersionSpace,
    settings: &CorrelationSettings,
    control: &Control,
) -> Result<(Array2<Pair>, Option<f64>)> {
    let &CorrelationSettings { n_trajectories, n_pairs, n_threads, seed, .. } = settings;
    let (cosine, scatterer) = settings.scattering()?;
    let run = Settings { n_trajectories, n_threads, seed, ..Settings::default() };
    let factor = Arc::new(Factor::new(space.gram(), control)?);
    let dimensions = factor.rank();
    let got = format_args!("feature vectors that span {dimensions}");
    require(dimensions >= 3, "gram", got, "of three dimensions or more")?;
    let pool = WorkerPool::new(n_threads.min(n_trajectories), control)?;
    check_memory(space, n_trajectories, false, &pool)?;
    let context = Context::new(space, &run, None, &pool)?;
    let (mut chains, _) = burn_in(&context)?;
    let (dynamics, _) =
        with_scatterer(&context, Scattered::new(factor, cosine), scatterer, &mut chains)?;
    // The pairs of the workers, and their collection.
    let numbers = 2 * size_of::<Pair>().div_ceil(size_of::<f64>());
    pool.check_memory(n_trajectories, numbers, n_pairs)?;
    let mut streams: Vec<_> = (0..n_trajectories)
        .map(|i| random::stream(seed, n_trajectories + i))
        .zip(&mut chains)
        .collect();
    let pairs = pool.each(&mut streams, |_, (rng, chain)| {
        let trajectory = &mut chain.trajectory;
        trajectory.reset();
        trajectory.run(Goal::either(APART_PATH, APART_ARRIVALS), control)?;
        // Points at equal spacing along the path are uniformly distributed. Points at equal numbers of arrivals are not.
        let apart = Goal::path(trajectory.tally().path);
        (0..n_pairs)
            .map(|_| {
                loop {
                    control.check()?;
                    trajectory.reset();
                    trajectory.run(apart, control)?;
                    if !dynamics.covers(trajectory.ball()) {
                        break;
                    }
                }
                pair(trajectory, &dynamics, settings, rng, control)
            })
            .collect::<Result<Vec<_>>>()
    })?;
    let pairs = Array2::from_shape_fn((n_trajectories, n_pairs), |(i, k)| pairs[i][k]);
    Ok((pairs, dynamics.scatterer()))
}

/// Follows one pair from the present position of a trajectory, with the second ball tilted towards a random direction.
fn pair(
    trajectory: &Trajectory<Geodesic>,
    dynamics: &Scattered,
    settings: &CorrelationSettings,
    rng: &mut impl Rng,
    control: &Control,
) -> Result<Pair> {
    let space = trajectory.space();
    let gram = space.gram();
    let direction = laying::random_direction(gram, rng);
    let first: Ball = trajectory.ball().clone();
    let second = tilted(&first, gram, settings.angle, &direction, control)?;
    let mut balls = [first, second].map(|ball| (ball, dynamics.clone()));
    let (mut bounces, mut path) = (0, 0.0);
    loop {
        let [(flown, own), (_, other)] = balls.each_mut().map(|(ball, dynamics)| {
            let flight = dynamics.flight(ball).expect("a great circle always meets a wall");
            (flight, dynamics.arrive(ball, space, 0.0, rng))
        });
        path += flown;
        let parted = match (own, other) {
            (Arrival::Bounce { plane: i, .. }, Arrival::Bounce { plane: j, .. }) => {
                i != j && !coincide(gram, i, j)
            }
            _ => own != other,
        };
        if parted || bounces == settings.max_bounces {
            return Ok((bounces, path, parted));
        }
        bounces += 1;
        if bounces % CHECK_EVERY == 0 {
            control.check()?;
        }
        if bounces % REPROJECT_EVERY == 0 {
            for (ball, _) in &mut balls {
                ball.reproject(gram, control)?;
            }
        }
    }
}

/// Returns a ball at the same position, its direction turned by `angle` towards the part of `direction` orthogonal to both.
fn tilted(
    ball: &Ball,
    gram: &Gram,
    angle: f64,
    direction: &[f64],
    control: &Control,
) -> Result<Ball> {
    let (position, heading) = (ball.position(0.0), ball.direction());
    let tangent = Ball::new(gram, &position, direction, control)?.direction();
    let along = dot::dot(&tangent, ball.g());
    let across = (1.0 - along * along).max(0.0).sqrt();
    let got = "a vector parallel to the direction of the ball";
    require(across >= 1e-6, "direction", got, "linearly independent of it")?;
    let share = angle.sin() / across;
    let turned = heading.iter().zip(&tangent);
    let turned: Vec<f64> =
        turned.map(|(v, u)| (angle.cos() - share * along) * v + share * u).collect();
    Ball::new(gram, &position, &turned, control)
}

/// Returns whether two planes are equal up to rounding, which then decides which of them a ball meets first.
fn coincide(gram: &Gram, i: usize, j: usize) -> bool {
    let product = gram.diagonal(i) * gram.diagonal(j);
    product - gram.entry(i, j).powi(2) <= PARALLEL * product
}
