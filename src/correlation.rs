//! The correlation length Λ of the billiard (Ruján and Marchand, section 18.4.2).

use crate::ball::Ball;
use crate::control::Control;
use crate::crew::Crew;
use crate::dynamics::Geodesic;
use crate::error::{Error, Result};
use crate::factor::Factor;
use crate::gas;
use crate::light_trap;
use crate::settings::Settings;
use crate::trajectory::{Goal, Trajectory};
use crate::version_space::VersionSpace;

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
#[derive(Clone, Copy, Debug)]
pub struct CorrelationSettings {
    /// Angle between the directions of a pair at the start, radians, in (0, 1).
    pub angle: f64,
    /// Trajectories that pairs start from.
    pub n_trajectories: usize,
    /// Pairs of each.
    pub n_pairs: usize,
    /// Bounces after which a pair is given up.
    pub max_bounces: u64,
    /// Worker threads.
    pub n_threads: usize,
    /// Seed; trajectory i takes stream i + 1.
    pub seed: u64,
}

/// How long the balls of one pair kept to the same planes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Bounces off the same planes.
    pub bounces: u64,
    /// Path of the first ball to where it meets a plane that the second does not, radians.
    pub path: f64,
    /// False where the pair was given up before.
    pub parted: bool,
}

/// Follows pairs of balls of the geodesic billiard, without refresh, that start at the same point of version space in
/// directions `angle` apart, until they meet different planes. The starts have the uniform law. Row-major (trajectory, pair).
///
/// # Errors
///
/// [`Error::Invalid`] for settings out of range or a span of fewer than three dimensions, where there is one direction
/// only; [`Error::Infeasible`], [`Error::Breakdown`], [`Error::Interrupted`] as [`crate::run`].
pub fn correlation(
    space: &VersionSpace<'_>,
    settings: &CorrelationSettings,
    control: &Control,
) -> Result<Vec<Pair>> {
    let &CorrelationSettings { angle, n_trajectories, n_pairs, n_threads, seed, .. } = settings;
    if !(angle > 0.0 && angle < 1.0) {
        return Err(Error::invalid("angle", angle, "in (0, 1)"));
    }
    if n_pairs == 0 || settings.max_bounces == 0 {
        return Err(Error::invalid("n_pairs and max_bounces", 0, "at least 1"));
    }
    let dimensions = Factor::new(space.gram(), control)?.rank();
    if dimensions < 3 {
        let got = format!("feature vectors that span {dimensions}");
        return Err(Error::invalid("gram", got, "of three dimensions or more"));
    }
    let run = Settings { n_trajectories, n_threads, seed, ..Settings::default() };
    run.check()?;
    let crew = Crew::new(n_threads.min(n_trajectories))?;
    let mut trajectories = gas::settled(space, &run, &crew, control)?;
    let mut streams: Vec<_> = (0..n_trajectories)
        .map(|i| light_trap::stream(seed, n_trajectories + i))
        .zip(&mut trajectories)
        .collect();
    let pairs = crew.each(&mut streams, |_, (rng, trajectory)| {
        trajectory.reset(None);
        trajectory.run(Goal::either(APART_PATH, APART_ARRIVALS), control)?;
        // By the path, not by arrivals: points at equal spacing along it have the uniform law, bouncing points have not.
        let apart = Goal::path(trajectory.tally().path);
        (0..n_pairs)
            .map(|_| {
                trajectory.reset(None);
                trajectory.run(apart, control)?;
                let direction = light_trap::random_direction(space.gram(), rng);
                pair(trajectory, &direction, settings, control)
            })
            .collect::<Result<Vec<_>>>()
    })?;
    Ok(pairs.into_iter().flatten().collect())
}

/// One pair from where a trajectory is, the second ball tilted towards `direction`.
fn pair(
    trajectory: &Trajectory<'_, Geodesic>,
    direction: &[f64],
    settings: &CorrelationSettings,
    control: &Control,
) -> Result<Pair> {
    let gram = trajectory.space().gram();
    let mut first: Ball = trajectory.ball().clone();
    let mut second = first.tilted(gram, settings.angle, direction, control)?;
    let (mut bounces, mut path) = (0, 0.0);
    loop {
        let (own, other) = (first.next_wall(), second.next_wall());
        path += own.angle();
        let parted = own.plane != other.plane && !coincide(trajectory, own.plane, other.plane);
        if parted || bounces == settings.max_bounces {
            return Ok(Pair { bounces, path, parted });
        }
        first.reflect(gram);
        second.reflect(gram);
        bounces += 1;
        if bounces % CHECK_EVERY == 0 {
            control.check()?;
        }
        if bounces % REPROJECT_EVERY == 0 {
            first.reproject(gram, control)?;
            second.reproject(gram, control)?;
        }
    }
}

/// Whether two planes are one, up to rounding: which of them a ball meets first is then chance.
fn coincide(trajectory: &Trajectory<'_, Geodesic>, i: usize, j: usize) -> bool {
    let gram = trajectory.space().gram();
    let product = gram.diagonal(i) * gram.diagonal(j);
    product - gram.entry(i, j).powi(2) <= PARALLEL * product
}
