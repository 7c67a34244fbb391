//! Spans of one dimension: version space is a point or empty, and a billiard has nowhere to fly.

use crate::base::{Error, Result};
use crate::gram::Gram;

/// Squared sine of an angle that rounding hides.
const HIDDEN: f64 = 8.0 * f64::EPSILON;

/// True when all feature vectors are parallel (m = 1 included): the sphere of the span is two points.
///
/// Up to the rounding of the arithmetic, and of the entries where they are singles.
pub(crate) fn is_one_dimensional(gram: &Gram<'_>) -> bool {
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
        (product - entry.powi(2)).abs() <= HIDDEN * product + rounding
    })
}

/// Refuses a span of one dimension.
///
/// # Errors
///
/// [`Error::Invalid`].
pub(crate) fn refuse(gram: &Gram<'_>) -> Result<()> {
    if is_one_dimensional(gram) {
        let got = "feature vectors that are all parallel";
        let wanted = "of two dimensions or more (with an offset or softness it is)";
        return Err(Error::invalid("gram", got, wanted));
    }
    Ok(())
}
