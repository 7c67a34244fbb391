//! If all feature vectors are parallel, version space is a point or empty, and runs are refused.

use bayespoint::{
    Control, Error, EvidenceSettings, OnionSettings, Result, Settings, evidence, onion, run,
};

use crate::common::space;

fn is_refused<T>(found: &Result<T>) -> bool {
    matches!(found, Err(Error::Invalid { name: "gram", .. }))
}

#[test]
fn parallel_vectors_are_refused() {
    // 1, 2 and -1 on a line; one example; five copies.
    let line = [1.0, 2.0, -1.0, 2.0, 4.0, -2.0, -1.0, -2.0, 1.0];
    for (gram, labels) in
        [(&line[..], &[1, 1, 1][..]), (&[4.0], &[-1]), (&[1.0; 25], &[1, -1, 1, 1, -1])]
    {
        let (space, control) = (space(gram, labels, 0.0), Control::new());
        assert!(is_refused(&run(&space, &Settings::default(), &control)));
        assert!(is_refused(&evidence(&space, &EvidenceSettings::default(), &control)));
        assert!(is_refused(&onion(&space, &OnionSettings::default(), &control)));
    }
}

#[test]
fn softness_gives_them_dimensions() {
    let settings = Settings { tol: Some(0.3), ..Settings::default() };
    let outcome = run(&space(&[1.0; 9], &[1, 1, 1], 0.1), &settings, &Control::new());
    assert!(outcome.is_ok(), "{outcome:?}");
}
