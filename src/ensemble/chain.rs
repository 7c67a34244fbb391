//! A trajectory with the pieces of its path.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::base::{Control, Loader, Result, Saver, incompatible};
use crate::ensemble::center;
use crate::ensemble::center::Batch;
use crate::ensemble::conditional_means::{Densities, Smoother};
use crate::ensemble::pool::WorkerPool;
use crate::ensemble::settings::Settings;
use crate::interior::Start;
use crate::space::VersionSpace;
use crate::trajectory::dynamics::{Dynamics, Geodesic};
use crate::trajectory::{Ended, Goal, Recorder, Refresh, Trajectory};

/// Pieces that a trajectory may have.
pub(super) const MOST_PIECES: usize = 64;

/// A trajectory with the pieces of its path.
pub(crate) struct Chain<'s, D = Geodesic> {
    pub trajectory: Trajectory<'s, D>,
    pub batches: Vec<Batch>,
    /// Where the center is one of conditional means.
    pub(super) densities: Option<Densities<'s>>,
    pub(super) start: Start,
    lap: Lap,
    rest: Option<Rest>,
}

/// Where a trajectory is among the pieces of a stage.
#[derive(Clone, Copy, Debug, Default)]
struct Lap {
    /// Path where the stage began, and pieces that there were.
    origin: f64,
    first: usize,
    /// Path where the present piece began, and looks at the densities in it.
    from: f64,
    step: f64,
}

/// How a trajectory stood before its path was cut off in the middle of a piece.
struct Rest {
    saver: Saver,
    kept: usize,
}

impl<'s, D: Dynamics> Chain<'s, D> {
    pub(super) fn new(trajectory: Trajectory<'s, D>, start: Start) -> Self {
        let (batches, densities) = (Vec::new(), None);
        Self { trajectory, batches, densities, start, lap: Lap::default(), rest: None }
    }

