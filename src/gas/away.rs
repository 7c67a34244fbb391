//! Steps of trajectories in other processes: what goes there, what is done there, what comes back.
//!
//! A step is a function of the problem, of an order that is the same for all trajectories and of the trajectory as it
//! stands, random stream included. So it does not matter where it is taken, or how often where one is lost. What all
//! trajectories decide together (how fast they are refreshed, how long they fly) is decided here, between the steps.

use std::sync::Arc;

use super::Runner;
use super::start::{Middle, attempt};
use crate::center::{self, Batch};
use crate::conditional::{Densities, Inverse, Smoother};
use crate::control::Control;
use crate::crew::Crew;
use crate::dynamics::{Dynamics, Geodesic};
use crate::error::{Error, Result};
use crate::factor::Factor;
use crate::light_trap::{self, Start, Trapped};
use crate::mirror::Mirror;
use crate::recorder::Recorder;
use crate::refresh::Refresh;
use crate::state::{Loader, Saver, State, foreign};
use crate::trajectory::{Goal, Trajectory, Until};
use crate::version_space::VersionSpace;

/// Processes that take steps for this one.
pub trait Elsewhere: Send + Sync {
    /// What [`take_step`] makes of every trajectory, in their order.
    ///
    /// # Errors
    ///
    /// As [`take_step`], and [`Error::Interrupted`] where the caller asks to stop.
    fn take(&self, order: State, trajectories: Vec<State>, control: &Control)
    -> Result<Vec<State>>;
}

/// What all trajectories do, each for itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Forgets what was tallied and flies to a goal.
    Run(Goal),
    /// Flies on in pieces; see [`Runner::extend`]. And prepares them for the center where it is asked for at once.
    Extend { pieces: usize, unit: f64, limit: Goal, prepare: bool },
}

impl<D: Dynamics> Runner<'_, D> {
    fn take(&mut self, step: Step, control: &Control) -> Result<()> {
        match step {
            Step::Run(goal) => {
                self.reset(None);
                self.trajectory.run(goal, control)
            }
            Step::Extend { pieces, unit, limit, prepare } => {
                self.extend(pieces, unit, limit, control)?;
                if prepare { self.prepare(control) } else { Ok(()) }
            }
        }
    }

    /// Makes the averages of the pieces ready for the center.
    pub(super) fn prepare(&mut self, control: &Control) -> Result<()> {
        if let Some(densities) = &self.densities {
            center::smooth(densities.smoother(), &mut self.batches, control)?;
        }
        center::fill_fields(self.trajectory.space().gram(), &mut self.batches, control)
    }

    /// What a step goes on from, and what its center and record are made of where `whole`: an earlier step's stays here.
    fn save(&self, whole: bool) -> State {
        let mut saver = Saver::begin();
        if whole {
            saver.count(self.batches.len());
            self.batches.iter().for_each(|batch| batch.save(&mut saver));
            let m = self.trajectory.space().len();
            let kept = self.trajectory.recorder().map_or(0, |recorder| recorder.kept(m));
            saver.count(kept);
            if let Some(recorder) = self.trajectory.recorder() {
                let (draws, functionals) = recorder.last(kept, m);
                saver.all(draws);
                saver.all(functionals);
            }
        }
        self.trajectory.save(&mut saver);
        if let Some(densities) = &self.densities {
            densities.save(&mut saver);
        }
        sealed(saver)
    }

    /// Goes on from where a step has led, with what there is already before what the step has added.
    fn join(&mut self, state: &State, terms: &Terms<'_>) -> Result<()> {
        let space = self.trajectory.space();
        let own = (self.trajectory.dynamics().clone(), self.trajectory.refresh().clone());
        let smoother = self.densities.as_ref().map(Densities::shared);
        let mut loaded = load(space, own, smoother, terms, (state, true), self.start)?;
        if let (Some(recorder), Some(earlier)) =
            (loaded.trajectory.recorder_mut(), self.trajectory.recorder_mut())
        {
            recorder.follow(earlier);
        }
        self.batches.append(&mut loaded.batches);
        (self.trajectory, self.densities) = (loaded.trajectory, loaded.densities);
        Ok(())
    }
}

