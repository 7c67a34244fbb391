//! Burn-in: how far trajectories fly before anything is measured, and the refresh that is chosen meanwhile.

use std::sync::Arc;

use crate::base::{Control, Result};
use crate::ensemble::chain::Chain;
use crate::ensemble::estimate::totals;
use crate::ensemble::pool::WorkerPool;
use crate::ensemble::remote;
use crate::ensemble::settings::Settings;
use crate::ensemble::step::{Step, Terms};
use crate::linalg::Inverse;
use crate::space::VersionSpace;
use crate::trajectory::{Goal, Refresh};

/// Path before anything is measured: radians, and the share of a given length; and arrivals at walls, which
/// end it earlier where version space is small.
pub(super) const BURN_IN_PATH: f64 = std::f64::consts::TAU;
const BURN_IN_SHARE: f64 = 0.05;
pub(super) const BURN_IN_ARRIVALS: u64 = 4_000;
/// Fresh directions per radian meanwhile where they are easily drawn, arrivals for each where that is more often, and
/// arrivals that end it then.
const FRESH_PER_RADIAN: f64 = 0.5;
const ARRIVALS_PER_FRESH: f64 = 4_000.0;
const FRESH_ARRIVALS: u64 = 8_000;
/// Arrivals after which the rate of bounces is known well enough to set the rate of refreshes.
const GAUGE_ARRIVALS: u64 = 256;
/// Pair refreshes per radian meanwhile.
const GAUGE_REFRESH: f64 = 1.0;

/// How far a ball flies before anything is measured.
pub(super) fn burn_in_goal(settings: &Settings) -> Goal {
    let share = BURN_IN_SHARE * settings.first_length.or(settings.length).unwrap_or(0.0);
    let path = settings.burn_in.unwrap_or_else(|| BURN_IN_PATH.max(share));
    let arrivals = if settings.burn_in.is_some() { u64::MAX } else { BURN_IN_ARRIVALS };
    Goal::either(path, arrivals)
}

/// Chooses the refresh and lets the trajectories burn in. Returns the refresh and the mean path.
pub(super) fn burn_in<'s>(
    space: &'s VersionSpace<'s>,
    settings: &Settings,
    inverse: Option<Inverse<'s>>,
    pool: &WorkerPool,
    chains: &mut [Chain<'s>],
    control: &Control,
) -> Result<(Refresh<'s>, f64)> {
    let mut length = 0.0;
    let mut spend = |chains: &mut [Chain<'s>], goal: Goal| -> Result<f64> {
        let terms = Terms { mirror: settings.mirror, draws: 0, watched: Vec::new() };
        remote::take(pool, chains, Step::Run(goal), &terms, control)?;
        let (path, arrivals) = totals(chains);
        length += path / chains.len() as f64;
        Ok(arrivals.max(1) as f64 / path)
    };
    // The rate of arrivals sets that of pairs.
    for chain in chains.iter_mut() {
        chain.trajectory.set_refresh(Refresh::Pair { rate: GAUGE_REFRESH });
    }
    let rate = spend(chains, Goal::either(BURN_IN_PATH, GAUGE_ARRIVALS))?;
    let refresh = Refresh::chosen(settings.refresh, space.gram(), rate, inverse, control)?;
    let (goal, meanwhile) = match &refresh {
        // Where directions are easily drawn, those that few planes know of get their share of the length at once.
        Refresh::Full { source, .. } if settings.burn_in.is_none() => {
            let rate = FRESH_PER_RADIAN.max(rate / ARRIVALS_PER_FRESH);
            let source = Arc::clone(source);
            (Goal::either(BURN_IN_PATH, FRESH_ARRIVALS), Refresh::Full { rate, source })
        }
        _ => (burn_in_goal(settings), refresh.clone()),
    };
    for chain in chains.iter_mut() {
        chain.trajectory.set_refresh(meanwhile.clone());
    }
    if goal.path > 0.0 {
        spend(chains, goal)?;
    }
    for chain in chains.iter_mut() {
        chain.trajectory.set_refresh(refresh.clone());
    }
    Ok((refresh, length))
}
