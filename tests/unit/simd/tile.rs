//! Tests of `simd::tile`.

use std::array;

use proptest::prelude::*;

use crate::simd::tile::{add_multiples, products};

proptest! {
    #[test]
    fn agree_with_plain_sums(
        values in prop::collection::vec([-1.0..1.0f64, -1.0..1.0, -1.0..1.0, -1.0..1.0], 0..70),
    ) {
        let n = values.len();
        let rows: [Vec<f64>; 4] = array::from_fn(|r| values.iter().map(|x| x[r]).collect());
        let vectors: [Vec<f64>; 4] =
            array::from_fn(|v| rows[v].iter().enumerate().map(|(i, x)| x + i as f64).collect());
        let dots = products([rows[0].as_slice(), &rows[1]],
            vectors.each_ref().map(Vec::as_slice),
        );
        for r in 0..2 {
            for v in 0..4 {
                let plain: f64 = rows[r].iter().zip(&vectors[v]).map(|(a, b)| a * b).sum();
                prop_assert!((dots[r][v] - plain).abs() < 1e-10);
            }
        }
        let mut sums = vectors.clone();
        let factors: [[f64; 4]; 4] = array::from_fn(|v| array::from_fn(|r| (v * 4 + r) as f64 - 7.0));
        let columns = rows.each_ref().map(Vec::as_slice);
        add_multiples(columns, factors, sums.each_mut().map(Vec::as_mut_slice));
        for v in 0..4 {
            for i in 0..n {
                let plain: f64 = (0..4).map(|r| factors[v][r] * rows[r][i]).sum();
                prop_assert!((sums[v][i] - vectors[v][i] - plain).abs() < 1e-10);
            }
        }
    }
}
