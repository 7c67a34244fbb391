//! Checkpoints: states from which a run continues with the same bits.
//!
//! A trajectory is stored between two events, without recomputation or rounding, so a run can be cut anywhere. Everything that
//! follows from the problem and the settings alone (rows, factors, features, caches) is left out.

use rand::rngs::ChaCha8Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::base::error::{Error, Result};

/// Version of the encoded bytes. Raise it whenever a stored struct changes; other versions are refused.
const VERSION: u64 = 2;

/// The state of a run that can be continued; see [`crate::resume`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// All but the draws, encoded, with a version and a checksum.
    pub bytes: Vec<u8>,
    /// Draws of the trajectories, one trajectory after the other, row-major (Σ held, m). The state of a finished run leaves out
    /// the draws of its outcome.
    pub draws: Vec<f64>,
    /// Their functionals, row-major (Σ held, q).
    pub functionals: Vec<f64>,
    /// Number of draws of each trajectory in `draws`, shape (T,).
    pub held: Vec<u64>,
    /// Number of draws with which each trajectory continues, shape (T,): those in `draws`, then those of the outcome.
    pub kept: Vec<u64>,
}

/// Returns the error for a state that no run of this problem can have.
pub(crate) fn incompatible(what: impl std::fmt::Display) -> Error {
    Error::invalid("state", what, "of a run with this problem and these settings")
}

/// Encodes a value: the version, the value, and a checksum of both.
pub(crate) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    let start = VERSION.to_le_bytes().to_vec();
    let mut bytes = postcard::to_extend(value, start).expect("all lengths are known");
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes
}

/// Decodes a value. The bytes may be forged, so the caller must check the numbers.
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

/// FNV-1a hash. It detects accidental damage, not forgery.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns an error unless a condition on a decoded state holds.
pub(crate) fn ensure<S: std::fmt::Display>(holds: bool, what: impl FnOnce() -> S) -> Result<()> {
    if holds { Ok(()) } else { Err(incompatible(what())) }
}

/// Checks that decoded vectors have n finite numbers each.
pub(crate) fn ensure_vectors(n: usize, vectors: &[&[f64]]) -> Result<()> {
    for vector in vectors {
        ensure(vector.len() == n, || format!("one with {} of {n} numbers", vector.len()))?;
    }
    ensure_finite(vectors)
}

/// Checks that decoded numbers are finite.
pub(crate) fn ensure_finite(vectors: &[&[f64]]) -> Result<()> {
    let finite = vectors.iter().copied().flatten().all(|x| x.is_finite());
    ensure(finite, || "one with numbers that are not finite")
}

/// The state of a random generator, with the position in its buffer of blocks. The word position alone does not suffice.
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

    /// Bytes that are cut, extended or changed are refused.
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
