//! Tests of `gram::classes`.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::base::{Control, Error};
use crate::gram::{Gram, Joint};
use crate::simd::Precision;
use crate::simd::pass::{self, Kick};
use crate::space::VersionSpace;

fn labels() -> impl Strategy<Value = (Vec<usize>, usize)> {
    (2usize..6, 1usize..14).prop_flat_map(|(n, m)| {
        (prop::collection::vec(0..n, m), any::<bool>()).prop_map(move |(mut y, sorted)| {
            if sorted {
                y.sort_unstable();
            }
            (y, n)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/gram/classes.txt"))),
        ..ProptestConfig::default()
    })]

    /// Rows, entries and products are those of explicit feature vectors e_y ⊗ φ - e_c ⊗ φ.
    #[test]
    fn rows_are_those_of_explicit_vectors(
        (labels, n) in labels(),
        values in prop::collection::vec(-1.0..1.0f64, 14 * 4),
        duals in prop::collection::vec(-1.0..1.0f64, 14 * 5),
        offset in prop_oneof![Just(0.0), Just(1.5)],
        singles in any::<bool>(),
    ) {
        let (m, d) = (labels.len(), 3);
        let point = |i: usize| &values[i * 4..i * 4 + d];
        let softness: Vec<f64> = (0..m).map(|i| 0.3 + values[i * 4 + d].abs()).collect();
        let matrix: Vec<f64> = (0..m * m)
            .map(|k| point(k / m).iter().zip(point(k % m)).map(|(a, b)| a * b).sum())
            .collect();
        #[allow(clippy::cast_possible_truncation, reason = "rounds to singles")]
        let narrow: Vec<f32> = matrix.iter().map(|&x| x as f32).collect();
        let matrix: Vec<f64> =
            if singles { narrow.iter().map(|&x| f64::from(x)).collect() } else { matrix };
        let inner = if singles {
            Gram::new(&narrow, offset, softness.clone())
        } else {
            Gram::new(&matrix, offset, softness.clone())
        };
        let space = VersionSpace::of_classes(inner.expect("a matrix"), &labels, n).expect("planes");
        let gram = space.gram();
        let joint = gram.joint().expect("classes");
        let planes = joint.planes.classes().expect("classes");
        let size = m * (n - 1);
        prop_assert_eq!((gram.len(), planes.examples(), planes.n_classes), (size, m, n));
        prop_assert!(gram.offset() == 0.0 && gram.softness().iter().all(|x| *x == 0.0));
        prop_assert_eq!(gram.is_single(), singles);
        // K with offset and softness, times the inner product of the vectors of classes.
        let dense = |p: usize, q: usize| {
            let ((i, y, c), (j, z, d)) = (planes.of(p), planes.of(q));
            let own = if i == j { softness[i] } else { 0.0 };
            let k = |a: usize, b: usize| f64::from(i32::from(a == b));
            (matrix[i * m + j] + offset + own) * (k(y, z) - k(y, d) - k(c, z) + k(c, d))
        };
        for p in 0..size {
            let (i, y, c) = planes.of(p);
            prop_assert!(y == labels[i] && c != y && c < n && planes.place(p) < m);
            let row = gram.shifted_row(p);
            for q in 0..size {
                prop_assert!((row[q] - dense(p, q)).abs() < 1e-13, "{p} {q}");
                // Zeros may differ in their sign.
                for same in [gram.entry(p, q), gram.entry(q, p)] {
                    prop_assert_eq!(row[q].to_bits(), (same + 0.0).to_bits());
                }
            }
        }
        // The pass by columns is the one over whole rows.
        let mut scratch = Vec::new();
        let rotation = (0.9f64.cos(), 0.9f64.sin());
        let whole_rows: Vec<Vec<f64>> = (0..size).map(|p| gram.row(p).to_vec()).collect();
        for kicks in [&[][..], &[(0, 0.3)], &[(size - 1, 0.3), (size / 2, -0.2)]] {
            let mut own = (duals[..size].to_vec(), duals[14 * 5 - size..].to_vec());
            let mut whole = own.clone();
            let (f, g) = (&mut own.0, &mut own.1);
            let wall = joint.advance((f, g), rotation, kicks, &mut scratch);
            let rows: Vec<Kick<'_>> =
                kicks.iter().map(|&(p, scale)| (scale, &*whole_rows[p])).collect();
            let arch = joint.gram.arch;
            let other = pass::advance(arch, &mut whole.0, &mut whole.1, rotation, &rows, 0.0);
            prop_assert!((wall.angle() - other.angle()).abs() < 1e-7, "{wall:?} {other:?}");
            for i in 0..size {
                prop_assert!((own.0[i] - whole.0[i]).abs() < 1e-13);
                prop_assert!((own.1[i] - whole.1[i]).abs() < 1e-13);
            }
        }
        // The same rows from a matrix in memory that is not copied.
        let apart = Joint::new(joint.gram.clone(), joint.planes.clone());
        apart.sorted.set(None).expect("no row so far");
        for (p, row) in whole_rows.iter().enumerate() {
            prop_assert_eq!(&apart.row(p).to_vec(), row);
        }
        // Products class by class, of all rows or of few.
        let dual = &duals[..size];
        let exact: Vec<f64> =
            (0..size).map(|p| (0..size).map(|q| dense(p, q) * dual[q]).sum()).collect();
        let control = Control::new();
        for precision in [Precision::Plain, Precision::Compensated] {
            let field = gram.product(dual, precision, &control).expect("a product");
            prop_assert!(field.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-12));
        }
        let sum = gram.combination(dual, &control).expect("a product");
        prop_assert_eq!(sum.len(), size);
        prop_assert!(sum.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-12));
        // There and back; what all classes share is taken off.
        let mut classes = planes.class_duals(dual);
        for i in 0..m {
            prop_assert!(classes.iter().map(|class| class[i]).sum::<f64>().abs() < 1e-13);
            classes.iter_mut().for_each(|class| class[i] += 0.7);
        }
        let back = planes.plane_duals(&classes);
        prop_assert!(back.iter().zip(dual).all(|(a, b)| (a - b).abs() < 1e-13));
        let fields = planes.class_fields(&exact);
        prop_assert!((0..m).all(|i| fields.iter().map(|f| f[i]).sum::<f64>().abs() < 1e-12));
        let back = planes.plane_field(&fields);
        prop_assert!(back.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-12));
        // The part of some planes.
        let chosen: Vec<usize> = (0..size).step_by(2).collect();
        let part = gram.submatrix(&chosen);
        for (a, &p) in chosen.iter().enumerate() {
            for (b, &q) in chosen.iter().enumerate() {
                prop_assert!((part.entry(a, b) - gram.entry(p, q)).abs() <= 0.0);
            }
        }
    }
}

#[test]
fn labels_that_do_not_fit_are_errors() {
    let identity = [1.0, 0.0, 0.0, 1.0];
    let gram = || Gram::new(&identity, 0.0, vec![0.0; 2]).expect("a matrix");
    for (labels, n, name) in
        [(&[0, 1, 2][..], 3, "labels"), (&[0, 3], 3, "labels"), (&[0, 0], 1, "n_classes")]
    {
        match VersionSpace::of_classes(gram(), labels, n) {
            Err(Error::Invalid { name: found, .. }) => assert_eq!(found, name),
            other => panic!("{other:?}"),
        }
    }
}
