//! Many trajectories: started, settled, run in parallel and merged in the order of their index.

mod away;
mod merge;
mod start;

use std::sync::Arc;

use crate::center::{self, Batch, Center};
use crate::conditional::{Densities, Inverse, Smoother};
use crate::control::Control;
use crate::crew::Crew;
use crate::cycle;
use crate::dynamics::{Chord, Dynamics, Flipper, Geodesic, Motion, Radius, Scattered};
use crate::error::{Error, Result};
use crate::factor::Factor;
use crate::light_trap::{self, Start};
use crate::outcome::{Outcome, StopReason};
use crate::point_space;
use crate::recorder::Recorder;
use crate::refresh::Refresh;
use crate::settings::{RefreshChoice, Settings};
use crate::trajectory::{Goal, Trajectory, Until};
use crate::version_space::VersionSpace;
pub use away::{Elsewhere, take_step};
use away::{Step, Terms};
use merge::merge;
use start::{SETTLE_ARRIVALS, SETTLE_PATH, settle, settling, start};
pub(crate) use start::{settled, settled_around};

/// Planes whose coordinates are kept with the draws, for the convergence diagnostics.
const WATCHED: usize = 16;
/// First piece of path of a run without a given length: radians, and arrivals where version space is small.
const PIECE_PATH: f64 = std::f64::consts::FRAC_PI_2;
const PIECE_ARRIVALS: f64 = 1_000.0;
/// Independent vectors that a path must be worth for each draw to keep, before its center is good enough: an eighth of
/// one for so many draws as decision values need, and one for each that was asked for beyond.
const SHARE_OF_DRAWS: f64 = 0.125;
const FEW_DRAWS: usize = 400;
/// Looks at the densities at the walls in such a piece.
const LOOKS: f64 = 8.0;

/// A trajectory with the pieces of its path.
pub(crate) struct Runner<'s, D = Geodesic> {
    pub trajectory: Trajectory<'s, D>,
    pub batches: Vec<Batch>,
    /// Where the center is one of conditional means.
    densities: Option<Densities<'s>>,
    start: Start,
}

impl<'s, D: Dynamics> Runner<'s, D> {
    /// Hands the ball over to another dynamics.
    fn under<E: Dynamics>(self, dynamics: E) -> Runner<'s, E> {
        let trajectory = self.trajectory.under(dynamics);
        Runner { trajectory, batches: Vec::new(), densities: self.densities, start: self.start }
    }

    /// Forgets the pieces and starts a new path.
    pub(crate) fn reset(&mut self, recorder: Option<Recorder>) {
        self.trajectory.reset(recorder);
        self.batches.clear();
    }

    /// Runs `pieces` pieces of `unit` radians, or to `limit`.
    pub(crate) fn extend(
        &mut self,
        pieces: usize,
        unit: f64,
        limit: Goal,
        control: &Control,
    ) -> Result<()> {
        let before = self.trajectory.tally().path;
        for piece in 1..=pieces {
            let path = (before + unit * piece as f64).min(limit.path);
            let from = self.trajectory.tally().path;
            match &mut self.densities {
                None => self.trajectory.run(Goal { path, ..limit }, control)?,
                Some(densities) => {
                    let steps = ((path - from) / densities.spacing).ceil().max(1.0);
                    let mut step = 1.0;
                    while step <= steps && self.trajectory.tally().arrivals() < limit.arrivals {
                        let path = from + (path - from) * (step / steps);
                        self.trajectory.run(Goal { path, ..limit }, control)?;
                        densities.look(self.trajectory.ball(), self.trajectory.space());
                        step += 1.0;
                    }
                }
            }
            let length = self.trajectory.tally().path - from;
            if length > 0.0 {
                let integral = self.trajectory.ball_mut().take_arc_integral();
                let densities = self.densities.as_mut().map(|d| d.take(length));
                self.batches.push(Batch { integral, length, densities, plain: None, field: None });
            }
            if self.trajectory.tally().path < path || path >= limit.path {
                break;
            }
        }
        Ok(())
    }
}