/// What [`Runner::save`] wrote, with what came of a step where `whole`.
fn load<'s, D: Dynamics>(
    space: &'s VersionSpace<'s>,
    (dynamics, refresh): (D, Refresh<'s>),
    smoother: Option<Arc<Smoother<'s>>>,
    terms: &Terms<'_>,
    (state, whole): (&State, bool),
    start: Start,
) -> Result<Runner<'s, D>> {
    let (gram, m) = (space.gram(), space.len());
    let mut loader = Loader::begin(state)?;
    let (mut batches, mut draws, mut functionals) = (Vec::new(), Vec::new(), Vec::new());
    if whole {
        let n = loader.count(MOST_PIECES)?;
        batches = (0..n).map(|_| Batch::load(m, &mut loader)).collect::<Result<_>>()?;
        let kept = loader.count(usize::MAX >> 32)?;
        draws = loader.finite(kept * m)?;
        functionals = loader.finite(kept * terms.watched.len())?;
    }
    let record = |loader: &mut Loader<'_>| {
        if terms.records {
            Recorder::load(terms.watched, gram, &draws, &functionals, loader)
        } else {
            Ok(no_record(space))
        }
    };
    let mut trajectory =
        Trajectory::load(space, dynamics, (terms.mirror, &refresh), record, &mut loader)?;
    if !terms.records {
        trajectory = trajectory.without_record();
    }
    let densities = smoother
        .map(|smoother| Densities::load(smoother, terms.mirror, &mut loader))
        .transpose()?;
    loader.end()?;
    Ok(Runner { trajectory, batches, densities, start })
}

/// A record in which no position comes due.
fn no_record(space: &VersionSpace<'_>) -> Recorder {
    Recorder::new(f64::INFINITY, &[], 0, space.gram())
}

/// Pieces that a step may come back with: more than any run is cut into.
const MOST_PIECES: usize = 64;

/// What is the same for all trajectories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub mirror: Mirror,
    /// Whether there is a record.
    pub records: bool,
    /// The planes that it watches.
    pub watched: &'a [usize],
}

fn sealed(saver: Saver) -> State {
    State { words: saver.words, numbers: saver.numbers, ..State::default() }
}

const START: u64 = 0;
const RUN: u64 = 1;
const EXTEND: u64 = 2;

fn save_mirror(mirror: Mirror, saver: &mut Saver) {
    saver.all(&[mirror.negative, mirror.positive]);
}

fn load_mirror(loader: &mut Loader<'_>) -> Result<Mirror> {
    let mirror = loader.finite(2)?;
    Mirror::new(mirror[0], mirror[1]).map_err(|_| foreign("one with walls that cannot be"))
}

fn save_share(smoother: Option<&Smoother<'_>>, saver: &mut Saver) {
    saver.flag(smoother.is_some());
    saver.all(smoother.map(Smoother::share).as_slice());
}

fn load_smoother<'s>(
    inverse: Option<Inverse<'s>>,
    loader: &mut Loader<'_>,
) -> Result<Option<Smoother<'s>>> {
    if !loader.flag()? {
        return Ok(None);
    }
    let inverse = inverse.ok_or_else(|| foreign("one that needs the inverse"))?;
    Smoother::with_share(inverse, loader.number()?).map(Some)
}

/// Takes a step of every trajectory, here or elsewhere.
pub(crate) fn take<D: Dynamics>(
    crew: &Crew,
    runners: &mut [Runner<'_, D>],
    step: Step,
    terms: &Terms<'_>,
    control: &Control,
) -> Result<()> {
    let Some(elsewhere) = crew.elsewhere() else {
        return crew.each(runners, |_, runner| runner.take(step, control)).map(drop);
    };
    let mut order = Saver::begin();
    match step {
        Step::Run(goal) => {
            order.word(RUN);
            order.word(goal.arrivals);
            order.number(goal.path);
        }
        Step::Extend { pieces, unit, limit, prepare } => {
            order.word(EXTEND);
            order.word(limit.arrivals);
            order.number(limit.path);
            order.count(pieces);
            order.number(unit);
            order.flag(prepare);
        }
    }
    save_mirror(terms.mirror, &mut order);
    order.flag(terms.records);
    order.count(terms.watched.len());
    terms.watched.iter().for_each(|&plane| order.count(plane));
    // That of all: it is chosen for all of them.
    let first = &runners[0];
    let refresh = first.trajectory.refresh();
    order.word(match refresh {
        Refresh::None => 0,
        Refresh::Pair { .. } => 1,
        Refresh::Full { .. } => 2,
    });
    order.number(refresh.rate());
    save_share(first.densities.as_ref().map(Densities::smoother), &mut order);
    let states = runners.iter().map(|runner| runner.save(false)).collect();
    let back = elsewhere.take(sealed(order), states, control)?;
    if back.len() != runners.len() {
        return Err(foreign(format!("{} of {}", back.len(), runners.len())));
    }
    let runs = matches!(step, Step::Run(_));
    let terms = Terms { records: terms.records && !runs, ..*terms };
    for (runner, state) in runners.iter_mut().zip(&back) {
        let before = if runs { 0 } else { runner.trajectory.tally().bounces };
        runner.join(state, &terms)?;
        control.count_bounces(runner.trajectory.tally().bounces.saturating_sub(before));
    }
    Ok(())
}

/// Starts every trajectory elsewhere; see [`attempt`].
pub(super) fn attempts<'s>(
    elsewhere: &dyn Elsewhere,
    space: &'s VersionSpace<'s>,
    (seed, n): (u64, usize),
    mirror: Mirror,
    middle: Option<(&Smoother<'_>, &Middle)>,
    control: &Control,
) -> Result<Vec<Trapped<'s>>> {
    let mut order = Saver::begin();
    order.word(START);
    order.word(seed);
    save_mirror(mirror, &mut order);
    save_share(middle.map(|(smoother, _)| smoother), &mut order);
    if let Some((_, middle)) = middle {
        middle.iter().for_each(|part| order.all(part));
    }
    let indices = (0..n).map(|i| {
        let mut saver = Saver::begin();
        saver.count(i);
        sealed(saver)
    });
    let back = elsewhere.take(sealed(order), indices.collect(), control)?;
    if back.len() != n {
        return Err(foreign(format!("{} of {n}", back.len())));
    }
    let started = back.iter().map(|state| {
        let mut loader = Loader::begin(state)?;
        let trapped = if loader.flag()? {
            let record = |_: &mut Loader<'_>| Ok(no_record(space));
            let under = (mirror, &Refresh::None);
            let trajectory = Trajectory::load(space, Geodesic, under, record, &mut loader)?;
            control.count_bounces(trajectory.tally().bounces);
            Trapped::Caught(trajectory.without_record())
        } else {
            Trapped::Lost(loader.rng()?)
        };
        loader.end()?;
        Ok(trapped)
    });
    started.collect()
}

