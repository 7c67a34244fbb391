//! The onion: centers of the layers of weight vectors that violate given numbers of examples of either label.

mod exact;
mod layers;
mod pieces;
mod projected;
mod settings;

use ndarray::{Array2, Array3};

use crate::base::{Control, Result};
use crate::ensemble::{WorkerPool, chain};
use crate::papers::check_two_classes;
use crate::space::{VersionSpace, one_dimensional};
use pieces::MOST_BATCHES;

pub use layers::LayerRange;
pub use settings::{OnionMethod, OnionSettings};

/// The outcome of an onion run. Tables of shape (A, B) have layer (a, b) of `range` in row a and column b.
#[derive(Clone, Debug, Default)]
pub struct OnionOutcome {
    /// The layers: at most `max_errors`, and no more than there are examples of the label.
    pub range: LayerRange,
    /// Dual coefficients of the centers, unit length, shape (A, B, m); NaN where there is none.
    pub centers: Array3<f64>,
    /// Length of the mean of the unit weight vectors, shape (A, B); NaN where there is none.
    pub norms: Array2<f64>,
    /// Standard errors of the directions of the centers, radians, shape (A, B); NaN where unknown.
    pub errors: Array2<f64>,
    /// Path in each layer, summed over all trajectories, radians, shape (A, B).
    pub paths: Array2<f64>,
    /// ln of each layer's share of the sphere, shape (A, B), -∞ where it was not found; from the exact onion alone.
    pub log_volumes: Option<Array2<f64>>,
    /// Standard errors of `log_volumes`, nats.
    pub log_volume_errors: Option<Array2<f64>>,
    /// All layers that were found, also beyond the range; empty for the projected onion.
    pub layers: Vec<[u32; 2]>,
    /// ln of the share of the sphere of each of `layers`, -∞ where it was not found: first from all trajectories, then from
    /// all but the first, and so on; shape (1 + T, l), T = 0 for a single trajectory. Empty for the projected onion.
    pub log_shares: Array2<f64>,
    /// Path per trajectory, radians.
    pub length: f64,
    /// Whether every layer found reached the tolerances.
    pub converged: bool,
}

/// Returns the centers of the layers of the onion.
///
/// The same seed gives the same bits for every number of threads.
///
/// [`crate::Error::Invalid`] for settings out of range, [`crate::Error::Infeasible`] for the projected onion if no point of
/// version space is found, [`crate::Error::Breakdown`] if the arithmetic fails, [`crate::Error::Interrupted`].
pub fn onion(
    space: &VersionSpace,
    settings: &OnionSettings,
    control: &Control,
) -> Result<OnionOutcome> {
    settings.check()?;
    check_two_classes(space, "method", "an onion")?;
    let counts = space.class_counts();
    let most = [0, 1].map(|class| settings.max_errors[class].min(counts[class]));
    let range = LayerRange { most };
    one_dimensional::refuse(space.gram())?;
    let pool = WorkerPool::new(settings.n_threads.min(settings.n_trajectories), control)?;
    // The batches of each layer with their plane coordinates, those of two more rounds, their integrals, and the centers.
    let vectors = range.len() * (4 * MOST_BATCHES + 8);
    chain::check_memory(space, settings.n_trajectories, false, &pool)?;
    pool.check_memory(settings.n_trajectories, vectors, space.len())?;
    match settings.method {
        OnionMethod::Exact => exact::onion(space, settings, range, &pool),
        OnionMethod::Projected => projected::onion(space, settings, range, &pool, control),
    }
}
