//! The one-dimensional span: version space is a point, and there is nothing to fly through.

use crate::gram::Gram;
use crate::space::version_space::VersionSpace;

/// Squared sine of an angle that rounding hides.
const HIDDEN: f64 = 8.0 * f64::EPSILON;

/// True when all feature vectors are parallel (m = 1 included): the sphere of the span is two points.
pub(crate) fn is_one_dimensional(gram: &Gram<'_>) -> bool {
    is_parallel(gram, HIDDEN)
}

/// Whether all feature vectors are parallel to the first, to so large a squared sine, or to the rounding of entries to singles.
fn is_parallel(gram: &Gram<'_>, squared_sine: f64) -> bool {
    let first = gram.diagonal(0);
    (1..gram.len()).all(|i| {
        let (entry, own) = (gram.entry(0, i), gram.diagonal(i));
        let product = first * own;
        let rounding = if gram.is_single() {
            // Offset and softness are added to what was rounded.
            let [a, b] =
                [(0, first), (i, own)].map(|(i, k)| k - gram.offset() - gram.softness()[i]);
            let cross = entry.abs() * (entry - gram.offset()).abs();
            f64::from(f32::EPSILON) * (cross + 0.5 * (first * b + own * a))
        } else {
            0.0
        };
        (product - entry.powi(2)).abs() <= squared_sine * product + rounding
    })
}

/// Largest margin of labels that no point of the line satisfies. None where the matrix says so exactly; sums with softness or
/// an offset may hide what the matrix says.
pub(crate) fn margin_bound(gram: &Gram<'_>) -> f64 {
    let is_sum = gram.offset() != 0.0 || gram.softness().iter().any(|&softness| softness > 0.0);
    if !is_sum && !gram.is_single() && is_parallel(gram, 0.0) {
        return 0.0;
    }
    let hidden = if gram.is_single() { 2.0 * f64::from(f32::EPSILON) } else { HIDDEN };
    // Of two vectors that pull both ways, the point between them is half their angle from the origin, at the most.
    0.5 * hidden.sqrt()
}

/// Two examples that pull the only axis both ways, in the proportion that cancels.
pub(crate) fn certificate(space: &VersionSpace<'_>, field: &[f64]) -> Vec<f64> {
    let mut a = vec![0.0; field.len()];
    let towards =
        |positive: bool| (0..field.len()).find(|&i| (space.sign(i) * field[i] > 0.0) == positive);
    if let (Some(i), Some(j)) = (towards(true), towards(false)) {
        let (x, y) = (field[i].abs(), field[j].abs());
        a[i] = y / (x + y);
        a[j] = x / (x + y);
    }
    a
}

/// Examples of labels -1 and +1 that the points +φ_0 and -φ_0 violate.
pub(crate) fn violated(space: &VersionSpace<'_>, field: &[f64]) -> [[u32; 2]; 2] {
    let mut violated = [[0; 2]; 2];
    for (i, f) in field.iter().enumerate() {
        let against = usize::from(space.sign(i) * f > 0.0);
        violated[against][usize::from(space.sign(i) > 0.0)] += 1;
    }
    violated
}
