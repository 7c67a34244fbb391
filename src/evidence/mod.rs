//! The evidence: ln of the share of the sphere in version space, or of the mean weight of half-silvered walls.
//!
//! The volume of version space is best computed by a [`bridge`]. Behind half-silvered walls the posterior may have several
//! modes: its evidence, and a whole curve over κ, is computed by [`integration`] along a ladder of transparencies.

mod bridge;
mod integration;
mod ladder;
pub(crate) mod mbar;
mod settings;
pub(crate) mod walker;

use crate::base::{Control, Result, require};
use crate::ensemble::WorkerPool;
use crate::space::{Mirror, VersionSpace, one_dimensional};

pub(crate) use ladder::Descent;
pub use settings::{EvidenceSettings, Method};
pub(crate) use walker::isotropic;

/// The outcome of an evidence run.
#[derive(Clone, Debug, Default)]
pub struct EvidenceOutcome {
    /// ln Z at each target, nats; -∞ where version space was never entered.
    pub values: Vec<f64>,
    /// Standard errors, nats.
    pub errors: Vec<f64>,
    /// Half the difference of ln Z between the trips up and down the ladder, nats: where trajectories lag behind the ladder
    /// the first is too high and the second too low. NaN if only one of them entered version space.
    pub lags: Vec<f64>,
    /// s of the rungs, rising from 0: -ln κ, of the harder walls where classes differ. For a bridge its t, up to 1.
    pub ladder: Vec<f64>,
    /// Mean violations on the rungs, `-d ln Z / ds`, of the classes whose transparency falls from there on. The rung where one
    /// class stays behind appears twice: for both, and for the other. Empty for a bridge, like all shares below.
    pub mean_violations: Vec<f64>,
    /// ln of the share of the sphere that violates v planes, shape (m + 1,); -∞ where none was found.
    pub log_share: Vec<f64>,
    /// The layers that were found: numbers of violated examples of label -1 and +1.
    pub layers: Vec<[u32; 2]>,
    /// The share of each layer in the path with the same number of violations.
    pub layer_shares: Vec<f64>,
    /// Path per trajectory, radians.
    pub length: f64,
    /// Whether every error reached the tolerance.
    pub converged: bool,
}

/// Returns ln Z(κ) at the targets, from one ladder for all.
///
/// [`crate::Error::Invalid`] for settings out of range, [`crate::Error::Infeasible`] where hard walls leave no version space,
/// [`crate::Error::Breakdown`] for a matrix that is not positive semi-definite, [`crate::Error::Interrupted`].
pub fn evidence(
    space: &VersionSpace<'_>,
    settings: &EvidenceSettings,
    control: &Control,
) -> Result<EvidenceOutcome> {
    let descent = settings.descent()?;
    one_dimensional::refuse(space.gram())?;
    if settings.method == Method::Bridge {
        // It would need the matrix of all walls.
        let fits = space.planes().is_none_or(|planes| planes.classes().is_none());
        require(fits, "method", "'bridge'", "another for several classes")?;
    } else {
        // The walls are transparent on the ladder, whatever the target.
        space.check_coinciding(Mirror::alike(1.0))?;
    }
    let pool = WorkerPool::new(settings.n_threads.min(settings.n_trajectories), control)?;
    match settings.method {
        Method::Bridge => bridge::evidence(space, settings, &pool, control),
        Method::Integration => integration::evidence(space, settings, descent, &pool, control),
    }
}
