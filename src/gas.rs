//! Many trajectories: started, settled, run in parallel and merged in the order of their index.

use rand::rngs::ChaCha8Rng;
use rayon::prelude::*;

use crate::center::{self, Batch, Center};
use crate::control::Control;
use crate::dynamics::Geodesic;
use crate::error::{Error, Result};
use crate::light_trap::{self, Start, Trapped};
use crate::max_margin;
use crate::mirror::Mirror;
use crate::pilot;
use crate::point_space;
use crate::recorder::Recorder;
use crate::refresh::Refresh;
use crate::trajectory::{Goal, Trajectory};
use crate::version_space::VersionSpace;

/// Planes whose coordinates are kept with the draws, for the convergence diagnostics.
const WATCHED: usize = 16;
/// Path before anything is measured: radians, and the share of a given length; and arrivals at walls, which
/// end it earlier where version space is small.
const SETTLE_PATH: f64 = std::f64::consts::TAU;
const SETTLE_SHARE: f64 = 0.05;
const SETTLE_ARRIVALS: u64 = 4_000;
/// Arrivals after which the rate of bounces is known well enough to set the rate of refreshes.
const GAUGE_ARRIVALS: u64 = 256;
/// First piece of path of a run without a given length: radians, and arrivals where version space is small.
const PIECE_PATH: f64 = std::f64::consts::FRAC_PI_2;
const PIECE_ARRIVALS: f64 = 1_000.0;

/// Which refresh to use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RefreshChoice {
    /// Kind and rate by a pilot.
    Auto,
    /// The bare billiard.
    None,
    /// Tangent pairs, at a rate in events per radian or by a pilot.
    Pair(Option<f64>),
    /// Fresh directions, at a rate in events per radian or by a pilot.
    Full(Option<f64>),
}

/// Settings of a run. `Default` is four trajectories, 100 draws each, to 0.1 rad.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of trajectories, each with its own random stream.
    pub n_trajectories: usize,
    /// Draws kept per trajectory.
    pub n_draws: usize,
    /// Path per trajectory, radians.
    pub length: Option<f64>,
    /// Arrivals at walls per trajectory.
    pub max_bounces: Option<u64>,
    /// Standard error of the center, radians.
    pub tol: Option<f64>,
    /// Path per trajectory that is discarded first, radians; by default 2π or 5 % of `length` if that is more, and
    /// less where 4000 arrivals at walls come earlier.
    pub settle: Option<f64>,
    /// The walls.
    pub mirror: Mirror,
    /// The refresh.
    pub refresh: RefreshChoice,
    /// Dual coefficients where all trajectories start; by default each is caught by its own light trap.
    pub start: Option<Vec<f64>>,
    /// Worker threads.
    pub n_threads: usize,
    /// Seed; trajectory i takes stream i + 1.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            n_trajectories: 4,
            n_draws: 100,
            length: None,
            max_bounces: None,
            tol: Some(0.1),
            settle: None,
            mirror: Mirror::HARD,
            refresh: RefreshChoice::Auto,
            start: None,
            n_threads: 1,
            seed: 0,
        }
    }
}

impl Settings {
    fn check(&self) -> Result<()> {
        let positive = |name: &'static str, value: Option<f64>| match value {
            Some(x) if !(x > 0.0 && x.is_finite()) => {
                Err(Error::invalid(name, x, "positive and finite"))
            }
            _ => Ok(()),
        };
        for (name, count) in [
            ("n_trajectories", self.n_trajectories),
            ("n_draws", self.n_draws),
            ("n_threads", self.n_threads),
        ] {
            if count == 0 {
                return Err(Error::invalid(name, count, "at least 1"));
            }
        }
        if self.max_bounces == Some(0) {
            return Err(Error::invalid("max_bounces", 0, "at least 1"));
        }
        positive("length", self.length)?;
        positive("tol", self.tol)?;
        if let RefreshChoice::Pair(rate) | RefreshChoice::Full(rate) = self.refresh {
            positive("refresh_rate", rate)?;
        }
        if let Some(settle) = self.settle.filter(|x| !(*x >= 0.0 && x.is_finite())) {
            return Err(Error::invalid("settle", settle, ">= 0 and finite"));
        }
        if self.length.is_none() && self.max_bounces.is_none() && self.tol.is_none() {
            return Err(Error::invalid(
                "length, max_bounces and tol",
                "none of them",
                "given at least in part: a run needs an end",
            ));
        }
        Mirror::new(self.mirror.negative, self.mirror.positive).map(|_| ())
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The path length was reached.
    Length,
    /// A trajectory reached the number of arrivals at walls.
    MaxBounces,
    /// The estimated error of the center fell to the tolerance.
    Tol,
}

