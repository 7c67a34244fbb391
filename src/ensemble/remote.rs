//! Steps of trajectories in other processes: what goes there, what is done there, what comes back.
//!
//! A step is a function of the problem, of an order that is the same for all trajectories and of the trajectory as it
//! stands, random stream included. So it does not matter where it is taken, or how often where one is lost. What all
//! trajectories decide together (how fast they are refreshed, how long they fly) is decided here, between the steps.

use std::sync::Arc;

use crate::base::{Control, Error, Loader, Result, Saver, State, incompatible, random};
use crate::ensemble::attempt::{Middle, attempt};
use crate::ensemble::chain::{Chain, MOST_PIECES};
use crate::ensemble::conditional_means::{Densities, Smoother};
use crate::ensemble::executor::RemoteExecutor;
use crate::ensemble::pool::WorkerPool;
use crate::ensemble::settings::Settings;
use crate::ensemble::step::{Step, Terms};
use crate::interior::Trapped;
use crate::linalg::{Inverse, Isotropic};
use crate::space::{Mirror, VersionSpace};
use crate::trajectory::dynamics::{Dynamics, Geodesic};
use crate::trajectory::{Goal, Recorder, Refresh, Trajectory, Until, refresh};

impl<D: Dynamics> Chain<'_, D> {
    /// How it stands. A step comes back with its draws; those of earlier ones stay here.
    fn parcel(&self, with_draws: bool) -> State {
        let mut saver = Saver::begin();
        if with_draws {
            let m = self.trajectory.space().len();
            let kept = self.trajectory.recorder().map_or(0, |recorder| recorder.kept(m));
            saver.count(kept);
            if let Some(recorder) = self.trajectory.recorder() {
                let (draws, functionals) = recorder.first(kept, m);
                saver.all(draws);
                saver.all(functionals);
            }
        }
        saver.append(&self.pack());
        sealed(saver)
    }

    /// Goes on from where a step has led.
    fn join(&mut self, state: &State, terms: &Terms<'_>) -> Result<()> {
        let space = self.trajectory.space();
        let own = (self.trajectory.dynamics().clone(), self.trajectory.refresh().clone());
        let smoother = self.densities.as_ref().map(Densities::shared);
        let recorder = self.trajectory.recorder_mut();
        let before = recorder.map_or(0, |recorder| recorder.kept(space.len()));
        let mut loaded = load(space, own, smoother.as_ref(), terms, state, Some(before))?;
        if let (Some(recorder), Some(earlier)) =
            (loaded.trajectory.recorder_mut(), self.trajectory.recorder_mut())
        {
            recorder.follow(earlier);
        }
        *self = loaded;
        Ok(())
    }
}

/// What [`Chain::parcel`] wrote; with the draws of a step where there were draws `before`.
fn load<'s, D: Dynamics>(
    space: &'s VersionSpace<'s>,
    (dynamics, refresh): (D, Refresh<'s>),
    smoother: Option<&Arc<Smoother<'s>>>,
    terms: &Terms<'_>,
    state: &State,
    before: Option<usize>,
) -> Result<Chain<'s, D>> {
    let (gram, m) = (space.gram(), space.len());
    let mut loader = Loader::begin(state)?;
    let (mut draws, mut functionals) = (Vec::new(), Vec::new());
    if before.is_some() {
        let kept = loader.count(usize::MAX >> 32)?;
        draws = loader.finite(kept * m)?;
        functionals = loader.finite(kept * terms.watched.len())?;
    }
    let record = |path: f64, loader: &mut Loader<'_>| {
        if terms.draws > 0 {
            Recorder::load(terms.watched, gram, &draws, &functionals, path, loader)
        } else {
            no_record(space)
        }
    };
    let settings = Settings { mirror: terms.mirror, ..Settings::default() };
    let mut chain =
        Chain::load(space, &settings, dynamics, (&refresh, smoother), record, &mut loader)?;
    chain.unpack(before.unwrap_or(0), &mut loader)?;
    loader.end()?;
    if terms.draws == 0 {
        chain.trajectory = chain.trajectory.without_record();
    }
    Ok(chain)
}

/// A record in which no position comes due.
fn no_record(space: &VersionSpace<'_>) -> Result<Recorder> {
    Recorder::new(f64::INFINITY, &[], 0, space.gram())
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
    Mirror::new(mirror[0], mirror[1]).map_err(|_| incompatible("one with walls that cannot be"))
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
    let inverse = inverse.ok_or_else(|| incompatible("one that needs the inverse"))?;
    Smoother::with_share(inverse, loader.number()?).map(Some)
}