/// Takes a step that another process asks for. The version space and the inverse must be the same, bit by bit.
///
/// # Errors
///
/// [`Error::Invalid`] for what [`Elsewhere::take`] was not given, and as [`crate::run_with`].
pub fn take_step<'s>(
    space: &'s VersionSpace<'s>,
    inverse: Option<Inverse<'s>>,
    order: &State,
    state: &State,
    control: &Control,
) -> Result<State> {
    if inverse.is_some_and(|inverse| inverse.len() != space.len()) {
        return Err(Error::invalid("factor", "another size", "one row for each example"));
    }
    let mut loader = Loader::begin(order)?;
    let kind = loader.word()?;
    if kind == START {
        return start_one(space, inverse, loader, state, control);
    }
    let goal = {
        let arrivals = loader.word()?;
        Goal { path: loader.number()?, arrivals, until: Until::Never }
    };
    let step = match kind {
        RUN => Step::Run(goal),
        EXTEND => Step::Extend {
            limit: goal,
            pieces: loader.count(MOST_PIECES)?,
            unit: loader.number()?,
            prepare: loader.flag()?,
        },
        other => return Err(foreign(format!("an order of kind {other}"))),
    };
    let (mirror, records) = (load_mirror(&mut loader)?, loader.flag()?);
    let n = loader.count(space.len())?;
    let watched = (0..n).map(|_| loader.index(space.len())).collect::<Result<Vec<_>>>()?;
    let (refresh, rate) = (loader.count(2)?, loader.number()?);
    let refresh = match (refresh, inverse) {
        (0, _) => Refresh::None,
        (1, _) => Refresh::Pair { rate },
        (_, Some(inverse)) => Refresh::Full { rate, source: Arc::new(inverse) },
        (_, None) => Refresh::Full { rate, source: Arc::new(Factor::new(space.gram(), control)?) },
    };
    let smoother = load_smoother(inverse, &mut loader)?.map(Arc::new);
    loader.end()?;
    let terms = Terms { mirror, records, watched: &watched };
    let mut runner =
        load(space, (Geodesic, refresh), smoother, &terms, (state, false), Start::Given)?;
    runner.take(step, control)?;
    Ok(runner.save(true))
}

fn start_one(
    space: &VersionSpace<'_>,
    inverse: Option<Inverse<'_>>,
    mut order: Loader<'_>,
    state: &State,
    control: &Control,
) -> Result<State> {
    let (seed, mirror) = (order.word()?, load_mirror(&mut order)?);
    let smoother = load_smoother(inverse, &mut order)?;
    let middle = match &smoother {
        Some(smoother) => {
            let m = space.len();
            Some((smoother, [order.finite(m)?, order.finite(m)?]))
        }
        None => None,
    };
    order.end()?;
    let mut loader = Loader::begin(state)?;
    let index = loader.count(usize::MAX >> 1)?;
    loader.end()?;
    let middle = middle.as_ref().map(|(smoother, middle)| (*smoother, middle));
    let mut saver = Saver::begin();
    match attempt(space, mirror, middle, light_trap::stream(seed, index), control)? {
        Trapped::Caught(trajectory) => {
            saver.flag(true);
            trajectory.save(&mut saver);
        }
        Trapped::Lost(rng) => {
            saver.flag(false);
            saver.rng(&rng);
        }
    }
    Ok(sealed(saver))
}
