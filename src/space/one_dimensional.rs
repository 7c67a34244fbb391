//! Spans of one dimension, where version space is a point or empty and no billiard exists.

use crate::base::{Result, require};
use crate::gram::Gram;

/// Squared sine of an angle that is zero up to rounding.
const HIDDEN: f64 = 8.0 * f64::EPSILON;

/// Returns whether all feature vectors are parallel up to rounding, as for m = 1: the unit sphere of the span is two points.
pub fn is_one_dimensional(gram: &Gram) -> bool {
    let first = gram.diagonal(0);
    (1..gram.len()).all(|i| {
        let (entry, own) = (gram.entry(0, i), gram.diagonal(i));
        let product = first * own;
        let rounding = if gram.is_single() {
            // Only the entries without offset and softness were rounded to single precision.
            let [a, b] =
                [(0, first), (i, own)].map(|(i, k)| k - gram.offset() - gram.softness()[i]);
            let cross = entry.abs() * (entry - gram.offset()).abs();
            f64::from(f32::EPSILON) * (cross + 0.5 * (first * b + own * a))
        } else {
            0.0
        };
        (product - entry.powi(2)).abs() <= HIDDEN * product + rounding
    })
}

pub fn refuse(gram: &Gram) -> Result<()> {
    let got = "feature vectors that are all parallel";
    let wanted = "of two dimensions or more (with an offset or softness it is)";
    require(!is_one_dimensional(gram), "gram", got, wanted)
}
