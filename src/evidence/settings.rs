//! Settings of an evidence run.

use serde::Deserialize;

use crate::base::{Error, Result, check_count, check_positive, count};
use crate::evidence::ladder::Descent;
use crate::space::Mirror;

/// How ln Z is estimated along the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// By what trajectories in equilibrium see on every rung of a ladder of transparencies.
    Integration,
    /// By a bridge from a Gaussian law that was fitted to version space, for its volume alone. Its rungs are not
    /// transparencies: it tells nothing but the value.
    Bridge,
}

/// Settings of an evidence run.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvidenceSettings {
    /// Number of trajectories, each down and up the ladder.
    #[serde(deserialize_with = "count")]
    pub n_trajectories: usize,
    /// Standard error of every ln Z to be reached, nats.
    pub tol: f64,
    /// Path per trajectory at which to stop all the same, radians.
    pub max_length: f64,
    /// The mirrors for which ln Z is wanted; hard ones for the volume of version space. A ladder leads to one mirror, or to
    /// several that are alike for both classes.
    pub targets: Vec<Mirror>,
    /// How.
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
    /// Makes sure that a run can have them.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for the first that is out of its range, or does not go with another.
    pub fn check(&self) -> Result<()> {
        self.descent().map(drop)
    }

    /// Checks them, and says which way leads to the targets.
    pub(super) fn descent(&self) -> Result<Descent> {
        check_count("n_trajectories", self.n_trajectories as u64)?;
        check_count("n_threads", self.n_threads as u64)?;
        check_positive("tol", self.tol)?;
        check_positive("max_length", self.max_length)?;
        self.targets.iter().try_for_each(Mirror::check)?;
        if self.method == Method::Bridge && self.targets != [Mirror::HARD] {
            let got = format!("{:?}", self.targets);
            return Err(Error::invalid("targets", got, "hard walls alone for a bridge"));
        }
        Descent::to(&self.targets).ok_or_else(|| {
            let got = format!("{:?}", self.targets);
            Error::invalid("targets", got, "one, or several that are alike for both classes")
        })
    }
}
