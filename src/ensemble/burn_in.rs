//! Burn-in: the discarded first part of each trajectory, and the choice of the refresh during it.

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

/// Length of the burn-in: in radians, as a share of a given length, and in arrivals at walls. The arrivals end it earlier
/// if version space is small.
pub(super) const BURN_IN_PATH: f64 = std::f64::consts::TAU;
const BURN_IN_SHARE: f64 = 0.05;
pub(super) const BURN_IN_ARRIVALS: u64 = 4_000;
/// Full refreshes during burn-in if they are cheap: their rate per radian, the arrivals per refresh if that gives a higher
/// rate, and the arrivals that end the burn-in.
const FRESH_PER_RADIAN: f64 = 0.5;
const ARRIVALS_PER_FRESH: f64 = 4_000.0;
const FRESH_ARRIVALS: u64 = 8_000;
/// Arrivals from which the rate of bounces is estimated, to set the rate of refreshes.
const GAUGE_ARRIVALS: u64 = 256;
/// Pair refreshes per radian while the rate of bounces is estimated.
const GAUGE_REFRESH: f64 = 1.0;

/// Returns the length of the burn-in.
pub(super) fn burn_in_goal(settings: &Settings) -> Goal {
    let share = BURN_IN_SHARE * settings.first_length.or(settings.length).unwrap_or(0.0);
    let path = settings.burn_in.unwrap_or_else(|| BURN_IN_PATH.max(share));
    let arrivals = if settings.burn_in.is_some() { u64::MAX } else { BURN_IN_ARRIVALS };
    Goal::either(path, arrivals)
}

/// Chooses the refresh and runs the burn-in. Returns the refresh and the mean path in radians.
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
    // The rate of pair refreshes is proportional to that of arrivals.
    for chain in chains.iter_mut() {
        chain.trajectory.set_refresh(Refresh::Pair { rate: GAUGE_REFRESH });
    }
    let rate = spend(chains, Goal::either(BURN_IN_PATH, GAUGE_ARRIVALS))?;
    let refresh = Refresh::chosen(settings.refresh, space.gram(), rate, inverse, control)?;
    let (goal, meanwhile) = match &refresh {
        // Full refreshes at once equilibrate directions in which few planes extend.
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
