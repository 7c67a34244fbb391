//! The light trap: a ball that starts anywhere and is trapped in version space.
//!
//! A ball always crosses a wall towards its satisfied side, and towards its violated side with probability κ. The
//! transparency κ is annealed from 1 to 0. At κ = 0 the walls are one-way mirrors: a ball that is inside stays inside.

use crate::ball::laying;
use crate::base::{Control, Result, Stream};
use crate::space::{Mirror, VersionSpace};
use crate::trajectory::{Geodesic, Goal, Refresh, Trajectory, Until};

/// Ratio of the transparencies of successive rungs.
const COOLING: f64 = 0.1;
/// Smallest transparency before the mirrors become one-way.
const COLDEST: f64 = 1e-6;
/// Most arrivals at walls on a rung, and on the last one before the trap gives up: a constant plus a number per plane.
const RUNG_ARRIVALS_PER_PLANE: u64 = 1;
const LAST_ARRIVALS_PER_PLANE: u64 = 5;
pub const LEAST_ARRIVALS: u64 = 64;
/// Longest path on a rung, in radians.
const RUNG_PATH: f64 = 100.0;
/// Pair refreshes per radian.
pub const REFRESH_RATE: f64 = 30.0;

/// Largest error of the squared length of a ball that counts as caught.
const LENGTH_TOLERANCE: f64 = 1e-6;

/// A ball that is inside, or at the transparency of the mirror; or the random stream of one that was outside at last.
pub type Trapped<'s> = std::result::Result<Trajectory<'s, Geodesic>, Stream>;

/// Starts a trajectory from random dual coefficients with the signs of the labels and anneals its walls to `mirror`.
pub fn trap<'s>(
    space: &'s VersionSpace<'s>,
    mirror: Mirror,
    mut rng: Stream,
    control: &Control,
) -> Result<Trapped<'s>> {
    let gram = space.gram();
    let m = gram.len();
    let sizes = laying::random_direction(gram, &mut rng).into_iter().map(f64::abs);
    let position = space.signed(&sizes.collect::<Vec<_>>());
    let ball = laying::ball_at(gram, &position, &mut rng, control)?;
    let mut trajectory = Trajectory::new(space, Geodesic, ball, rng);
    trajectory.set_refresh(Refresh::Pair { rate: REFRESH_RATE });
    // Transparent walls are annealed to their own transparency; hard ones until the ball is inside.
    let coldest = COLDEST.max(mirror.0[0].min(mirror.0[1]));
    let until = if mirror.is_hard() { Until::Satisfied } else { Until::Never };
    let arrivals = |per_plane: u64| LEAST_ARRIVALS + per_plane * m as u64;
    let mut kappa: f64 = 1.0;
    while kappa > coldest && !(mirror.is_hard() && trajectory.violated() == 0) {
        kappa *= COOLING;
        trajectory.set_mirror(Mirror(mirror.0.map(|own| kappa.max(own))));
        trajectory.reset();
        let arrivals = arrivals(RUNG_ARRIVALS_PER_PLANE);
        trajectory.run(Goal { path: RUNG_PATH, arrivals, until }, control)?;
    }
    trajectory.set_mirror(mirror);
    trajectory.reset();
    let arrivals = arrivals(LAST_ARRIVALS_PER_PLANE);
    trajectory.run(Goal { path: f64::INFINITY, arrivals, until: Until::Caught }, control)?;
    let inside = trajectory.caught() && (step_in(space, &mut trajectory)? || !mirror.is_hard());
    Ok(if inside { Ok(trajectory) } else { Err(trajectory.into_rng()) })
}

/// Moves a ball from the last wall that it crossed half of the way to the next one. Returns whether it is then inside by
/// recomputed margins, and of unit length, which rounding may destroy in a version space narrower than 1e-7 rad.
pub fn step_in(space: &VersionSpace, trajectory: &mut Trajectory<Geodesic>) -> Result<bool> {
    let half = 0.5 * trajectory.ball().to_wall();
    trajectory.ball_mut().fly(space.gram(), half);
    let position = trajectory.ball().position(0.0);
    let margins = space.margins(&position)?;
    let terms = position.iter().zip(space.signed(&margins));
    let square: f64 = terms.map(|(c, f)| c * f).sum();
    Ok(margins.iter().all(|&margin| margin > 0.0) && (square - 1.0).abs() < LENGTH_TOLERANCE)
}
