//! Random streams: one for each trajectory, all from one seed.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// Returns the random stream of trajectory `index`. Stream 0 is left for draws that belong to no trajectory.
pub(crate) fn stream(seed: u64, index: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(index as u64 + 1);
    rng
}
