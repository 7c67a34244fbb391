//! States of runs, from which they continue.
//!
//! A trajectory is stored between two events, without rounding or what follows from the problem and the settings alone.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{Error, Result};
use super::range::require;

/// Version of the encoded bytes. Raise it whenever a stored struct changes; other versions are refused.
const VERSION: u64 = 5;

/// The state of a run that can be continued; see [`crate::sample`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// All but the draws, encoded, with a version and a checksum.
    pub bytes: Vec<u8>,
    /// Draws, one trajectory after the other, row-major (Σ kept, m), after a run without those of its outcome, the last.
    pub draws: Vec<f64>,
    /// Their functionals, row-major (Σ kept, q).
    pub functionals: Vec<f64>,
    /// Number of draws with which each trajectory continues, shape (T,).
    pub kept: Vec<u64>,
}

impl State {
    /// Returns how many draws of each trajectory the outcome of a run holds for its state, with `n_draws` requested.
    pub fn in_outcome(&self, n_draws: usize) -> usize {
        let fewest = self.kept.iter().copied().min().unwrap_or(0);
        usize::try_from(fewest).map_or(n_draws, |fewest| fewest.min(n_draws))
    }
}

/// Returns the error for a state that no run of this problem can have.
pub fn incompatible(what: impl std::fmt::Display) -> Error {
    Error::invalid("state", what, "of a run with this problem and these settings")
}

/// Encodes a value: the version, the value, and a checksum of both.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    let start = VERSION.to_le_bytes().to_vec();
    let mut bytes = postcard::to_extend(value, start).expect("all lengths are known");
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes
}

/// Decodes a value. The bytes may be forged, so the caller must check the numbers.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let damaged = || incompatible("one whose bytes are cut short or altered");
    let (body, sum) = bytes.split_last_chunk().ok_or_else(damaged)?;
    if checksum(body) != u64::from_le_bytes(*sum) {
        return Err(damaged());
    }
    let (version, value) = body.split_first_chunk().ok_or_else(damaged)?;
    let version = u64::from_le_bytes(*version);
    let got = format_args!("one of version {version}");
    require(version == VERSION, "state", got, "of version 5, of this engine")?;
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
pub fn ensure(holds: bool, what: impl std::fmt::Display) -> Result<()> {
    if holds { Ok(()) } else { Err(incompatible(what)) }
}

/// Checks that decoded vectors have n finite numbers each.
pub fn ensure_vectors(n: usize, vectors: &[&[f64]]) -> Result<()> {
    for vector in vectors {
        ensure(vector.len() == n, format_args!("one with {} of {n} numbers", vector.len()))?;
    }
    ensure_finite(vectors)
}

pub fn ensure_finite(vectors: &[&[f64]]) -> Result<()> {
    let finite = vectors.iter().copied().flatten().all(|x| x.is_finite());
    ensure(finite, "one with numbers that are not finite")
}
