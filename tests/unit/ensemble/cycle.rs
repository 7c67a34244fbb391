//! Tests of `ensemble::cycle` that need its private parts.

use super::{is_all_there_is, smallest_period};
use crate::base::Control;
use crate::gram::Gram;

#[test]
fn two_dimensions_and_three() {
    let angles: Vec<f64> = (0..40).map(|i| 0.03 * f64::from(i)).collect();
    for height in [0.0, 0.1] {
        let lift = |a: f64| height * (5.0 * a).sin();
        let entry = |a: f64, b: f64| (a - b).cos() + lift(a) * lift(b);
        let doubles: Vec<f64> =
            angles.iter().flat_map(|&a| angles.iter().map(move |&b| entry(a, b))).collect();
        #[allow(clippy::cast_possible_truncation, reason = "a matrix of singles")]
        let singles: Vec<f32> = doubles.iter().map(|&x| x as f32).collect();
        let (one, two) = (
            Gram::new(&doubles, 0.0, vec![0.0; angles.len()]).expect("a matrix"),
            Gram::new(&singles, 0.0, vec![0.0; angles.len()]).expect("a matrix"),
        );
        for gram in [one, two] {
            let found = is_all_there_is(&gram, &Control::new()).expect("room");
            assert_eq!(found, height == 0.0);
        }
    }
}

#[test]
fn smallest_periods() {
    for (sequence, period) in [
        (vec![1, 2, 3, 1, 2, 3, 1], 3),
        (vec![1, 2, 1, 3, 1, 2, 1, 3], 4),
        (vec![1, 1, 1, 1], 1),
        (vec![1, 2, 3, 4], 4),
        (vec![1, 2, 1, 2, 3], 5),
        (vec![], 0),
    ] {
        assert_eq!(smallest_period(&sequence), period, "{sequence:?}");
    }
}
