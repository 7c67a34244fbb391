//! An exponential that the compiler can vectorize.

/// `e^x` for x ≤ 0, to within two units in the last place, and exactly 1 at 0. Returns 0 below x = -707, and NaN for NaN.
///
/// There are no branches or calls, so loops over it are vectorized. Products and sums are rounded separately (no fused
/// multiply-add), so every instruction set gives the same bits.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the loop that calls it must be vectorized")]
pub(super) fn exp_of_negative(x: f64) -> f64 {
    /// 1.5 · 2^52: adding it rounds to an integer and leaves that in the low bits.
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    /// ln 2 in two parts. The product of the first with an integer below 2^11 is exact.
    const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    /// 1 / k! from k = 13 down to 0; the next term is below 4e-18 for arguments up to ½ ln 2.
    const TERMS: [f64; 14] = [
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    let shifted = x * std::f64::consts::LOG2_E + ROUNDER;
    let n = shifted - ROUNDER;
    let rest = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let mut sum = TERMS[0];
    let mut k = 1;
    while k < TERMS.len() {
        sum = sum * rest + TERMS[k];
        k += 1;
    }
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    if x < -707.0 { 0.0 } else { sum * power }
}

#[cfg(test)]
mod tests {
    use super::exp_of_negative;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn agrees_with_the_library(x in prop_oneof![-707.0..0.0f64, -1.0..0.0f64, -1e-9..0.0f64]) {
            let exact = x.exp();
            prop_assert!((exp_of_negative(x) - exact).abs() <= 2.0 * f64::EPSILON * exact, "{x}");
        }
    }

    #[test]
    fn at_the_ends() {
        assert_eq!(exp_of_negative(0.0).to_bits(), 1f64.to_bits());
        assert_eq!(exp_of_negative(-0.0).to_bits(), 1f64.to_bits());
        assert!(exp_of_negative(-707.5).abs() <= 0.0);
        assert!(exp_of_negative(-1e300).abs() <= 0.0);
        assert!(exp_of_negative(f64::NEG_INFINITY).abs() <= 0.0);
        assert!(exp_of_negative(f64::NAN).is_nan());
    }
}
