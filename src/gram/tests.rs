//! Compares every source of rows with the definition of the kernel.

use std::sync::Arc;

use super::*;
use proptest::prelude::*;

/// The kernel by its definition.
fn plain(kernel: Kernel, factor: f64, x: &[f64], y: &[f64]) -> f64 {
    let product: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
    let square: f64 = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum();
    factor
        * match kernel {
            Kernel::Linear => product,
            Kernel::Rbf { sigma } => (-square / (2.0 * sigma * sigma)).exp(),
            Kernel::Polynomial { degree, coef0 } => {
                (product + coef0).powi(i32::try_from(degree).expect("small"))
            }
        }
}

fn kernel() -> impl Strategy<Value = Kernel> {
    prop_oneof![
        Just(Kernel::Linear),
        (0.3..5.0f64).prop_map(|sigma| Kernel::Rbf { sigma }),
        (1u32..5, 0.0..2.0f64).prop_map(|(degree, coef0)| Kernel::Polynomial { degree, coef0 }),
    ]
}

/// Points, one of them twice, and their dimension.
fn points() -> impl Strategy<Value = (Vec<f64>, usize)> {
    (1usize..12, 1usize..100).prop_flat_map(|(d, m)| {
        (prop::collection::vec(-2.0..2.0f64, m * d), any::<prop::sample::Index>()).prop_map(
            move |(mut x, twice)| {
                let i = twice.index(m);
                let point = x[i * d..(i + 1) * d].to_vec();
                x.extend(point);
                (x, d)
            },
        )
    })
}

fn rows(x: &[f64], d: usize, kernel: Kernel, factor: f64, cached: usize) -> KernelRows {
    KernelRows::new(x, x.len() / d, kernel, factor, cached).expect("good inputs")
}

proptest! {
    /// Equal to the definition up to rounding; symmetric, and with the same bits as single entry and in a row.
    #[test]
    fn computed_rows_are_those_of_the_kernel(
        (x, d) in points(), kernel in kernel(), factor in 0.5..2.0f64, cached in 1usize..5,
    ) {
        let m = x.len() / d;
        let source = rows(&x, d, kernel, factor, cached);
        let point = |i: usize| &x[i * d..(i + 1) * d];
        let matrix: Vec<Vec<f64>> = (0..m).map(|i| source.row(i).to_vec()).collect();
        for i in 0..m {
            for j in 0..m {
                let exact = plain(kernel, factor, point(i), point(j));
                // The terms of an inner product may cancel; powers magnify the rounding error.
                let scale = plain(kernel, factor, point(i), point(i))
                    .max(plain(kernel, factor, point(j), point(j)))
                    .max(factor);
                prop_assert!((matrix[i][j] - exact).abs() <= 1e-12 * scale.max(1.0), "{i} {j}");
                prop_assert_eq!(matrix[i][j].to_bits(), matrix[j][i].to_bits());
                prop_assert_eq!(matrix[i][j].to_bits(), source.entry(i, j).to_bits());
            }
        }
        if let Kernel::Rbf { .. } = kernel {
            prop_assert!((matrix[0][0] - factor).abs() <= 0.0);
            prop_assert!((matrix[m - 1].iter().copied().fold(0.0, f64::max) - factor).abs() <= 0.0);
        }
        let chosen: Vec<usize> = (0..m).step_by(3).collect();
        let part = source.submatrix(&chosen);
        for (k, &i) in chosen.iter().enumerate() {
            let own: Vec<f64> = chosen.iter().map(|&j| matrix[i][j]).collect();
            prop_assert_eq!(part.row(k).to_vec(), own);
        }
    }

    /// `K c` has the same bits as with the matrix in memory; for a linear kernel it agrees up to rounding.
    #[test]
    fn products_agree_with_those_of_the_matrix(
        (x, d) in points(), kernel in kernel(), cached in 1usize..5, offset in prop_oneof![Just(0.0), Just(1.0)],
    ) {
        let m = x.len() / d;
        let source = Arc::new(rows(&x, d, kernel, 1.0, cached));
        let matrix: Vec<f64> = (0..m).flat_map(|i| source.row(i).to_vec()).collect();
        let softness: Vec<f64> = (0..m).map(|i| 0.5 + 0.1 * (i % 3) as f64).collect();
        let dense = Gram::new(&matrix, offset, softness.clone()).expect("symmetric");
        let computed = Gram::computed(source, offset, softness).expect("positive");
        let duals: [Vec<f64>; 2] =
            [(0..m).map(|i| (i as f64).sin()).collect(), (0..m).map(|i| (i as f64).cos()).collect()];
        for precision in [Precision::Plain, Precision::Compensated] {
            let [a, b] = [&dense, &computed].map(|gram| {
                let (mut first, mut second) = (vec![0.0; m], vec![0.0; m]);
                gram.multiply(&[&duals[0], &duals[1]], &mut [&mut first, &mut second], precision, &Control::new())
                    .expect("not interrupted");
                [first, second].concat()
            });
            for (a, b) in a.iter().zip(&b) {
                if kernel == Kernel::Linear {
                    prop_assert!((a - b).abs() <= 1e-10, "{a} {b}");
                } else {
                    prop_assert_eq!(a.to_bits(), b.to_bits());
                }
            }
        }
        for i in 0..m {
            prop_assert_eq!(dense.shifted_row(i), computed.shifted_row(i));
            prop_assert_eq!(dense.diagonal(i).to_bits(), computed.diagonal(i).to_bits());
        }
    }

    /// A matrix of singles gives the same results as a matrix of doubles with the same values.
    #[test]
    fn singles_give_what_doubles_of_the_same_values_give(
        (x, d) in points(), kernel in kernel(), offset in prop_oneof![Just(0.0), Just(1.0)],
    ) {
        let m = x.len() / d;
        let source = rows(&x, d, kernel, 1.0, 1);
        #[allow(clippy::cast_possible_truncation, reason = "a matrix of singles")]
        let singles: Vec<f32> =
            (0..m).flat_map(|i| source.row(i).to_vec()).map(|x| x as f32).collect();
        let doubles: Vec<f64> = singles.iter().map(|&x| f64::from(x)).collect();
        let narrow = Gram::new(&singles, offset, vec![0.5; m]).expect("symmetric");
        let wide = Gram::new(&doubles, offset, vec![0.5; m]).expect("symmetric");
        let dual: Vec<f64> = (0..m).map(|i| (i as f64).sin()).collect();
        let [a, b] = [&narrow, &wide].map(|gram| {
            let mut f = vec![0.0; m];
            gram.multiply(&[&dual], &mut [&mut f], Precision::Compensated, &Control::new()).expect("not interrupted");
            gram.add_row(m / 2, 0.3, &mut f);
            f
        });
        prop_assert_eq!(a, b);
        for i in 0..m {
            prop_assert_eq!(narrow.shifted_row(i), wide.shifted_row(i));
            prop_assert_eq!(narrow.entry(i, 0).to_bits(), wide.entry(i, 0).to_bits());
        }
        let chosen: Vec<usize> = (0..m).step_by(2).collect();
        prop_assert_eq!(narrow.submatrix(&chosen).shifted_row(0), wide.submatrix(&chosen).shifted_row(0));
    }

    /// Parallel feature vectors of any length and sign have nearly the same key.
    #[test]
    fn keys_of_parallel_vectors_are_close(
        x in prop::collection::vec(-2.0..2.0f64, 1..20), scale in 0.01..100.0f64, sign in any::<bool>(),
    ) {
        prop_assume!(x.iter().any(|x| x.abs() > 1e-3));
        let factor = if sign { scale } else { -scale };
        let both: Vec<f64> = x.iter().copied().chain(x.iter().map(|x| factor * x)).collect();
        let keys = rows(&both, x.len(), Kernel::Linear, 2.0, 1).keys(0.0).expect("linear");
        prop_assert!((keys[0] - keys[1]).abs() <= 1e-14);
        let same: Vec<f64> = x.iter().chain(&x).copied().collect();
        for kernel in [Kernel::Linear, Kernel::Rbf { sigma: 0.1 }, Kernel::Polynomial { degree: 2, coef0: 1.0 }] {
            let keys = rows(&same, x.len(), kernel, 2.0, 1).keys(1.0).expect("computed");
            prop_assert!((keys[0] - keys[1]).abs() <= 0.0);
        }
    }
}

