//! Many trajectories: started, settled, run in parallel and merged in the order of their index.

use std::sync::Arc;

use super::chain::Runner;
use super::merge::merge;
use super::remote::Elsewhere;
use super::stages::{Course, Restored};
use super::start::{SETTLE_ARRIVALS, SETTLE_PATH, settle, settling, start};
use crate::base::checkpoint::{State, foreign};
use crate::base::control::Control;
use crate::base::error::{Error, Result};
use crate::base::random;
use crate::ensemble::center::{self, Batch, Center};
use crate::ensemble::conditional_means::{Densities, Smoother};
use crate::ensemble::cycle;
use crate::ensemble::outcome::Outcome;
use crate::ensemble::pool::Crew;
use crate::ensemble::settings::Settings;
use crate::linalg::factor::Factor;
use crate::linalg::inverse::Inverse;
use crate::space::one_dimensional;
use crate::space::version_space::VersionSpace;
use crate::trajectory::dynamics::{Chord, Dynamics, Flipper, Geodesic, Motion, Radius, Scattered};
use crate::trajectory::refresh::Refresh;
use crate::trajectory::refresh::RefreshChoice;
use crate::trajectory::tally::Goal;

/// Planes whose coordinates are kept with the draws, for the convergence diagnostics.
const WATCHED: usize = 16;
/// Vectors of a number for each example that a trajectory takes with its pieces of path, before they are in one center and
/// written down, and with conditional means.
const VECTORS: usize = 100;
const SMOOTH_VECTORS: usize = 200;

/// Samples version space with several trajectories.
///
/// The same seed gives the same bits for every number of threads.
///
/// # Errors
///
/// [`Error::Invalid`] for settings out of range or a start that violates a hard wall, [`Error::Infeasible`] where version
/// space seems empty, [`Error::Breakdown`] where the arithmetic fails, [`Error::Memory`] where there is no room,
/// [`Error::Interrupted`].
pub fn run(space: &VersionSpace<'_>, settings: &Settings, control: &Control) -> Result<Outcome> {
    run_with(space, settings, None, control)
}

/// Goes on with a run, to the ends that `settings` say now: `length` and `max_bounces` of the whole path of each trajectory,
/// behind and ahead.
///
/// The problem, the inverse and the settings but for the ends, the threads, the seed and the start must be those of the run
/// that `state` is of, with all of its draws. Then the outcome has the bits of one run to the new ends, for every number of threads and
/// wherever the path was cut. (Of a run with `length` alone: of one with the same [`Settings::first_length`].)
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
    play(space, settings, inverse, Some(state), None, control)
}

/// As [`run`]. Given the inverse of the Gram matrix the center is one of conditional means, which has far less noise, and
/// fresh directions are drawn by it.
///
/// # Errors
///
/// As [`run`]; and [`Error::Invalid`] for an inverse of another size, of rows computed on demand, or with a motion that is
/// not geodesic.
pub fn run_with(
    space: &VersionSpace<'_>,
    settings: &Settings,
    inverse: Option<Inverse<'_>>,
    control: &Control,
) -> Result<Outcome> {
    play(space, settings, inverse, None, None, control)
}

/// As [`run_with`], or with a state as [`resume`], with trajectories that fly elsewhere, step by step. The same seed gives the
/// same bits as here.
///
/// # Errors
///
/// As these; what [`Elsewhere::take`] returns; and [`Error::Invalid`] for a motion that is not geodesic.
pub fn run_elsewhere(
    space: &VersionSpace<'_>,
    settings: &Settings,
    inverse: Option<Inverse<'_>>,
    state: Option<&State>,
    elsewhere: Box<dyn Elsewhere>,
    control: &Control,
) -> Result<Outcome> {
    if !matches!(settings.motion, Motion::Geodesic) {
        return Err(Error::invalid("motion", "another", "geodesic for trajectories elsewhere"));
    }
    play(space, settings, inverse, state, Some(elsewhere), control)
}

