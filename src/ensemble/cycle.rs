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

/// Bounces between two checks of the stop flag.
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
mod tests {
    use super::{is_all_there_is, smallest_period};
    use crate::base::Control;
    use crate::gram::Gram;

    #[test]
    fn two_dimensions_and_three() {
        let angles: Vec<f64> = (0..40).map(|i| 0.03 * f64::from(i)).collect();
        for height in [0.0, 0.1] {
            let lift = |a: f64| height * (5.0 * a).sin();
            let entry = |a: f64, b: f64| (a - b).cos() + lift(a) * lift(b);
            let doubles: Vec<f64> =
                angles.iter().flat_map(|&a| angles.iter().map(move |&b| entry(a, b))).collect();
            #[allow(clippy::cast_possible_truncation, reason = "a matrix of singles")]
            let singles: Vec<f32> = doubles.iter().map(|&x| x as f32).collect();
            let (one, two) = (
                Gram::new(&doubles, 0.0, vec![0.0; angles.len()]).expect("a matrix"),
                Gram::new(&singles, 0.0, vec![0.0; angles.len()]).expect("a matrix"),
            );
            for gram in [one, two] {
                let found = is_all_there_is(&gram, &Control::new()).expect("room");
                assert_eq!(found, height == 0.0);
            }
        }
    }

    #[test]
    fn smallest_periods() {
        for (sequence, period) in [
            (vec![1, 2, 3, 1, 2, 3, 1], 3),
            (vec![1, 2, 1, 3, 1, 2, 1, 3], 4),
            (vec![1, 1, 1, 1], 1),
            (vec![1, 2, 3, 4], 4),
            (vec![1, 2, 1, 2, 3], 5),
            (vec![], 0),
        ] {
            assert_eq!(smallest_period(&sequence), period, "{sequence:?}");
        }
    }
}
