//! Runs of the papers' motions, in place of great circles.

mod running_center;
mod scattered;
mod straight;

use std::sync::Arc;

use serde::Deserialize;

use crate::base::{Control, Error, Result, State, require};
use crate::ensemble::burn_in::{BURN_IN_ARRIVALS, BURN_IN_PATH, burn_in, burn_in_goal};
use crate::ensemble::chain::{Chain, Context, estimate, totals};
use crate::ensemble::merge::normalize;
use crate::ensemble::run::prepared;
use crate::ensemble::stages::Measurement;
use crate::ensemble::start::start;
use crate::ensemble::{Average, Outcome, Settings};
use crate::linalg::Factor;
use crate::papers::check_two_classes;
use crate::space::VersionSpace;
use crate::trajectory::dynamics::Dynamics;
use crate::trajectory::{Goal, Recorder, RefreshChoice};

pub use running_center::{Addition, RunningCenter};
pub use scattered::{Scattered, scatter};
pub use straight::{Points, Straight};

/// Smallest radius of a scatterer. The cosine that decides whether the ball is inside has no digits for a smaller one.
const SMALLEST_RADIUS: f64 = 1e-6;

/// Which motion to use.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum Motion {
    /// [`Scattered`]: great circles that mix faster, and stay exact.
    Scattered {
        /// Directions by the cosine law after a bounce, in place of the mirror image.
        cosine: bool,
        /// The reflecting sphere around the center.
        scatterer: Option<Radius>,
    },
    /// [`Straight::chord`].
    Chord {
        /// Flight time, with position and direction of unit length, from which a new direction is drawn; above 0.
        tau_max: f64,
        /// Largest share of the next flight in the center at which a run ends, in (0, 1): the algorithm's TOL.
        weight_tol: Option<f64>,
    },
    /// [`Straight::flipper`].
    Flipper {
        /// Flight time, with position and direction of unit length at the launch, that counts as an escape; above 0.
        tau_max: f64,
        /// The points that the running center averages.
        points: Points,
    },
}

impl Motion {
    /// Checks the ranges of its settings. [`Error::Invalid`] for a number out of its range.
    pub fn check(&self) -> Result<()> {
        match *self {
            Self::Scattered { scatterer: Some(Radius::Given(x)), .. } => {
                let fits = x >= SMALLEST_RADIUS && x.is_finite();
                require(fits, "scatterer", x, "finite and at least 1e-6 radians")
            }
            Self::Scattered { cosine: false, scatterer: None } => {
                Err(Error::invalid("scatterer", "None", "a radius with scattering='specular'"))
            }
            Self::Chord { tau_max, .. } | Self::Flipper { tau_max, .. } => {
                require(tau_max > 0.0, "tau_max", tau_max, "positive")?;
                let Self::Chord { weight_tol: Some(tol), .. } = *self else { return Ok(()) };
                require(tol > 0.0 && tol < 1.0, "weight_tol", tol, "in (0, 1)")
            }
            Self::Scattered { .. } => Ok(()),
        }
    }

    fn is_straight(&self) -> bool {
        !matches!(self, Self::Scattered { .. })
    }
}

/// Radius of the reflecting sphere.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Radius {
    /// Half of the distance between the center and the nearest wall.
    #[serde(rename = "auto")]
    Fitted,
    /// Radians, at least 1e-6.
    Given(f64),
}

/// Settings of [`fly`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MotionSettings {
    /// The motion. Straight ones have hard walls and no refresh.
    pub motion: Motion,
    /// The settings of the run, which may lack an end if the motion has one. There are no conditional means.
    pub run: Settings,
}

impl MotionSettings {
    /// Checks all ranges and combinations. [`Error::Invalid`] for the first setting out of range or that does not fit others.
    pub fn check(&self) -> Result<()> {
        let Self { motion, run } = self;
        motion.check()?;
        match motion {
            Motion::Chord { weight_tol: Some(_), .. } => run.check_ranges()?,
            _ => run.check()?,
        }
        let is_straight = motion.is_straight();
        let is_open = matches!(motion, Motion::Scattered { scatterer: None, .. });
        let got = format_args!("{} and {}", run.mirror.0[0], run.mirror.0[1]);
        let wanted =
            "0 with dynamics=Chord(...), Flipper(...) or a scatterer: they need opaque walls";
        require(is_open || run.mirror.is_hard(), "transparency", got, wanted)?;
        let fits = matches!(run.refresh, RefreshChoice::Auto | RefreshChoice::None);
        let wanted = "'auto' or None with dynamics=Chord(...) or Flipper(...), which have none";
        require(!is_straight || fits, "refresh", "another", wanted)?;
        let (fits, wanted) = match run.average {
            Average::Auto | Average::Arc => return Ok(()),
            _ if is_straight => {
                (false, "one of 'auto', 'arc' with dynamics=Chord(...) or Flipper(...)")
            }
            other => (
                other == Average::Impulse,
                "one of 'auto', 'arc', 'impulse' with dynamics=Scattered(...)",
            ),
        };
        require(fits, "average", format!("'{:?}'", run.average).to_lowercase(), wanted)
    }
}

