//! Compares a matrix of singles with one of doubles.

use proptest::prelude::*;

use crate::base::Control;
use crate::gram::Gram;
use crate::simd::Precision;

/// Inner products of points, one of which is there twice.
fn products() -> impl Strategy<Value = Vec<f64>> {
    (1usize..12, 1usize..100).prop_flat_map(|(d, m)| {
        (prop::collection::vec(-2.0..2.0f64, m * d), any::<prop::sample::Index>()).prop_map(
            move |(mut x, twice)| {
                let i = twice.index(m);
                let point = x[i * d..(i + 1) * d].to_vec();
                x.extend(point);
                let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                x.chunks(d).flat_map(|a| x.chunks(d).map(move |b| inner(a, b))).collect()
            },
        )
    })
}

proptest! {
    /// A matrix of singles gives the same results as a matrix of doubles with the same values.
    #[test]
    fn singles_give_what_doubles_of_the_same_values_give(
        matrix in products(), offset in prop_oneof![Just(0.0), Just(1.0)],
    ) {
        let m = matrix.len().isqrt();
        #[allow(clippy::cast_possible_truncation, reason = "a matrix of singles")]
        let singles: Vec<f32> = matrix.iter().map(|&x| x as f32).collect();
        let doubles: Vec<f64> = singles.iter().map(|&x| f64::from(x)).collect();
        let narrow = Gram::new(&singles, offset, vec![0.5; m]).expect("symmetric");
        let wide = Gram::new(&doubles, offset, vec![0.5; m]).expect("symmetric");
        let dual: Vec<f64> = (0..m).map(|i| (i as f64).sin()).collect();
        let [a, b] = [&narrow, &wide].map(|gram| {
            let product = gram.product(&dual, Precision::Compensated, &Control::new());
            let mut f = product.expect("not interrupted");
            gram.add_rows(&[(0.3, m / 2)], &mut f);
            f
        });
        prop_assert_eq!(a, b);
        for i in 0..m {
            prop_assert_eq!(narrow.shifted_row(i), wide.shifted_row(i));
            prop_assert_eq!(narrow.entry(i, 0).to_bits(), wide.entry(i, 0).to_bits());
        }
        let chosen: Vec<usize> = (0..m).step_by(2).collect();
        let part = wide.submatrix(&chosen);
        prop_assert_eq!(narrow.submatrix(&chosen).shifted_row(0), part.shifted_row(0));
        for (k, &i) in chosen.iter().enumerate() {
            let own: Vec<f64> = chosen.iter().map(|&j| wide.entry(i, j)).collect();
            prop_assert_eq!(part.shifted_row(k), own);
        }
    }
}
