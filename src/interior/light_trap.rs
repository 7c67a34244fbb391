//! The light trap: a ball that starts anywhere and is caught inside version space.
//!
//! The walls are half-silvered mirrors whose transparency κ is annealed from 1 to 0. At κ = 0 they are one-way mirrors:
//! what is inside stays inside.

use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::ball::laying;
use crate::base::{Control, Error, Result, random};
use crate::interior::{conflicts, max_margin};
use crate::space::{Mirror, VersionSpace, one_dimensional};
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::{Goal, Refresh, Trajectory, Until};

/// Factor between the transparencies of two rungs.
const COOLING: f64 = 0.1;
/// Transparency below which the mirrors are one-way.
const COLDEST: f64 = 1e-6;
/// Arrivals at walls on a rung, and at the one-way mirrors before the trap gives up.
const RUNG_ARRIVALS_PER_PLANE: u64 = 1;
const LAST_ARRIVALS_PER_PLANE: u64 = 5;
const LEAST_ARRIVALS: u64 = 64;
/// The same with one-way mirrors from the first.
const ONE_WAY_ARRIVALS_PER_PLANE: u64 = 1_000;
/// Path of a rung, radians: the end where hardly any wall is met.
const RUNG_PATH: f64 = 100.0;
/// Pair refreshes per radian while the trap cools.
const REFRESH_RATE: f64 = 30.0;

/// Largest error of the squared length of a ball that was caught.
const LENGTH: f64 = 1e-6;

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
    let ball = laying::ball_at(space.gram(), &position, &mut rng, control)?;
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
    let inside = trajectory.caught() && (step_inside(space, &mut trajectory)? || !mirror.is_hard());
    Ok(if inside { Trapped::Caught(trajectory) } else { Trapped::Lost(trajectory.into_rng()) })
}

/// Takes a ball that was caught on the last wall it crossed half a flight on, where it is inside also to rounding. The
/// running coordinates decided in the loop; the recomputed ones have the last word. They tell too whether it is a ball still:
/// outside of a slit of 1e-7 rad the coefficients nearly cancel, and what rounding leaves of their length comes inside.
fn step_inside(
    space: &VersionSpace<'_>,
    trajectory: &mut Trajectory<'_, Geodesic>,
) -> Result<bool> {
    let half = 0.5 * trajectory.ball().to_wall();
    trajectory.ball_mut().fly(space.gram(), half);
    let position = trajectory.ball().position(0.0);
    let margins = space.margins(&position)?;
    let terms = position.iter().zip(&margins).enumerate();
    let square: f64 = terms.map(|(i, (c, margin))| c * space.sign(i) * margin).sum();
    Ok(margins.iter().all(|&margin| margin > 0.0) && (square - 1.0).abs() < LENGTH)
}

/// What the light trap of the paper found.
#[derive(Clone, Debug)]
pub struct OneWay {
    /// Dual coefficients, of unit length, of a point in version space.
    pub dual: Vec<f64>,
    /// Examples violated at the start and after every passage, falling one by one; of coinciding planes together.
    pub errors: Vec<u32>,
    /// Bounces before each of them.
    pub bounces: Vec<u64>,
    /// Whether the trap caught the ball; if not, the point is the maximal-margin search's.
    pub caught: bool,
}

/// The light trap of Ruján and Marchand (section 18.5.2): one-way mirrors and a ball from the difference of the class means in
/// feature space, the solution for σ → 0 of a Gaussian kernel.
///
/// Where the patience ends (1000 arrivals per example) the search for the maximal margin takes over.
///
/// # Errors
///
/// [`Error::Infeasible`] where none is found, [`Error::Interrupted`].
pub fn one_way(space: &VersionSpace<'_>, seed: u64, control: &Control) -> Result<OneWay> {
    conflicts::check(space, Mirror::HARD, control)?;
    let gram = space.gram();
    let m = gram.len();
    let (mut errors, mut bounces) = (Vec::new(), Vec::new());
    let counts = space.class_counts().map(f64::from);
    let means: Vec<f64> =
        (0..m).map(|i| space.sign(i) / counts[usize::from(space.sign(i) > 0.0)]).collect();
    let mut rng = random::stream(seed, 0);
    // Class means that coincide leave no version space: the search for the margin says so with its proof.
    if !one_dimensional::is_one_dimensional(gram)
        && let Some(ball) =
            laying::ball_at(space.gram(), &means, &mut rng, control).map(Some).or_else(|error| {
                if matches!(error, Error::Invalid { .. } | Error::Breakdown { .. }) {
                    Ok(None)
                } else {
                    Err(error)
                }
            })?
    {
        let mut trajectory = Trajectory::new(space, Geodesic, ball, rng);
        trajectory.set_refresh(Refresh::Pair { rate: REFRESH_RATE });
        let patience = LEAST_ARRIVALS + ONE_WAY_ARRIVALS_PER_PLANE * m as u64;
        loop {
            control.check()?;
            let violated = trajectory.violated();
            if errors.last().is_none_or(|&last| violated < last) {
                errors.push(violated);
                bounces.push(trajectory.tally().bounces);
            }
            let arrivals = trajectory.tally().arrivals();
            if violated == 0 || arrivals >= patience {
                break;
            }
            trajectory.run(Goal::either(f64::INFINITY, arrivals + 1), control)?;
        }
        if trajectory.violated() == 0 && step_inside(space, &mut trajectory)? {
            let dual = trajectory.ball().position(0.0);
            return Ok(OneWay { dual, errors, bounces, caught: true });
        }
    }
    let dual = max_margin::interior_point(space, control)?;
    Ok(OneWay { dual, errors, bounces, caught: false })
}
