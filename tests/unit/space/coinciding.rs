//! Tests of `space::coinciding` that need its private parts.

use proptest::prelude::*;

use super::*;

proptest! {
    /// Keys of explicit features and the rows of their matrix give the same roles.
    #[test]
    fn keys_find_coinciding_planes(
        points in prop::collection::vec((-2i32..2, -2i32..2, 1i32..3), 1..100),
        labels in prop::collection::vec(any::<bool>(), 100),
        offset in prop_oneof![Just(0.0), Just(1.0), Just(100.0)],
    ) {
        // Small integers: many vectors are parallel, in the same or the opposite direction, with exact products.
        let x: Vec<f64> = points.iter().flat_map(|p| [p.0, p.1, p.2].map(f64::from)).collect();
        let m = points.len();
        let labels: Vec<i8> = labels[..m].iter().map(|&y| if y { 1 } else { -1 }).collect();
        let entry = |(p, q): (&(i32, i32, i32), &(i32, i32, i32))| {
            f64::from(p.0 * q.0 + p.1 * q.1 + p.2 * q.2)
        };
        let pairs = points.iter().flat_map(|p| points.iter().map(move |q| (p, q)));
        let matrix: Vec<f64> = pairs.map(entry).collect();
        let softness: Vec<f64> = (0..m).map(|i| if i % 7 == 3 { 0.5 } else { 0.0 }).collect();
        let dense = Gram::new(&matrix, offset, softness.clone()).expect("symmetric");
        let features = Gram::of_features(&x, 3, offset, softness).expect("regular");
        prop_assert_eq!(roles(&features, &labels), roles(&dense, &labels));
    }
}