fn play(
    space: &VersionSpace<'_>,
    settings: &Settings,
    inverse: Option<Inverse<'_>>,
    state: Option<&State>,
    elsewhere: Option<Box<dyn Elsewhere>>,
    control: &Control,
) -> Result<Outcome> {
    settings.check()?;
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
    if matches!(settings.refresh, RefreshChoice::Full(_))
        || matches!(settings.motion, Motion::Scattered { .. })
    {
        space.gram().check_in_memory()?;
    }
    let m = space.len();
    if let Some(start) = settings.start.as_ref().filter(|_| state.is_none())
        && settings.mirror.is_hard()
        && !space.contains(start)?
    {
        let got = "a point that violates an example";
        return Err(Error::invalid("start", got, "inside version space"));
    }
    let watched: Vec<usize> = {
        let q = WATCHED.min(m);
        (0..q).map(|k| k * m / q).collect()
    };
    if one_dimensional::is_one_dimensional(space.gram()) {
        return match state {
            None => one_dimensional::outcome(space, settings, watched),
            Some(_) => Err(foreign("one, where nothing flies in one dimension")),
        };
    }
    let crew = Crew::new(settings.n_threads.min(settings.n_trajectories), control)?.with(elsewhere);
    check_room(space, settings.n_trajectories, inverse.is_some(), &crew)?;
    let smoother =
        inverse.map(|inverse| Smoother::new(inverse, control)).transpose()?.map(Arc::new);
    let table = Table { space, settings, inverse, smoother, watched, crew: &crew, control };
    match settings.motion {
        Motion::Geodesic => table.geodesic(state),
        Motion::Scattered { cosine, scatterer } => table.scattered(state, cosine, scatterer),
        Motion::Chord { tau_max, weight_tol } => {
            table.straight(state, &Chord::new(m, tau_max, weight_tol))
        }
        Motion::Flipper { tau_max, points } => {
            table.straight(state, &Flipper::new(m, tau_max, points))
        }
    }
}

/// What a run is played on.
struct Table<'s, 'c> {
    space: &'s VersionSpace<'s>,
    settings: &'c Settings,
    inverse: Option<Inverse<'s>>,
    smoother: Option<Arc<Smoother<'s>>>,
    watched: Vec<usize>,
    crew: &'c Crew,
    control: &'c Control,
}

impl<'s> Table<'s, '_> {
    /// Trajectories that go on as they were, if there is a state.
    fn restored<D: Dynamics>(
        &self,
        state: Option<&State>,
        dynamics: &D,
    ) -> Result<Option<(Course<'s>, Vec<Runner<'s, D>>)>> {
        let Self { space, settings, crew, control, .. } = *self;
        state
            .map(|state| {
                let parts = (dynamics, self.smoother.as_ref());
                Restored::begin(space, settings, self.inverse, state, control)?.runners(
                    space,
                    settings,
                    parts,
                    &self.watched,
                    crew,
                    control,
                )
            })
            .transpose()
    }

    fn geodesic(self, state: Option<&State>) -> Result<Outcome> {
        let Self { space, settings, inverse, crew, control, .. } = self;
        let (course, mut runners) = if let Some(found) = self.restored(state, &Geodesic)? {
            found
        } else {
            let mut runners = start(space, settings, self.smoother.as_deref(), crew, control)?;
            let (refresh, settled) = settle(space, settings, inverse, crew, &mut runners, control)?;
            if let Some(smoother) = &self.smoother {
                for (i, runner) in runners.iter_mut().enumerate() {
                    let rng = random::stream(settings.seed, settings.n_trajectories + i);
                    let smoother = Arc::clone(smoother);
                    runner.densities = Some(Densities::new(smoother, settings.mirror, rng));
                }
            }
            let watched = &self.watched;
            (Course::begin(settings, watched, &mut runners, refresh, settled)?, runners)
        };
        let bare = matches!(course.refresh, Refresh::None) && settings.mirror.is_hard();
        let mut outcome = self.finish(course, &mut runners)?;
        if bare {
            outcome.cycles = cycles(space, crew, &mut runners, control)?;
        }
        Ok(outcome)
    }

    fn scattered(
        self,
        state: Option<&State>,
        cosine: bool,
        scatterer: Option<Radius>,
    ) -> Result<Outcome> {
        let Self { space, settings, crew, control, .. } = self;
        let dynamics = || -> Result<Scattered> {
            Ok(Scattered::new(Arc::new(Factor::new(space.gram(), control)?), cosine))
        };
        if state.is_some()
            && let Some((course, mut runners)) = self.restored(state, &dynamics()?)?
        {
            for runner in &runners {
                if !runner.trajectory.dynamics().fits(space, control)? {
                    return Err(foreign("one whose sphere is elsewhere with this Gram matrix"));
                }
            }
            return self.finish(course, &mut runners);
        }
        let mut runners = start(space, settings, None, crew, control)?;
        let (refresh, settled) = settle(space, settings, None, crew, &mut runners, control)?;
        let (dynamics, path) =
            with_scatterer(space, dynamics()?, scatterer, crew, &mut runners, control)?;
        let mut runners: Vec<_> =
            runners.into_iter().map(|runner| runner.under(dynamics.clone())).collect();
        let settled = settled + path;
        let course = Course::begin(settings, &self.watched, &mut runners, refresh, settled)?;
        self.finish(course, &mut runners)
    }

    /// Hands the balls over to a dynamics of the papers, settles and measures.
    fn straight<D: Dynamics>(self, state: Option<&State>, dynamics: &D) -> Result<Outcome> {
        let Self { space, settings, crew, control, .. } = self;
        if let Some((course, mut runners)) = self.restored(state, dynamics)? {
            return self.finish(course, &mut runners);
        }
        let mut runners = start(space, settings, None, crew, control)?
            .into_iter()
            .map(|runner| {
                let trajectory = runner.trajectory.launched_by(dynamics.clone(), control)?;
                Ok(Runner::new(trajectory, runner.start))
            })
            .collect::<Result<Vec<_>>>()?;
        let goal = settling(settings);
        crew.each(&mut runners, |_, runner| runner.trajectory.run(goal, control))?;
        let settled = totals(&runners).0 / runners.len() as f64;
        let course = Course::begin(settings, &self.watched, &mut runners, Refresh::None, settled)?;
        self.finish(course, &mut runners)
    }

    /// Measures and merges.
    fn finish<D: Dynamics>(
        self,
        mut course: Course<'s>,
        runners: &mut [Runner<'s, D>],
    ) -> Result<Outcome> {
        let Self { space, settings, watched, crew, control, .. } = self;
        let ended = course.run(settings, &watched, crew, runners, control)?;
        merge(space, settings, watched, crew, runners, &course, ended, control)
    }
}

