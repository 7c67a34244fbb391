//! Where trajectories start, and how they forget it.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::chain::Runner;
use super::remote::{self, Step, Terms};
use super::run::{totals, with_scatterer};
use crate::ball::laying;
use crate::base::control::Control;
use crate::base::error::Result;
use crate::base::random;
use crate::ensemble::conditional_means::Smoother;
use crate::ensemble::pool::Crew;
use crate::ensemble::settings::Settings;
use crate::interior::Start;
use crate::interior::conflicts;
use crate::interior::hard_point;
use crate::interior::light_trap::{self, Trapped};
use crate::linalg::inverse::Inverse;
use crate::space::mirror::Mirror;
use crate::space::version_space::VersionSpace;
use crate::trajectory::dynamics::{Geodesic, Radius, Scattered};
use crate::trajectory::event_loop::Trajectory;
use crate::trajectory::refresh::Refresh;
use crate::trajectory::tally::Goal;

/// Path before anything is measured: radians, and the share of a given length; and arrivals at walls, which
/// end it earlier where version space is small.
pub(super) const SETTLE_PATH: f64 = std::f64::consts::TAU;
const SETTLE_SHARE: f64 = 0.05;
pub(super) const SETTLE_ARRIVALS: u64 = 4_000;
/// Fresh directions per radian meanwhile where they are easily drawn, arrivals for each where that is more often, and
/// arrivals that end it then.
const FRESH_PER_RADIAN: f64 = 0.5;
const ARRIVALS_PER_FRESH: f64 = 4_000.0;
const FRESH_ARRIVALS: u64 = 8_000;
/// Arrivals after which the rate of bounces is known well enough to set the rate of refreshes.
const GAUGE_ARRIVALS: u64 = 256;
/// Pair refreshes per radian meanwhile.
const GAUGE_REFRESH: f64 = 1.0;

/// How far a ball flies before anything is measured.
pub(super) fn settling(settings: &Settings) -> Goal {
    let share = SETTLE_SHARE * settings.first_length.or(settings.length).unwrap_or(0.0);
    let path = settings.settle.unwrap_or_else(|| SETTLE_PATH.max(share));
    let arrivals = if settings.settle.is_some() { u64::MAX } else { SETTLE_ARRIVALS };
    Goal::either(path, arrivals)
}

/// One trajectory each at the given start, where its own light trap caught it, or at a point of the maximal-margin
/// search, which is made once for all that the trap lost.
pub(super) fn start<'s>(
    space: &'s VersionSpace<'s>,
    settings: &Settings,
    smoother: Option<&Smoother<'_>>,
    crew: &Crew,
    control: &Control,
) -> Result<Vec<Runner<'s>>> {
    conflicts::check(space, settings.mirror, control)?;
    let middle = match smoother {
        Some(smoother) if settings.start.is_none() => {
            Some((smoother, smoother.middle(space, settings.mirror, control)?))
        }
        _ => None,
    };
    let (seed, n, mirror) = (settings.seed, settings.n_trajectories, settings.mirror);
    let middle = middle.as_ref().map(|(smoother, middle)| (*smoother, middle));
    let mut tried = match (&settings.start, crew.elsewhere()) {
        (None, Some(elsewhere)) => {
            remote::attempts(elsewhere, space, (seed, n), mirror, middle, control)?
        }
        (start, _) => crew.each(&mut vec![(); n], |i, ()| {
            let rng = random::stream(seed, i);
            match start {
                Some(position) => at(space, position, rng, control).map(Trapped::Caught),
                None => attempt(space, mirror, middle, rng, control),
            }
        })?,
    };
    let interior = if tried.iter().any(|trapped| matches!(trapped, Trapped::Lost(_))) {
        Some(hard_point(space, settings.mirror, control)?)
    } else {
        None
    };
    let caught = match (&settings.start, middle) {
        (Some(_), _) => Start::Given,
        (None, Some(_)) => Start::Typical,
        (None, None) => Start::LightTrap,
    };
    tried
        .drain(..)
        .map(|trapped| {
            let (mut trajectory, start) = match (trapped, &interior) {
                (Trapped::Caught(trajectory), _) => (trajectory, caught),
                (Trapped::Lost(rng), Some(position)) => {
                    (at(space, position, rng, control)?, Start::MaxMargin)
                }
                (Trapped::Lost(_), None) => unreachable!("the search was made for the lost ones"),
            };
            trajectory.set_mirror(settings.mirror);
            Ok(Runner::new(trajectory, start))
        })
        .collect()
}

