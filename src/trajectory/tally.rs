//! Goals and counters of the event loop.

use serde::{Deserialize, Serialize};

use crate::base::{Result, ensure, ensure_finite, ensure_vectors};

/// End of a run of the event loop: the first of several limits.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// Path since the last reset, radians.
    pub path: f64,
    /// Arrivals at walls since the last reset, bounces and crossings.
    pub arrivals: u64,
    /// Condition on the violated planes that ends the run at once.
    pub until: Until,
}

/// Conditions that end a run early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// None.
    Never,
    /// No plane is violated.
    Satisfied,
    /// No plane with a hard wall is violated: the ball can no longer leave.
    Caught,
    /// The dynamics has reached an end of its own.
    Ended,
}

impl Goal {
    /// Returns a goal of a path length alone.
    pub fn path(path: f64) -> Self {
        Self::either(path, u64::MAX)
    }

    /// Returns a goal of a path length or a number of arrivals at walls.
    pub fn either(path: f64, arrivals: u64) -> Self {
        Self { path, arrivals, until: Until::Never }
    }
}

/// Counters of a trajectory since the last reset.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Path, radians.
    pub path: f64,
    /// Reflections.
    pub bounces: u64,
    /// Walls passed through.
    pub crossings: u64,
    /// Refreshes.
    pub refreshes: u64,
    /// ∫ (number of violated planes) dt.
    pub violations: f64,
    /// Bounces per plane, shape (m,).
    pub hits: Vec<u64>,
    /// Accumulated impulses, shape (m,): by the momentum identity the dual coefficients of `∫ b dt` up to the jumps
    /// of refreshes and a term at most 2 long. Signed like the labels, zero for planes never hit.
    pub impulses: Vec<f64>,
    /// Largest drift found at a re-projection.
    pub drift: f64,
}

impl Tally {
    pub(crate) fn new(m: usize) -> Self {
        Self { hits: vec![0; m], impulses: vec![0.0; m], ..Self::default() }
    }

    /// Checks a restored tally against the number m of examples.
    pub(crate) fn check(&self, m: usize) -> Result<()> {
        let sums = [self.path, self.violations, self.drift];
        ensure_finite(&[&sums])?;
        ensure(sums.iter().all(|sum| *sum >= 0.0), "one with a path below 0")?;
        ensure(self.hits.len() == m, "one with hits of other examples")?;
        ensure_vectors(m, &[&self.impulses])?;
        // Sums of larger ones would overflow.
        let counts = [self.bounces, self.crossings, self.refreshes];
        let small = counts.iter().chain(&self.hits).all(|count| *count >> 48 == 0);
        ensure(small, "one with counts that are out of range")
    }

    /// Returns the number of bounces and crossings.
    pub fn arrivals(&self) -> u64 {
        self.bounces + self.crossings
    }
}
