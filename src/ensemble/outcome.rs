//! The outcome of a run.

use ndarray::Array3;
use serde::Serialize;

use crate::base::State;
use crate::interior::Start;
use crate::trajectory::Tally;

/// The limit that ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The path length was reached.
    Length,
    /// The dynamics reached an end of its own.
    Ended,
    /// A trajectory reached the number of arrivals at walls.
    MaxBounces,
    /// The estimated error of the center fell to the tolerance, and the draws agree and suffice.
    Tol,
    /// The time was over.
    MaxTime,
}

/// The outcome of a run. Shapes: m examples, T trajectories. With walls m stands for their coordinates.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The center of mass.
    pub center: CenterOfMass,
    /// Dual coefficients of unit weight vectors at equal spacing along the paths, shape (T, n, m), at most as requested.
    pub draws: Array3<f64>,
    /// Indices of the planes watched, shape (q,).
    pub watched: Vec<usize>,
    /// Plane coordinates of the draws at the watched planes, relative to the feature vector's length, shape (T, n, q).
    pub functionals: Array3<f64>,
    /// Path between draws, radians; 0 where they are independent of one another.
    pub spacing: f64,
    /// Kinds of the starting points, shape (T,).
    pub starts: Vec<Start>,
    /// The paths averaged over and their events, shape (T,).
    pub tallies: Vec<Tally>,
    /// Share of the bounces of the other trajectories at planes that this one never hit, shape (T,).
    pub missed: Vec<f64>,
    /// Bounces per plane, or at all walls of a coordinate, shape (m,).
    pub hits: Vec<u64>,
    /// Time average of the number of violated planes.
    pub mean_violations: f64,
    /// Largest drift found at a re-projection, relative to the length of the feature vector.
    pub drift: f64,
    /// The refresh used: "pair", "full" or "none".
    pub refresh: &'static str,
    /// Refreshes per radian.
    pub refresh_rate: f64,
    /// Whether full refreshes leave out the direction that softness gives to an example.
    pub loses_softness: bool,
    /// Length of the burn-in, which was discarded, radians, mean over the trajectories.
    pub burn_in: f64,
    /// Why the run ended.
    pub stop_reason: StopReason,
    /// The state from which the run can be continued.
    pub state: State,
}

/// Estimates of the center of mass: dual coefficients of unit vectors, shape (m,).
#[derive(Clone, Debug)]
pub struct CenterOfMass {
    /// From the exact arc integral.
    pub dual: Vec<f64>,
    /// Length of the mean of the unit weight vectors, in (0, 1].
    pub norm: f64,
    /// Standard error of the direction of `dual`, radians; of `impulse` for [`crate::Average::Impulse`].
    pub error: f64,
    /// From the impulses on the walls: signed like the labels, zero for planes never hit.
    pub impulse: Vec<f64>,
}

impl Outcome {
    /// Path averaged over, radians, mean over the trajectories.
    pub fn length(&self) -> f64 {
        let paths = self.tallies.iter().map(|tally| tally.path);
        paths.sum::<f64>() / self.tallies.len() as f64
    }
}
