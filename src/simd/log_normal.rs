//! Logarithms of the normal distribution function and their derivatives, for many values in vector instructions.

use std::f64::consts::LN_2;

use super::entry::vectorized;
use super::exponential::doubles::{exp, polynomial};

/// The powers of v = 2 u - 1 in M(x) / u, u = 1 / (1 + x / 5), for Mills' ratio M(x) = Φ(-x) / N(x), x ≥ 0, to 1e-12: the
/// polynomial that is right at the nodes of Chebyshev.
const MILLS: [f64; 17] = [
    0.385_616_209_430_631,
    0.333_573_319_040_393_7,
    0.248_309_412_319_603_16,
    0.157_182_214_984_255_66,
    0.082_728_942_916_018_75,
    0.034_650_948_577_455_015,
    0.010_425_103_720_625_656,
    0.001_500_645_370_615_463,
    -0.000_400_012_989_221_628_05,
    -0.000_273_133_742_497_828_47,
    -0.000_029_696_449_505_887_39,
    0.000_024_872_524_186_454_996,
    0.000_008_225_201_992_552_362,
    -0.000_001_909_299_639_384_485,
    -0.000_001_230_486_258_036_227_6,
    0.000_000_111_203_114_690_450_84,
    0.000_000_114_994_102_606_193_77,
];
const FACTOR: f64 = 0.2;

/// Writes ln Φ of each number to `values`, with an error below 1e-12, absolute or relative, and its derivative, the hazard N / Φ, in
/// place of the number.
pub fn ln_normal_cdf_all(numbers: &mut [f64], values: &mut [f64]) {
    vectorized!({
        for (z, value) in numbers.iter_mut().zip(values) {
            let (half, density, ratio) = parts(*z);
            // Φ is N M on the left and 1 - N M on the right.
            let left = *z < 0.0;
            let p = if left { ratio } else { 1.0 - density * ratio };
            *value = ln(p) + if left { half } else { 0.0 };
            *z = if left { 1.0 } else { density } / p;
        }
    });
}

/// Half the width of an interval below which its probability is its width times the mean of the densities at both ends.
const NARROW: f64 = 1e-6;

/// Writes the logarithms of `Φ(a) - Φ(-b)`, and their derivatives in place of a and b.
///
/// These are the distances of a value from the ends of an interval, from inside; a distance may be infinite. Without room, a + b <= 0,
/// the logarithm is minus infinity.
pub fn ln_interval_all([below, above]: [&mut [f64]; 2], values: &mut [f64]) {
    vectorized!({
        for ((a, b), value) in below.iter_mut().zip(above).zip(values) {
            // Φ(x) - Φ(-y) with x <= y, where tails are small: N(y) = e N(x).
            let is_first = *a <= *b;
            let (x, y) = if is_first { (*a, *b) } else { (*b, *a) };
            let (width, empty) = (x + y, x + y <= 0.0);
            let e = if empty { 0.0 } else { exp(-0.5 * width * (y - x)) };
            let (half, density, ratio) = parts(x);
            let (_, _, other) = parts(y);
            // On the left N(x) is a factor.
            let left = x < 0.0;
            let p = if left { ratio - e * other } else { 1.0 - density * (ratio + e * other) };
            let factor = if left { 1.0 } else { density };
            let narrow = 0.5 * width * (1.0 + e) * factor;
            let p = if width < 2.0 * NARROW { narrow } else { p };
            let by_x = if empty { 0.0 } else { factor / p };
            let by_y = by_x * e;
            *value = if empty { f64::NEG_INFINITY } else { ln(p) + if left { half } else { 0.0 } };
            *a = if is_first { by_x } else { by_y };
            *b = if is_first { by_y } else { by_x };
        }
    });
}

/// Replaces ln p by ln(floor + span p), and writes the derivative of the one by the other. Minus infinity stays.
pub fn ln_with_noise_all(values: &mut [f64], shares: &mut [f64], [floors, spans]: [&[f64]; 2]) {
    vectorized!({
        let noise = floors.iter().zip(spans);
        for ((value, share), (floor, span)) in values.iter_mut().zip(shares).zip(noise) {
            let part = span * exp(*value);
            let p = floor + part;
            // Without a floor the logarithm has no least value, unlike p.
            let without = *value + ln(*span);
            *share = if *floor > 0.0 { part / p } else { 1.0 };
            *value = if *floor > 0.0 && *value > f64::NEG_INFINITY { ln(p) } else { without };
        }
    });
}

/// Returns ln N(z), N(z) and M(|z|).
#[inline(always)]
fn parts(z: f64) -> (f64, f64, f64) {
    let half = -0.5 * z * z - HALF_LN_TAU;
    let u = 1.0 / (1.0 + FACTOR * z.abs());
    (half, exp(half), u * polynomial(&MILLS, 2.0 * u - 1.0))
}

const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;

/// The series of 2 artanh(s) / s by powers of s^2.
const LOG: [f64; 10] = {
    let (mut terms, mut n) = ([2.0; 10], 1);
    while n < 10 {
        terms[n] = 2.0 / (2 * n + 1) as f64;
        n += 1;
    }
    terms
};

/// Returns the logarithm of a normal positive number; of NaN, NaN.
#[inline(always)]
fn ln(x: f64) -> f64 {
    // x = 2^k m, with m from sqrt(1/2) to sqrt(2), and ln m = 2 artanh((m - 1) / (m + 1)).
    const LEAST: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const ONE: u64 = 1.0_f64.to_bits();
    const SHIFT: f64 = 4_503_599_627_370_496.0; // 2^52
    let bits = x.to_bits().wrapping_add(ONE - LEAST);
    let k = f64::from_bits((bits >> 52) | SHIFT.to_bits()) - (SHIFT + 1023.0);
    let m = f64::from_bits((bits & ((1 << 52) - 1)) + LEAST);
    let s = (m - 1.0) / (m + 1.0);
    k.mul_add(LN_2, s * polynomial(&LOG, s * s)) + 0.0 * x
}

#[cfg(test)]
#[path = "../../tests/unit/simd/log_normal.rs"]
mod tests;