#[test]
fn inputs_are_checked() {
    let name = |result: Result<KernelRows>| match result {
        Err(Error::Invalid { name, .. }) => name,
        other => panic!("{other:?}"),
    };
    let rbf = |sigma| Kernel::Rbf { sigma };
    let polynomial = |degree, coef0| Kernel::Polynomial { degree, coef0 };
    let x = [1.0, 2.0, 3.0, 4.0];
    assert_eq!(name(KernelRows::new(&[], 0, Kernel::Linear, 1.0, 1)), "inputs");
    assert_eq!(name(KernelRows::new(&[], 2, Kernel::Linear, 1.0, 1)), "inputs");
    assert_eq!(name(KernelRows::new(&x, 3, Kernel::Linear, 1.0, 1)), "inputs");
    assert_eq!(name(KernelRows::new(&[1.0, f64::NAN], 2, Kernel::Linear, 1.0, 1)), "inputs");
    assert_eq!(name(KernelRows::new(&[1e200, -1e200], 2, rbf(1.0), 1.0, 1)), "inputs");
    assert_eq!(name(KernelRows::new(&x, 2, Kernel::Linear, 0.0, 1)), "factor");
    assert_eq!(name(KernelRows::new(&x, 2, Kernel::Linear, 1.0, 0)), "cached");
    assert_eq!(name(KernelRows::new(&x, 2, rbf(0.0), 1.0, 1)), "sigma");
    assert_eq!(name(KernelRows::new(&x, 2, polynomial(0, 1.0), 1.0, 1)), "degree");
    assert_eq!(name(KernelRows::new(&x, 2, polynomial(2, -1.0), 1.0, 1)), "coef0");
    let rows = || Arc::new(rows(&x, 2, Kernel::Linear, 1.0, 1));
    assert!(matches!(Gram::computed(rows(), 0.0, vec![0.0; 3]), Err(Error::Invalid { .. })));
    assert!(matches!(Gram::computed(rows(), -1.0, vec![0.0; 2]), Err(Error::Invalid { .. })));
    // A feature vector of length zero.
    let zero = Arc::new(KernelRows::new(&[1.0, 0.0], 2, Kernel::Linear, 1.0, 1).expect("finite"));
    assert!(matches!(Gram::computed(zero, 0.0, vec![0.0; 2]), Err(Error::Invalid { .. })));
}
