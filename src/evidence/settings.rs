//! Settings of an evidence run.

use serde::Deserialize;

use crate::base::{Error, Result, check_count, check_positive, count};
use crate::evidence::ladder::Descent;
use crate::space::Mirror;

/// How ln Z is estimated along the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// From samples in equilibrium on every rung of a ladder of transparencies.
    Integration,
    /// By a bridge from a Gaussian distribution fitted to version space, for its volume alone.
    Bridge,
}

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
    /// The method.
    pub method: Method,
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
            method: Method::Bridge,
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

    pub(super) fn descent(&self) -> Result<Descent> {
        check_count("n_trajectories", self.n_trajectories as u64)?;
        check_count("n_threads", self.n_threads as u64)?;
        check_positive("tol", self.tol)?;
        check_positive("max_length", self.max_length)?;
        self.targets.iter().try_for_each(Mirror::check)?;
        let invalid = |allowed| Error::invalid("targets", format!("{:?}", self.targets), allowed);
        if self.method == Method::Bridge && self.targets != [Mirror::HARD] {
            return Err(invalid("hard walls alone for a bridge"));
        }
        Descent::to(&self.targets)
            .ok_or_else(|| invalid("one, or several with equal transparencies of both classes"))
    }
}
