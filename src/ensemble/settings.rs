//! What a run is told: sizes, ends, walls, refresh, start, threads and seed.

use crate::base::{Error, Result};
use crate::space::Mirror;
use crate::trajectory::RefreshChoice;
use crate::trajectory::dynamics::{Motion, Radius};

/// Shortest path whose integral, a difference of sines, keeps ten digits.
pub(crate) const SHORTEST_LENGTH: f64 = 1e-6;

/// Most refreshes per radian that may be asked for: more than bounces in the narrowest version space there is, and with more
/// of them a ball gets nowhere.
const HIGHEST_RATE: f64 = 1e9;

/// Settings of a run. `Default` is four trajectories, 100 draws each, to 0.1 rad.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of trajectories, each with its own random stream.
    pub n_trajectories: usize,
    /// Draws kept per trajectory.
    pub n_draws: usize,
    /// Path per trajectory, radians; at least 1e-6.
    pub length: Option<f64>,
    /// Arrivals at walls per trajectory.
    pub max_bounces: Option<u64>,
    /// Standard error of the center, radians.
    pub tol: Option<f64>,
    /// Whether the center asked for is that of the impulses on the walls: its distance from that of the path is then a part of
    /// the error.
    pub by_impulses: bool,
    /// The length that pieces, draws and settling are laid out for, where the run may go on for longer: by default `length`.
    /// At the end of it a run with `length` alone goes on as one with `tol` does, with pieces that are joined and draws that
    /// are thinned as the path grows.
    pub first_length: Option<f64>,
    /// Path per trajectory that is discarded first, radians; by default 2π or 5 % of `length` if that is more, and
    /// less where 4000 arrivals at walls come earlier.
    pub settle: Option<f64>,
    /// The dynamics; the papers' own have hard walls and no refresh.
    pub motion: Motion,
    /// The walls.
    pub mirror: Mirror,
    /// The refresh.
    pub refresh: RefreshChoice,
    /// Dual coefficients where all trajectories start; by default each is caught by its own light trap.
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
            by_impulses: false,
            first_length: None,
            settle: None,
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
    pub(crate) fn check(&self) -> Result<()> {
        let positive = |name: &'static str, value: Option<f64>| match value {
            Some(x) if !(x > 0.0 && x.is_finite()) => {
                Err(Error::invalid(name, x, "positive and finite"))
            }
            _ => Ok(()),
        };
        for (name, count) in [
            ("n_trajectories", self.n_trajectories),
            ("n_draws", self.n_draws),
            ("n_threads", self.n_threads),
        ] {
            if count == 0 {
                return Err(Error::invalid(name, count, "at least 1"));
            }
        }
        if self.max_bounces == Some(0) {
            return Err(Error::invalid("max_bounces", 0, "at least 1"));
        }
        positive("length", self.length)?;
        if let Some(length) = self.length.filter(|x| *x < SHORTEST_LENGTH) {
            return Err(Error::invalid("length", length, "at least 1e-6"));
        }
        positive("tol", self.tol)?;
        positive("first_length", self.first_length)?;
        if let Some(first) = self.first_length
            && self.length.is_none_or(|length| first > length || first < SHORTEST_LENGTH)
        {
            return Err(Error::invalid("first_length", first, "at least 1e-6 and at most length"));
        }
        if let RefreshChoice::Pair(rate) | RefreshChoice::Full(rate) = self.refresh {
            positive("refresh_rate", rate)?;
            if let Some(rate) = rate.filter(|x| *x > HIGHEST_RATE) {
                return Err(Error::invalid("refresh_rate", rate, "at most 1e9 per radian"));
            }
        }
        if let Some(settle) = self.settle.filter(|x| !(*x >= 0.0 && x.is_finite())) {
            return Err(Error::invalid("settle", settle, ">= 0 and finite"));
        }
        self.check_motion()?;
        let ends = [self.length, self.tol, self.weight_tol()];
        if self.max_bounces.is_none() && ends.iter().all(Option::is_none) {
            return Err(Error::invalid(
                "length, max_bounces and tol",
                "none of them",
                "given at least in part: a run needs an end",
            ));
        }
        Mirror::new(self.mirror.negative, self.mirror.positive).map(|_| ())
    }

    /// The share of the next flight in the running center that ends a run.
    pub(crate) fn weight_tol(&self) -> Option<f64> {
        match self.motion {
            Motion::Chord { weight_tol, .. } => weight_tol,
            _ => None,
        }
    }

    fn check_motion(&self) -> Result<()> {
        if let Motion::Scattered { scatterer: Some(radius), .. } = self.motion {
            if let Radius::Given(x) = radius
                && !(x > 0.0 && x.is_finite())
            {
                return Err(Error::invalid("scatterer", x, "positive and finite"));
            }
            if !self.mirror.is_hard() {
                let got = format!("{} and {}", self.mirror.negative, self.mirror.positive);
                return Err(Error::invalid("transparency", got, "0 with a scatterer"));
            }
        }
        let (Motion::Chord { tau_max, .. } | Motion::Flipper { tau_max, .. }) = self.motion else {
            return Ok(());
        };
        if self.by_impulses {
            return Err(Error::invalid("by_impulses", true, "false for a straight flight"));
        }
        if tau_max.is_nan() || tau_max <= 0.0 {
            return Err(Error::invalid("tau_max", tau_max, "positive"));
        }
        if let Some(tol) = self.weight_tol().filter(|x| !(*x > 0.0 && *x < 1.0)) {
            return Err(Error::invalid("weight_tol", tol, "in (0, 1)"));
        }
        if !self.mirror.is_hard() {
            let got = format!("{} and {}", self.mirror.negative, self.mirror.positive);
            return Err(Error::invalid("transparency", got, "0 for a straight flight"));
        }
        if !matches!(self.refresh, RefreshChoice::Auto | RefreshChoice::None) {
            let got = "a refresh";
            return Err(Error::invalid("refresh", got, "none for a straight flight"));
        }
        Ok(())
    }
}
