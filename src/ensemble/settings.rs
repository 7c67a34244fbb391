//! Settings of a run: sizes, limits, walls, refresh, start, threads and seed.

use serde::Deserialize;

use crate::base::{Result, check_count, check_positive, count, require, some_count};
use crate::space::Mirror;
use crate::trajectory::RefreshChoice;

/// Shortest path in radians: the integral of a shorter one, a difference of sines, has fewer than ten digits.
pub const SHORTEST_LENGTH: f64 = 1e-6;

/// Largest rate of refreshes per radian: above that of bounces in the narrowest version space. With more a ball hardly moves.
const HIGHEST_RATE: f64 = 1e9;

/// Estimate of the center that a run returns. Conditional means need the inverse of the Gram matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Average {
    /// The integral over the path, or that of conditional means where they can be had.
    Auto,
    /// The integral over the path.
    Arc,
    /// The sum of impulses on the walls. Its distance from the integral over the path is a part of the error.
    Impulse,
    /// The integral of conditional means.
    Conditional,
}

/// Settings of a run. The default has four trajectories with 100 draws each and ends at an error of 0.1 rad.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Number of trajectories, each with its own random stream.
    #[serde(deserialize_with = "count")]
    pub n_trajectories: usize,
    /// Draws kept per trajectory.
    #[serde(deserialize_with = "count")]
    pub n_draws: usize,
    /// Path per trajectory, radians; at least 1e-6.
    pub length: Option<f64>,
    /// Arrivals at walls per trajectory.
    #[serde(deserialize_with = "some_count")]
    pub max_bounces: Option<u64>,
    /// Standard error of the center, radians.
    pub tol: Option<f64>,
    /// Time from the beginning of the run, seconds, which ends the run with what there is.
    pub max_time: Option<f64>,
    /// The requested estimate of the center.
    pub average: Average,
    /// Path that is discarded first, radians; by default 2π, or 5 % of a longer `length`, or less, after 4000 arrivals.
    pub burn_in: Option<f64>,
    /// The walls.
    #[serde(rename = "transparency")]
    pub mirror: Mirror,
    /// The refresh.
    pub refresh: RefreshChoice,
    /// Dual coefficients of the point where all trajectories start. By default each searches for a point with a light trap.
    #[serde(skip)]
    pub start: Option<Vec<f64>>,
    /// Worker threads.
    pub n_threads: usize,
    /// Seed; trajectory i takes stream i + 1.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            n_trajectories: 4,
            n_draws: 100,
            length: None,
            max_bounces: None,
            tol: Some(0.1),
            max_time: None,
            average: Average::Auto,
            burn_in: None,
            mirror: Mirror::HARD,
            refresh: RefreshChoice::Auto,
            start: None,
            n_threads: 1,
            seed: 0,
        }
    }
}

impl Settings {
    /// Checks all ranges, of a run that may have an end of its own.
    pub(crate) fn check_ranges(&self) -> Result<()> {
        check_count("n_trajectories", self.n_trajectories as u64)?;
        check_count("n_draws", self.n_draws as u64)?;
        check_count("n_threads", self.n_threads as u64)?;
        self.max_bounces.map_or(Ok(()), |count| check_count("max_bounces", count))?;
        if let Some(length) = self.length {
            let fits = length >= SHORTEST_LENGTH && length.is_finite();
            require(fits, "length", format_args!("{length:?}"), "in [1e-6, inf)")?;
        }
        self.tol.map_or(Ok(()), |tol| check_positive("tol", tol))?;
        self.max_time.map_or(Ok(()), |time| check_positive("max_time", time))?;
        if let RefreshChoice::Pair(Some(rate)) | RefreshChoice::Full(Some(rate)) = self.refresh {
            let (fits, got) = (rate > 0.0 && rate <= HIGHEST_RATE, format_args!("{rate:?}"));
            require(fits, "refresh_rate", got, "in (0, 1e9], events per radian")?;
        }
        if let Some(x) = self.burn_in {
            require(x >= 0.0 && x.is_finite(), "burn_in", x, ">= 0 and finite")?;
        }
        self.mirror.check()
    }

    /// Checks all ranges, and that the run has an end. [`crate::Error::Invalid`] for the first setting that does not fit.
    pub fn check(&self) -> Result<()> {
        self.check_ranges()?;
        let ends = [self.length, self.tol, self.max_time];
        let ends = self.max_bounces.is_some() || ends.iter().any(Option::is_some);
        let names = "length, max_bounces, tol and max_time";
        require(ends, names, "none of them", "given at least in part: a run needs an end")
    }
}
