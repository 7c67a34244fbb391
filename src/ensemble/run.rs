//! One run: starts trajectories, runs them in parallel, and merges them in the order of their index.

use std::sync::Arc;

use crate::base::{Control, Error, Result, State, decode, ensure, incompatible, random};
use crate::ensemble::burn_in::{burn_in, burn_in_goal, with_scatterer};
use crate::ensemble::chain::{Chain, Parts, check_memory, totals};
use crate::ensemble::conditional_means::Densities;
use crate::ensemble::context::Context;
use crate::ensemble::cycle;
use crate::ensemble::merge::merge;
use crate::ensemble::outcome::Outcome;
use crate::ensemble::pool::WorkerPool;
use crate::ensemble::settings::{Average, Settings};
use crate::ensemble::stages::{Measurement, RunState};
use crate::ensemble::start::start;
use crate::ensemble::step::RemoteExecutor;
use crate::linalg::{Factor, Inverse};
use crate::space::{VersionSpace, one_dimensional};
use crate::trajectory::dynamics::{
    Dynamics, Geodesic, Motion, Points, Radius, Scattered, Straight,
};
use crate::trajectory::{Refresh, RefreshChoice};

/// Samples version space with several trajectories.
///
/// The same seed gives the same bits for every number of threads.
///
/// # Errors
///
/// [`Error::Invalid`] for settings out of range or a start that violates a hard wall, [`Error::Infeasible`] where version
/// space seems empty, [`Error::Breakdown`] where the arithmetic fails, [`Error::Memory`] where there is no room,
/// [`Error::Time`] where [`Settings::max_time`] is over before a starting point is found, [`Error::Interrupted`].
pub fn run(space: &VersionSpace<'_>, settings: &Settings, control: &Control) -> Result<Outcome> {
    run_with(space, settings, None, control)
}

/// Continues a run to new limits: `length` and `max_bounces` in `settings` are those of the whole path of each trajectory.
///
/// `state` must hold all draws. The problem, the inverse and the settings must be those of the earlier run, except for the
/// limits, the threads, the seed and the start. The outcome then has the same bits as a single run to the new limits, for every
/// number of threads and wherever the path was cut. (With `length` alone: as a single run with the same
/// [`Settings::first_length`].)
///
/// # Errors
///
/// As [`run_with`]; and [`Error::Invalid`] for a state that does not fit.
pub fn resume(
    space: &VersionSpace<'_>,
    settings: &Settings,
    inverse: Option<Inverse<'_>>,
    state: &State,
    control: &Control,
) -> Result<Outcome> {
    sample(space, settings, inverse, Some(state), None, control)
}

/// As [`run`]. With the inverse of the Gram matrix the center is the integral of conditional means, which has far less noise,
/// and full refreshes use the inverse.
///
/// # Errors
///
/// As [`run`]; and [`Error::Invalid`] for an inverse of another size, of explicit features, or with a motion that is
/// not geodesic.
pub fn run_with(
    space: &VersionSpace<'_>,
    settings: &Settings,
    inverse: Option<Inverse<'_>>,
    control: &Control,
) -> Result<Outcome> {
    sample(space, settings, inverse, None, None, control)
}

/// As [`run_with`], or as [`resume`] with a state, but takes the steps of the trajectories in other processes. The same seed
/// gives the same bits.
///
/// # Errors
///
/// As these; what [`RemoteExecutor::take`] returns; and [`Error::Invalid`] for a motion that is not geodesic.
pub fn run_remotely(
    space: &VersionSpace<'_>,
    settings: &Settings,
    inverse: Option<Inverse<'_>>,
    state: Option<&State>,
    executor: &dyn RemoteExecutor,
    control: &Control,
) -> Result<Outcome> {
    if !matches!(settings.motion, Motion::Geodesic) {
        return Err(Error::invalid(
            "motion",
            "another",
            "geodesic for trajectories in other processes",
        ));
    }
    sample(space, settings, inverse, state, Some(executor), control)
}

