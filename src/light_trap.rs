//! The light trap: a ball that starts anywhere and is caught inside version space.
//!
//! The walls are half-silvered mirrors whose transparency κ is annealed from 1 to 0. At κ = 0 they are one-way mirrors:
//! what is inside stays inside.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::ball::Ball;
use crate::control::Control;
use crate::dynamics::Geodesic;
use crate::error::Result;
use crate::max_margin;
use crate::mirror::Mirror;
use crate::point_space;
use crate::refresh::Refresh;
use crate::trajectory::{Goal, Trajectory, Until};
use crate::version_space::VersionSpace;

/// Factor between the transparencies of two rungs.
const COOLING: f64 = 0.1;
/// Transparency below which the mirrors are one-way.
const COLDEST: f64 = 1e-6;
/// Arrivals at walls on a rung, and at the one-way mirrors before the trap gives up.
const RUNG_ARRIVALS_PER_PLANE: u64 = 1;
const LAST_ARRIVALS_PER_PLANE: u64 = 5;
const LEAST_ARRIVALS: u64 = 64;
/// Path of a rung, radians: the end where hardly any wall is met.
const RUNG_PATH: f64 = 100.0;
/// Pair refreshes per radian while the trap cools.
const REFRESH_RATE: f64 = 30.0;

/// Where a trajectory started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The light trap caught the ball.
    LightTrap,
    /// The light trap gave up; the ball was put at a point of the maximal-margin search.
    MaxMargin,
    /// The caller gave the point.
    Given,
}

impl Start {
    /// "light_trap", "max_margin" or "given".
    pub fn name(self) -> &'static str {
        match self {
            Self::LightTrap => "light_trap",
            Self::MaxMargin => "max_margin",
            Self::Given => "given",
        }
    }
}

/// What became of a ball that was set free outside.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one a trajectory")]
pub(crate) enum Trapped<'s> {
    /// It is inside (or, with soft mirrors, cooled down).
    Caught(Trajectory<'s, Geodesic>),
    /// It was still outside when the patience ended. The random stream goes on.
    Lost(ChaCha8Rng),
}

/// Cools a trajectory from random dual coefficients with the signs of the labels down to `mirror`.
///
/// # Errors
///
/// [`crate::Error::Interrupted`].
pub(crate) fn trap<'s>(
    space: &'s VersionSpace<'s>,
    mirror: Mirror,
    mut rng: ChaCha8Rng,
    control: &Control,
) -> Result<Trapped<'s>> {
    let gram = space.gram();
    let m = gram.len();
    let position: Vec<f64> = (0..m)
        .map(|i| {
            let size: f64 = StandardNormal.sample(&mut rng);
            space.sign(i) * size.abs() / gram.diagonal(i).sqrt()
        })
        .collect();
    let ball = ball_at(space, &position, &mut rng, control)?;
    let mut trajectory = Trajectory::new(space, Geodesic, ball, rng);
    trajectory.set_refresh(Refresh::Pair { rate: REFRESH_RATE });
    // Soft mirrors are cooled to their own transparency; hard ones until the ball is inside.
    let coldest = COLDEST.max(mirror.negative.min(mirror.positive));
    let until = if mirror.is_hard() { Until::Satisfied } else { Until::Never };
    let arrivals = |per_plane: u64| LEAST_ARRIVALS + per_plane * m as u64;
    let mut kappa: f64 = 1.0;
    while kappa > coldest && !(mirror.is_hard() && trajectory.violated() == 0) {
        kappa *= COOLING;
        trajectory.set_mirror(Mirror {
            negative: kappa.max(mirror.negative),
            positive: kappa.max(mirror.positive),
        });
        trajectory.reset(None);
        let arrivals = arrivals(RUNG_ARRIVALS_PER_PLANE);
        trajectory.run(Goal { path: RUNG_PATH, arrivals, until }, control)?;
    }
    trajectory.set_mirror(mirror);
    trajectory.reset(None);
    let arrivals = arrivals(LAST_ARRIVALS_PER_PLANE);
    trajectory.run(Goal { path: f64::INFINITY, arrivals, until: Until::Caught }, control)?;
    if trajectory.caught() {
        // It was caught on the last wall it crossed. Half a flight on it is inside, also to rounding.
        let half = 0.5 * trajectory.ball().next_wall().angle();
        trajectory.ball_mut().fly(gram, half);
    }
    // The running coordinates decide in the loop; the recomputed ones have the last word.
    let inside = trajectory.caught()
        && (!mirror.is_hard() || space.contains(&trajectory.ball().position(0.0))?);
    Ok(if inside { Trapped::Caught(trajectory) } else { Trapped::Lost(trajectory.into_rng()) })
}

/// A ball at a given position with a random direction.
///
/// # Errors
///
/// As [`Ball::new`].
pub(crate) fn ball_at(
    space: &VersionSpace<'_>,
    position: &[f64],
    rng: &mut ChaCha8Rng,
    control: &Control,
) -> Result<Ball> {
    let gram = space.gram();
    let direction: Vec<f64> = (0..gram.len())
        .map(|i| {
            let size: f64 = StandardNormal.sample(rng);
            size / gram.diagonal(i).sqrt()
        })
        .collect();
    Ball::new(gram, position, &direction, control)
}

/// Dual coefficients, of unit length, of a point inside version space caught by the light trap.
///
/// # Errors
///
/// [`crate::Error::Interrupted`], and as the search for the largest margin.
pub fn feasible_point(
    space: &VersionSpace<'_>,
    seed: u64,
    control: &Control,
) -> Result<(Vec<f64>, Start)> {
    if point_space::is_one_dimensional(space.gram()) {
        return Ok((max_margin::interior_point(space, control)?, Start::MaxMargin));
    }
    match trap(space, Mirror::HARD, stream(seed, 0), control)? {
        Trapped::Caught(trajectory) => Ok((trajectory.ball().position(0.0), Start::LightTrap)),
        Trapped::Lost(_) => Ok((max_margin::interior_point(space, control)?, Start::MaxMargin)),
    }
}

/// The random stream of trajectory `index`; stream 0 is for what belongs to none.
pub(crate) fn stream(seed: u64, index: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(index as u64 + 1);
    rng
}
