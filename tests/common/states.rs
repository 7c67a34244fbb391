//! Helpers for the tests of states: a linear problem that owns its arrays, and states of finished runs.

use bayespoint::{Gram, Inverse, Outcome, State, VersionSpace};

use super::{dot, inverse};

#[derive(Clone)]
pub struct Owned {
    gram: Vec<f64>,
    labels: Vec<i8>,
    softness: f64,
    /// Columns of the Cholesky factor, and the diagonal of the inverse.
    inverse: Option<(Vec<f64>, Vec<f64>)>,
}

impl Owned {
    /// A problem with features of the given dimension, row-major.
    pub fn new(features: &[f64], dimension: usize, labels: Vec<i8>, softness: f64) -> Self {
        let x: Vec<&[f64]> = features.chunks_exact(dimension).collect();
        let gram = x.iter().flat_map(|a| x.iter().map(|b| dot(a, b))).collect();
        Self { gram, labels, softness, inverse: None }
    }

    /// With the inverse, for conditional means.
    pub fn inverted(mut self) -> Self {
        self.inverse = Some(inverse(&self.gram, self.softness));
        self
    }

    pub fn with<R>(&self, work: impl FnOnce(&VersionSpace<'_>, Option<Inverse<'_>>) -> R) -> R {
        let gram = Gram::new(&self.gram, 0.0, vec![self.softness; self.labels.len()]);
        let space = VersionSpace::new(gram.expect("a matrix"), self.labels.clone());
        let inverse = self
            .inverse
            .as_ref()
            .map(|(columns, diagonal)| Inverse::new(columns, diagonal).expect("an inverse"));
        work(&space.expect("a space"), inverse)
    }
}

/// Returns the state of a finished run, with its draws.
pub fn complete(outcome: &Outcome) -> State {
    let mut state = outcome.state.clone();
    let (_, n, m) = outcome.draws.dim();
    let q = outcome.watched.len();
    let draws = outcome.draws.as_slice().expect("row-major");
    let functionals = outcome.functionals.as_slice().expect("row-major");
    let (older, values) =
        (std::mem::take(&mut state.draws), std::mem::take(&mut state.functionals));
    let own = state.in_outcome(n);
    let mut from = 0;
    for (t, kept) in state.kept.iter().enumerate() {
        let to = from + usize::try_from(*kept).expect("small") - own;
        state.draws.extend(&older[from * m..to * m]);
        state.draws.extend(&draws[t * n * m..][..own * m]);
        state.functionals.extend(&values[from * q..to * q]);
        state.functionals.extend(&functionals[t * n * q..][..own * q]);
        from = to;
    }
    state
}

/// Changes the bytes of a state and recomputes the checksum.
pub fn forge(bytes: &mut Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) {
    bytes.truncate(bytes.len().saturating_sub(8));
    change(bytes);
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    bytes.extend(sum.to_le_bytes());
}

/// Returns the positions in encoded bytes that look like doubles of moderate size.
pub fn doubles(bytes: &[u8]) -> Vec<usize> {
    let middling = |x: f64| (1e-6..1e6).contains(&x.abs());
    (0..bytes.len().saturating_sub(7)).filter(|&at| middling(double(bytes, at))).collect()
}

pub fn double(bytes: &[u8], at: usize) -> f64 {
    f64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"))
}

pub fn set_double(bytes: &mut [u8], at: usize, to: f64) {
    bytes[at..at + 8].copy_from_slice(&to.to_le_bytes());
}
