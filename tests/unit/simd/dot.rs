//! Tests of `simd::dot`.

use proptest::prelude::*;

use crate::simd::dot::{Precision, axpy_all, dot_compensated, dots};

proptest! {
    #[test]
    fn axpy_all_agrees_with_the_plain_sum(
        rows in prop::collection::vec(prop::collection::vec(-1.0..1.0f64, 37), 0..14),
    ) {
        let terms: Vec<(f64, &[f64])> =
            rows.iter().map(|row| (row[0] - 0.3, row.as_slice())).collect();
        let mut sum = vec![0.5; 37];
        axpy_all(&terms, &mut sum);
        for (j, sum) in sum.iter().enumerate() {
            let plain: f64 = terms.iter().map(|(a, row)| a * row[j]).sum();
            prop_assert!((sum - 0.5 - plain).abs() < 1e-13);
        }
    }

    /// Singles must give the bits of doubles with the same values.
    #[test]
    fn dot_agrees_with_the_plain_sum(pairs in prop::collection::vec((-1.0..1.0f32, -1.0..1.0f64), 0..300)) {
        let (singles, b): (Vec<f32>, Vec<f64>) = pairs.into_iter().unzip();
        let a: Vec<f64> = singles.iter().map(|&x| f64::from(x)).collect();
        let plain: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
        for precision in [Precision::Plain, Precision::Compensated] {
            let [product] = dots(&a, [&b], precision);
            prop_assert!((product - plain).abs() < 1e-12);
            let [of_singles] = dots(&singles, [&b], precision);
            prop_assert_eq!(product.to_bits(), of_singles.to_bits());
            let [first, second] = dots(&singles, [&a, &b], precision);
            let [square] = dots(&a, [&a], precision);
            prop_assert_eq!([first.to_bits(), second.to_bits()], [square.to_bits(), product.to_bits()]);
        }
    }

    /// The products cancel except for the last one, so the exact sum is known.
    #[test]
    fn compensated_dot_survives_cancellation(
        pairs in prop::collection::vec((1e3..1e8f64, 1e3..1e8f64), 1..100), last in -1.0..1.0f64
    ) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let minus: Vec<f64> = b.iter().rev().map(|x| -x).collect();
        let a: Vec<f64> = a.iter().chain(a.iter().rev()).copied().chain([last]).collect();
        let b: Vec<f64> = b.iter().chain(&minus).copied().chain([1.0]).collect();
        let sum = dot_compensated(&a, &b);
        prop_assert!((sum - last).abs() <= 1e-12, "{sum} {last}");
    }
}
