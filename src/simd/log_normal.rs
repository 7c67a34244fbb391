//! Logarithms of the normal distribution function and their derivatives, for many values in vector instructions.

use std::f64::consts::{LN_2, PI};
use std::sync::LazyLock;

use pulp::Arch;

use super::exponential::doubles::{exp, polynomial};
use super::special::hazard_plain;

/// Coefficients of a polynomial, and the factor in its argument.
const TERMS: usize = 17;
const FACTOR: f64 = 0.2;

/// The powers of v = 2 u - 1 in M(x) / u, u = 1 / (1 + x / 5), for Mills' ratio M(x) = Φ(-x) / N(x), x ≥ 0, to 1e-12.
static MILLS: LazyLock<[f64; TERMS]> = LazyLock::new(|| {
    // The polynomial that is right at Chebyshev's nodes, as a sum of his polynomials and then of powers.
    let n = TERMS as f64;
    let angles: [f64; TERMS] = std::array::from_fn(|k| PI * (k as f64 + 0.5) / n);
    let ratios = angles.map(|angle| {
        let u = 0.5 + 0.5 * angle.cos();
        1.0 / (u * hazard_plain((1.0 - 1.0 / u) / FACTOR))
    });
    let mut found = [0.0; TERMS];
    let (mut before, mut own) = ([0.0; TERMS], [0.0; TERMS]);
    own[0] = 1.0;
    for j in 0..TERMS {
        let terms =
            angles.iter().zip(ratios).map(|(angle, ratio)| ratio * (j as f64 * angle).cos());
        let weight = terms.sum::<f64>() * if j == 0 { 1.0 } else { 2.0 } / n;
        found.iter_mut().zip(own).for_each(|(found, term)| *found += weight * term);
        let factor = if j == 0 { 1.0 } else { 2.0 };
        let next =
            std::array::from_fn(|k| if k == 0 { 0.0 } else { factor * own[k - 1] } - before[k]);
        (before, own) = (own, next);
    }
    found
});

/// Writes ln Φ of each number to `values`, with an error below 1e-12, absolute or relative, and its derivative, the hazard N / Φ, in
/// place of the number.
pub fn ln_normal_cdf_all(arch: Arch, numbers: &mut [f64], values: &mut [f64]) {
    let mills = *MILLS;
    arch.dispatch(
        #[inline(always)]
        || {
            for (z, value) in numbers.iter_mut().zip(values) {
                let (half, density, ratio) = parts(&mills, *z);
                // Φ is N M on the left and 1 - N M on the right.
                let left = *z < 0.0;
                let p = if left { ratio } else { 1.0 - density * ratio };
                *value = ln(p) + if left { half } else { 0.0 };
                *z = if left { 1.0 } else { density } / p;
            }
        },
    );
}

/// Half the width of an interval below which its probability is its width times the mean of the densities at both ends.
const NARROW: f64 = 1e-6;

/// Writes the logarithms of `Φ(a) - Φ(-b)`, and their derivatives in place of a and b.
///
/// These are the distances of a value from the ends of an interval, from inside; a distance may be infinite. Without room, a + b <= 0,
/// the logarithm is minus infinity.
pub fn ln_interval_all(arch: Arch, [below, above]: [&mut [f64]; 2], values: &mut [f64]) {
    let mills = *MILLS;
    arch.dispatch(
        #[inline(always)]
        || {
            for ((a, b), value) in below.iter_mut().zip(above).zip(values) {
                // Φ(x) - Φ(-y) with x <= y, where tails are small: N(y) = e N(x).
                let is_first = *a <= *b;
                let (x, y) = if is_first { (*a, *b) } else { (*b, *a) };
                let (width, empty) = (x + y, x + y <= 0.0);
                let e = if empty { 0.0 } else { exp(-0.5 * width * (y - x)) };
                let (half, density, ratio) = parts(&mills, x);
                let (_, _, other) = parts(&mills, y);
                // On the left N(x) is a factor.
                let left = x < 0.0;
                let p = if left { ratio - e * other } else { 1.0 - density * (ratio + e * other) };
                let factor = if left { 1.0 } else { density };
                let narrow = 0.5 * width * (1.0 + e) * factor;
                let p = if width < 2.0 * NARROW { narrow } else { p };
                let by_x = if empty { 0.0 } else { factor / p };
                let by_y = by_x * e;
                *value =
                    if empty { f64::NEG_INFINITY } else { ln(p) + if left { half } else { 0.0 } };
                *a = if is_first { by_x } else { by_y };
                *b = if is_first { by_y } else { by_x };
            }
        },
    );
}

/// Replaces ln p by ln(floor + span p), and writes the derivative of the one by the other. Minus infinity stays.
pub fn ln_with_noise_all(
    arch: Arch,
    values: &mut [f64],
    shares: &mut [f64],
    [floors, spans]: [&[f64]; 2],
) {
    arch.dispatch(
        #[inline(always)]
        || {
            let noise = floors.iter().zip(spans);
            for ((value, share), (floor, span)) in values.iter_mut().zip(shares).zip(noise) {
                let part = span * exp(*value);
                let p = floor + part;
                // Without a floor the logarithm has no least value, unlike p.
                let without = *value + ln(*span);
                *share = if *floor > 0.0 { part / p } else { 1.0 };
                *value = if *floor > 0.0 && *value > f64::NEG_INFINITY { ln(p) } else { without };
            }
        },
    );
}

/// Returns ln N(z), N(z) and M(|z|).
#[inline(always)]
fn parts(mills: &[f64; TERMS], z: f64) -> (f64, f64, f64) {
    let half = -0.5 * z * z - HALF_LN_TAU;
    let u = 1.0 / (1.0 + FACTOR * z.abs());
    (half, exp(half), u * polynomial(mills, 2.0 * u - 1.0))
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
