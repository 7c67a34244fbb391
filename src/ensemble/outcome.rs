//! What a run found.

use crate::base::State;
use crate::interior::Start;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The path length was reached.
    Length,
    /// The share of the next flight in a running center fell to the tolerance.
    WeightTol,
    /// A trajectory reached the number of arrivals at walls.
    MaxBounces,
    /// The estimated error of the center fell to the tolerance.
    Tol,
}

impl StopReason {
    /// "length", "`weight_tol`", "`max_bounces`" or "tol".
    pub fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::WeightTol => "weight_tol",
            Self::MaxBounces => "max_bounces",
            Self::Tol => "tol",
        }
    }
}

/// What a run found. Arrays are row-major; m examples, T trajectories.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Dual coefficients of the center of mass from the exact arc integral, unit length, shape (m,).
    pub center: Vec<f64>,
    /// Length of the mean of the unit weight vectors, in (0, 1].
    pub center_norm: f64,
    /// The center of mass as the dynamics keeps it in its own way, if it does: dual coefficients, unit length, shape (m,);
    /// all zero when no flight ended.
    pub running_center: Option<Vec<f64>>,
    /// Dual coefficients of the center of mass from the impulses on the walls, unit length, shape (m,): signed like the
    /// labels, zero for planes never hit; all zero when nothing was hit. NaN where balls are launched anew, which breaks
    /// the identity of momenta.
    pub impulse_center: Vec<f64>,
    /// Standard error of the direction of `center`, radians; of `impulse_center` for [`crate::Settings::by_impulses`].
    pub center_error: f64,
    /// Dual coefficients of unit weight vectors at equal spacing along the path, shape (T, n, m).
    pub draws: Vec<f64>,
    /// Draws per trajectory n, at most the number asked for.
    pub n_draws: usize,
    /// Path between them, radians; 0 where draws are independent of one another.
    pub spacing: f64,
    /// Indices of the planes watched, shape (q,).
    pub watched: Vec<usize>,
    /// Plane coordinates of the draws at the watched planes, relative to the feature vector's length, shape (T, n, q).
    pub functionals: Vec<f64>,
    /// Bounces per trajectory, shape (T,).
    pub bounces: Vec<u64>,
    /// Walls passed through per trajectory, shape (T,).
    pub crossings: Vec<u64>,
    /// Refreshes per trajectory, shape (T,).
    pub refreshes: Vec<u64>,
    /// Flights without an end per trajectory, shape (T,): each is followed by a new launch.
    pub escapes: Vec<u64>,
    /// Reflections off the scatterer in mid-air per trajectory, shape (T,).
    pub scatterings: Vec<u64>,
    /// Radius of the scatterer, radians, if there is one.
    pub scatterer: Option<f64>,
    /// Path averaged over per trajectory, radians, shape (T,).
    pub lengths: Vec<f64>,
    /// Path discarded before, radians, mean over the trajectories.
    pub settled: f64,
    /// Bounces after which a trajectory without refresh meets the same planes in the same order, for ever as far as can be
    /// seen, shape (T,); 0 where it does not, and in two dimensions, where this fills version space.
    pub cycles: Vec<u64>,
    /// Share of the bounces of the other trajectories at planes that this one never hit, shape (T,).
    pub missed: Vec<f64>,
    /// Bounces per plane, shape (m,).
    pub hits: Vec<u64>,
    /// Time average of the number of violated planes.
    pub mean_violations: f64,
    /// Why the run ended.
    pub stop_reason: StopReason,
    /// The refresh used.
    pub refresh: &'static str,
    /// Its rate, events per radian.
    pub refresh_rate: f64,
    /// True where fresh directions leave out what softness gives to an example.
    pub loses_softness: bool,
    /// Largest drift found at a re-projection, relative to the length of the feature vector.
    pub drift: f64,
    /// Where each trajectory started, shape (T,).
    pub start: Vec<Start>,
    /// What it takes to go on; none of a one-dimensional span, where nothing flies.
    pub state: Option<State>,
}