/// Plane coordinates and dual coefficients of the middle of version space; see [`Smoother::middle`].
pub(super) type Middle = [Vec<f64>; 2];

/// One trajectory that nobody gave a start: at a point drawn about the middle, or in its own light trap.
pub(super) fn attempt<'s>(
    space: &'s VersionSpace<'s>,
    mirror: Mirror,
    middle: Option<(&Smoother<'_>, &Middle)>,
    mut rng: ChaCha8Rng,
    control: &Control,
) -> Result<Trapped<'s>> {
    if let Some((smoother, middle)) = middle {
        let position = smoother.typical(space, middle, &mut rng, control)?;
        // Rounding may put it outside of walls that are next to each other.
        if space.contains(&position)? {
            return at(space, &position, rng, control).map(Trapped::Caught);
        }
    }
    light_trap::trap(space, mirror, rng, control)
}

fn at<'s>(
    space: &'s VersionSpace<'s>,
    position: &[f64],
    mut rng: ChaCha8Rng,
    control: &Control,
) -> Result<Trajectory<'s, Geodesic>> {
    let ball = laying::ball_at(space.gram(), position, &mut rng, control)?;
    Ok(Trajectory::new(space, Geodesic, ball, rng))
}

/// Trajectories that have forgotten where they started, with the refresh chosen.
pub(crate) fn settled<'s>(
    space: &'s VersionSpace<'s>,
    settings: &Settings,
    crew: &Crew,
    control: &Control,
) -> Result<Vec<Trajectory<'s, Geodesic>>> {
    let mut runners = start(space, settings, None, crew, control)?;
    settle(space, settings, None, crew, &mut runners, control)?;
    Ok(runners.into_iter().map(|runner| runner.trajectory).collect())
}

/// As [`settled`], and `dynamics` with the scatterer that is asked for.
pub(crate) fn settled_around<'s>(
    space: &'s VersionSpace<'s>,
    settings: &Settings,
    dynamics: Scattered,
    scatterer: Option<Radius>,
    crew: &Crew,
    control: &Control,
) -> Result<(Vec<Trajectory<'s, Geodesic>>, Scattered)> {
    let mut runners = start(space, settings, None, crew, control)?;
    settle(space, settings, None, crew, &mut runners, control)?;
    let (dynamics, _) = with_scatterer(space, dynamics, scatterer, crew, &mut runners, control)?;
    Ok((runners.into_iter().map(|runner| runner.trajectory).collect(), dynamics))
}

/// Chooses the refresh and lets the trajectories forget where they started. Returns the refresh and the mean path.
pub(super) fn settle<'s>(
    space: &'s VersionSpace<'s>,
    settings: &Settings,
    inverse: Option<Inverse<'s>>,
    crew: &Crew,
    runners: &mut [Runner<'s>],
    control: &Control,
) -> Result<(Refresh<'s>, f64)> {
    let mut settled = 0.0;
    let mut spend = |runners: &mut [Runner<'s>], goal: Goal| -> Result<f64> {
        let terms = Terms { mirror: settings.mirror, draws: 0, watched: &[] };
        remote::take(crew, runners, Step::Run(goal), &terms, control)?;
        let (path, arrivals) = totals(runners);
        settled += path / runners.len() as f64;
        Ok(arrivals.max(1) as f64 / path)
    };
    // The rate of arrivals sets that of pairs.
    for runner in runners.iter_mut() {
        runner.trajectory.set_refresh(Refresh::Pair { rate: GAUGE_REFRESH });
    }
    let rate = spend(runners, Goal::either(SETTLE_PATH, GAUGE_ARRIVALS))?;
    let refresh = Refresh::chosen(settings.refresh, space.gram(), rate, inverse, control)?;
    let (goal, meanwhile) = match &refresh {
        // Where directions are easily drawn, those that few planes know of get their share of the length at once.
        Refresh::Full { source, .. } if settings.settle.is_none() => {
            let rate = FRESH_PER_RADIAN.max(rate / ARRIVALS_PER_FRESH);
            let source = Arc::clone(source);
            (Goal::either(SETTLE_PATH, FRESH_ARRIVALS), Refresh::Full { rate, source })
        }
        _ => (settling(settings), refresh.clone()),
    };
    for runner in runners.iter_mut() {
        runner.trajectory.set_refresh(meanwhile.clone());
    }
    if goal.path > 0.0 {
        spend(runners, goal)?;
    }
    for runner in runners.iter_mut() {
        runner.trajectory.set_refresh(refresh.clone());
    }
    Ok((refresh, settled))
}
