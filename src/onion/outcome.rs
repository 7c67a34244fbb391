//! What an onion run finds.

use ndarray::{Array2, Array3};

use crate::space::LayerRange;

/// What an onion run found. Layer (a, b) of `range` has a of A rows and b of B columns.
#[derive(Clone, Debug)]
pub struct OnionOutcome {
    /// The layers: at most `max_errors`, and no more than there are examples of the label.
    pub range: LayerRange,
    /// Dual coefficients of the centers, unit length, shape (A, B, m); NaN where there is none.
    pub centers: Array3<f64>,
    /// Length of the mean of the unit weight vectors, shape (A, B); NaN where there is none.
    pub norms: Array2<f64>,
    /// Standard errors of the directions of the centers, radians, shape (A, B); NaN where unknown.
    pub errors: Array2<f64>,
    /// Path in each layer that was averaged over, all trajectories together, radians, shape (A, B).
    pub paths: Array2<f64>,
    /// ln of each layer's share of the sphere, shape (A, B), -∞ where it was not seen; the exact onion alone tells it.
    pub log_volumes: Option<Array2<f64>>,
    /// Standard errors thereof, nats.
    pub log_volume_errors: Option<Array2<f64>>,
    /// All layers that were seen, also beyond the range; empty for the projected onion.
    pub layers: Vec<[u32; 2]>,
    /// ln of the share of the sphere of each of `layers`, -∞ where it was not seen: first by all trajectories, then by
    /// all but the first, all but the second and so on; shape (1 + T, l), T = 0 for a single trajectory. Without rows for the
    /// projected onion.
    pub log_shares: Array2<f64>,
    /// Path flown per trajectory, radians.
    pub length: f64,
    /// Whether every layer seen reached the tolerances.
    pub converged: bool,
}
