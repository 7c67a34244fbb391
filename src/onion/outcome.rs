//! What an onion run finds.

use crate::space::LayerRange;

/// What an onion run found. The n layers are those of `range`, in its order.
#[derive(Clone, Debug)]
pub struct OnionOutcome {
    /// The layers: at most `max_errors`, and no more than there are examples of the label.
    pub range: LayerRange,
    /// Dual coefficients of the centers, unit length, shape (n, m); NaN where there is none.
    pub centers: Vec<f64>,
    /// Length of the mean of the unit weight vectors, shape (n,); NaN where there is none.
    pub norms: Vec<f64>,
    /// Standard errors of the directions of the centers, radians, shape (n,); NaN where unknown.
    pub errors: Vec<f64>,
    /// Path in each layer that was averaged over, all trajectories together, radians, shape (n,).
    pub paths: Vec<f64>,
    /// ln of each layer's share of the sphere, shape (n,), -∞ where it was not seen; empty for the projected onion.
    pub log_volumes: Vec<f64>,
    /// Standard errors thereof, nats.
    pub log_volume_errors: Vec<f64>,
    /// All layers that were seen, also beyond the range; empty for the projected onion.
    pub layers: Vec<[u32; 2]>,
    /// ln of the share of the sphere of each of `layers`, -∞ where it was not seen: first by all trajectories, then by
    /// all but the first, all but the second and so on; shape (1 + T, l), T = 0 for a single trajectory.
    pub log_shares: Vec<f64>,
    /// Path flown per trajectory, radians.
    pub length: f64,
    /// Whether every layer seen reached the tolerances.
    pub converged: bool,
}
