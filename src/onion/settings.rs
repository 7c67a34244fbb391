//! Settings of an onion run.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use crate::base::{Error, Result, check_count, check_positive, count};

/// Most violated examples of a label that may be asked for: beyond it the size of a table overflows.
const MOST_ERRORS: u32 = 1_000_000;
const ERRORS: &str = "at least 0 and at most 1000000";

/// How the layers are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnionMethod {
    /// By a half-silvered billiard: uniform in every layer.
    Exact,
    /// By the rays of a hard billiard, followed beyond its walls.
    Projected,
}

/// Settings of an onion run.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OnionSettings {
    /// Most violated examples of labels -1 and +1; at most 1 000 000.
    #[serde(deserialize_with = "most_errors")]
    pub max_errors: [u32; 2],
    /// How.
    pub method: OnionMethod,
    /// Number of trajectories.
    #[serde(deserialize_with = "count")]
    pub n_trajectories: usize,
    /// Standard error to be reached by the center of every layer seen, radians.
    pub tol: f64,
    /// Standard error to be reached by ln of the volume of every layer seen, nats; the exact onion alone tells volumes.
    pub volume_tol: Option<f64>,
    /// Path per trajectory at which to stop all the same, radians.
    pub max_length: f64,
    /// Worker threads.
    pub n_threads: usize,
    /// Seed.
    pub seed: u64,
}

/// Reads counts that may be out of range.
fn most_errors<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<[u32; 2], D::Error> {
    let [negative, positive] = <[i64; 2]>::deserialize(deserializer)?;
    let most = |number: i64| {
        u32::try_from(number)
            .map_err(|_| D::Error::custom(format!("must be {ERRORS}; got {number}")))
    };
    Ok([most(negative)?, most(positive)?])
}

impl Default for OnionSettings {
    fn default() -> Self {
        Self {
            max_errors: [5, 5],
            method: OnionMethod::Exact,
            n_trajectories: 4,
            tol: 0.1,
            volume_tol: None,
            max_length: 1e5,
            n_threads: 1,
            seed: 0,
        }
    }
}

impl OnionSettings {
    /// Makes sure that a run can have them.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for the first that is out of its range, or does not go with another.
    pub fn check(&self) -> Result<()> {
        if let Some(most) = self.max_errors.iter().find(|most| **most > MOST_ERRORS) {
            return Err(Error::invalid("max_errors", most, ERRORS));
        }
        check_count("n_trajectories", self.n_trajectories as u64)?;
        check_count("n_threads", self.n_threads as u64)?;
        check_positive("tol", self.tol)?;
        self.volume_tol.map_or(Ok(()), |tol| check_positive("volume_tol", tol))?;
        check_positive("max_length", self.max_length)?;
        if self.volume_tol.is_some() && self.method == OnionMethod::Projected {
            let got = "a number";
            let wanted = "None with method='projected', which tells no volumes";
            return Err(Error::invalid("volume_tol", got, wanted));
        }
        Ok(())
    }
}
