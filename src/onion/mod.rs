//! The onion: centers of the layers of weight vectors that violate given numbers of examples of either label.

mod exact;
mod outcome;
mod pieces;
mod projected;
mod settings;

use crate::base::{Control, Result};
use crate::ensemble::{WorkerPool, chain};
use crate::onion::pieces::MOST_BATCHES;
use crate::space::{LayerRange, VersionSpace, one_dimensional};

pub use outcome::OnionOutcome;
pub use settings::{OnionMethod, OnionSettings};

/// Returns the centers of the layers of the onion.
///
/// The same seed gives the same bits for every number of threads.
///
/// # Errors
///
/// [`crate::Error::Invalid`] for settings out of range, [`crate::Error::Infeasible`] for the projected onion if no point of version
/// space is found, [`crate::Error::Breakdown`] if the arithmetic fails, [`crate::Error::Interrupted`].
pub fn onion(
    space: &VersionSpace<'_>,
    settings: &OnionSettings,
    control: &Control,
) -> Result<OnionOutcome> {
    settings.check()?;
    space.check_two_classes("method", "an onion")?;
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
        OnionMethod::Exact => exact::onion(space, settings, range, &pool, control),
        OnionMethod::Projected => projected::onion(space, settings, range, &pool, control),
    }
}
