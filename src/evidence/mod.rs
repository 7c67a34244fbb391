//! The evidence: ln of the share of the sphere that version space takes, or that walls that let through leave.
//!
//! The volume comes best by a [`bridge`]; behind walls that let through, where the posterior has more than one mode, and a whole
//! curve over κ, by [`integration`] along a ladder of half-silvered mirrors.

mod bridge;
mod inside;
mod integration;
mod ladder;
mod lag;
mod launch;
pub(crate) mod mbar;
mod outcome;
mod settings;
pub(crate) mod walker;

use std::sync::Arc;

use crate::base::{Control, Result, random};
use crate::ensemble::WorkerPool;
use crate::linalg::Factor;
use crate::space::{VersionSpace, one_dimensional};
use inside::inside;

pub(crate) use ladder::Descent;
pub(crate) use launch::isotropic;
pub(crate) use mbar::{Histogram, Shares};
pub use outcome::EvidenceOutcome;
pub use settings::{EvidenceSettings, Method};

/// ln Z(κ) at the targets, with one ladder for all.
///
/// # Errors
///
/// [`crate::Error::Invalid`] for settings out of range, [`crate::Error::Breakdown`] for a matrix that is not positive semi-definite,
/// [`crate::Error::Interrupted`].
pub fn evidence(
    space: &VersionSpace<'_>,
    settings: &EvidenceSettings,
    control: &Control,
) -> Result<EvidenceOutcome> {
    let descent = settings.descent()?;
    space.gram().check_in_memory()?;
    one_dimensional::refuse(space.gram())?;
    let inside = inside(space, settings, control)?;
    let pool = WorkerPool::new(settings.n_threads.min(settings.n_trajectories), control)?;
    if settings.method == Method::Bridge {
        return bridge::evidence(space, settings, &pool, control);
    }
    let factor = Arc::new(Factor::new(space.gram(), control)?);
    let ladder = {
        let pilot = random::stream(settings.seed, settings.n_trajectories);
        descent.place_rungs(isotropic(space, &factor, pilot, control)?, control)?
    };
    let way = (descent, ladder);
    integration::evidence(space, settings, inside.as_ref(), &factor, way, &pool, control)
}
