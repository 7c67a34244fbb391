//! One run: starts trajectories, runs them in parallel, and merges them in the order of their index.

use std::sync::Arc;

use super::burn_in::burn_in;
use super::chain::{Context, check_memory};
use super::conditional_means::Densities;
use super::merge::Outcome;
use super::pool::WorkerPool;
use super::settings::{Average, Settings};
use super::stages::Measurement;
use crate::base::{Control, Result, State, check_length, random, require};
use crate::linalg::Inverse;
use crate::space::{VersionSpace, one_dimensional};

/// Samples version space with several trajectories.
///
/// The same seed gives the same bits for every number of threads.
///
/// [`crate::Error::Invalid`] for settings out of range or a start that violates a hard wall, [`crate::Error::Infeasible`] where
/// version space seems empty, [`crate::Error::Breakdown`] where the arithmetic fails, [`crate::Error::Memory`],
/// [`crate::Error::Time`] where [`Settings::max_time`] is over before a starting point is found, [`crate::Error::Interrupted`].
pub fn run(space: &VersionSpace, settings: &Settings, control: &Control) -> Result<Outcome> {
    sample(space, settings, None, None, control)
}

/// As [`run`]; with the inverse of the Gram matrix the center is of conditional means, with less noise, as are refreshes.
///
/// With a state it continues a run to new limits: `length` and `max_bounces` in `settings` are those of the whole path of
/// each trajectory. The state must hold all draws. The problem, the inverse and the settings must be those of the earlier
/// run, except for the limits, the threads, the seed and the start. If the tolerance ended the earlier run, and ends this one
/// too, the outcome has the bits of a single run, for every number of threads. A path cut by another limit continues with the
/// same law.
///
/// Errors as [`run`]; [`crate::Error::Invalid`] for an inverse of another size or a state that does not fit.
pub fn sample(
    space: &VersionSpace,
    settings: &Settings,
    inverse: Option<Inverse>,
    state: Option<&State>,
    control: &Control,
) -> Result<Outcome> {
    settings.check()?;
    prepared(space, settings, inverse, state.is_some(), control, |run| {
        if let Some(state) = state {
            return Measurement::restored(run, state)?.outcome();
        }
        let (mut chains, burn_in_length) = burn_in(run)?;
        if let Some(smoother) = &run.smoother {
            for (i, chain) in chains.iter_mut().enumerate() {
                let rng = random::stream(settings.seed, settings.n_trajectories + i);
                let smoother = Arc::clone(smoother);
                chain.densities = Some(Densities::new(smoother, settings.mirror, rng));
            }
        }
        Measurement::begin(run, chains, burn_in_length)?.outcome()
    })
}

/// Prepares a run with settings in range, and does its work. `resumes` leaves the start unchecked.
pub fn prepared<R>(
    space: &VersionSpace,
    settings: &Settings,
    inverse: Option<Inverse>,
    resumes: bool,
    control: &Control,
    work: impl FnOnce(&Context) -> Result<R>,
) -> Result<R> {
    let of_planes;
    let settings = match (space.walls(), &settings.start) {
        (Some(walls), Some(start)) => {
            check_length("start", start.len(), walls.coordinates)?;
            of_planes = Settings { start: Some(walls.plane_duals(start)), ..settings.clone() };
            &of_planes
        }
        _ => settings,
    };
    control.limit_time(settings.max_time);
    one_dimensional::refuse(space.gram())?;
    space.check_coinciding(settings.mirror)?;
    let inverse = inverse.map(|inverse| inverse.of_planes(space.gram()));
    if let Some(inverse) = inverse {
        check_length("factor", inverse.len(), space.len())?;
    }
    let is_known = space.walls().is_none() || settings.mirror.is_hard();
    let fits = settings.average != Average::Conditional || is_known;
    require(fits, "average", "'conditional'", "another for transparent walls in general")?;
    let fits = settings.average != Average::Conditional || inverse.is_some();
    require(fits, "average", "'conditional'", "another without an inverse")?;
    if let Some(start) = settings.start.as_ref().filter(|_| !resumes)
        && settings.mirror.is_hard()
    {
        let (violated, m) = (space.violated_by(start)?, space.examples());
        let got = format_args!("a point that violates {violated} of {m} examples");
        let wanted = "in version space unless the walls are transparent";
        require(violated == 0, "start", got, wanted)?;
    }
    let pool = WorkerPool::new(settings.n_threads.min(settings.n_trajectories), control)?;
    check_memory(space, settings.n_trajectories, inverse.is_some(), &pool)?;
    let run = Context::new(space, settings, inverse, &pool)?;
    work(&run)
}
