//! Random streams: one for each trajectory, all from one seed.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use super::{Result, incompatible};

/// The generator of all random streams.
pub type Stream = ChaCha8Rng;

/// Returns the random stream of trajectory `index`. Stream 0 is left for draws that belong to no trajectory.
pub fn stream(seed: u64, index: usize) -> Stream {
    let mut rng = Stream::seed_from_u64(seed);
    rng.set_stream(index as u64 + 1);
    rng
}

/// Draws a standard normal number.
pub fn normal(rng: &mut (impl Rng + ?Sized)) -> f64 {
    StandardNormal.sample(rng)
}

/// Returns the stored form of a generator, with the position in its buffer of blocks. The word position alone does not suffice.
pub fn state(rng: &Stream) -> Vec<u8> {
    rng.serialize_state().as_slice().to_vec()
}

pub fn restored(state: &[u8]) -> Result<Stream> {
    let state = state.try_into().map_err(|_| incompatible("one of another random generator"))?;
    Ok(Stream::deserialize_state(state))
}
