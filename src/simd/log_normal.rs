//! Logarithms of the normal distribution function, and sums of them over many examples.

use std::sync::LazyLock;

use super::special::{hazard_plain, normal};

/// The table covers [-TO, TO]. Beyond it ln Φ is 0 to double precision, or follows from the hazard function.
const TO: f64 = 8.0;
const PER_UNIT: f64 = 64.0;
const NODES: usize = 1_025;
/// Order of the series around a node, at most half a step away: the first omitted term is below 1e-13.
const ORDER: usize = 5;

type Series = [f64; ORDER + 1];

static TABLE: LazyLock<Vec<Series>> =
    LazyLock::new(|| (0..NODES).map(|k| series(k as f64 / PER_UNIT - TO)).collect());

/// Returns the coefficients of the powers of d in ln Φ(z + d), by Leibniz' rule from `h' = -h (z + h)` with h = N / Φ.
fn series(z: f64) -> Series {
    // Coefficients of h and of z + h as series in d.
    let mut h = [0.0; ORDER];
    h[0] = hazard_plain(z);
    let mut terms = [ln_normal_cdf_plain(z); ORDER + 1];
    for n in 0..ORDER {
        if n > 0 {
            let shifted = |k: usize| h[k] + [z, 1.0, 0.0, 0.0, 0.0][k];
            let product: f64 = (0..n).map(|k| h[k] * shifted(n - 1 - k)).sum();
            h[n] = -product / n as f64;
        }
        terms[n + 1] = h[n] / (n + 1) as f64;
    }
    terms
}

/// Returns ln Φ(z) to full precision.
pub(crate) fn ln_normal_cdf_plain(z: f64) -> f64 {
    // Φ = N / h, in logarithms or for the other tail without cancellation.
    if z > 0.0 {
        (-normal(z) / hazard_plain(-z)).ln_1p()
    } else {
        -0.5 * (z * z + std::f64::consts::TAU.ln()) - hazard_plain(z).ln()
    }
}

/// Returns ln Φ(z) with an error below 1e-13: a series around the nearest entry of a table.
pub(crate) fn ln_normal_cdf(z: f64) -> f64 {
    ln_normal_cdf_and_slope(z)[0]
}

/// Returns ln Φ(z) and its derivative, the hazard N(z) / Φ(z), of the same series.
pub(crate) fn ln_normal_cdf_and_slope(z: f64) -> [f64; 2] {
    let place = (z + TO) * PER_UNIT + 0.5;
    if !(0.0..NODES as f64).contains(&place) {
        return if z > TO { [0.0; 2] } else { [ln_normal_cdf_plain(z), hazard_plain(z)] };
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the table")]
    let k = place as usize;
    let d = z - (k as f64 / PER_UNIT - TO);
    let (mut value, mut slope) = (TABLE[k][ORDER], 0.0);
    for term in TABLE[k][..ORDER].iter().rev() {
        slope = slope * d + value;
        value = value * d + term;
    }
    [value, slope]
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn plain_logarithms_agree_with_known_values() {
        // From tables with 15 digits.
        for (z, known) in [
            (1.0, f64::ln(0.841_344_746_068_543)),
            (-10.0, f64::ln(7.619_853_024_160_52e-24)),
            (6.0, -9.865_876_450_376_98e-10),
            (-50.0, -1_254.831_361_139_42),
        ] {
            assert_relative_eq!(ln_normal_cdf_plain(z), known, max_relative = 1e-12);
        }
    }

    #[test]
    fn table_agrees_with_plain_logarithms() {
        for k in -2_000..2_000 {
            let z = 0.005_13 * f64::from(k);
            let plain = ln_normal_cdf_plain(z);
            let [value, slope] = ln_normal_cdf_and_slope(z);
            assert_relative_eq!(value, plain, max_relative = 1e-13, epsilon = 1e-13);
            assert_relative_eq!(slope, hazard_plain(z), max_relative = 1e-10, epsilon = 1e-13);
        }
        assert!(ln_normal_cdf(f64::NAN).is_nan());
        assert!(ln_normal_cdf(-1e200).is_infinite());
    }
}
