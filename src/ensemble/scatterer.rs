//! A scatterer around a first estimate of the center.

use crate::base::{Control, Result};
use crate::ensemble::burn_in::{BURN_IN_ARRIVALS, BURN_IN_PATH};
use crate::ensemble::chain::Chain;
use crate::ensemble::estimate::{estimate, totals};
use crate::ensemble::pool::WorkerPool;
use crate::space::VersionSpace;
use crate::trajectory::Goal;
use crate::trajectory::dynamics::{Radius, Scattered};

/// Places the scatterer around a first estimate of the center. Also returns the path used for the estimate, in radians.
pub(super) fn with_scatterer(
    space: &VersionSpace<'_>,
    dynamics: Scattered,
    scatterer: Option<Radius>,
    pool: &WorkerPool,
    chains: &mut [Chain<'_>],
    control: &Control,
) -> Result<(Scattered, f64)> {
    let Some(radius) = scatterer else { return Ok((dynamics, 0.0)) };
    let (center, path) = first_center(pool, chains, control)?;
    Ok((dynamics.with_sphere(space, &center, radius, control)?, path))
}

/// Returns the center of a piece of path and the length of the piece.
fn first_center(
    pool: &WorkerPool,
    chains: &mut [Chain<'_>],
    control: &Control,
) -> Result<(Vec<f64>, f64)> {
    pool.each(chains, |_, chain| {
        chain.reset(None);
        let limit = Goal::either(f64::INFINITY, BURN_IN_ARRIVALS);
        // A requested pause waits until the measurement begins.
        while !chain.has(1) {
            chain.extend(1, BURN_IN_PATH, limit, control)?;
        }
        Ok(())
    })?;
    let path = totals(chains).0 / chains.len() as f64;
    Ok((estimate(pool, chains, control)?.dual, path))
}
