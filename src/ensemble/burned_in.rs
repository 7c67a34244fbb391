//! Trajectories after burn-in, for other modules that make their own measurements.

use crate::base::{Control, Result};
use crate::ensemble::burn_in::burn_in;
use crate::ensemble::pool::WorkerPool;
use crate::ensemble::scatterer::with_scatterer;
use crate::ensemble::settings::Settings;
use crate::ensemble::start::start;
use crate::space::VersionSpace;
use crate::trajectory::Trajectory;
use crate::trajectory::dynamics::{Geodesic, Radius, Scattered};

/// Returns trajectories after burn-in, with the default refresh.
pub(crate) fn trajectories<'s>(
    space: &'s VersionSpace<'s>,
    settings: &Settings,
    pool: &WorkerPool,
    control: &Control,
) -> Result<Vec<Trajectory<'s, Geodesic>>> {
    let mut chains = start(space, settings, None, pool, control)?;
    burn_in(space, settings, None, pool, &mut chains, control)?;
    Ok(chains.into_iter().map(|chain| chain.trajectory).collect())
}

/// As [`trajectories`], and also returns `dynamics` with its scatterer placed.
pub(crate) fn trajectories_around<'s>(
    space: &'s VersionSpace<'s>,
    settings: &Settings,
    dynamics: Scattered,
    scatterer: Option<Radius>,
    pool: &WorkerPool,
    control: &Control,
) -> Result<(Vec<Trajectory<'s, Geodesic>>, Scattered)> {
    let mut chains = start(space, settings, None, pool, control)?;
    burn_in(space, settings, None, pool, &mut chains, control)?;
    let (dynamics, _) = with_scatterer(space, dynamics, scatterer, pool, &mut chains, control)?;
    Ok((chains.into_iter().map(|chain| chain.trajectory).collect(), dynamics))
}
