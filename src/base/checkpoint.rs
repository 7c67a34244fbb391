//! Checkpoints: what it takes to go on with a run with the same bits.
//!
//! A trajectory is stored as it is between two events: nothing is recomputed or rounded on the way, so it does not matter
//! where a run is cut. What follows from the problem and the settings alone (rows, factors, features, what a cache holds)
//! is not stored.

use rand::rngs::ChaCha8Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::base::error::{Error, Result};

/// Version of the encoded bytes, to be raised whenever a struct that is stored changes: other versions are refused.
const VERSION: u64 = 2;

/// What went on in a run that can be continued; see [`crate::resume`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// All but the draws, encoded, with a version and a checksum.
    pub bytes: Vec<u8>,
    /// Draws of the trajectories, one trajectory after the other, row-major (Σ held, m). Of a run that is over those that are
    /// not among the draws of its outcome.
    pub draws: Vec<f64>,
    /// Their functionals, row-major (Σ held, q).
    pub functionals: Vec<f64>,
    /// Draws here of each trajectory, shape (T,).
    pub held: Vec<u64>,
    /// Draws that each trajectory goes on with, shape (T,): here, or here and then in the outcome.
    pub kept: Vec<u64>,
}

/// A state that no run of this problem can have left.
pub(crate) fn incompatible(what: impl std::fmt::Display) -> Error {
    Error::invalid("state", what, "of a run with this problem and these settings")
}

/// The version, the value and a checksum of both.
pub(crate) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    let start = VERSION.to_le_bytes().to_vec();
    let mut bytes = postcard::to_extend(value, start).expect("all lengths are known");
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes
}

/// The value that was encoded. It may be forged: its numbers are still to be checked.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let damaged = || incompatible("one whose bytes are cut short or altered");
    let (body, sum) = bytes.split_last_chunk().ok_or_else(damaged)?;
    if checksum(body) != u64::from_le_bytes(*sum) {
        return Err(damaged());
    }
    let (version, value) = body.split_first_chunk().ok_or_else(damaged)?;
    let version = u64::from_le_bytes(*version);
    if version != VERSION {
        let got = format!("one of version {version}");
        return Err(Error::invalid("state", got, "of version 2, of this engine"));
    }
    match postcard::take_from_bytes(value) {
        Ok((value, [])) => Ok(value),
        Ok(_) => Err(incompatible("one too long")),
        Err(error) => Err(incompatible(format!("one that cannot be read ({error})"))),
    }
}

/// FNV-1a: against accidents, not against forgery.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Makes sure that a decoded state is one that a run can have left.
pub(crate) fn ensure<S: std::fmt::Display>(holds: bool, what: impl FnOnce() -> S) -> Result<()> {
    if holds { Ok(()) } else { Err(incompatible(what())) }
}

/// Makes sure that decoded vectors have n finite numbers each.
pub(crate) fn ensure_vectors(n: usize, vectors: &[&[f64]]) -> Result<()> {
    for vector in vectors {
        ensure(vector.len() == n, || format!("one with {} of {n} numbers", vector.len()))?;
    }
    ensure_finite(vectors)
}

/// Makes sure that decoded numbers are finite.
pub(crate) fn ensure_finite(vectors: &[&[f64]]) -> Result<()> {
    let finite = vectors.iter().copied().flatten().all(|x| x.is_finite());
    ensure(finite, || "one with numbers that are not finite")
}

/// A random generator with the place in its buffer of blocks: the word position alone would not do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RngState(Vec<u8>);

impl RngState {
    pub(crate) fn of(rng: &ChaCha8Rng) -> Self {
        Self(rng.serialize_state().to_vec())
    }

    pub(crate) fn restored(&self) -> Result<ChaCha8Rng> {
        let bytes = self.0.as_slice().try_into();
        let bytes = bytes.map_err(|_| incompatible("one with another random generator"))?;
        Ok(ChaCha8Rng::deserialize_state(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, RngExt, SeedableRng};

    #[test]
    fn generators_go_on_from_every_position() {
        for position in 0..200 {
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            rng.set_stream(5);
            for _ in 0..position {
                rng.next_u32();
            }
            let state: RngState = decode(&encode(&RngState::of(&rng))).expect("a state");
            let mut other = state.restored().expect("a generator");
            let draw = |rng: &mut ChaCha8Rng| -> Vec<u64> {
                (0..100)
                    .map(|k| if k % 3 == 0 { rng.next_u32().into() } else { rng.random() })
                    .collect()
            };
            assert_eq!(draw(&mut rng), draw(&mut other), "after {position} words");
        }
    }

    /// Whatever is cut off, added or changed.
    #[test]
    fn damaged_bytes_are_refused() {
        let bytes = encode(&vec![1.0, 2.0]);
        for k in 0..bytes.len() {
            let mut other = bytes.clone();
            other[k] ^= 1;
            for wrong in [&other, &bytes[..k].to_vec(), &[&bytes[k..], &bytes].concat()] {
                assert!(decode::<Vec<f64>>(wrong).is_err(), "{k}");
            }
        }
        assert!(decode::<Vec<f64>>(&encode(&(1u8, 2u8))).is_err());
        assert!(decode::<u8>(&encode(&(1u8, 2u8))).is_err());
    }
}