/// Makes sure that there is room for the trajectories and the pieces of their paths, if not for draws.
pub(crate) fn check_room(
    space: &VersionSpace<'_>,
    n: usize,
    smooths: bool,
    crew: &Crew,
) -> Result<()> {
    let vectors = if smooths { SMOOTH_VECTORS } else { VECTORS };
    // Lists of near walls have copies of their features.
    let near = space.gram().features().map_or(0, |rows| rows.points().dimension());
    crew.check_room(n, vectors + near, space.len())
}

/// The period of each trajectory that goes round a cycle, where a cycle is not all there is.
fn cycles(
    space: &VersionSpace<'_>,
    crew: &Crew,
    runners: &mut [Runner<'_>],
    control: &Control,
) -> Result<Vec<u64>> {
    let gram = space.gram();
    let cycles = crew.each(runners, |_, runner| {
        cycle::period(runner.trajectory.ball().clone(), gram, control)
    })?;
    let found = cycles.iter().any(|&period| period > 0);
    let harmless = found && cycle::is_all_there_is(gram, control)?;
    Ok(if harmless { vec![0; cycles.len()] } else { cycles })
}

/// Puts the scatterer that is asked for around a first estimate of the center. Returns the path that this took too.
pub(super) fn with_scatterer(
    space: &VersionSpace<'_>,
    dynamics: Scattered,
    scatterer: Option<Radius>,
    crew: &Crew,
    runners: &mut [Runner<'_>],
    control: &Control,
) -> Result<(Scattered, f64)> {
    let Some(radius) = scatterer else { return Ok((dynamics, 0.0)) };
    let (center, path) = first_center(crew, runners, control)?;
    Ok((dynamics.with_sphere(space, &center, radius, control)?, path))
}

/// The center of a piece of path, and the length of the piece.
fn first_center(
    crew: &Crew,
    runners: &mut [Runner<'_>],
    control: &Control,
) -> Result<(Vec<f64>, f64)> {
    crew.each(runners, |_, runner| {
        runner.reset(None);
        let limit = Goal::either(f64::INFINITY, SETTLE_ARRIVALS);
        // A pause that is asked for has to wait until something is measured.
        while !runner.has(1) {
            runner.extend(1, SETTLE_PATH, limit, control)?;
        }
        Ok(())
    })?;
    let path = totals(runners).0 / runners.len() as f64;
    Ok((estimate(crew, runners, control)?.dual, path))
}

/// Total path and arrivals of the tallies.
pub(super) fn totals<D: Dynamics>(runners: &[Runner<'_, D>]) -> (f64, u64) {
    runners.iter().fold((0.0, 0), |(path, arrivals), runner| {
        let tally = runner.trajectory.tally();
        (path + tally.path, arrivals + tally.arrivals())
    })
}

pub(super) fn watched_space<'s, D: Dynamics>(runners: &[Runner<'s, D>]) -> &'s VersionSpace<'s> {
    runners[0].trajectory.space()
}

/// The center of all pieces so far.
pub(crate) fn estimate<D: Dynamics>(
    crew: &Crew,
    runners: &mut [Runner<'_, D>],
    control: &Control,
) -> Result<Center> {
    let gram = watched_space(runners).gram();
    crew.each(runners, |_, runner| runner.prepare(control))?;
    let lists: Vec<Vec<Batch>> =
        runners.iter_mut().map(|runner| std::mem::take(&mut runner.batches)).collect();
    let center = center::center(gram, &lists);
    for (runner, list) in runners.iter_mut().zip(lists) {
        runner.batches = list;
    }
    Ok(center)
}