impl StopReason {
    /// "length", "`max_bounces`" or "tol".
    pub fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::MaxBounces => "max_bounces",
            Self::Tol => "tol",
        }
    }
}

/// What a run found. Arrays are row-major; m examples, T trajectories.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Dual coefficients of the center of mass from the exact arc integral, unit length, shape (m,).
    pub center: Vec<f64>,
    /// Length of the mean of the unit weight vectors, in (0, 1].
    pub center_norm: f64,
    /// Dual coefficients of the center of mass from the impulses on the walls, unit length, shape (m,): signed like the
    /// labels, zero for planes never hit; all zero when nothing was hit.
    pub impulse_center: Vec<f64>,
    /// Standard error of the direction of `center`, radians.
    pub center_error: f64,
    /// Dual coefficients of unit weight vectors at equal spacing along the path, shape (T, n, m).
    pub draws: Vec<f64>,
    /// Draws per trajectory n, at most the number asked for.
    pub n_draws: usize,
    /// Indices of the planes watched, shape (q,).
    pub watched: Vec<usize>,
    /// Plane coordinates of the draws at the watched planes, relative to the feature vector's length, shape (T, n, q).
    pub functionals: Vec<f64>,
    /// Bounces per trajectory, shape (T,).
    pub bounces: Vec<u64>,
    /// Walls passed through per trajectory, shape (T,).
    pub crossings: Vec<u64>,
    /// Refreshes per trajectory, shape (T,).
    pub refreshes: Vec<u64>,
    /// Path averaged over per trajectory, radians, shape (T,).
    pub lengths: Vec<f64>,
    /// Path discarded before, radians, mean over the trajectories.
    pub settled: f64,
    /// Bounces per plane, shape (m,).
    pub hits: Vec<u64>,
    /// Time average of the number of violated planes.
    pub mean_violations: f64,
    /// Why the run ended.
    pub stop_reason: StopReason,
    /// The refresh used.
    pub refresh: &'static str,
    /// Its rate, events per radian.
    pub refresh_rate: f64,
    /// Largest drift found at a re-projection, relative to the length of the feature vector.
    pub drift: f64,
    /// Where each trajectory started, shape (T,).
    pub start: Vec<Start>,
}

/// A trajectory with the pieces of its path.
pub(crate) struct Runner<'s> {
    pub trajectory: Trajectory<'s, Geodesic>,
    pub batches: Vec<Batch>,
    start: Start,
}

impl Runner<'_> {
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
            self.trajectory.run(Goal { path, ..limit }, control)?;
            let length = self.trajectory.tally().path - from;
            if length > 0.0 {
                let integral = self.trajectory.ball_mut().take_arc_integral();
                self.batches.push(Batch { integral, length, field: None });
            }
            if self.trajectory.tally().path < path || path >= limit.path {
                break;
            }
        }
        Ok(())
    }
}

/// The workers of one call: a pool of its own, never the global one, which would hang in a forked child.
pub(crate) struct Crew(Option<rayon::ThreadPool>);

impl Crew {
    pub(crate) fn new(n_threads: usize) -> Result<Self> {
        if n_threads == 1 {
            return Ok(Self(None));
        }
        rayon::ThreadPoolBuilder::new()
            .num_threads(n_threads)
            .build()
            .map(|pool| Self(Some(pool)))
            .map_err(|error| {
                Error::invalid("n_threads", error, "a number of threads that the system can start")
            })
    }

    /// Applies `work` to every item; results, and the first error, in the order of the index.
    pub(crate) fn each<T: Send, R: Send>(
        &self,
        items: &mut [T],
        work: impl Fn(usize, &mut T) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let results: Vec<Result<R>> = match &self.0 {
            None => items.iter_mut().enumerate().map(|(i, item)| work(i, item)).collect(),
            Some(pool) => pool.install(|| {
                items.par_iter_mut().enumerate().map(|(i, item)| work(i, item)).collect()
            }),
        };
        results.into_iter().collect()
    }
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
    settings.check()?;
    let m = space.len();
    if let Some(start) = &settings.start {
        if settings.mirror.is_hard() && !space.contains(start)? {
            return Err(Error::invalid(
                "start",
                "a point that violates an example",
                "inside version space",
            ));
        }
    }
    let watched: Vec<usize> = {
        let q = WATCHED.min(m);
        (0..q).map(|k| k * m / q).collect()
    };
    if point_space::is_one_dimensional(space.gram()) {
        return point_space::outcome(space, settings, watched);
    }
    let crew = Crew::new(settings.n_threads)?;
    let mut runners = start(space, settings, &crew, control)?;
    let (refresh, settled) = settle(space, settings, &crew, &mut runners, control)?;
    let stop_reason = measure(settings, &watched, &crew, &mut runners, control)?;
    merge(space, settings, watched, &mut runners, &refresh, settled, stop_reason, control)
}

