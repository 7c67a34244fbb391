//! Settings of a run: sizes, limits, dynamics, walls, refresh, start, threads and seed.

use serde::Deserialize;

use crate::base::{Error, Result, check_count, check_positive, count, require, some_count};
use crate::space::Mirror;
use crate::trajectory::RefreshChoice;
use crate::trajectory::dynamics::Motion;

/// Shortest path in radians: the integral of a shorter one, a difference of sines, has fewer than ten digits.
pub(crate) const SHORTEST_LENGTH: f64 = 1e-6;

/// Largest rate of refreshes per radian: above that of bounces in the narrowest version space. With more a ball hardly moves.
const HIGHEST_RATE: f64 = 1e9;

/// Estimate of the center that a run returns. Conditional means need the inverse of the Gram matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Average {
    /// The default of the dynamics.
    Auto,
    /// The integral over the path.
    Arc,
    /// The sum of impulses on the walls. Its distance from the integral over the path is a part of the error.
    Impulse,
    /// The integral of conditional means.
    Conditional,
    /// The midpoints of straight flights.
    Midpoints,
    /// The bouncing points of straight flights.
    Bounces,
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
    /// The dynamics; the papers' own have hard walls and no refresh.
    #[serde(rename = "dynamics")]
    pub motion: Motion,
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
            motion: Motion::Geodesic,
            mirror: Mirror::HARD,
            refresh: RefreshChoice::Auto,
            start: None,
            n_threads: 1,
            seed: 0,
        }
    }
}

impl Settings {
    /// Checks all ranges and combinations. [`Error::Invalid`] for the first setting out of range or that does not fit others.
    pub fn check(&self) -> Result<()> {
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
        self.mirror.check()?;
        self.check_motion()?;
        let ends = [self.length, self.tol, self.max_time, self.weight_tol()];
        let ends = self.max_bounces.is_some() || ends.iter().any(Option::is_some);
        let names = "length, max_bounces, tol and max_time";
        require(ends, names, "none of them", "given at least in part: a run needs an end")
    }

    /// Returns the tolerance on the weight of the next flight in the running center, if the dynamics has one.
    pub(crate) fn weight_tol(&self) -> Option<f64> {
        match self.motion {
            Motion::Chord { weight_tol, .. } => weight_tol,
            _ => None,
        }
    }

    /// Returns a number for the dynamics and the points it averages, for states of runs.
    pub(crate) fn code(&self) -> u64 {
        let flips = matches!(self.motion, Motion::Flipper { .. });
        self.motion.code() + u64::from(flips && self.average == Average::Bounces)
    }

    fn check_motion(&self) -> Result<()> {
        self.motion.check()?;
        let (opaque, wanted) = match self.motion {
            Motion::Geodesic | Motion::Scattered { scatterer: None, .. } => (false, ""),
            Motion::Scattered { .. } => {
                (true, "0 with dynamics=Scattered(...) with a scatterer, which needs opaque walls")
            }
            _ => (true, "0 with dynamics=Chord(...) or Flipper(...), which need opaque walls"),
        };
        let got = format_args!("{} and {}", self.mirror.negative, self.mirror.positive);
        require(!opaque || self.mirror.is_hard(), "transparency", got, wanted)?;
        if matches!(self.motion, Motion::Chord { .. } | Motion::Flipper { .. }) {
            let got = match self.refresh {
                RefreshChoice::Auto | RefreshChoice::None => "",
                RefreshChoice::Pair(_) => "'pair'",
                RefreshChoice::Full(_) => "'full'",
            };
            let wanted = "'auto' or None with dynamics=Chord(...) or Flipper(...), which have none";
            require(got.is_empty(), "refresh", got, wanted)?;
        }
        let wanted = match (self.motion, self.average) {
            (_, Average::Auto | Average::Arc)
            | (Motion::Geodesic, Average::Impulse | Average::Conditional)
            | (Motion::Scattered { .. }, Average::Impulse)
            | (Motion::Chord { .. }, Average::Midpoints)
            | (Motion::Flipper { .. }, Average::Midpoints | Average::Bounces) => return Ok(()),
            (Motion::Geodesic, _) => {
                "one of 'auto', 'arc', 'impulse', 'conditional' with dynamics=Geodesic()"
            }
            (Motion::Scattered { .. }, _) => {
                "one of 'auto', 'arc', 'impulse' with dynamics=Scattered(...)"
            }
            (Motion::Chord { .. }, _) => {
                "one of 'auto', 'midpoints', 'arc' with dynamics=Chord(...)"
            }
            (Motion::Flipper { .. }, _) => {
                "one of 'auto', 'midpoints', 'bounces', 'arc' with dynamics=Flipper(...)"
            }
        };
        Err(Error::invalid("average", format!("'{:?}'", self.average).to_lowercase(), wanted))
    }
}
