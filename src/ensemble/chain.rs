//! A trajectory with the pieces of its path.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ball::neighbor_memory;
use crate::base::{Control, Result, RngState, ensure, ensure_finite, incompatible};
use crate::ensemble::center::{self, Batch, Center};
use crate::ensemble::conditional_means::{Densities, Smoother, Sums};
use crate::ensemble::context::Context;
use crate::ensemble::pool::WorkerPool;
use crate::interior::Start;
use crate::space::{Mirror, VersionSpace};
use crate::trajectory::dynamics::{Dynamics, Geodesic};
use crate::trajectory::{Ended, Goal, Recorder, Refresh, Trajectory, TrajectoryState};

/// Pieces that a trajectory may have.
pub(super) const MOST_PIECES: usize = 64;

/// A trajectory with the pieces of its path.
pub(crate) struct Chain<'s, D = Geodesic> {
    pub trajectory: Trajectory<'s, D>,
    pub batches: Vec<Batch>,
    /// Densities at the walls, if the center is one of conditional means.
    pub(super) densities: Option<Densities<'s>>,
    pub(super) start: Start,
    lap: Lap,
    pub(super) before_cut: Option<Snapshot>,
}

/// Position of a trajectory within a stage.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Lap {
    /// Path and number of pieces at the beginning of the stage.
    origin: f64,
    first: usize,
    /// Path at the beginning of the present piece, and evaluations of the densities in it.
    from: f64,
    step: f64,
}

/// State of a trajectory at the beginning of a piece that a limit cut short.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Snapshot {
    pub state: ChainState,
    /// Number of draws at that point.
    pub kept: usize,
}

/// The stored form of a chain, without its draws.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ChainState {
    start: Start,
    lap: Lap,
    batches: Vec<Batch>,
    densities: Option<(RngState, Sums)>,
    trajectory: TrajectoryState,
}

/// The parts of a chain that its stored form leaves out.
pub(super) struct Parts<'a, 's, D> {
    pub dynamics: D,
    pub mirror: Mirror,
    pub refresh: &'a Refresh<'s>,
    pub smoother: Option<&'a Arc<Smoother<'s>>>,
    pub watched: &'a [usize],
    /// Draws and their functionals, if it has a record.
    pub record: Option<(&'a [f64], &'a [f64])>,
}

impl<'s, D: Dynamics> Chain<'s, D> {
    pub(super) fn new(trajectory: Trajectory<'s, D>, start: Start) -> Self {
        let (batches, densities) = (Vec::new(), None);
        Self { trajectory, batches, densities, start, lap: Lap::default(), before_cut: None }
    }