    /// Hands the ball over to another dynamics.
    pub(super) fn under<E: Dynamics>(self, dynamics: E) -> Chain<'s, E> {
        let mut other = Chain::new(self.trajectory.under(dynamics), self.start);
        other.densities = self.densities;
        other
    }

    /// Forgets the pieces and starts a new path.
    pub(crate) fn reset(&mut self, recorder: Option<Recorder>) {
        self.trajectory.reset(recorder);
        self.batches.clear();
        self.rest = None;
        self.begin_stage();
    }

    /// Begins a stage: from here on pieces are of a length of their own.
    pub(super) fn begin_stage(&mut self) {
        let (path, first) = (self.trajectory.tally().path, self.batches.len());
        self.lap = Lap { origin: path, first, from: path, step: 0.0 };
    }

    /// Whether the path was cut off by a limit.
    pub(super) fn is_cut(&self) -> bool {
        self.rest.is_some()
    }

    /// Flies pieces of `unit` radians until there are `stage`, or to `limit`, or until a pause is asked for.
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
            // A piece without a length would be flown again and again.
            if end.partial_cmp(&self.lap.from) != Some(Ordering::Greater) {
                let got = format!("one with a piece of path from {} to {end}", self.lap.from);
                return Err(incompatible(got));
            }
            // Flights between two looks may be too few for a trajectory to pause by itself.
            if self.fly_piece(end, limit, control)? == Ended::Paused || control.is_to_pause() {
                break;
            }
        }
        Ok(())
    }

    /// Whether all has been flown that [`Chain::extend`] was asked for.
    pub(super) fn has(&self, stage: usize) -> bool {
        self.batches.len() >= stage || self.is_cut()
    }

    /// Flies the present piece, which ends at `end` or at `limit`.
    fn fly_piece(&mut self, end: f64, limit: Goal, control: &Control) -> Result<Ended> {
        let length = end - self.lap.from;
        let steps = self.densities.as_ref().map_or(1.0, |d| (length / d.spacing).ceil().max(1.0));
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
                let kept = self.kept();
                self.rest = Some(Rest { saver: self.written(), kept });
                self.trajectory.run(goal, control)?;
            }
            if let Some(densities) = &mut self.densities {
                densities.look(self.trajectory.ball(), self.trajectory.space());
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

    fn end_piece(&mut self) {
        let path = self.trajectory.tally().path;
        let length = path - self.lap.from;
        if length > 0.0 {
            let integral = self.trajectory.ball_mut().take_arc_integral();
            let densities = self.densities.as_mut().map(|d| d.take(length));
            self.batches.push(Batch { integral, length, densities, plain: None, field: None });
        }
        (self.lap.from, self.lap.step) = (path, 0.0);
    }

    /// Draws so far.
    fn kept(&self) -> usize {
        let m = self.trajectory.space().len();
        self.trajectory.recorder().map_or(0, |recorder| recorder.kept(m))
    }

    /// Draws that the trajectory goes on with.
    pub(super) fn kept_to_go_on(&self) -> usize {
        self.rest.as_ref().map_or_else(|| self.kept(), |rest| rest.kept)
    }

    /// Writes down what it takes to go on.
    pub(super) fn save(&self, saver: &mut Saver) {
        match &self.rest {
            Some(rest) => saver.append(&rest.saver),
            None => saver.append(&self.written()),
        }
    }

    fn written(&self) -> Saver {
        let mut saver = Saver::default();
        saver.word(self.start.code());
        let Lap { origin, first, from, step } = self.lap;
        saver.all(&[origin, from, step]);
        saver.count(first);
        saver.count(self.batches.len());
        for batch in &self.batches {
            batch.save(&mut saver);
        }
        saver.flag(self.densities.is_some());
        if let Some(densities) = &self.densities {
            densities.save(&mut saver);
        }
        self.trajectory.save(&mut saver);
        saver
    }

    /// Makes the averages of the pieces ready for the center.
    pub(super) fn prepare(&mut self, control: &Control) -> Result<()> {
        if let Some(densities) = &self.densities {
            center::smooth(densities.smoother(), &mut self.batches, control)?;
        }
        center::fill_fields(self.trajectory.space().gram(), &mut self.batches, control)
    }

    /// Writes down how it stands, and how it did before its path was cut off, without its draws.
    pub(super) fn pack(&self) -> Saver {
        let mut saver = self.written();
        saver.flag(self.rest.is_some());
        if let Some(Rest { saver: rest, kept }) = &self.rest {
            for count in [*kept, rest.words.len(), rest.numbers.len()] {
                saver.count(count);
            }
            saver.append(rest);
        }
        saver
    }

    /// Reads that, with draws that were there `before`.
    pub(super) fn unpack(&mut self, before: usize, loader: &mut Loader<'_>) -> Result<()> {
        self.rest = None;
        if loader.flag()? {
            let most = usize::MAX >> 32;
            let kept = before + loader.count(most)?;
            let (words, numbers) = (loader.count(most)?, loader.count(most)?);
            let words = (0..words).map(|_| loader.word()).collect::<Result<Vec<_>>>()?;
            let saver = Saver { words, numbers: loader.all(numbers)? };
            self.rest = Some(Rest { saver, kept });
        }
        Ok(())
    }

    /// Reads that; `recorder` reads the record.
    pub(super) fn load(
        space: &'s VersionSpace<'s>,
        settings: &Settings,
        dynamics: D,
        (refresh, smoother): (&Refresh<'s>, Option<&Arc<Smoother<'s>>>),
        recorder: impl FnOnce(f64, &mut Loader<'_>) -> Result<Recorder>,
        loader: &mut Loader<'_>,
    ) -> Result<Self> {
        let start =
            Start::of_code(loader.word()?).ok_or_else(|| incompatible("one from nowhere"))?;
        let lap = loader.finite(3)?;
        let (first, pieces) = (loader.count(MOST_PIECES)?, loader.count(MOST_PIECES)?);
        if first > pieces {
            return Err(incompatible(format!(
                "one with {pieces} pieces of path, of which {first} are old"
            )));
        }
        let batches =
            (0..pieces).map(|_| Batch::load(space.len(), loader)).collect::<Result<Vec<_>>>()?;
        let densities = match (loader.flag()?, smoother) {
            (false, None) => None,
            (true, Some(smoother)) => {
                Some(Densities::load(Arc::clone(smoother), settings.mirror, loader)?)
            }
            (true, None) => return Err(incompatible("one with conditional means")),
            (false, Some(_)) => return Err(incompatible("one without conditional means")),
        };
        let mirror = (settings.mirror, refresh);
        let trajectory = Trajectory::load(space, dynamics, mirror, recorder, loader)?;
        let path = trajectory.tally().path;
        if !(0.0 <= lap[0] && lap[0] <= lap[1] && lap[1] <= path && 0.0 <= lap[2]) {
            let got =
                format!("one with a piece from {} on, {path} radians from its beginning", lap[1]);
            return Err(incompatible(got));
        }
        let lap = Lap { origin: lap[0], first, from: lap[1], step: lap[2] };
        Ok(Self { batches, densities, lap, ..Self::new(trajectory, start) })
    }
}

/// Vectors of a number for each example that a trajectory takes with its pieces of path, before they are in one center and
/// written down, and with conditional means.
const VECTORS: usize = 100;
const SMOOTH_VECTORS: usize = 200;

/// Makes sure that there is room for the trajectories and the pieces of their paths, if not for draws.
pub(crate) fn check_memory(
    space: &VersionSpace<'_>,
    n: usize,
    smooths: bool,
    pool: &WorkerPool,
) -> Result<()> {
    let vectors = if smooths { SMOOTH_VECTORS } else { VECTORS };
    // Lists of near walls have copies of their features.
    let near = space.gram().features().map_or(0, |rows| rows.points().dimension());
    pool.check_memory(n, vectors + near, space.len())
}
