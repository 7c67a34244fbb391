//! Compares explicit features with their matrix, and a matrix of singles with one of doubles.

use super::*;
use proptest::prelude::*;

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

fn of_features(x: &[f64], d: usize, offset: f64) -> Gram<'static> {
    let softness = (0..x.len() / d).map(|i| 0.5 + 0.1 * (i % 3) as f64).collect();
    Gram::of_features(x, d, offset, softness).expect("good features")
}

fn matrix(gram: &Gram<'_>) -> Vec<f64> {
    (0..gram.len()).flat_map(|i| gram.row(i).to_vec()).collect()
}

/// A factor may be made of a matrix, and not of features, which are there to do without its memory.
#[test]
fn features_are_no_matrix_in_memory() {
    let x = [1.0, 2.0, 3.0, 5.0];
    let features = of_features(&x, 2, 0.0);
    assert!(features.check_in_memory().is_err());
    let matrix = matrix(&features);
    assert!(Gram::new(&matrix, 0.0, vec![0.5; 2]).expect("a matrix").check_in_memory().is_ok());
}

/// They are cosines of the angles with one direction.
#[test]
fn keys_are_at_most_one() {
    let x: Vec<f64> = (0..60).map(|k| f64::from(k * k % 17) - 8.0).collect();
    let keys = of_features(&x, 6, 1.0).keys().expect("those of features");
    assert!(keys.iter().all(|key| (0.0..=1.0 + 1e-12).contains(key)), "{keys:?}");
}

proptest! {
    /// Equal to the definition up to rounding; symmetric, and with the same bits as single entry and in a row.
    #[test]
    fn rows_hold_inner_products((x, d) in points()) {
        let m = x.len() / d;
        let gram = of_features(&x, d, 0.0);
        let point = |i: usize| &x[i * d..(i + 1) * d];
        let matrix: Vec<Vec<f64>> = (0..m).map(|i| gram.row(i).to_vec()).collect();
        for i in 0..m {
            for j in 0..m {
                let exact: f64 = point(i).iter().zip(point(j)).map(|(x, y)| x * y).sum();
                prop_assert!((matrix[i][j] - exact).abs() <= 1e-13 * d as f64, "{i} {j}");
                prop_assert_eq!(matrix[i][j].to_bits(), matrix[j][i].to_bits());
                if i != j {
                    prop_assert_eq!(matrix[i][j].to_bits(), gram.entry(i, j).to_bits());
                }
            }
        }
        let chosen: Vec<usize> = (0..m).step_by(3).collect();
        let part = gram.submatrix(&chosen);
        for (k, &i) in chosen.iter().enumerate() {
            let own: Vec<f64> = chosen.iter().map(|&j| matrix[i][j]).collect();
            prop_assert_eq!(part.row(k).to_vec(), own);
        }
    }

    /// `K c` agrees with the product of the matrix in memory up to rounding; rows have the same bits.
    #[test]
    fn products_agree_with_those_of_the_matrix(
        (x, d) in points(), offset in prop_oneof![Just(0.0), Just(1.0)],
    ) {
        let m = x.len() / d;
        let features = of_features(&x, d, offset);
        let matrix = matrix(&features);
        let dense = Gram::new(&matrix, offset, features.softness().to_vec()).expect("symmetric");
        let duals: [Vec<f64>; 2] =
            [(0..m).map(|i| (i as f64).sin()).collect(), (0..m).map(|i| (i as f64).cos()).collect()];
        for precision in [Precision::Plain, Precision::Compensated] {
            let [a, b] = [&dense, &features].map(|gram| {
                let (mut first, mut second) = (vec![0.0; m], vec![0.0; m]);
                gram.multiply(&[&duals[0], &duals[1]], &mut [&mut first, &mut second], precision, &Control::new())
                    .expect("not interrupted");
                [first, second].concat()
            });
            for (a, b) in a.iter().zip(&b) {
                prop_assert!((a - b).abs() <= 1e-10, "{a} {b}");
            }
        }
        for i in 0..m {
            prop_assert_eq!(dense.shifted_row(i), features.shifted_row(i));
            prop_assert_eq!(dense.diagonal(i).to_bits(), features.diagonal(i).to_bits());
        }
    }

    /// A matrix of singles gives the same results as a matrix of doubles with the same values.
    #[test]
    fn singles_give_what_doubles_of_the_same_values_give(
        (x, d) in points(), offset in prop_oneof![Just(0.0), Just(1.0)],
    ) {
        let m = x.len() / d;
        #[allow(clippy::cast_possible_truncation, reason = "a matrix of singles")]
        let singles: Vec<f32> =
            matrix(&of_features(&x, d, 0.0)).iter().map(|&x| x as f32).collect();
        let doubles: Vec<f64> = singles.iter().map(|&x| f64::from(x)).collect();
        let narrow = Gram::new(&singles, offset, vec![0.5; m]).expect("symmetric");
        let wide = Gram::new(&doubles, offset, vec![0.5; m]).expect("symmetric");
        let dual: Vec<f64> = (0..m).map(|i| (i as f64).sin()).collect();
        let [a, b] = [&narrow, &wide].map(|gram| {
            let mut f = vec![0.0; m];
            gram.multiply(&[&dual], &mut [&mut f], Precision::Compensated, &Control::new()).expect("not interrupted");
            gram.add_rows(&[(0.3, m / 2)], &mut f);
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
        let keys = of_features(&both, x.len(), 0.0).keys().expect("features");
        prop_assert!((keys[0] - keys[1]).abs() <= 1e-14);
        let same: Vec<f64> = x.iter().chain(&x).copied().collect();
        let keys = of_features(&same, x.len(), 1.0).keys().expect("features");
        prop_assert!((keys[0] - keys[1]).abs() <= 0.0);
    }
}

#[test]
fn features_are_checked() {
    let name =
        |features: &[f64], d, offset, m| match Gram::of_features(features, d, offset, vec![0.0; m])
        {
            Err(Error::Invalid { name, .. }) => name,
            other => panic!("{other:?}"),
        };
    let x = [1.0, 2.0, 3.0, 4.0];
    assert_eq!(name(&[], 2, 0.0, 0), "features");
    assert_eq!(name(&[], 0, 0.0, 2), "features");
    assert_eq!(name(&x, 2, 0.0, 3), "features");
    assert_eq!(name(&x, usize::MAX, 0.0, 4), "features");
    assert_eq!(name(&[1.0, f64::NAN], 1, 0.0, 2), "features");
    assert_eq!(name(&x, 2, -1.0, 2), "offset");
    // A feature vector of length zero.
    assert_eq!(name(&[1.0, 0.0], 1, 0.0, 2), "gram");
}
