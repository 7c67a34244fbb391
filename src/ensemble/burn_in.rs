//! Burn-in: the discarded first part of each trajectory, and the choice of the refresh during it.

use std::sync::Arc;

use super::chain::{Chain, Context, totals};
use super::pool::WorkerPool;
use super::settings::Settings;
use super::start::start;
use crate::base::Result;
use crate::space::VersionSpace;
use crate::trajectory::{Dynamics, Geodesic, Goal, Recorder, Refresh, Trajectory};

/// Length of the burn-in: in radians, as a share of a given length, and in arrivals, which end it earlier in a small space.
pub const BURN_IN_PATH: f64 = std::f64::consts::TAU;
const BURN_IN_SHARE: f64 = 0.05;
pub const BURN_IN_ARRIVALS: u64 = 4_000;
/// Full refreshes during burn-in if cheap: rate per radian, arrivals per refresh for a higher rate, and arrivals at the end.
const FRESH_PER_RADIAN: f64 = 0.5;
const ARRIVALS_PER_FRESH: f64 = 4_000.0;
const FRESH_ARRIVALS: u64 = 8_000;
/// Arrivals from which the rate of bounces is estimated, to set the rate of refreshes.
const GAUGE_ARRIVALS: u64 = 256;
/// Pair refreshes per radian while the rate of bounces is estimated.
const GAUGE_REFRESH: f64 = 1.0;

pub fn burn_in_goal(settings: &Settings) -> Goal {
    let share = BURN_IN_SHARE * settings.length.unwrap_or(0.0);
    let default = Goal::either(BURN_IN_PATH.max(share), BURN_IN_ARRIVALS);
    settings.burn_in.map_or(default, Goal::path)
}

/// Starts trajectories, chooses the refresh and runs the burn-in. Also returns the mean path in radians.
pub fn burn_in<'s>(run: &Context<'s, '_>) -> Result<(Vec<Chain<'s>>, f64)> {
    let Context { space, settings, inverse, control, .. } = *run;
    let mut chains = start(run)?;
    let mut length = 0.0;
    // Returns the arrivals per radian.
    let mut spend = |chains: &mut [Chain<'s>], goal: Goal| -> Result<f64> {
        chains.iter_mut().for_each(|chain| chain.reset(Recorder::none()));
        run.pool.each(chains, |_, chain| chain.trajectory.run(goal, control))?;
        let (path, arrivals) = totals(chains);
        length += path / chains.len() as f64;
        Ok(arrivals.max(1) as f64 / path)
    };
    // The rate of pair refreshes is proportional to that of arrivals.
    set_refresh(&mut chains, &Refresh::Pair { rate: GAUGE_REFRESH });
    let rate = spend(&mut chains, Goal::either(BURN_IN_PATH, GAUGE_ARRIVALS))?;
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
    set_refresh(&mut chains, &meanwhile);
    if goal.path > 0.0 {
        spend(&mut chains, goal)?;
    }
    set_refresh(&mut chains, &refresh);
    Ok((chains, length))
}

pub fn set_refresh<'s, D: Dynamics>(chains: &mut [Chain<'s, D>], refresh: &Refresh<'s>) {
    for chain in chains {
        chain.trajectory.set_refresh(refresh.clone());
    }
}

/// Returns trajectories after burn-in with the default refresh, for other modules that make their own measurements.
pub fn trajectories<'s>(
    space: &'s VersionSpace<'s>,
    settings: &Settings,
    pool: &WorkerPool,
) -> Result<Vec<Trajectory<'s, Geodesic>>> {
    let run = Context::new(space, settings, None, pool)?;
    let (chains, _) = burn_in(&run)?;
    Ok(chains.into_iter().map(|chain| chain.trajectory).collect())
}