fn sample(
    space: &VersionSpace<'_>,
    settings: &Settings,
    inverse: Option<Inverse<'_>>,
    state: Option<&State>,
    executor: Option<&dyn RemoteExecutor>,
    control: &Control,
) -> Result<Outcome> {
    settings.check()?;
    control.limit_time(settings.max_time);
    one_dimensional::refuse(space.gram())?;
    space.check_coinciding(settings.mirror)?;
    if matches!(settings.motion, Motion::Chord { .. } | Motion::Flipper { .. }) {
        space.check_two_classes("motion", "one of the papers")?;
    }
    let inverse = inverse.map(|inverse| inverse.of_planes(space.gram()));
    if let Some(inverse) = inverse {
        space.gram().check_in_memory()?;
        if inverse.len() != space.len() {
            let got = format!("{} rows", inverse.len());
            return Err(Error::invalid("factor", got, "one row for each example"));
        }
        if !matches!(settings.motion, Motion::Geodesic) {
            return Err(Error::invalid("factor", "one", "none but for the geodesic motion"));
        }
    }
    if settings.average == Average::Conditional && inverse.is_none() {
        return Err(Error::invalid("average", "'conditional'", "another without an inverse"));
    }
    if matches!(settings.refresh, RefreshChoice::Full(_))
        || matches!(settings.motion, Motion::Scattered { .. })
    {
        space.gram().check_in_memory()?;
    }
    if let Some(start) = settings.start.as_ref().filter(|_| state.is_none())
        && settings.mirror.is_hard()
        && !space.contains(start)?
    {
        let got = "a point that violates an example";
        return Err(Error::invalid("start", got, "inside version space"));
    }
    // The executor calls Python, whose signals only the calling thread sees.
    let n_threads = if executor.is_some() { 1 } else { settings.n_threads };
    let pool = WorkerPool::new(n_threads.min(settings.n_trajectories), control)?;
    check_memory(space, settings.n_trajectories, inverse.is_some(), &pool)?;
    let run = Context::new(space, settings, inverse, &pool, control)?;
    let run = Context { executor, ..run };
    let m = space.len();
    match settings.motion {
        Motion::Geodesic => geodesic(&run, state),
        Motion::Scattered { cosine, scatterer } => scattered(&run, state, cosine, scatterer),
        Motion::Chord { tau_max, weight_tol } => {
            straight(&run, state, &Straight::chord(m, tau_max, weight_tol))
        }
        Motion::Flipper { tau_max } => {
            let bounces = settings.average == Average::Bounces;
            let points = if bounces { Points::Bounces } else { Points::Midpoints };
            straight(&run, state, &Straight::flipper(m, tau_max, points))
        }
    }
}

/// Restores the trajectories, if there is a state.
fn restored<'s, D: Dynamics>(
    run: &Context<'s, '_>,
    state: Option<&State>,
    dynamics: &D,
) -> Result<Option<(Measurement, Vec<Chain<'s, D>>)>> {
    let Some(state) = state else { return Ok(None) };
    let Context { space, settings, inverse, control, .. } = *run;
    let stored: RunState = decode(&state.bytes)?;
    stored.check(space, settings)?;
    let refresh = Refresh::restored(stored.refresh, space.gram(), inverse, control)?;
    let measurement = stored.measurement;
    let records = records(state, (space.len(), run.watched.len(), settings.n_trajectories))?;
    let restored = stored.chains.into_iter().zip(records).map(|(chain, record)| {
        let parts = Parts {
            dynamics: dynamics.clone(),
            mirror: settings.mirror,
            refresh: &refresh,
            smoother: run.smoother.as_ref(),
            watched: &run.watched,
            record: Some(record),
        };
        let chain = Chain::restored(space, parts, chain)?;
        measurement.check_record(settings, &chain)?;
        Ok(chain)
    });
    let mut chains = restored.collect::<Result<Vec<_>>>()?;
    let fit = run.pool.each(&mut chains, |_, chain| {
        control.count_bounces(chain.trajectory.tally().bounces);
        chain.trajectory.ball().fits(space.gram(), control)
    })?;
    ensure(!fit.contains(&false), || "one whose balls do not fit this Gram matrix")?;
    Ok(Some((measurement, chains)))
}

fn geodesic(run: &Context<'_, '_>, state: Option<&State>) -> Result<Outcome> {
    let settings = run.settings;
    let (measurement, mut chains) = if let Some(found) = restored(run, state, &Geodesic)? {
        found
    } else {
        let mut chains = start(run)?;
        let burn_in_length = burn_in(run, &mut chains)?;
        if let Some(smoother) = &run.smoother {
            for (i, chain) in chains.iter_mut().enumerate() {
                let rng = random::stream(settings.seed, settings.n_trajectories + i);
                let smoother = Arc::clone(smoother);
                chain.densities = Some(Densities::new(smoother, settings.mirror, rng));
            }
        }
        (Measurement::begin(run, &mut chains, burn_in_length)?, chains)
    };
    let refresh = chains[0].trajectory.refresh();
    let bare = matches!(refresh, Refresh::None) && settings.mirror.is_hard();
    let mut outcome = finish(run, measurement, &mut chains)?;
    if bare {
        let cycles = cycles(run, &mut chains)?;
        for (one, cycle) in outcome.trajectories.iter_mut().zip(cycles) {
            one.cycle = cycle;
        }
    }
    Ok(outcome)
}