/// One trajectory each at the given start, where its own light trap caught it, or at a point of the maximal-margin
/// search, which is made once for all that the trap lost.
fn start<'s>(
    space: &'s VersionSpace<'s>,
    settings: &Settings,
    crew: &Crew,
    control: &Control,
) -> Result<Vec<Runner<'s>>> {
    let at = |position: &[f64], mut rng: ChaCha8Rng| {
        let ball = light_trap::ball_at(space, position, &mut rng, control)?;
        Ok(Trajectory::new(space, Geodesic, ball, rng))
    };
    let mut tried = crew.each(&mut vec![(); settings.n_trajectories], |i, ()| {
        let rng = light_trap::stream(settings.seed, i);
        match &settings.start {
            Some(position) => at(position, rng).map(Trapped::Caught),
            None => light_trap::trap(space, settings.mirror, rng, control),
        }
    })?;
    let interior = if tried.iter().any(|trapped| matches!(trapped, Trapped::Lost(_))) {
        Some(max_margin::interior_point(space, control)?)
    } else {
        None
    };
    let caught = if settings.start.is_some() { Start::Given } else { Start::LightTrap };
    tried
        .drain(..)
        .map(|trapped| {
            let (mut trajectory, start) = match (trapped, &interior) {
                (Trapped::Caught(trajectory), _) => (trajectory, caught),
                (Trapped::Lost(rng), Some(position)) => (at(position, rng)?, Start::MaxMargin),
                (Trapped::Lost(_), None) => unreachable!("the search was made for the lost ones"),
            };
            trajectory.set_mirror(settings.mirror);
            Ok(Runner { trajectory, batches: Vec::new(), start })
        })
        .collect()
}

