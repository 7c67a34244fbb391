//! The evidence: ln of the share of the sphere in version space, or of the mean weight of half-silvered walls.
//!
//! The volume of version space is best computed by a [`bridge`]. Behind half-silvered walls the posterior may have several
//! modes: its evidence, and a whole curve over κ, is computed by [`integration`] along a ladder of transparencies.

mod bridge;
mod inside;
mod integration;
mod ladder;
mod launch;
pub(crate) mod mbar;
mod outcome;
mod settings;
pub(crate) mod walker;

use crate::base::{Control, Result};
use crate::ensemble::WorkerPool;
use crate::space::{Mirror, VersionSpace, one_dimensional};

pub(crate) use ladder::Descent;
pub(crate) use launch::isotropic;
pub use outcome::EvidenceOutcome;
pub use settings::{EvidenceSettings, Method};

/// Returns ln Z(κ) at the targets, from one ladder for all.
///
/// # Errors
///
/// [`crate::Error::Invalid`] for settings out of range, [`crate::Error::Infeasible`] where hard walls leave no version space,
/// [`crate::Error::Breakdown`] for a matrix that is not positive semi-definite, [`crate::Error::Interrupted`].
pub fn evidence(
    space: &VersionSpace<'_>,
    settings: &EvidenceSettings,
    control: &Control,
) -> Result<EvidenceOutcome> {
    let descent = settings.descent()?;
    space.gram().check_in_memory()?;
    one_dimensional::refuse(space.gram())?;
    // The walls are transparent on the ladder, whatever the target.
    space.check_coinciding(Mirror::alike(1.0))?;
    if settings.method == Method::Bridge {
        // It would need the matrix of all walls.
        space.check_two_classes("method", "'bridge'")?;
    }
    let pool = WorkerPool::new(settings.n_threads.min(settings.n_trajectories), control)?;
    match settings.method {
        Method::Bridge => bridge::evidence(space, settings, &pool, control),
        Method::Integration => integration::evidence(space, settings, descent, &pool, control),
    }
}
