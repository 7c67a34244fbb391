//! Steps of trajectories between two decisions about all of them, in this process or in others.
//!
//! A step is a function of the problem, of an order that is the same for all trajectories, and of the state of one trajectory,
//! its random generator included. A step that is lost with its worker can therefore be taken again by another. Where
//! trajectories start, how fast they are refreshed and how long they run is decided in the calling process.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::{Control, Error, Result, decode, encode, ensure, ensure_finite, incompatible};
use crate::ensemble::chain::{self, Chain, ChainState, MOST_PIECES, Parts, Snapshot};
use crate::ensemble::conditional_means::{Densities, Smoother};
use crate::ensemble::context::Context;
use crate::linalg::Inverse;
use crate::space::{Mirror, VersionSpace};
use crate::trajectory::dynamics::{Dynamics, Geodesic};
use crate::trajectory::{Goal, Refresh, RefreshState};

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

/// A step that every trajectory takes independently of the others.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Step {
    /// Runs to a goal.
    Run(Goal),
    /// Extends the path in pieces; see [`Chain::extend`]. With `prepare`, also prepares them for the center.
    Extend { stage: usize, unit: f64, limit: Goal, prepare: bool },
}

/// A step and the settings that are the same for all trajectories.
#[derive(Serialize, Deserialize)]
struct Order {
    step: Step,
    mirror: Mirror,
    /// Draws to keep of each trajectory; 0 if draws are not recorded.
    draws: usize,
    /// Indices of the planes whose coordinates are recorded with the draws.
    watched: Vec<usize>,
    refresh: RefreshState,
    /// The share of the [`Smoother`], if the center is one of conditional means.
    share: Option<f64>,
}

/// A chain after a step, with the draws of this step and their functionals.
#[derive(Serialize, Deserialize)]
struct Stepped {
    chain: ChainState,
    before_cut: Option<Snapshot>,
    record: Option<(Vec<f64>, Vec<f64>)>,
}

/// Takes a step of every trajectory, in this process or on the workers.
pub(super) fn take<D: Dynamics>(
    run: &Context<'_, '_>,
    chains: &mut [Chain<'_, D>],
    step: Step,
) -> Result<()> {
    let Context { settings, control, .. } = *run;
    let Some(executor) = run.executor else {
        return run.pool.each(chains, |_, chain| chain.take(step, control)).map(drop);
    };
    let first = &chains[0];
    let records = first.trajectory.recorder().is_some();
    let order = Order {
        step,
        mirror: settings.mirror,
        draws: if records { settings.n_draws } else { 0 },
        watched: if records { run.watched.clone() } else { Vec::new() },
        refresh: first.trajectory.refresh().state(),
        share: first.densities.as_ref().map(|densities| densities.smoother().share),
    };
    let sent = chains.iter().map(|chain| encode(&chain.state())).collect();
    let stepped = executor.take(encode(&order), sent, control)?;
    let (n, all) = (stepped.len(), chains.len());
    ensure(n == all, || format!("{n} of {all}"))?;
    for (chain, bytes) in chains.iter_mut().zip(&stepped) {
        let before = chain.trajectory.tally().bounces;
        chain.follow(decode(bytes)?, &order)?;
        control.count_bounces(chain.trajectory.tally().bounces.saturating_sub(before));
    }
    Ok(())
}

impl<D: Dynamics> Chain<'_, D> {
    fn take(&mut self, step: Step, control: &Control) -> Result<()> {
        match step {
            Step::Run(goal) => self.run(goal, control),
            Step::Extend { stage, unit, limit, prepare } => {
                self.extend(stage, unit, limit, control)?;
                // A longer run replaces the piece that a limit cut short.
                if prepare && !self.is_cut() {
                    chain::prepare(std::slice::from_mut(self), control)
                } else {
                    Ok(())
                }
            }
        }
    }

    /// Replaces the chain by the result of a step.
    fn follow(&mut self, stepped: Stepped, order: &Order) -> Result<()> {
        let parts = Parts {
            dynamics: self.trajectory.dynamics().clone(),
            mirror: order.mirror,
            refresh: self.trajectory.refresh(),
            smoother: self.densities.as_ref().map(Densities::smoother),
            watched: &order.watched,
            record: stepped.record.as_ref().map(|(draws, functionals)| (&**draws, &**functionals)),
        };
        let mut next = Self::restored(self.trajectory.space(), parts, stepped.chain)?;
        next.before_cut = stepped.before_cut;
        if let (Some(record), Some(earlier)) =
            (next.trajectory.recorder_mut(), self.trajectory.recorder_mut())
        {
            if let Some(snapshot) = &mut next.before_cut {
                snapshot.kept += earlier.kept();
            }
            record.follow(earlier);
        }
        *self = next;
        Ok(())
    }
}

impl Order {
    /// Checks an order from another process against the number m of examples.
    fn check(&self, m: usize) -> Result<()> {
        self.mirror.check()?;
        let planes = self.watched.len() <= m && self.watched.iter().all(|&plane| plane < m);
        ensure(planes, || "one that watches other planes")?;
        ensure(u32::try_from(self.draws).is_ok(), || format!("one of {} draws", self.draws))?;
        let (goal, stage, unit) = match self.step {
            Step::Run(goal) => (goal, 0, 0.0),
            Step::Extend { stage, unit, limit, .. } => (limit, stage, unit),
        };
        ensure(stage <= MOST_PIECES, || format!("one with {stage} pieces"))?;
        ensure_finite(&[&[unit, self.share.unwrap_or_default()]])?;
        ensure(!goal.path.is_nan(), || "one without an end")
    }
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
    let m = space.len();
    let inverse = inverse.map(|inverse| inverse.of_planes(space.gram()));
    if inverse.is_some_and(|inverse| inverse.len() != m) {
        return Err(Error::invalid("factor", "another size", "one row for each example"));
    }
    let order: Order = decode(order)?;
    order.check(m)?;
    let smoother = |share| {
        let inverse = inverse.ok_or_else(|| incompatible("one that needs the inverse"))?;
        Smoother::with_share(inverse, share).map(Arc::new)
    };
    let smoother = order.share.map(smoother).transpose()?;
    let parts = Parts {
        dynamics: Geodesic,
        mirror: order.mirror,
        refresh: &Refresh::restored(order.refresh, space.gram(), inverse, control)?,
        smoother: smoother.as_ref(),
        watched: &order.watched,
        record: (order.draws > 0).then_some((&[], &[])),
    };
    let mut chain = Chain::restored(space, parts, decode(trajectory)?)?;
    ensure(
        chain.trajectory.ball().fits(space.gram(), control)?,
        || "one whose ball does not fit this Gram matrix",
    )?;
    if let (Step::Extend { stage, unit, .. }, Some(record)) =
        (order.step, chain.trajectory.recorder())
    {
        record.check_spacing(unit * stage as f64, order.draws)?;
    }
    chain.take(order.step, control)?;
    Ok(encode(&Stepped {
        record: chain.trajectory.recorder_mut().map(|record| record.take_last(record.kept())),
        chain: chain.state(),
        before_cut: chain.before_cut,
    }))
}
