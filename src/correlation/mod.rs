//! The correlation length Λ of the billiard (Ruján and Marchand, section 18.4.2).

use std::sync::Arc;

use ndarray::Array2;
use rand::Rng;
use serde::Deserialize;

use crate::ball::{Ball, laying};
use crate::base::{Control, Error, Result, check_count, count, random};
use crate::ensemble::{Settings, WorkerPool, burn_in, chain};
use crate::gram::Gram;
use crate::linalg::Factor;
use crate::space::VersionSpace;
use crate::trajectory::dynamics::{Arrival, Dynamics, Geodesic, Motion, Radius, Scattered};
use crate::trajectory::{Goal, Trajectory};

/// Path and arrivals at walls between two pairs of a trajectory, whichever ends first: with its refresh the ball has
/// forgotten most of where it was.
const APART_PATH: f64 = std::f64::consts::FRAC_PI_2;
const APART_ARRIVALS: u64 = 1_000;

/// Bounces between two re-projections, and between two looks at the stop flag.
const REPROJECT_EVERY: u64 = 4096;
const CHECK_EVERY: u64 = 32;

/// Squared sine between two normals below which their planes count as one.
const PARALLEL: f64 = 1e-14;

/// What to measure.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CorrelationSettings {
    /// Angle between the directions of a pair at the start, radians, in (0, 1).
    pub angle: f64,
    /// Trajectories that pairs start from.
    #[serde(deserialize_with = "count")]
    pub n_trajectories: usize,
    /// Pairs of each.
    #[serde(deserialize_with = "count")]
    pub n_pairs: usize,
    /// Bounces after which a pair is given up.
    #[serde(deserialize_with = "count")]
    pub max_bounces: u64,
    /// Great circles, or scattered: by the cosine law each ball of a pair by a draw of its own.
    #[serde(rename = "dynamics")]
    pub motion: Motion,
    /// Worker threads.
    pub n_threads: usize,
    /// Seed; trajectory i takes stream i + 1.
    pub seed: u64,
}

impl Default for CorrelationSettings {
    fn default() -> Self {
        Self {
            angle: 1e-3,
            n_trajectories: 4,
            n_pairs: 100,
            max_bounces: 1_000,
            motion: Motion::Geodesic,
            n_threads: 1,
            seed: 0,
        }
    }
}

impl CorrelationSettings {
    /// Makes sure that pairs can have them.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for the first that is out of its range.
    pub fn check(&self) -> Result<()> {
        self.scattering().map(drop)
    }

    /// Checks them, and says how pairs are scattered.
    fn scattering(&self) -> Result<(bool, Option<Radius>)> {
        if !(self.angle > 0.0 && self.angle < 1.0) {
            return Err(Error::invalid("angle", self.angle, "in (0, 1)"));
        }
        check_count("n_trajectories", self.n_trajectories as u64)?;
        check_count("n_pairs", self.n_pairs as u64)?;
        check_count("max_bounces", self.max_bounces)?;
        check_count("n_threads", self.n_threads as u64)?;
        self.motion.check()?;
        match self.motion {
            Motion::Geodesic => Ok((false, None)),
            Motion::Scattered { cosine, scatterer } => Ok((cosine, scatterer)),
            _ => {
                let wanted = "Geodesic() or Scattered(...)";
                Err(Error::invalid("dynamics", "a straight flight", wanted))
            }
        }
    }
}

/// How long the balls of one pair kept to the same planes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Bounces off the same planes, and off the sphere by both.
    pub bounces: u64,
    /// Path of the first ball to where it meets what the second does not, radians; straight through the sphere, as it is flown.
    pub path: f64,
    /// False where the pair was given up before.
    pub parted: bool,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Correlation {
    /// Shape (trajectories, pairs of each).
    pub pairs: Array2<Pair>,
    /// Radius of the reflecting sphere, radians, if there is one.
    pub scatterer: Option<f64>,
}

/// Follows pairs of balls of the geodesic billiard, without refresh, that start at the same point of version space in
/// directions `angle` apart, until they meet different planes, or one the sphere and the other a plane. The starts have the
/// uniform law outside the sphere.
///
/// # Errors
///
/// [`Error::Invalid`] for settings out of range or a span of fewer than three dimensions, where there is one direction
/// only; [`Error::Infeasible`], [`Error::Breakdown`], [`Error::Interrupted`] as [`crate::run`].
pub fn correlation(
    space: &VersionSpace<'_>,
    settings: &CorrelationSettings,
    control: &Control,
) -> Result<Correlation> {
    let &CorrelationSettings { n_trajectories, n_pairs, n_threads, seed, .. } = settings;
    let (cosine, scatterer) = settings.scattering()?;
    let run = Settings { n_trajectories, n_threads, seed, ..Settings::default() };
    let factor = Arc::new(Factor::new(space.gram(), control)?);
    let dimensions = factor.rank();
    if dimensions < 3 {
        let got = format!("feature vectors that span {dimensions}");
        return Err(Error::invalid("gram", got, "of three dimensions or more"));
    }
    let pool = WorkerPool::new(n_threads.min(n_trajectories), control)?;
    chain::check_memory(space, n_trajectories, false, &pool)?;
    let (mut trajectories, dynamics) = burn_in::trajectories_around(
        space,
        &run,
        Scattered::new(factor, cosine),
        scatterer,
        &pool,
        control,
    )?;
    // As they are measured, and all of them together.
    let numbers = 2 * size_of::<Pair>().div_ceil(size_of::<f64>());
    pool.check_memory(n_trajectories, numbers, n_pairs)?;
    let mut streams: Vec<_> = (0..n_trajectories)
        .map(|i| random::stream(seed, n_trajectories + i))
        .zip(&mut trajectories)
        .collect();
    let pairs = pool.each(&mut streams, |_, (rng, trajectory)| {
        trajectory.reset(None);
        trajectory.run(Goal::either(APART_PATH, APART_ARRIVALS), control)?;
        // By the path, not by arrivals: points at equal spacing along it have the uniform law, bouncing points have not.
        let apart = Goal::path(trajectory.tally().path);
        (0..n_pairs)
            .map(|_| {
                loop {
                    control.check()?;
                    trajectory.reset(None);
                    trajectory.run(apart, control)?;
                    if !dynamics.covers(trajectory.ball()) {
                        break;
                    }
                }
                pair(trajectory, &dynamics, settings, rng, control)
            })
            .collect::<Result<Vec<_>>>()
    })?;
    let scatterer = dynamics.scatterer();
    let pairs = Array2::from_shape_fn((n_trajectories, n_pairs), |(i, k)| pairs[i][k]);
    Ok(Correlation { pairs, scatterer })
}

/// One pair from where a trajectory is, the second ball tilted towards a random direction.
fn pair(
    trajectory: &Trajectory<'_, Geodesic>,
    dynamics: &Scattered,
    settings: &CorrelationSettings,
    rng: &mut impl Rng,
    control: &Control,
) -> Result<Pair> {
    let space = trajectory.space();
    let gram = space.gram();
    let direction = laying::random_direction(gram, rng);
    let first: Ball = trajectory.ball().clone();
    let second = first.tilted(gram, settings.angle, &direction, control)?;
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
            return Ok(Pair { bounces, path, parted });
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

/// Whether two planes are one, up to rounding: which of them a ball meets first is then chance.
fn coincide(gram: &Gram<'_>, i: usize, j: usize) -> bool {
    let product = gram.diagonal(i) * gram.diagonal(j);
    product - gram.entry(i, j).powi(2) <= PARALLEL * product
}