    /// Returns the chain with another dynamics from its present point on.
    pub(super) fn under<E: Dynamics>(self, dynamics: E) -> Chain<'s, E> {
        let mut other = Chain::new(self.trajectory.under(dynamics), self.start);
        other.densities = self.densities;
        other
    }

    /// Drops all pieces and starts a new path.
    pub(crate) fn reset(&mut self, recorder: Option<Recorder>) {
        self.trajectory.reset(recorder);
        self.batches.clear();
        self.before_cut = None;
        self.begin_stage();
    }

    /// Begins a stage, whose pieces may have another length.
    pub(super) fn begin_stage(&mut self) {
        let (path, first) = (self.trajectory.tally().path, self.batches.len());
        self.lap = Lap { origin: path, first, from: path, step: 0.0 };
    }

    /// Returns whether a limit cut the path short.
    pub(super) fn is_cut(&self) -> bool {
        self.before_cut.is_some()
    }

    /// Runs to a goal, or until the time is over.
    pub(super) fn run(&mut self, goal: Goal, control: &Control) -> Result<()> {
        // A requested state waits until there are pieces of path.
        while self.trajectory.run_pausing(goal, control)? == Ended::Paused
            && !control.is_out_of_time()
        {}
        Ok(())
    }

    /// Extends the path by pieces of `unit` radians until there are `stage` of them, the limit is reached, or a pause is
    /// requested.
    pub(super) fn extend(
        &mut self,
        stage: usize,
        unit: f64,
        limit: Goal,
        control: &Control,
    ) -> Result<()> {
        while !self.has(stage) {
            let piece = self.batches.len() - self.lap.first + 1;
            let end = self.lap.origin + unit * piece as f64;
            // A piece of length zero would be repeated forever.
            if end.partial_cmp(&self.lap.from) != Some(Ordering::Greater) {
                let got = format!("one with a piece of path from {} to {end}", self.lap.from);
                return Err(incompatible(got));
            }
            // A piece may have too few flights for the trajectory's own check for a pause.
            if self.fly_piece(end, limit, control)? == Ended::Paused || control.is_to_pause() {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether [`Chain::extend`] has reached its end.
    pub(super) fn has(&self, stage: usize) -> bool {
        self.batches.len() >= stage || self.is_cut()
    }

    /// Runs the present piece to `end` or to `limit`.
    fn fly_piece(&mut self, end: f64, limit: Goal, control: &Control) -> Result<Ended> {
        let length = end - self.lap.from;
        let steps =
            self.densities.as_ref().map_or(1.0, |d| (length / d.sums.spacing).ceil().max(1.0));
        while self.lap.step < steps {
            control.check()?;
            let next = self.lap.step + 1.0;
            let path = if next < steps { self.lap.from + length * (next / steps) } else { end };
            let goal = Goal { path: path.min(limit.path), ..limit };
            let at_limit = path >= limit.path;
            let ended = if at_limit {
                self.trajectory.run_short(goal, control)?
            } else {
                self.trajectory.run_pausing(goal, control)?
            };
            if ended == Ended::Paused {
                return Ok(ended);
            }
            let is_over = at_limit || self.trajectory.tally().path < goal.path;
            if is_over {
                self.before_cut = Some(self.snapshot());
                self.trajectory.run(goal, control)?;
            }
            if let Some(densities) = &mut self.densities {
                densities.add(self.trajectory.ball(), self.trajectory.space());
            }
            self.lap.step = next;
            if is_over {
                break;
            }
            if next < steps && control.is_to_pause() {
                return Ok(Ended::Paused);
            }
        }
        self.end_piece();
        Ok(Ended::AtGoal)
    }

    /// Ends the present piece where the trajectory is.
    pub(super) fn close(&mut self) {
        if self.trajectory.tally().path > self.lap.from {
            if let Some(densities) = &mut self.densities {
                densities.add(self.trajectory.ball(), self.trajectory.space());
            }
            self.end_piece();
        }
    }

    fn end_piece(&mut self) {
        let path = self.trajectory.tally().path;
        let length = path - self.lap.from;
        if length > 0.0 {
            let integral = self.trajectory.ball_mut().take_arc_integral();
            let densities = self.densities.as_mut().map(|d| d.take(length));
            self.batches.push(Batch { integral, length, densities, field: None });
        }
        (self.lap.from, self.lap.step) = (path, 0.0);
    }

    /// Returns the number of draws so far.
    pub(super) fn kept(&self) -> usize {
        self.trajectory.recorder().map_or(0, Recorder::kept)
    }

    /// Returns the state from which a run continues: the present one, or that before the limit cut a piece short.
    pub(super) fn snapshot(&self) -> Snapshot {
        let present = || Snapshot { state: self.state(), kept: self.kept() };
        self.before_cut.clone().unwrap_or_else(present)
    }

    /// Returns the stored form of the present state.
    pub(super) fn state(&self) -> ChainState {
        ChainState {
            start: self.start,
            lap: self.lap,
            batches: self.batches.clone(),
            densities: self.densities.as_ref().map(Densities::state),
            trajectory: self.trajectory.state(),
        }
    }

    /// Restores a chain from its stored form.
    pub(super) fn restored(
        space: &'s VersionSpace<'s>,
        parts: Parts<'_, 's, D>,
        stored: ChainState,
    ) -> Result<Self> {
        let ChainState { start, lap, batches, densities, trajectory } = stored;
        let (first, pieces) = (lap.first, batches.len());
        ensure(first <= pieces && pieces <= MOST_PIECES, || {
            format!("one with {pieces} pieces of path, of which {first} are old")
        })?;
        batches.iter().try_for_each(|batch| batch.check(space.len()))?;
        let densities = match (densities, parts.smoother) {
            (None, None) => None,
            (Some(stored), Some(smoother)) => {
                Some(Densities::restored(Arc::clone(smoother), parts.mirror, stored)?)
            }
            (Some(_), None) => return Err(incompatible("one with conditional means")),
            (None, Some(_)) => return Err(incompatible("one without conditional means")),
        };
        let trajectory = Trajectory::restored(
            space,
            parts.dynamics,
            (parts.mirror, parts.refresh),
            (parts.watched, parts.record.unwrap_or_default()),
            trajectory,
        )?;
        ensure(
            trajectory.recorder().is_some() == parts.record.is_some(),
            || "one with a record too many or too few",
        )?;
        let (path, from) = (trajectory.tally().path, lap.from);
        ensure_finite(&[&[lap.origin, from, lap.step]])?;
        ensure(0.0 <= lap.origin && lap.origin <= from && from <= path && 0.0 <= lap.step, || {
            format!("one with a piece from {from} on, {path} radians from its beginning")
        })?;
        Ok(Self { batches, densities, lap, ..Self::new(trajectory, start) })
    }
}

/// Returns the total path and arrivals of the tallies.
pub(super) fn totals<D: Dynamics>(chains: &[Chain<'_, D>]) -> (f64, u64) {
    chains.iter().fold((0.0, 0), |(path, arrivals), chain| {
        let tally = chain.trajectory.tally();
        (path + tally.path, arrivals + tally.arrivals())
    })
}

/// Prepares the averages of the pieces of several trajectories for the center, in one pass over the matrix and two over the
/// factor. The bits do not depend on which trajectories are together.
pub(super) fn prepare<D: Dynamics>(chains: &mut [Chain<'_, D>], control: &Control) -> Result<()> {
    let Some(first) = chains.first() else { return Ok(()) };
    let gram = first.trajectory.space().gram();
    let smoother = first.densities.as_ref().map(|densities| Arc::clone(densities.smoother()));
    let mut batches: Vec<&mut Batch> = chains.iter_mut().flat_map(|c| &mut c.batches).collect();
    if let Some(smoother) = smoother {
        center::smooth(&smoother, &mut batches, control)?;
    }
    center::fill_fields(gram, &mut batches, control)
}

/// Returns the center of all pieces so far.
pub(super) fn estimate<D: Dynamics>(
    run: &Context<'_, '_>,
    chains: &mut [Chain<'_, D>],
) -> Result<Center> {
    // As many groups as threads, since reading the matrix takes most of the time.
    let mut groups: Vec<_> =
        chains.chunks_mut(chains.len().div_ceil(run.pool.n_threads())).collect();
    run.pool.each(&mut groups, |_, group| prepare(group, run.control))?;
    let lists: Vec<&[Batch]> = chains.iter().map(|chain| &*chain.batches).collect();
    Ok(center::center(run.space.gram(), &lists))
}

/// Vectors of length m that a trajectory needs with its pieces of path, the center and the stored form, without and with
/// conditional means.
const VECTORS: usize = 100;
const SMOOTH_VECTORS: usize = 200;

/// Checks that memory suffices for the trajectories and the pieces of their paths. Draws are not included.
pub(crate) fn check_memory(
    space: &VersionSpace<'_>,
    n: usize,
    smooths: bool,
    pool: &WorkerPool,
) -> Result<()> {
    let vectors = if smooths { SMOOTH_VECTORS } else { VECTORS };
    let near = neighbor_memory(space.gram()).div_ceil(space.len());
    pool.check_memory(n, vectors + near, space.len())
}
