//! What it takes to go on with a run with the same bits, as streams of numbers.
//!
//! A trajectory is stored as it is between two events: nothing is recomputed or rounded on the way, so it does not matter
//! where a run is cut. What follows from the problem and the settings alone (rows, factors, features, what a cache holds)
//! is not stored.

use rand::rngs::ChaCha8Rng;

use crate::base::error::{Error, Result};

/// Version of the streams: another one is refused.
const VERSION: u64 = 1;

/// What went on in a run that can be continued; see [`crate::resume`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Whole numbers, in an order of their own.
    pub words: Vec<u64>,
    /// Real numbers, likewise.
    pub numbers: Vec<f64>,
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

/// Writes the streams.
#[derive(Clone, Debug, Default)]
pub struct Saver {
    pub(crate) words: Vec<u64>,
    pub(crate) numbers: Vec<f64>,
}

impl Saver {
    /// The start of a state.
    pub(crate) fn begin() -> Self {
        Self { words: vec![VERSION], numbers: Vec::new() }
    }

    pub(crate) fn word(&mut self, word: u64) {
        self.words.push(word);
    }

    pub(crate) fn count(&mut self, count: usize) {
        self.words.push(count as u64);
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.words.push(u64::from(flag));
    }

    pub(crate) fn number(&mut self, number: f64) {
        self.numbers.push(number);
    }

    /// Numbers whose count follows from the problem.
    pub(crate) fn all(&mut self, numbers: &[f64]) {
        self.numbers.extend_from_slice(numbers);
    }

    pub(crate) fn rng(&mut self, rng: &ChaCha8Rng) {
        for bytes in rng.serialize_state().chunks(8) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.words.push(u64::from_le_bytes(word));
        }
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.words.extend_from_slice(&other.words);
        self.numbers.extend_from_slice(&other.numbers);
    }
}

/// Reads the streams, and takes nothing for granted.
#[derive(Debug)]
pub struct Loader<'a> {
    words: &'a [u64],
    numbers: &'a [f64],
}

/// A state that no run of this problem can have left.
pub(crate) fn incompatible(what: impl std::fmt::Display) -> Error {
    Error::invalid("state", what, "of a run with this problem and these settings")
}

impl<'a> Loader<'a> {
    pub(crate) fn begin(state: &'a State) -> Result<Self> {
        let mut loader = Self { words: &state.words, numbers: &state.numbers };
        let version = loader.word()?;
        if version != VERSION {
            let got = format!("one of version {version}");
            return Err(Error::invalid("state", got, "of version 1, of this engine"));
        }
        Ok(loader)
    }

    pub(crate) fn word(&mut self) -> Result<u64> {
        let (&first, rest) =
            self.words.split_first().ok_or_else(|| incompatible("one too short"))?;
        self.words = rest;
        Ok(first)
    }

    /// A count or an index of at most `most`.
    pub(crate) fn count(&mut self, most: usize) -> Result<usize> {
        let word = self.word()?;
        usize::try_from(word)
            .ok()
            .filter(|count| *count <= most)
            .ok_or_else(|| incompatible(format!("one with {word} of {most} at most")))
    }

    /// An index below `n`.
    pub(crate) fn index(&mut self, n: usize) -> Result<usize> {
        let most = n.checked_sub(1).ok_or_else(|| incompatible("one with an index of nothing"))?;
        self.count(most)
    }

    pub(crate) fn flag(&mut self) -> Result<bool> {
        Ok(self.count(1)? == 1)
    }

    pub(crate) fn number(&mut self) -> Result<f64> {
        Ok(self.all(1)?[0])
    }

    /// `n` numbers, none of them NaN.
    pub(crate) fn all(&mut self, n: usize) -> Result<Vec<f64>> {
        if n > self.numbers.len() {
            return Err(incompatible("one too short"));
        }
        let (first, rest) = self.numbers.split_at(n);
        self.numbers = rest;
        if first.iter().any(|x| x.is_nan()) {
            return Err(incompatible("one with NaN"));
        }
        Ok(first.to_vec())
    }

    /// `n` finite numbers.
    pub(crate) fn finite(&mut self, n: usize) -> Result<Vec<f64>> {
        let numbers = self.all(n)?;
        if numbers.iter().any(|x| x.is_infinite()) {
            return Err(incompatible("one with infinite numbers"));
        }
        Ok(numbers)
    }

    pub(crate) fn rng(&mut self) -> Result<ChaCha8Rng> {
        let mut bytes = [0; 49];
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.word()?.to_le_bytes()[..part.len()]);
        }
        Ok(ChaCha8Rng::deserialize_state(&bytes))
    }

    pub(crate) fn end(self) -> Result<()> {
        if self.words.is_empty() && self.numbers.is_empty() {
            Ok(())
        } else {
            Err(incompatible("one too long"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, RngExt, SeedableRng};

    /// The word position alone would not do: a generator may stand anywhere in its buffer of blocks.
    #[test]
    fn generators_go_on_from_every_position() {
        for position in 0..200 {
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            rng.set_stream(5);
            for _ in 0..position {
                rng.next_u32();
            }
            let mut saver = Saver::begin();
            saver.rng(&rng);
            let state = State { words: saver.words, ..State::default() };
            let mut loader = Loader::begin(&state).expect("a state");
            let mut other = loader.rng().expect("a generator");
            loader.end().expect("nothing is left");
            let draw = |rng: &mut ChaCha8Rng| -> Vec<u64> {
                (0..100)
                    .map(|k| if k % 3 == 0 { rng.next_u32().into() } else { rng.random() })
                    .collect()
            };
            assert_eq!(draw(&mut rng), draw(&mut other), "after {position} words");
        }
    }
}