fn scattered(
    run: &Context<'_, '_>,
    state: Option<&State>,
    cosine: bool,
    scatterer: Option<Radius>,
) -> Result<Outcome> {
    let Context { space, control, .. } = *run;
    let dynamics = || -> Result<Scattered> {
        Ok(Scattered::new(Arc::new(Factor::new(space.gram(), control)?), cosine))
    };
    let (measurement, mut chains) = if state.is_some()
        && let Some((measurement, chains)) = restored(run, state, &dynamics()?)?
    {
        for chain in &chains {
            ensure(
                chain.trajectory.dynamics().fits(space, control)?,
                || "one whose sphere does not fit this Gram matrix",
            )?;
        }
        (measurement, chains)
    } else {
        let mut chains = start(run)?;
        let burn_in_length = burn_in(run, &mut chains)?;
        let (dynamics, path) = with_scatterer(run, dynamics()?, scatterer, &mut chains)?;
        let mut chains: Vec<_> =
            chains.into_iter().map(|chain| chain.under(dynamics.clone())).collect();
        (Measurement::begin(run, &mut chains, burn_in_length + path)?, chains)
    };
    let outcome = finish(run, measurement, &mut chains)?;
    Ok(Outcome { scatterer: chains[0].trajectory.dynamics().scatterer(), ..outcome })
}

/// Runs one of the papers' dynamics.
fn straight(run: &Context<'_, '_>, state: Option<&State>, dynamics: &Straight) -> Result<Outcome> {
    let Context { settings, control, .. } = *run;
    if let Some((measurement, mut chains)) = restored(run, state, dynamics)? {
        return finish(run, measurement, &mut chains);
    }
    let launched = start(run)?.into_iter().map(|chain| {
        let trajectory = chain.trajectory.launched_by(dynamics.clone(), control)?;
        Ok(Chain::new(trajectory, chain.start))
    });
    let mut chains = launched.collect::<Result<Vec<_>>>()?;
    let goal = burn_in_goal(settings);
    run.pool.each(&mut chains, |_, chain| chain.run(goal, control))?;
    let burn_in_length = totals(&chains).0 / chains.len() as f64;
    let measurement = Measurement::begin(run, &mut chains, burn_in_length)?;
    finish(run, measurement, &mut chains)
}

/// Runs the measurement and merges the trajectories.
fn finish<D: Dynamics>(
    run: &Context<'_, '_>,
    mut measurement: Measurement,
    chains: &mut [Chain<'_, D>],
) -> Result<Outcome> {
    let ended = measurement.run(run, chains)?;
    merge(run, chains, measurement.burn_in_length, ended)
}

/// Returns the draws and functionals of each of t trajectories, on m examples with q watched planes.
fn records(state: &State, (m, q, t): (usize, usize, usize)) -> Result<Vec<(&[f64], &[f64])>> {
    let missing = || incompatible("one without all of its draws");
    if state.held != state.kept || state.kept.len() != t {
        return Err(missing());
    }
    let (mut draws, mut functionals) = (&*state.draws, &*state.functionals);
    let mut records = Vec::with_capacity(t);
    for &n in &state.kept {
        let n = usize::try_from(n).map_err(|_| missing())?;
        let (record, values);
        (record, draws) = draws.split_at_checked(n.saturating_mul(m)).ok_or_else(missing)?;
        (values, functionals) =
            functionals.split_at_checked(n.saturating_mul(q)).ok_or_else(missing)?;
        records.push((record, values));
    }
    ensure(draws.is_empty() && functionals.is_empty(), || "one with too many draws")?;
    Ok(records)
}

/// Returns the period of each trajectory that is in a short cycle, else 0. In two dimensions a cycle fills version space and
/// counts as 0.
fn cycles(run: &Context<'_, '_>, chains: &mut [Chain<'_>]) -> Result<Vec<u64>> {
    let (gram, control) = (run.space.gram(), run.control);
    let cycles = run
        .pool
        .each(chains, |_, chain| cycle::period(chain.trajectory.ball().clone(), gram, control))?;
    let found = cycles.iter().any(|&period| period > 0);
    let harmless = found && cycle::is_all_there_is(gram, control)?;
    Ok(if harmless { vec![0; cycles.len()] } else { cycles })
}
