//! One run: starts trajectories, runs them in parallel, and merges them in the order of their index.

use std::sync::Arc;

use crate::base::{Control, Result, State, ensure, random, require};
use crate::ensemble::burn_in::{burn_in, burn_in_goal, with_scatterer};
use crate::ensemble::chain::{Chain, Context, check_memory, totals};
use crate::ensemble::conditional_means::Densities;
use crate::ensemble::outcome::Outcome;
use crate::ensemble::pool::WorkerPool;
use crate::ensemble::settings::{Average, Settings};
use crate::ensemble::stages::Measurement;
use crate::ensemble::start::start;
use crate::linalg::{Factor, Inverse};
use crate::space::{VersionSpace, one_dimensional};
use crate::trajectory::dynamics::{Geodesic, Motion, Points, Radius, Scattered, Straight};

/// Samples version space with several trajectories.
///
/// The same seed gives the same bits for every number of threads.
///
/// [`crate::Error::Invalid`] for settings out of range or a start that violates a hard wall, [`crate::Error::Infeasible`] where
/// version space seems empty, [`crate::Error::Breakdown`] where the arithmetic fails, [`crate::Error::Memory`],
/// [`crate::Error::Time`] where [`Settings::max_time`] is over before a starting point is found, [`crate::Error::Interrupted`].
pub fn run(space: &VersionSpace<'_>, settings: &Settings, control: &Control) -> Result<Outcome> {
    run_with(space, settings, None, control)
}

/// Continues a run to new limits: `length` and `max_bounces` in `settings` are those of the whole path of each trajectory.
///
/// `state` must hold all draws. The problem, the inverse and the settings must be those of the earlier run, except for the
/// limits, the threads, the seed and the start. If the tolerance ended the earlier run, and ends this one too, the outcome has
/// the bits of a single run, for every number of threads. A path cut by another limit continues with the same law.
///
/// Errors as [`run_with`]; and [`crate::Error::Invalid`] for a state that does not fit.
pub fn resume(
    space: &VersionSpace<'_>,
    settings: &Settings,
    inverse: Option<Inverse<'_>>,
    state: &State,
    control: &Control,
) -> Result<Outcome> {
    sample(space, settings, inverse, Some(state), control)
}

/// As [`run`]; with the inverse of the Gram matrix the center is of conditional means, with less noise, as are refreshes.
///
/// Errors as [`run`]; [`crate::Error::Invalid`] for an inverse of another size, or with a motion not geodesic.
pub fn run_with(
    space: &VersionSpace<'_>,
    settings: &Settings,
    inverse: Option<Inverse<'_>>,
    control: &Control,
) -> Result<Outcome> {
    sample(space, settings, inverse, None, control)
}

fn sample(
    space: &VersionSpace<'_>,
    settings: &Settings,
    inverse: Option<Inverse<'_>>,
    state: Option<&State>,
    control: &Control,
) -> Result<Outcome> {
    settings.check()?;
    let of_planes;
    let settings = match (space.walls(), &settings.start) {
        (Some(walls), Some(start)) => {
            let got = format_args!("{} coefficients", start.len());
            require(start.len() == walls.coordinates(), "start", got, "one per coordinate")?;
            of_planes = Settings { start: Some(walls.plane_duals(start)), ..settings.clone() };
            &of_planes
        }
        _ => settings,
    };
    control.limit_time(settings.max_time);
    one_dimensional::refuse(space.gram())?;
    space.check_coinciding(settings.mirror)?;
    if matches!(settings.motion, Motion::Chord { .. } | Motion::Flipper { .. }) {
        space.check_two_classes("motion", "one of the papers")?;
    }
    let inverse = inverse.map(|inverse| inverse.of_planes(space.gram()));
    if let Some(inverse) = inverse {
        let got = format_args!("{} rows", inverse.len());
        require(inverse.len() == space.len(), "factor", got, "one row for each example")?;
        let fits = matches!(settings.motion, Motion::Geodesic);
        require(fits, "factor", "one", "none but for the geodesic motion")?;
    }
    let is_known = space.walls().is_none() || settings.mirror.is_hard();
    let fits = settings.average != Average::Conditional || is_known;
    require(fits, "average", "'conditional'", "another for transparent walls in general")?;
    let fits = settings.average != Average::Conditional || inverse.is_some();
    require(fits, "average", "'conditional'", "another without an inverse")?;
    if let Some(start) = settings.start.as_ref().filter(|_| state.is_none())
        && settings.mirror.is_hard()
    {
        let (margins, m) = (space.margins(start)?, space.examples());
        let violated = space.count_examples(|i| margins[i].is_nan() || margins[i] <= 0.0);
        let got = format_args!("a point that violates {violated} of {m} examples");
        let wanted = "in version space unless the walls are transparent";
        require(violated == 0, "start", got, wanted)?;
    }
    let pool = WorkerPool::new(settings.n_threads.min(settings.n_trajectories), control)?;
    check_memory(space, settings.n_trajectories, inverse.is_some(), &pool)?;
    let run = Context::new(space, settings, inverse, &pool)?;
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

fn geodesic(run: &Context<'_, '_>, state: Option<&State>) -> Result<Outcome> {
    let settings = run.settings;
    let mut measurement = if let Some(state) = state {
        Measurement::restored(run, state, &Geodesic)?
    } else {
        let (mut chains, burn_in_length) = burn_in(run)?;
        if let Some(smoother) = &run.smoother {
            for (i, chain) in chains.iter_mut().enumerate() {
                let rng = random::stream(settings.seed, settings.n_trajectories + i);
                let smoother = Arc::clone(smoother);
                chain.densities = Some(Densities::new(smoother, settings.mirror, rng));
            }
        }
        Measurement::begin(run, chains, burn_in_length)?
    };
    measurement.outcome()
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
    let mut measurement = if let Some(state) = state {
        let measurement = Measurement::restored(run, state, &dynamics()?)?;
        for chain in &measurement.chains {
            let fits = chain.trajectory.dynamics().fits(space, control)?;
            ensure(fits, "one whose sphere does not fit this Gram matrix")?;
        }
        measurement
    } else {
        let (mut chains, burn_in_length) = burn_in(run)?;
        let (dynamics, path) = with_scatterer(run, dynamics()?, scatterer, &mut chains)?;
        let chains = chains.into_iter().map(|chain| chain.under(dynamics.clone())).collect();
        Measurement::begin(run, chains, burn_in_length + path)?
    };
    let outcome = measurement.outcome()?;
    let scatterer = measurement.chains[0].trajectory.dynamics().scatterer();
    Ok(Outcome { scatterer, ..outcome })
}

fn straight(run: &Context<'_, '_>, state: Option<&State>, dynamics: &Straight) -> Result<Outcome> {
    let Context { settings, control, .. } = *run;
    if let Some(state) = state {
        return Measurement::restored(run, state, dynamics)?.outcome();
    }
    let launched = start(run)?.into_iter().map(|chain| {
        let trajectory = chain.trajectory.launched_by(dynamics.clone(), control)?;
        Ok(Chain::new(trajectory, chain.path.start))
    });
    let mut chains = launched.collect::<Result<Vec<_>>>()?;
    let goal = burn_in_goal(settings);
    run.pool.each(&mut chains, |_, chain| chain.trajectory.run(goal, control))?;
    let burn_in_length = totals(&chains).0 / chains.len() as f64;
    Measurement::begin(run, chains, burn_in_length)?.outcome()
}
