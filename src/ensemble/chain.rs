//! What does not change during a run, and a trajectory with the pieces of its path.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::center::{self, Batch, Center};
use super::conditional_means::{Densities, Smoother, Sums};
use super::pool::WorkerPool;
use super::settings::Settings;
use crate::base::{Control, Result, ensure, ensure_finite, incompatible};
use crate::interior::Start;
use crate::linalg::Inverse;
use crate::space::VersionSpace;
use crate::trajectory::{Dynamics, Geodesic, Goal, Recorder, Refresh, Trajectory, TrajectoryState};

/// Number of planes whose coordinates are recorded with the draws, for R-hat and effective sample size.
const WATCHED: usize = 16;

pub struct Context<'s, 'c> {
    pub space: &'s VersionSpace<'s>,
    pub settings: &'c Settings,
    pub inverse: Option<Inverse<'s>>,
    /// Present if the center is one of conditional means.
    pub smoother: Option<Arc<Smoother<'s>>>,
    /// Indices of the planes whose coordinates are recorded with the draws.
    pub watched: Vec<usize>,
    pub pool: &'c WorkerPool<'c>,
    pub control: &'c Control,
}

impl<'s, 'c> Context<'s, 'c> {
    pub fn new(
        space: &'s VersionSpace<'s>,
        settings: &'c Settings,
        inverse: Option<Inverse<'s>>,
        pool: &'c WorkerPool<'c>,
    ) -> Result<Self> {
        let control = pool.control;
        let smooths = space.walls().is_none() || settings.mirror.is_hard();
        let smoother = inverse
            .filter(|_| smooths)
            .map(|inverse| Smoother::new(inverse, space, control))
            .transpose()?
            .map(Arc::new);
        let (m, q) = (space.len(), WATCHED.min(space.len()));
        let watched = (0..q).map(|k| k * m / q).collect();
        Ok(Self { space, settings, inverse, smoother, watched, pool, control })
    }
}

const MOST_PIECES: usize = 64;

/// A trajectory with the pieces of its path and its draws.
pub struct Chain<'s, D = Geodesic> {
    pub trajectory: Trajectory<'s, D>,
    pub path: Path,
    /// Densities at the walls, if the center is one of conditional means.
    pub densities: Option<Densities<'s>>,
    /// The draws of the measured path; it records none during the burn-in.
    pub recorder: Recorder,
}

/// The path of a trajectory, and its position in the present stage.
#[derive(Clone, Serialize, Deserialize)]
pub struct Path {
    pub start: Start,
    pub pieces: Vec<Batch>,
    /// Path and number of pieces at the beginning of the stage.
    origin: f64,
    first: usize,
    /// Path at the beginning of the present piece, and evaluations of the densities in it.
    from: f64,
    step: f64,
}

/// The stored form of a chain without its draws, of which it has the schedule.
pub type Stored = (Path, Option<Sums>, (f64, u64), TrajectoryState);

impl<'s, D: Dynamics> Chain<'s, D> {
    pub fn new(trajectory: Trajectory<'s, D>, start: Start) -> Self {
        let path = Path { start, pieces: Vec::new(), origin: 0.0, first: 0, from: 0.0, step: 0.0 };
        Self { trajectory, path, densities: None, recorder: Recorder::none() }
    }

    /// Drops all pieces and starts a new path.
    pub fn reset(&mut self, recorder: Recorder) {
        self.trajectory.reset();
        self.recorder = recorder;
        self.path.pieces.clear();
        self.begin_stage();
    }

    /// Begins a stage, whose pieces may have another length.
    pub fn begin_stage(&mut self) {
        let (path, first) = (self.trajectory.tally().path, self.path.pieces.len());
        (self.path.origin, self.path.first, self.path.from) = (path, first, path);
        self.path.step = 0.0;
    }

    /// Extends the path by pieces of `unit` radians until there are `stage` of them, the limit is reached, or the time is over.
    pub fn extend(
        &mut self,
        stage: usize,
        unit: f64,
        limit: Goal,
        control: &Control,
    ) -> Result<()> {
        while self.path.pieces.len() < stage {
            let piece = self.path.pieces.len() - self.path.first + 1;
            let end = self.path.origin + unit * piece as f64;
            // A piece of length zero would be repeated forever.
            if end.partial_cmp(&self.path.from) != Some(Ordering::Greater) {
                let got = format!("one with a piece of path from {} to {end}", self.path.from);
                return Err(incompatible(got));
            }
            // A piece may have too few flights for the trajectory's own look at the time.
            if !self.fly_piece(end, limit, control)? || control.is_out_of_time() {
                break;
            }
        }
        Ok(())
    }

