//! What a run is told: sizes, ends, walls, refresh, start, threads and seed.

use serde::Deserialize;

use crate::base::{Error, Result, check_count, check_positive, count, some_count};
use crate::space::Mirror;
use crate::trajectory::RefreshChoice;
use crate::trajectory::dynamics::{Motion, Points};

/// Shortest path whose integral, a difference of sines, keeps ten digits.
pub(crate) const SHORTEST_LENGTH: f64 = 1e-6;

/// Most refreshes per radian that may be asked for: more than bounces in the narrowest version space there is, and with more
/// of them a ball gets nowhere.
const HIGHEST_RATE: f64 = 1e9;

/// Which estimate of the center is asked for. Whether that is one of conditional means says the inverse that a run is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Average {
    /// What the motion is best at.
    Auto,
    /// The integral over the path.
    Arc,
    /// The impulses on the walls: the distance of their center from that of the path is then a part of the error.
    Impulse,
    /// The integral of conditional means.
    Conditional,
    /// The midpoints of straight flights.
    Midpoints,
    /// The bouncing points of straight flights.
    Bounces,
}

impl Average {
    /// What a flipper's center is made of.
    pub(crate) fn points(self) -> Points {
        if self == Self::Bounces { Points::Bounces } else { Points::Midpoints }
    }
}

/// Settings of a run. `Default` is four trajectories, 100 draws each, to 0.1 rad.
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
    /// Which estimate of the center is asked for.
    pub average: Average,
    /// The length that pieces, draws and settling are laid out for, where the run may go on for longer: by default `length`.
    /// At the end of it a run with `length` alone goes on as one with `tol` does, with pieces that are joined and draws that
    /// are thinned as the path grows.
    pub first_length: Option<f64>,
    /// Path per trajectory that is discarded first, radians; by default 2π or 5 % of `length` if that is more, and
    /// less where 4000 arrivals at walls come earlier.
    pub burn_in: Option<f64>,
    /// The dynamics; the papers' own have hard walls and no refresh.
    #[serde(rename = "dynamics")]
    pub motion: Motion,
    /// The walls.
    #[serde(rename = "transparency")]
    pub mirror: Mirror,
    /// The refresh.
    pub refresh: RefreshChoice,
    /// Dual coefficients where all trajectories start; by default each is caught by its own light trap.
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
            average: Average::Auto,
            first_length: None,
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
    /// Makes sure that a run can have them.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for the first that is out of its range, or does not go with another.
    pub fn check(&self) -> Result<()> {
        for (name, count) in [
            ("n_trajectories", self.n_trajectories),
            ("n_draws", self.n_draws),
            ("n_threads", self.n_threads),
        ] {
            check_count(name, count as u64)?;
        }
        self.max_bounces.map_or(Ok(()), |count| check_count("max_bounces", count))?;
        if let Some(length) = self.length.filter(|x| !(*x >= SHORTEST_LENGTH && x.is_finite())) {
            return Err(Error::invalid("length", format!("{length:?}"), "in [1e-6, inf)"));
        }
        self.tol.map_or(Ok(()), |tol| check_positive("tol", tol))?;
        if let Some(first) = self.first_length
            && !(first >= SHORTEST_LENGTH && self.length.is_some_and(|length| first <= length))
        {
            return Err(Error::invalid("first_length", first, "at least 1e-6 and at most length"));
        }
        if let RefreshChoice::Pair(Some(rate)) | RefreshChoice::Full(Some(rate)) = self.refresh
            && !(rate > 0.0 && rate <= HIGHEST_RATE)
        {
            return Err(Error::invalid(
                "refresh_rate",
                format!("{rate:?}"),
                "in (0, 1e9], events per radian",
            ));
        }
        if let Some(burn_in) = self.burn_in.filter(|x| !(*x >= 0.0 && x.is_finite())) {
            return Err(Error::invalid("burn_in", burn_in, ">= 0 and finite"));
        }
        self.mirror.check()?;
        self.check_motion()?;
        let ends = [self.length, self.tol, self.weight_tol()];
        if self.max_bounces.is_none() && ends.iter().all(Option::is_none) {
            return Err(Error::invalid(
                "length, max_bounces and tol",
                "none of them",
                "given at least in part: a run needs an end",
            ));
        }
        Ok(())
    }

    /// The share of the next flight in the running center that ends a run.
    pub(crate) fn weight_tol(&self) -> Option<f64> {
        match self.motion {
            Motion::Chord { weight_tol, .. } => weight_tol,
            _ => None,
        }
    }

    /// A number for the motion and the points that its center is made of, for checkpoints.
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
        if opaque && !self.mirror.is_hard() {
            let got = format!("{} and {}", self.mirror.negative, self.mirror.positive);
            return Err(Error::invalid("transparency", got, wanted));
        }
        if self.motion.is_straight() {
            let got = match self.refresh {
                RefreshChoice::Auto | RefreshChoice::None => None,
                RefreshChoice::Pair(_) => Some("'pair'"),
                RefreshChoice::Full(_) => Some("'full'"),
            };
            if let Some(got) = got {
                let wanted =
                    "'auto' or None with dynamics=Chord(...) or Flipper(...), which have none";
                return Err(Error::invalid("refresh", got, wanted));
            }
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
