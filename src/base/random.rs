//! Random streams: one for each trajectory, all from one seed.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use crate::base::{Result, incompatible};

/// Returns the random stream of trajectory `index`. Stream 0 is left for draws that belong to no trajectory.
pub(crate) fn stream(seed: u64, index: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(index as u64 + 1);
    rng
}

/// Returns the stored form of a generator, with the position in its buffer of blocks. The word position alone does not suffice.
pub(crate) fn state(rng: &ChaCha8Rng) -> Vec<u8> {
    rng.serialize_state().as_slice().to_vec()
}

pub(crate) fn restored(state: &[u8]) -> Result<ChaCha8Rng> {
    let state = state.try_into().map_err(|_| incompatible("one of another random generator"))?;
    Ok(ChaCha8Rng::deserialize_state(state))
}

#[cfg(test)]
mod tests {
    use rand::{Rng, RngExt};

    use super::*;

    #[test]
    fn generators_go_on_from_every_position() {
        for position in 0..200 {
            let mut rng = stream(3, 4);
            for _ in 0..position {
                rng.next_u32();
            }
            let mut other = restored(&state(&rng)).expect("a generator");
            let draw = |rng: &mut ChaCha8Rng| -> Vec<u64> {
                (0..100)
                    .map(|k| if k % 3 == 0 { rng.next_u32().into() } else { rng.random() })
                    .collect()
            };
            assert_eq!(draw(&mut rng), draw(&mut other), "after {position} words");
        }
    }
}
