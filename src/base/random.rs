//! Random streams: one for each trajectory, all from one seed.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// The random stream of trajectory `index`; stream 0 is for what belongs to none.
pub(crate) fn stream(seed: u64, index: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(index as u64 + 1);
    rng
}
