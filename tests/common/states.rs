//! Helpers for the tests of states of finished runs.

use bayespoint::{Outcome, State};

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