/// Total path and arrivals of the tallies.
fn totals(runners: &[Runner<'_>]) -> (f64, u64) {
    runners.iter().fold((0.0, 0), |(path, arrivals), runner| {
        let tally = runner.trajectory.tally();
        (path + tally.path, arrivals + tally.arrivals())
    })
}

/// Chooses the refresh and lets the trajectories forget where they started. Returns the refresh and the mean path.
fn settle(
    space: &VersionSpace<'_>,
    settings: &Settings,
    crew: &Crew,
    runners: &mut [Runner<'_>],
    control: &Control,
) -> Result<(Refresh, f64)> {
    let path = settings
        .settle
        .unwrap_or_else(|| SETTLE_PATH.max(SETTLE_SHARE * settings.length.unwrap_or(0.0)));
    let mut settled = 0.0;
    let mut spend = |runners: &mut [Runner<'_>], goal: Goal| -> Result<f64> {
        crew.each(runners, |_, runner| {
            runner.reset(None);
            runner.trajectory.run(goal, control)
        })?;
        let (path, arrivals) = totals(runners);
        settled += path / runners.len() as f64;
        Ok(arrivals as f64 / path)
    };
    // A pilot needs the rate of arrivals to set the rates of its candidates by.
    let rate = spend(runners, Goal::either(SETTLE_PATH, GAUGE_ARRIVALS))?;
    let first = pilot::default_refresh(space.gram(), settings.refresh, rate, control)?;
    crew.each(runners, |_, runner| {
        runner.trajectory.set_refresh(first.clone());
        Ok(())
    })?;
    let arrivals = if settings.settle.is_some() { u64::MAX } else { SETTLE_ARRIVALS };
    if path > 0.0 {
        spend(runners, Goal::either(path, arrivals))?;
    }
    let refresh = if pilot::is_needed(settings.refresh) {
        let (refresh, path) =
            pilot::choose(space.gram(), settings, &first, rate, crew, runners, control)?;
        settled += path;
        refresh
    } else {
        first
    };
    Ok((refresh, settled))
}

/// Runs the measured path. Where no length is given, or a tolerance is, the pieces of path are joined and their
/// length doubles as the path grows.
fn measure(
    settings: &Settings,
    watched: &[usize],
    crew: &Crew,
    runners: &mut [Runner<'_>],
    control: &Control,
) -> Result<StopReason> {
    let pieces = if runners.len() == 1 { 16 } else { 8 };
    let length = settings.length.unwrap_or(f64::INFINITY);
    let limit = Goal::either(length, settings.max_bounces.unwrap_or(u64::MAX));
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
    for runner in runners.iter_mut() {
        runner.reset(Some(Recorder::new(spacing, watched.to_vec())));
    }
    loop {
        let done = runners[0].batches.len();
        let stage =
            if settings.tol.is_some() && done < pieces * 3 / 4 { pieces * 3 / 4 } else { pieces };
        crew.each(runners, |_, runner| runner.extend(stage - done, unit, limit, control))?;
        let exhausted =
            runners.iter().any(|runner| runner.trajectory.tally().arrivals() >= limit.arrivals);
        let at_end = runners.iter().all(|runner| runner.trajectory.tally().path >= length);
        if let Some(tol) = settings.tol {
            let error = estimate(crew, runners, control)?.error;
            control.report(totals(runners).0 / runners.len() as f64, error);
            if error <= tol {
                return Ok(StopReason::Tol);
            }
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

fn watched_space<'s>(runners: &[Runner<'s>]) -> &'s VersionSpace<'s> {
    runners[0].trajectory.space()
}

/// The center of all pieces so far.
pub(crate) fn estimate(
    crew: &Crew,
    runners: &mut [Runner<'_>],
    control: &Control,
) -> Result<Center> {
    let gram = watched_space(runners).gram();
    crew.each(runners, |_, runner| center::fill_fields(gram, &mut runner.batches, control))?;
    let lists: Vec<Vec<Batch>> =
        runners.iter_mut().map(|runner| std::mem::take(&mut runner.batches)).collect();
    let center = center::center(gram, &lists);
    for (runner, list) in runners.iter_mut().zip(lists) {
        runner.batches = list;
    }
    Ok(center)
}

#[allow(clippy::too_many_arguments, reason = "the last step of one function, split for reading")]
fn merge(
    space: &VersionSpace<'_>,
    settings: &Settings,
    watched: Vec<usize>,
    runners: &mut [Runner<'_>],
    refresh: &Refresh,
    settled: f64,
    stop_reason: StopReason,
    control: &Control,
) -> Result<Outcome> {
    let m = space.len();
    // The last word on drift, also for runs too short for a re-projection.
    Crew(None).each(runners, |_, runner| runner.trajectory.reproject(control))?;
    let crew = Crew::new(settings.n_threads)?;
    let center = estimate(&crew, runners, control)?;
    let mut hits = vec![0; m];
    let mut impulses = vec![0.0; m];
    let (mut violations, mut drift) = (0.0, 0f64);
    for runner in runners.iter() {
        let tally = runner.trajectory.tally();
        for i in 0..m {
            hits[i] += tally.hits[i];
            impulses[i] += tally.impulses[i];
        }
        violations += tally.violations;
        drift = drift.max(tally.drift);
    }
    normalize(space, &mut impulses, control)?;
    let kept = |runner: &Runner<'_>| runner.trajectory.recorder().map_or(0, |r| r.kept(m));
    if runners.iter().any(|runner| kept(runner) == 0) {
        for runner in runners.iter_mut() {
            runner.trajectory.record_here();
        }
    }
    let n_draws = runners.iter().map(kept).min().unwrap_or(0).min(settings.n_draws);
    let (mut draws, mut functionals) = (Vec::new(), Vec::new());
    for recorder in runners.iter().filter_map(|runner| runner.trajectory.recorder()) {
        let (positions, values) = recorder.last(n_draws, m);
        draws.extend_from_slice(positions);
        functionals.extend_from_slice(values);
    }
    let tallies = || runners.iter().map(|runner| runner.trajectory.tally());
    Ok(Outcome {
        center: center.dual,
        center_norm: center.norm,
        impulse_center: impulses,
        center_error: center.error,
        draws,
        n_draws,
        watched,
        functionals,
        bounces: tallies().map(|t| t.bounces).collect(),
        crossings: tallies().map(|t| t.crossings).collect(),
        refreshes: tallies().map(|t| t.refreshes).collect(),
        lengths: tallies().map(|t| t.path).collect(),
        settled,
        hits,
        mean_violations: violations / totals(runners).0,
        stop_reason,
        refresh: refresh.name(),
        refresh_rate: refresh.rate(),
        drift,
        start: runners.iter().map(|runner| runner.start).collect(),
    })
}

/// Scales dual coefficients to unit length; leaves zeros as they are.
fn normalize(space: &VersionSpace<'_>, dual: &mut [f64], control: &Control) -> Result<()> {
    let mut field = vec![0.0; dual.len()];
    space.gram().multiply(&[dual], &mut [&mut field], control)?;
    let square: f64 = dual.iter().zip(&field).map(|(c, f)| c * f).sum();
    if square > 0.0 {
        let scale = square.sqrt().recip();
        dual.iter_mut().for_each(|c| *c *= scale);
    }
    Ok(())
}