/// The run of a motion. Counts have the shape (T,), of T trajectories.
#[derive(Clone, Debug)]
pub struct MotionOutcome {
    /// The run, without a state. The impulses of straight flights, which are launched again, are NaN.
    pub run: Outcome,
    /// Dual coefficients of the running center of straight flights, shape (m,); all zero if no flight ended.
    pub center: Option<Vec<f64>>,
    /// Flights that met no wall.
    pub escapes: Vec<u64>,
    /// Reflections at the scatterer.
    pub scatterings: Vec<u64>,
    /// Radius of the scatterer, radians, if there is one.
    pub scatterer: Option<f64>,
}

/// Samples version space with several trajectories of a motion of the papers.
///
/// The same seed gives the same bits for every number of threads. Errors as [`crate::run`]; [`Error::Invalid`] also for more
/// than two classes, or walls, with straight flights, and for a scatterer that does not fit into version space.
pub fn fly(
    space: &VersionSpace,
    settings: &MotionSettings,
    control: &Control,
) -> Result<MotionOutcome> {
    settings.check()?;
    let m = space.len();
    if settings.motion.is_straight() {
        check_two_classes(space, "motion", "one of the papers")?;
    }
    prepared(space, &settings.run, None, false, control, |run| match settings.motion {
        Motion::Scattered { cosine, scatterer } => fly_scattered(run, cosine, scatterer),
        Motion::Chord { tau_max, weight_tol } => {
            fly_straight(run, &Straight::chord(m, tau_max, weight_tol))
        }
        Motion::Flipper { tau_max, points } => {
            fly_straight(run, &Straight::flipper(m, tau_max, points))
        }
    })
}

/// Measures, and also returns the dynamics of the trajectories, which complete the outcome.
fn measured<D: Dynamics>(
    run: &Context,
    chains: Vec<Chain<D>>,
    burn_in_length: f64,
) -> Result<(MotionOutcome, Vec<D>)> {
    let mut measurement = Measurement::begin(run, chains, burn_in_length)?;
    let run = Outcome { state: State::default(), ..measurement.outcome()? };
    let chains = measurement.chains.iter();
    let none = vec![0; chains.len()];
    let (escapes, scatterings) = (none.clone(), none);
    let outcome = MotionOutcome { run, center: None, escapes, scatterings, scatterer: None };
    Ok((outcome, chains.map(|chain| chain.trajectory.dynamics().clone()).collect()))
}

fn fly_scattered(run: &Context, cosine: bool, scatterer: Option<Radius>) -> Result<MotionOutcome> {
    let (mut chains, burn_in_length) = burn_in(run)?;
    let factor = Arc::new(Factor::new(run.space.gram(), run.control)?);
    let (dynamics, path) =
        with_scatterer(run, Scattered::new(factor, cosine), scatterer, &mut chains)?;
    let scatterer = dynamics.scatterer();
    let moved = chains.into_iter().map(|chain| {
        let trajectory = chain.trajectory.under(dynamics.clone());
        Chain::new(trajectory, chain.path.start)
    });
    let chains = moved.collect();
    let (outcome, dynamics) = measured(run, chains, burn_in_length + path)?;
    let scatterings = dynamics.iter().map(|dynamics| dynamics.scatterings).collect();
    Ok(MotionOutcome { scatterings, scatterer, ..outcome })
}

/// Places a scatterer, if any, around a first estimate of the center, and returns the path of the estimate in radians too.
pub(super) fn with_scatterer(
    run: &Context,
    dynamics: Scattered,
    scatterer: Option<Radius>,
    chains: &mut [Chain],
) -> Result<(Scattered, f64)> {
    let Some(radius) = scatterer else { return Ok((dynamics, 0.0)) };
    let control = run.control;
    run.pool.each(chains, |_, chain| {
        chain.reset(Recorder::none());
        chain.extend(1, BURN_IN_PATH, Goal::either(f64::INFINITY, BURN_IN_ARRIVALS), control)?;
        if chain.path.pieces.is_empty() {
            chain.close();
        }
        Ok(())
    })?;
    let path = totals(chains).0 / chains.len() as f64;
    let center = estimate(run, chains, 0.0)?;
    Ok((dynamics.with_sphere(run.space, &center.dual, radius, control)?, path))
}

fn fly_straight(run: &Context, dynamics: &Straight) -> Result<MotionOutcome> {
    let Context { space, settings, control, .. } = *run;
    let launched = start(run)?.into_iter().map(|chain| {
        let trajectory = chain.trajectory.launched_by(dynamics.clone(), control)?;
        Ok(Chain::new(trajectory, chain.path.start))
    });
    let mut chains = launched.collect::<Result<Vec<_>>>()?;
    let goal = burn_in_goal(settings);
    run.pool.each(&mut chains, |_, chain| chain.trajectory.run(goal, control))?;
    let burn_in_length = totals(&chains).0 / chains.len() as f64;
    let (mut outcome, dynamics) = measured(run, chains, burn_in_length)?;
    outcome.run.center.impulse.fill(f64::NAN);
    let mut center = dynamics[0].center.clone();
    for other in &dynamics[1..] {
        center.join(space.gram(), &other.center, control)?;
    }
    normalize(run, &mut center.dual)?;
    let escapes = dynamics.iter().map(|dynamics| dynamics.escapes).collect();
    Ok(MotionOutcome { center: Some(center.dual), escapes, ..outcome })
}