fn runner_of<D>(trajectory: Trajectory<'_, D>, start: Start) -> Runner<'_, D> {
    Runner { trajectory, batches: Vec::new(), densities: None, start }
}

/// Samples version space with several trajectories.
///
/// The same seed gives the same bits for every number of threads.
///
/// # Errors
///
/// [`Error::Invalid`] for settings out of range or a start that violates a hard wall, [`Error::Infeasible`] where version
/// space seems empty, [`Error::Breakdown`] where the arithmetic fails, [`Error::Interrupted`].
pub fn run(space: &VersionSpace<'_>, settings: &Settings, control: &Control) -> Result<Outcome> {
    run_with(space, settings, None, control)
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
    run_by(space, settings, inverse, None, control)
}

/// As [`run_with`], with trajectories that fly elsewhere, step by step. The same seed gives the same bits as here.
///
/// # Errors
///
/// As [`run_with`]; what [`Elsewhere::take`] returns; and [`Error::Invalid`] for a motion that is not geodesic.
pub fn run_elsewhere(
    space: &VersionSpace<'_>,
    settings: &Settings,
    inverse: Option<Inverse<'_>>,
    elsewhere: Box<dyn Elsewhere>,
    control: &Control,
) -> Result<Outcome> {
    if !matches!(settings.motion, Motion::Geodesic) {
        return Err(Error::invalid("motion", "another", "geodesic for trajectories elsewhere"));
    }
    run_by(space, settings, inverse, Some(elsewhere), control)
}

fn run_by(
    space: &VersionSpace<'_>,
    settings: &Settings,
    inverse: Option<Inverse<'_>>,
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
    if let Some(start) = &settings.start
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
    if point_space::is_one_dimensional(space.gram()) {
        return point_space::outcome(space, settings, watched);
    }
    let crew = Crew::new(settings.n_threads.min(settings.n_trajectories))?.with(elsewhere);
    let smoother =
        inverse.map(|inverse| Smoother::new(inverse, control)).transpose()?.map(Arc::new);
    let mut runners = start(space, settings, smoother.as_deref(), &crew, control)?;
    match settings.motion {
        Motion::Geodesic => {
            let (refresh, settled) =
                settle(space, settings, inverse, &crew, &mut runners, control)?;
            if let Some(smoother) = smoother {
                for (i, runner) in runners.iter_mut().enumerate() {
                    let rng = light_trap::stream(settings.seed, settings.n_trajectories + i);
                    let smoother = Arc::clone(&smoother);
                    runner.densities = Some(Densities::new(smoother, settings.mirror, rng));
                }
            }
            let mut outcome =
                finish(space, settings, watched, &crew, &mut runners, &refresh, settled, control)?;
            if matches!(refresh, Refresh::None) && settings.mirror.is_hard() {
                outcome.cycles = cycles(space, &crew, &mut runners, control)?;
            }
            Ok(outcome)
        }
        Motion::Scattered { cosine, scatterer } => {
            let (refresh, settled) = settle(space, settings, None, &crew, &mut runners, control)?;
            let dynamics = Scattered::new(Arc::new(Factor::new(space.gram(), control)?), cosine);
            let (dynamics, path) =
                with_scatterer(space, dynamics, scatterer, &crew, &mut runners, control)?;
            let mut runners: Vec<_> =
                runners.into_iter().map(|runner| runner.under(dynamics.clone())).collect();
            let settled = settled + path;
            finish(space, settings, watched, &crew, &mut runners, &refresh, settled, control)
        }
        Motion::Chord { tau_max, weight_tol } => {
            let dynamics = Chord::new(m, tau_max, weight_tol);
            launch(space, settings, watched, &crew, runners, &dynamics, control)
        }
        Motion::Flipper { tau_max, points } => {
            let dynamics = Flipper::new(m, tau_max, points);
            launch(space, settings, watched, &crew, runners, &dynamics, control)
        }
    }
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
    let harmless = found && cycle::is_all_there_is(gram);
    Ok(if harmless { vec![0; cycles.len()] } else { cycles })
}

/// Puts the scatterer that is asked for around a first estimate of the center. Returns the path that this took too.
fn with_scatterer(
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
        runner.extend(1, SETTLE_PATH, limit, control)
    })?;
    let path = totals(runners).0 / runners.len() as f64;
    Ok((estimate(crew, runners, control)?.dual, path))
}

/// Hands the balls over to another dynamics, settles, measures and merges.
fn launch<'s, D: Dynamics>(
    space: &'s VersionSpace<'s>,
    settings: &Settings,
    watched: Vec<usize>,
    crew: &Crew,
    runners: Vec<Runner<'s>>,
    dynamics: &D,
    control: &Control,
) -> Result<Outcome> {
    let mut runners = runners
        .into_iter()
        .map(|runner| {
            let trajectory = runner.trajectory.launched_by(dynamics.clone(), control)?;
            Ok(runner_of(trajectory, runner.start))
        })
        .collect::<Result<Vec<_>>>()?;
    let goal = settling(settings);
    crew.each(&mut runners, |_, runner| runner.trajectory.run(goal, control))?;
    let settled = totals(&runners).0 / runners.len() as f64;
    let refresh = Refresh::None;
    finish(space, settings, watched, crew, &mut runners, &refresh, settled, control)
}

