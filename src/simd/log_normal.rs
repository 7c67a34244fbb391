//! Logarithms of the normal distribution function and their derivatives, for many values in vector instructions.

use std::f64::consts::{LN_2, LOG2_E, PI};
use std::sync::LazyLock;

use pulp::Arch;

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

/// Returns ln Φ(z) with an error below 1e-12, absolute or relative.
pub(crate) fn ln_normal_cdf(z: f64) -> f64 {
    ln_normal_cdf_and_slope(z)[0]
}

/// Returns ln Φ(z) and its derivative, the hazard N(z) / Φ(z).
pub(crate) fn ln_normal_cdf_and_slope(z: f64) -> [f64; 2] {
    let (mut slope, mut value) = ([z], [0.0]);
    ln_normal_cdf_all(Arch::new(), &mut slope, &mut value);
    [value[0], slope[0]]
}

/// Writes ln Φ of each number to `values`, and its derivative in place of the number.
pub(crate) fn ln_normal_cdf_all(arch: Arch, numbers: &mut [f64], values: &mut [f64]) {
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

/// Writes ln(floor + span Φ) of each number and its derivative, as [`ln_normal_cdf_all`].
pub(crate) fn ln_noisy_cdf_all(
    arch: Arch,
    numbers: &mut [f64],
    values: &mut [f64],
    floors: &[f64],
    span: f64,
) {
    let mills = *MILLS;
    arch.dispatch(
        #[inline(always)]
        || {
            for ((z, value), floor) in numbers.iter_mut().zip(values).zip(floors) {
                let (_, density, ratio) = parts(&mills, *z);
                let below = density * ratio;
                let p = floor + span * if *z < 0.0 { below } else { 1.0 - below };
                *value = ln(p);
                *z = span * density / p;
            }
        },
    );
}

/// Half the width of an interval below which its probability is that times twice the density.
const NARROW: f64 = 1e-6;

/// Writes ln(floor + span p) of each pair of numbers and its derivatives, as [`ln_normal_cdf_all`].
///
/// If bounded, p is `Φ(c + h) - Φ(c - h)`, else `Φ(c)`. Without room, h ≤ 0, the logarithm is minus infinity.
pub(crate) fn ln_interval_all(
    arch: Arch,
    [places, halves]: [&mut [f64]; 2],
    values: &mut [f64],
    floors: &[f64],
    span: f64,
    bounded: &[bool],
) {
    let mills = *MILLS;
    arch.dispatch(
        #[inline(always)]
        || {
            let pairs = places.iter_mut().zip(halves);
            let given = floors.iter().zip(bounded);
            for (((c, h), value), (floor, &bounded)) in pairs.zip(values).zip(given) {
                // Φ(x) - Φ(y) with x = h - |c| and y = -h - |c|, where tails are small: N(y) = e N(x).
                let size = c.abs();
                let x = if bounded { *h - size } else { *c };
                let empty = bounded && *h <= 0.0;
                let e = if bounded && !empty { exp(-2.0 * *h * size) } else { 0.0 };
                let (half, density, ratio) = parts(&mills, x);
                let (_, _, other) = parts(&mills, *h + size);
                let left = x < 0.0;
                let p = if left { ratio - e * other } else { 1.0 - density * (ratio + e * other) };
                let narrow = 2.0 * *h * if left { 1.0 } else { density };
                let p = if bounded && *h < NARROW { narrow } else { p };
                // Without a floor, N(x) is a factor on the left.
                let relative = left && *floor == 0.0;
                let p = floor + span * if left && !relative { density * p } else { p };
                let density = if relative { 1.0 } else { density };
                let by_x = if empty { 0.0 } else { span * density / p };
                let log_p = ln(p) + if relative { half } else { 0.0 };
                *value = if empty { f64::NEG_INFINITY } else { log_p };
                *c = by_x * if bounded { (e - 1.0).copysign(-*c) } else { 1.0 };
                *h = if bounded { by_x * (1.0 + e) } else { 0.0 };
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

/// Returns the sum of terms times powers of x, from the power 0 on: Horner's rule, for four parts whose operations overlap.
#[inline(always)]
fn polynomial<const N: usize>(terms: &[f64; N], x: f64) -> f64 {
    let (square, mut parts) = (x * x, [0.0; 4]);
    for k in (0..N).rev() {
        parts[k % 4] = (square * square).mul_add(parts[k % 4], terms[k]);
    }
    let [a, b, c, d] = parts;
    x.mul_add(square.mul_add(d, b), square.mul_add(c, a))
}

const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;

/// 1.5 times 2^52: added to a number it rounds to an integer, which is in the last bits of the sum.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Taylor's series of the exponential function, for |x| <= ln(2) / 2.
const EXP: [f64; 13] = {
    let (mut terms, mut n) = ([1.0; 13], 1);
    while n < 13 {
        terms[n] = terms[n - 1] / n as f64;
        n += 1;
    }
    terms
};

/// The series of 2 artanh(s) / s by powers of s^2.
const LOG: [f64; 10] = {
    let (mut terms, mut n) = ([2.0; 10], 1);
    while n < 10 {
        terms[n] = 2.0 / (2 * n + 1) as f64;
        n += 1;
    }
    terms
};

/// Returns the exponential of a number below 1, at least e^-708.
#[inline(always)]
fn exp(x: f64) -> f64 {
    let x = if x > -708.0 { x } else { -708.0 };
    let places = x.mul_add(LOG2_E, ROUND);
    let sum = polynomial(&EXP, (places - ROUND).mul_add(-LN_2, x));
    f64::from_bits(sum.to_bits().wrapping_add(places.to_bits() << 52))
}

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