/// Takes a step of every trajectory, here or elsewhere.
pub(crate) fn take<D: Dynamics>(
    pool: &WorkerPool,
    chains: &mut [Chain<'_, D>],
    step: Step,
    terms: &Terms<'_>,
    control: &Control,
) -> Result<()> {
    let Some(executor) = pool.executor() else {
        return pool.each(chains, |_, chain| chain.take(step, control)).map(drop);
    };
    let mut order = Saver::begin();
    match step {
        Step::Run(goal) => {
            order.word(RUN);
            order.word(goal.arrivals);
            order.number(goal.path);
        }
        Step::Extend { stage, unit, limit, prepare } => {
            order.word(EXTEND);
            order.word(limit.arrivals);
            order.number(limit.path);
            order.count(stage);
            order.number(unit);
            order.flag(prepare);
        }
    }
    save_mirror(terms.mirror, &mut order);
    order.count(terms.draws);
    order.count(terms.watched.len());
    terms.watched.iter().for_each(|&plane| order.count(plane));
    // That of all: it is chosen for all of them.
    let first = &chains[0];
    let refresh = first.trajectory.refresh();
    order.word(refresh.code());
    order.number(refresh.rate());
    save_share(first.densities.as_ref().map(Densities::smoother), &mut order);
    let states = chains.iter().map(|chain| chain.parcel(false)).collect();
    let back = executor.take(sealed(order), states, control)?;
    if back.len() != chains.len() {
        return Err(incompatible(format!("{} of {}", back.len(), chains.len())));
    }
    let runs = matches!(step, Step::Run(_));
    let terms = Terms { draws: if runs { 0 } else { terms.draws }, ..*terms };
    for (chain, state) in chains.iter_mut().zip(&back) {
        let before = if runs { 0 } else { chain.trajectory.tally().bounces };
        chain.join(state, &terms)?;
        control.count_bounces(chain.trajectory.tally().bounces.saturating_sub(before));
    }
    Ok(())
}

/// Starts every trajectory elsewhere; see [`attempt`].
pub(super) fn attempts<'s>(
    executor: &dyn RemoteExecutor,
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
    let back = executor.take(sealed(order), indices.collect(), control)?;
    if back.len() != n {
        return Err(incompatible(format!("{} of {n}", back.len())));
    }
    let started = back.iter().map(|state| {
        let mut loader = Loader::begin(state)?;
        let trapped = if loader.flag()? {
            let record = |_, _: &mut Loader<'_>| no_record(space);
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
/// [`Error::Invalid`] for what [`RemoteExecutor::take`] was not given, and as [`crate::run_with`].
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
            stage: loader.count(MOST_PIECES)?,
            unit: loader.number()?,
            prepare: loader.flag()?,
        },
        other => return Err(incompatible(format!("an order of kind {other}"))),
    };
    let (mirror, draws) = (load_mirror(&mut loader)?, loader.count(usize::MAX >> 1)?);
    let n = loader.count(space.len())?;
    let watched = (0..n).map(|_| loader.index(space.len())).collect::<Result<Vec<_>>>()?;
    let (kind, rate) = (loader.word()?, loader.number()?);
    let refresh = Refresh::of_code(kind, rate, || -> Result<Arc<dyn Isotropic + 's>> {
        Ok(match inverse {
            Some(inverse) => Arc::new(inverse),
            None => Arc::new(refresh::directions(space.gram(), control)?),
        })
    })?;
    let smoother = load_smoother(inverse, &mut loader)?.map(Arc::new);
    loader.end()?;
    let terms = Terms { mirror, draws, watched: &watched };
    let mut chain = load(space, (Geodesic, refresh), smoother.as_ref(), &terms, state, None)?;
    if !chain.trajectory.ball().fits(space.gram(), control)? {
        return Err(incompatible("one whose ball is elsewhere with this Gram matrix"));
    }
    if let (Step::Extend { stage, unit, .. }, Some(record)) = (step, chain.trajectory.recorder()) {
        record.check_spacing(unit * stage as f64, draws)?;
    }
    chain.take(step, control)?;
    Ok(chain.parcel(true))
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
    match attempt(space, mirror, middle, random::stream(seed, index), control)? {
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
