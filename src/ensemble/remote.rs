//! Steps of trajectories in other processes: messages to the workers, the work there, and the answers.
//!
//! A step is a function of the problem, of an order that is the same for all trajectories and of the state of one trajectory,
//! its random generator included. So a step that is lost with its worker can be taken again, anywhere. What all trajectories
//! decide together (how fast they are refreshed, how long they fly) is decided by the calling process, between the steps.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::{
    Control, Error, Result, RngState, decode, encode, ensure, ensure_finite, ensure_vectors,
    incompatible, random,
};
use crate::ensemble::attempt::{Middle, attempt};
use crate::ensemble::chain::{Chain, ChainState, MOST_PIECES, Parts, Snapshot};
use crate::ensemble::conditional_means::{Densities, Smoother};
use crate::ensemble::pool::WorkerPool;
use crate::ensemble::step::{Step, Terms};
use crate::interior::Trapped;
use crate::linalg::Inverse;
use crate::space::{Mirror, VersionSpace};
use crate::trajectory::dynamics::{Dynamics, Geodesic};
use crate::trajectory::{Refresh, RefreshState, Trajectory, TrajectoryState};

/// Workers in other processes.
pub trait RemoteExecutor: Send + Sync {
    /// Applies [`take_step`] to every trajectory. Returns the results in the same order.
    ///
    /// # Errors
    ///
    /// As [`take_step`], and [`Error::Interrupted`] where the caller asks to stop.
    fn take(
        &self,
        order: Vec<u8>,
        trajectories: Vec<Vec<u8>>,
        control: &Control,
    ) -> Result<Vec<Vec<u8>>>;
}

/// An order to a worker.
#[derive(Serialize, Deserialize)]
enum Order {
    /// Starts the trajectory of an index; see [`attempt`].
    Start { seed: u64, mirror: Mirror, middle: Option<(f64, Middle)> },
    /// Takes a step of a trajectory. `share` is that of [`Smoother::share`].
    Step { step: Step, terms: Terms, refresh: RefreshState, share: Option<f64> },
}

/// A trajectory that was started.
#[derive(Serialize, Deserialize)]
#[allow(clippy::large_enum_variant, reason = "nearly all are caught")]
enum Started {
    Caught(TrajectoryState),
    Lost(RngState),
}

/// A chain after a step, with the draws of this step.
#[derive(Serialize, Deserialize)]
struct Stepped {
    chain: ChainState,
    before_cut: Option<Snapshot>,
    draws: Vec<f64>,
    functionals: Vec<f64>,
}

/// Sends an order and trajectories to the workers.
fn ask<T: Serialize>(
    executor: &dyn RemoteExecutor,
    order: &Order,
    trajectories: impl Iterator<Item = T>,
    control: &Control,
) -> Result<Vec<Vec<u8>>> {
    let sent: Vec<_> = trajectories.map(|trajectory| encode(&trajectory)).collect();
    let n = sent.len();
    let back = executor.take(encode(order), sent, control)?;
    ensure(back.len() == n, || format!("{} of {n}", back.len()))?;
    Ok(back)
}

/// Takes a step of every trajectory, in this process or on the workers.
pub(crate) fn take<D: Dynamics>(
    pool: &WorkerPool,
    chains: &mut [Chain<'_, D>],
    step: Step,
    terms: &Terms,
    control: &Control,
) -> Result<()> {
    let Some(executor) = pool.executor() else {
        return pool.each(chains, |_, chain| chain.take(step, control)).map(drop);
    };
    // Refresh and smoother are the same for all trajectories.
    let first = &chains[0];
    let order = Order::Step {
        step,
        terms: terms.clone(),
        refresh: first.trajectory.refresh().state(),
        share: first.densities.as_ref().map(|densities| densities.smoother().share()),
    };
    let back = ask(executor, &order, chains.iter().map(Chain::state), control)?;
    for (chain, bytes) in chains.iter_mut().zip(&back) {
        let before = match step {
            Step::Run(_) => 0,
            Step::Extend { .. } => chain.trajectory.tally().bounces,
        };
        chain.follow(decode(bytes)?, terms)?;
        control.count_bounces(chain.trajectory.tally().bounces.saturating_sub(before));
    }
    Ok(())
}

impl<D: Dynamics> Chain<'_, D> {
    /// Replaces the chain by the result of a step.
    fn follow(&mut self, stepped: Stepped, terms: &Terms) -> Result<()> {
        let space = self.trajectory.space();
        let (draws, functionals) = (&stepped.draws, &stepped.functionals);
        let smoother = self.densities.as_ref().map(Densities::shared);
        let parts = Parts {
            dynamics: self.trajectory.dynamics().clone(),
            mirror: terms.mirror,
            refresh: self.trajectory.refresh(),
            smoother: smoother.as_ref(),
            watched: &terms.watched,
            record: (terms.draws > 0).then_some((draws, functionals)),
        };
        let mut next = Self::restored(space, parts, stepped.chain)?;
        next.before_cut = stepped.before_cut;
        if let (Some(record), Some(earlier)) =
            (next.trajectory.recorder_mut(), self.trajectory.recorder_mut())
        {
            if let Some(snapshot) = &mut next.before_cut {
                ensure(snapshot.kept <= record.kept(space.len()), || "one with fewer draws")?;
                snapshot.kept += earlier.kept(space.len());
            }
            record.follow(earlier);
        }
        *self = next;
        Ok(())
    }
}

