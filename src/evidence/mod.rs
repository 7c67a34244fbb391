//! The evidence: ln of the share of the sphere in version space, or of the mean weight of half-silvered walls.
//!
//! The volume of version space alone is computed by a [`bridge`]: balls that come down a ladder of transparencies must find it, which
//! takes two to a hundred times as long for the same error. Behind half-silvered walls the posterior may have several modes: its evidence, a
//! whole curve over κ, and the evidence of several classes are computed by [`integration`] along such a ladder.

mod bridge;
mod integration;
mod ladder;
pub mod mbar;
pub mod walker;

use serde::Deserialize;

use crate::base::{Control, Error, Result, check_count, check_positive, count};
use crate::ensemble::WorkerPool;
use crate::space::{Mirror, VersionSpace, one_dimensional};

pub use ladder::Descent;
pub use walker::isotropic;

/// Settings of an evidence run.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvidenceSettings {
    /// Number of trajectories, each down and up the ladder.
    #[serde(deserialize_with = "count")]
    pub n_trajectories: usize,
    /// Standard error that every ln Z is to reach, nats.
    pub tol: f64,
    /// Largest path per trajectory, radians.
    pub max_length: f64,
    /// The mirrors at which ln Z is estimated; hard ones for the volume. Several have equal transparencies of both classes.
    pub targets: Vec<Mirror>,
    /// Worker threads.
    pub n_threads: usize,
    /// Seed.
    pub seed: u64,
}

impl Default for EvidenceSettings {
    fn default() -> Self {
        Self {
            n_trajectories: 4,
            tol: 0.1,
            max_length: 1e5,
            targets: vec![Mirror::HARD],
            n_threads: 1,
            seed: 0,
        }
    }
}

impl EvidenceSettings {
    /// Checks that all settings are in range. [`Error::Invalid`] for the first that is out of range or conflicts with another.
    pub fn check(&self) -> Result<()> {
        self.descent().map(drop)
    }

    fn descent(&self) -> Result<Descent> {
        check_count("n_trajectories", self.n_trajectories as u64)?;
        check_count("n_threads", self.n_threads as u64)?;
        check_positive("tol", self.tol)?;
        check_positive("max_length", self.max_length)?;
        self.targets.iter().try_for_each(Mirror::check)?;
        Descent::to(&self.targets).ok_or_else(|| {
            let allowed = "one, or several with equal transparencies of both classes";
            Error::invalid("targets", format!("{:?}", self.targets), allowed)
        })
    }
}

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

/// Returns ln Z(κ) at the targets, from one ladder for all, or from a bridge if hard walls are the only target.
///
/// [`Error::Invalid`] for settings out of range, [`Error::Infeasible`] where hard walls leave no version space,
/// [`Error::Breakdown`] for a matrix that is not positive semi-definite, [`Error::Interrupted`].
pub fn evidence(
    space: &VersionSpace,
    settings: &EvidenceSettings,
    control: &Control,
) -> Result<EvidenceOutcome> {
    let descent = settings.descent()?;
    one_dimensional::refuse(space.gram())?;
    // A bridge would need the matrix of all walls between several classes.
    let has_bridge = space.planes().is_none_or(|planes| planes.classes().is_none());
    let pool = WorkerPool::new(settings.n_threads.min(settings.n_trajectories), control)?;
    if has_bridge && settings.targets == [Mirror::HARD] {
        return bridge::evidence(space, settings, &pool, control);
    }
    // The walls are transparent on the ladder, whatever the target.
    space.check_coinciding(Mirror::alike(1.0))?;
    integration::evidence(space, settings, descent, &pool, control)
}
