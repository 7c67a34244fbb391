//! Detection of short cycles: trajectories that hit the same planes in the same order over and over.

use crate::ball::Ball;
use crate::base::{Control, Error, Result};
use crate::gram::Gram;
use crate::linalg::pivoted_cholesky;

/// The longest period looked for, in bounces: on orthogonal planes every orbit closes after 2 m.
const PERIOD: usize = 64;
const PERIOD_PER_PLANE: usize = 4;

/// Bounces required beyond three rounds of a cycle: leaving a narrow wedge can take as many.
const ROUNDS: usize = 3;
const PATIENCE: usize = 2_000;

const CHECK_EVERY: usize = 32;

/// Continues without refresh between hard walls. Returns the bounces after which the sequence of planes repeats, 0 if not.
pub(crate) fn period(mut ball: Ball, gram: &Gram<'_>, control: &Control) -> Result<u64> {
    let longest = PERIOD + PERIOD_PER_PLANE * gram.len();
    let planes = (0..PATIENCE + ROUNDS * longest)
        .map(|bounce| {
            if bounce % CHECK_EVERY == 0 {
                control.check()?;
            }
            Ok(ball.reflect(gram).0)
        })
        .collect::<Result<Vec<_>>>()?;
    let period = smallest_period(&planes);
    Ok(if period <= longest { period as u64 } else { 0 })
}

/// Returns the smallest p with `s[i] = s[i + p]` for all i, from the longest border (Knuth, Morris and Pratt).
fn smallest_period(sequence: &[usize]) -> usize {
    let mut borders = vec![0; sequence.len()];
    for i in 1..sequence.len() {
        let mut border: usize = borders[i - 1];
        while border > 0 && sequence[i] != sequence[border] {
            border = borders[border - 1];
        }
        borders[i] = border + usize::from(sequence[i] == sequence[border]);
    }
    sequence.len() - borders.last().copied().unwrap_or(0)
}

/// Returns whether the feature vectors span two dimensions. Then the only cycle runs to and fro and fills version space.
pub(crate) fn is_all_there_is(gram: &Gram<'_>, control: &Control) -> Result<bool> {
    match pivoted_cholesky::has_rank_above(gram, 2, control) {
        // Allows for a matrix of rank two that was computed in low precision.
        Err(Error::Breakdown { .. }) => Ok(true),
        found => Ok(!found?),
    }
}

#[cfg(test)]
#[path = "../../tests/unit/ensemble/cycle.rs"]
mod tests;
