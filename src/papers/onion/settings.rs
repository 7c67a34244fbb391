//! Settings of an onion run.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use crate::base::{Error, Result, check_count, check_positive, count};

/// Largest `max_errors`; the size of a table might overflow beyond it.
const MOST_ERRORS: u32 = 1_000_000;
const ERRORS: &str = "at least 0 and at most 1000000";

/// How the layers are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnionMethod {
    /// By a half-silvered billiard, whose distribution is uniform in every layer.
    Exact,
    /// By the rays of a hard billiard, followed beyond its walls.
    Projected,
}

/// Settings of an onion run.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OnionSettings {
    /// Largest numbers of violated examples of labels -1 and +1; at most 1 000 000.
    #[serde(deserialize_with = "most_errors")]
    pub max_errors: [u32; 2],
    /// The method.
    pub method: OnionMethod,
    /// Number of trajectories.
    #[serde(deserialize_with = "count")]
    pub n_trajectories: usize,
    /// Standard error that the center of every layer found is to reach, radians.
    pub tol: f64,
    /// Standard error that ln of the volume of every layer found is to reach, nats; for the exact onion alone.
    pub volume_tol: Option<f64>,
    /// Largest path per trajectory, radians.
    pub max_length: f64,
    /// Worker threads.
    pub n_threads: usize,
    /// Seed.
    pub seed: u64,
}

/// Reads counts as `i64`, so that those out of range have an error of their own.
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
    /// Checks that all settings are in range. [`Error::Invalid`] for the first that is out of range or conflicts with another.
    pub fn check(&self) -> Result<()> {
        if let Some(most) = self.max_errors.iter().find(|most| **most > MOST_ERRORS) {
            return Err(Error::invalid("max_errors", most, ERRORS));
        }
        check_count("n_trajectories", self.n_trajectories as u64)?;
        check_count("n_threads", self.n_threads as u64)?;
        check_positive("tol", self.tol)?;
        check_positive("max_length", self.max_length)?;
        if let Some(tol) = self.volume_tol {
            check_positive("volume_tol", tol)?;
            if self.method == OnionMethod::Projected {
                let wanted = "None with method='projected', which gives no volumes";
                return Err(Error::invalid("volume_tol", "a number", wanted));
            }
        }
        Ok(())
    }
}