    /// Runs the present piece to `end`. Returns false if the limit or the time ends it earlier.
    fn fly_piece(&mut self, end: f64, limit: Goal, control: &Control) -> Result<bool> {
        let length = end - self.path.from;
        let steps = self.densities.as_ref().map_or(1.0, |d| (length / d.spacing).ceil().max(1.0));
        while self.path.step < steps {
            control.check()?;
            let next = self.path.step + 1.0;
            let path = if next < steps { self.path.from + length * (next / steps) } else { end };
            let goal = Goal { path: path.min(limit.path), ..limit };
            self.trajectory.run_observed(goal, &mut self.recorder, control)?;
            if self.trajectory.tally().path < path {
                return Ok(false);
            }
            self.add_densities();
            self.path.step = next;
            if next < steps && control.is_out_of_time() {
                return Ok(false);
            }
        }
        self.end_piece();
        Ok(true)
    }

    /// Ends the present piece where the trajectory is.
    pub fn close(&mut self) {
        if self.trajectory.tally().path > self.path.from {
            self.add_densities();
            self.end_piece();
        }
    }

    fn add_densities(&mut self) {
        if let Some(densities) = &mut self.densities {
            densities.add(self.trajectory.ball(), self.trajectory.space());
        }
    }

    fn end_piece(&mut self) {
        let path = self.trajectory.tally().path;
        let length = path - self.path.from;
        if length > 0.0 {
            let integral = self.trajectory.ball_mut().take_arc_integral();
            let densities = self.densities.as_mut().map(|d| d.take(length));
            self.path.pieces.push(Batch { integral, length, densities, field: None });
        }
        (self.path.from, self.path.step) = (path, 0.0);
    }

    pub fn state(&self) -> Stored {
        (
            self.path.clone(),
            self.densities.as_ref().map(Densities::state),
            self.recorder.schedule(),
            self.trajectory.state(),
        )
    }
}

impl<'s> Chain<'s> {
    pub fn restored(
        run: &Context<'s, '_>,
        refresh: &Refresh<'s>,
        draws: (&[f64], &[f64]),
        (path, sums, schedule, trajectory): Stored,
    ) -> Result<Self> {
        let Context { space, settings, .. } = *run;
        let n = path.pieces.len();
        ensure(path.first <= n && n <= MOST_PIECES, "one with too many pieces of path")?;
        let densities = run.smoother.as_ref().map_or(0, |smoother| smoother.inverse.len());
        path.pieces.iter().try_for_each(|piece| piece.check(space.len(), densities))?;
        let densities = match (sums, &run.smoother) {
            (None, None) => None,
            (Some(sums), Some(smoother)) => {
                Some(Densities::restored(Arc::clone(smoother), settings.mirror, sums)?)
            }
            (Some(_), None) => return Err(incompatible("one with conditional means")),
            (None, Some(_)) => return Err(incompatible("one without conditional means")),
        };
        let trajectory = Trajectory::restored(space, (settings.mirror, refresh), trajectory)?;
        let (end, from) = (trajectory.tally().path, path.from);
        ensure_finite(&[&[path.origin, from, path.step]])?;
        let rises = 0.0 <= path.origin && path.origin <= from && from <= end;
        ensure(rises && 0.0 <= path.step, "one with a piece that begins beyond its end")?;
        let recorder = Recorder::restored(schedule, &run.watched, space.gram(), draws, end)?;
        Ok(Self { trajectory, path, densities, recorder })
    }
}

pub fn totals<D: Dynamics>(chains: &[Chain<D>]) -> (f64, u64) {
    chains.iter().fold((0.0, 0), |(path, arrivals), chain| {
        let tally = chain.trajectory.tally();
        (path + tally.path, arrivals + tally.arrivals())
    })
}

/// Returns the center, and averages the pieces for it in one pass over the matrix and two over the factor, with the same bits.
pub fn estimate<D: Dynamics>(
    run: &Context,
    chains: &mut [Chain<D>],
    burn_in_length: f64,
) -> Result<Center> {
    let (gram, control) = (run.space.gram(), run.control);
    // As many groups as threads, since reading the matrix takes most of the time.
    let mut groups: Vec<_> =
        chains.chunks_mut(chains.len().div_ceil(run.pool.n_threads())).collect();
    run.pool.each(&mut groups, |_, group| {
        let mut batches: Vec<_> = group.iter_mut().flat_map(|c| &mut c.path.pieces).collect();
        if let Some(smoother) = &run.smoother {
            center::smooth(smoother, &mut batches, control)?;
        }
        center::fill_fields(gram, &mut batches, control)
    })?;
    let lists: Vec<&[Batch]> = chains.iter().map(|chain| &*chain.path.pieces).collect();
    Ok(center::center(gram, &lists, burn_in_length))
}

/// Vectors of length m of a trajectory, its pieces, the center and the stored form, without and with conditional means.
const VECTORS: usize = 100;
const SMOOTH_VECTORS: usize = 200;

/// Checks that memory suffices for the trajectories and the pieces of their paths. Draws are not included.
pub fn check_memory(
    space: &VersionSpace,
    n: usize,
    smooths: bool,
    pool: &WorkerPool,
) -> Result<()> {
    let vectors = if smooths { SMOOTH_VECTORS } else { VECTORS };
    pool.check_memory(n, vectors, space.len())
}