/// Starts every trajectory on the workers; see [`attempt`].
pub(super) fn attempts<'s>(
    executor: &dyn RemoteExecutor,
    space: &'s VersionSpace<'s>,
    (seed, n): (u64, usize),
    mirror: Mirror,
    middle: Option<(&Smoother<'_>, &Middle)>,
    control: &Control,
) -> Result<Vec<Trapped<'s>>> {
    let middle = middle.map(|(smoother, middle)| (smoother.share(), middle.clone()));
    let back = ask(executor, &Order::Start { seed, mirror, middle }, 0..n, control)?;
    let started = back.iter().map(|bytes| match decode(bytes)? {
        Started::Caught(state) => {
            let under = (mirror, &Refresh::None);
            let none = (&[][..], Default::default());
            let trajectory = Trajectory::restored(space, Geodesic, under, none, state)?;
            control.count_bounces(trajectory.tally().bounces);
            Ok(Trapped::Caught(trajectory))
        }
        Started::Lost(rng) => rng.restored().map(Trapped::Lost),
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
    order: &[u8],
    trajectory: &[u8],
    control: &Control,
) -> Result<Vec<u8>> {
    if inverse.is_some_and(|inverse| inverse.len() != space.len()) {
        return Err(Error::invalid("factor", "another size", "one row for each example"));
    }
    let possible = |mirror: Mirror| {
        Mirror::new(mirror.negative, mirror.positive)
            .map_err(|_| incompatible("one with walls that cannot be"))
    };
    let smoother = |share: f64| {
        ensure_finite(&[&[share]])?;
        let inverse = inverse.ok_or_else(|| incompatible("one that needs the inverse"))?;
        Smoother::with_share(inverse, share)
    };
    match decode(order)? {
        Order::Start { seed, mirror, middle } => {
            let mirror = possible(mirror)?;
            let index: usize = decode(trajectory)?;
            ensure(index <= usize::MAX >> 1, || format!("number {index}"))?;
            let middle = match middle {
                Some((share, middle)) => {
                    ensure_vectors(space.len(), &[&middle[0], &middle[1]])?;
                    Some((smoother(share)?, middle))
                }
                None => None,
            };
            let middle = middle.as_ref().map(|(smoother, middle)| (smoother, middle));
            let rng = random::stream(seed, index);
            Ok(encode(&match attempt(space, mirror, middle, rng, control)? {
                Trapped::Caught(trajectory) => Started::Caught(trajectory.state()),
                Trapped::Lost(rng) => Started::Lost(RngState::of(&rng)),
            }))
        }
        Order::Step { step, terms, refresh, share } => {
            possible(terms.mirror)?;
            terms.check(space.len())?;
            let goal = match step {
                Step::Run(goal) => goal,
                Step::Extend { stage, unit, limit, .. } => {
                    ensure(stage <= MOST_PIECES && unit.is_finite(), || {
                        format!("one with {stage} pieces of {unit} radians")
                    })?;
                    limit
                }
            };
            ensure(!goal.path.is_nan(), || "one without an end")?;
            let refresh = Refresh::restored(refresh, space.gram(), inverse, control)?;
            let smoother = share.map(smoother).transpose()?.map(Arc::new);
            let parts = Parts {
                dynamics: Geodesic,
                mirror: terms.mirror,
                refresh: &refresh,
                smoother: smoother.as_ref(),
                watched: &terms.watched,
                record: (terms.draws > 0).then_some((&[], &[])),
            };
            let mut chain = Chain::restored(space, parts, decode(trajectory)?)?;
            ensure(
                chain.trajectory.ball().fits(space.gram(), control)?,
                || "one whose ball does not fit this Gram matrix",
            )?;
            if let (Step::Extend { stage, unit, .. }, Some(record)) =
                (step, chain.trajectory.recorder())
            {
                record.check_spacing(unit * stage as f64, terms.draws)?;
            }
            chain.take(step, control)?;
            let (draws, functionals) = match chain.trajectory.recorder() {
                Some(record) => record.first(record.kept(space.len()), space.len()),
                None => Default::default(),
            };
            let (draws, functionals) = (draws.to_vec(), functionals.to_vec());
            Ok(encode(&Stepped {
                chain: chain.state(),
                before_cut: chain.before_cut,
                draws,
                functionals,
            }))
        }
    }
}
