//! Settings of an onion run.

use crate::base::{Error, Result};

/// How the layers are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnionMethod {
    /// By a half-silvered billiard: uniform in every layer.
    Exact,
    /// By the rays of a hard billiard, followed beyond its walls.
    Projected,
}

/// Settings of an onion run.
#[derive(Clone, Debug)]
pub struct OnionSettings {
    /// Most violated examples of labels -1 and +1.
    pub max_errors: [u32; 2],
    /// How.
    pub method: OnionMethod,
    /// Number of trajectories.
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
    pub(super) fn check(&self) -> Result<()> {
        for (name, count) in
            [("n_trajectories", self.n_trajectories), ("n_threads", self.n_threads)]
        {
            if count == 0 {
                return Err(Error::invalid(name, count, "at least 1"));
            }
        }
        let numbers = [
            ("tol", Some(self.tol)),
            ("volume_tol", self.volume_tol),
            ("max_length", Some(self.max_length)),
        ];
        for (name, x) in numbers {
            if let Some(x) = x.filter(|x| !(*x > 0.0 && x.is_finite())) {
                return Err(Error::invalid(name, x, "positive and finite"));
            }
        }
        if self.volume_tol.is_some() && self.method == OnionMethod::Projected {
            let got = "a number for the projected onion";
            return Err(Error::invalid("volume_tol", got, "None: it tells no volumes"));
        }
        Ok(())
    }
}