#[allow(clippy::too_many_arguments, reason = "the last steps of two functions")]
fn finish<D: Dynamics>(
    space: &VersionSpace<'_>,
    settings: &Settings,
    watched: Vec<usize>,
    crew: &Crew,
    runners: &mut [Runner<'_, D>],
    refresh: &Refresh<'_>,
    settled: f64,
    control: &Control,
) -> Result<Outcome> {
    let stop_reason = measure(settings, &watched, crew, runners, control)?;
    merge(space, settings, watched, crew, runners, refresh, settled, stop_reason, control)
}

/// Total path and arrivals of the tallies.
fn totals<D: Dynamics>(runners: &[Runner<'_, D>]) -> (f64, u64) {
    runners.iter().fold((0.0, 0), |(path, arrivals), runner| {
        let tally = runner.trajectory.tally();
        (path + tally.path, arrivals + tally.arrivals())
    })
}

/// Runs the measured path. Where no length is given, or a tolerance is, the pieces of path are joined and their
/// length doubles as the path grows.
fn measure<D: Dynamics>(
    settings: &Settings,
    watched: &[usize],
    crew: &Crew,
    runners: &mut [Runner<'_, D>],
    control: &Control,
) -> Result<StopReason> {
    let pieces = if runners.len() == 1 { 16 } else { 8 };
    let length = settings.length.unwrap_or(f64::INFINITY);
    let until = if settings.weight_tol().is_some() { Until::Light } else { Until::Never };
    let limit = Goal { until, ..Goal::either(length, settings.max_bounces.unwrap_or(u64::MAX)) };
    let grows = settings.tol.is_some() || settings.length.is_none();
    let mut unit = if grows {
        let (path, arrivals) = totals(runners);
        let per_arrival = if arrivals > 0 { path / arrivals as f64 } else { f64::INFINITY };
        PIECE_PATH.min(PIECE_ARRIVALS * per_arrival).min(length)
    } else {
        length / pieces as f64
    };
    // A growing run keeps twice the draws asked for when the pieces are full, and returns the last ones.
    let kept = if grows { 2 * settings.n_draws } else { settings.n_draws };
    let spacing = unit * pieces as f64 / kept as f64;
    let gram = watched_space(runners).gram();
    for runner in runners.iter_mut() {
        runner.reset(Some(Recorder::new(spacing, watched, kept, gram)));
        if let Some(densities) = &mut runner.densities {
            densities.spacing = unit / LOOKS;
        }
    }
    let terms = Terms { mirror: settings.mirror, records: true, watched };
    loop {
        let done = runners[0].batches.len();
        let stage =
            if settings.tol.is_some() && done < pieces * 3 / 4 { pieces * 3 / 4 } else { pieces };
        let prepare = settings.tol.is_some();
        let step = Step::Extend { pieces: stage - done, unit, limit, prepare };
        away::take(crew, runners, step, &terms, control)?;
        let exhausted =
            runners.iter().any(|runner| runner.trajectory.tally().arrivals() >= limit.arrivals);
        let at_end = runners.iter().all(|runner| runner.trajectory.tally().path >= length);
        if let Some(tol) = settings.tol {
            let center = estimate(crew, runners, control)?;
            let enough = worth(settings, runners);
            control.report(totals(runners).0 / runners.len() as f64, center.error);
            // A flipper goes on from a center of its own: what its halves differ by does not pass.
            let flips = matches!(settings.motion, Motion::Flipper { .. });
            if center.error <= tol && (center.mixed || flips) && enough {
                return Ok(StopReason::Tol);
            }
        }
        if until == Until::Light && runners.iter().any(|r| r.trajectory.dynamics().is_light()) {
            return Ok(StopReason::WeightTol);
        }
        if at_end {
            return Ok(StopReason::Length);
        }
        if exhausted {
            return Ok(StopReason::MaxBounces);
        }
        if stage == pieces {
            let m = watched_space(runners).len();
            for runner in runners.iter_mut() {
                center::join_pairs(&mut runner.batches);
                if let Some(recorder) = runner.trajectory.recorder_mut() {
                    recorder.coarsen(m);
                }
            }
            unit *= 2.0;
        }
    }
}

/// Whether the path is worth a fair share of the draws to keep, where the center needs less.
fn worth<D: Dynamics>(settings: &Settings, runners: &mut [Runner<'_, D>]) -> bool {
    if runners.iter().all(|runner| runner.densities.is_none()) {
        return true;
    }
    let lists: Vec<Vec<Batch>> =
        runners.iter_mut().map(|runner| std::mem::take(&mut runner.batches)).collect();
    let worth = center::worth(watched_space(runners).gram(), &lists);
    for (runner, list) in runners.iter_mut().zip(lists) {
        runner.batches = list;
    }
    let draws = settings.n_trajectories * settings.n_draws;
    let few = draws.min(FEW_DRAWS);
    worth >= SHARE_OF_DRAWS * few as f64 + (draws - few) as f64
}

fn watched_space<'s, D: Dynamics>(runners: &[Runner<'s, D>]) -> &'s VersionSpace<'s> {
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
