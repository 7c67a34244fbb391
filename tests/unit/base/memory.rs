//! Tests of `base::memory` that need its private parts.

use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array1, Array2};

use super::*;
use crate::papers::correlation::{CorrelationSettings, correlation};
use crate::papers::onion::{OnionSettings, onion};
use crate::propagation::{Problems, propagate};
use crate::{
    Control, EvidenceSettings, Gram, MarginSettings, Mirror, Settings, VersionSpace, evidence,
    max_margin, run,
};

/// Requests until one is refused, that one included; 0 for none.
static LEFT: AtomicUsize = AtomicUsize::new(0);

pub(super) fn granted(n: usize) -> usize {
    let before =
        LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    if before == Ok(1) { usize::MAX } else { n }
}

/// Refuses each request for memory of a computation in turn, and returns how many there are.
///
/// The requests are those that `check` and `reserve` make, for what grows with the problem. Smaller allocations are
/// the ones for which [`SPARE`] is kept free: a failure of theirs aborts, and they are not disturbed here.
fn each_refused<T: Debug>(name: &str, work: impl Fn() -> Result<T>) -> usize {
    // All digits of all numbers.
    let text = || work().map(|found| format!("{found:?}"));
    let many = usize::MAX / 2;
    LEFT.store(many, Ordering::Relaxed);
    let undisturbed = text().expect(name);
    let requests = many - LEFT.load(Ordering::Relaxed);
    let mut refused = 0;
    for n in 1..=requests {
        LEFT.store(n, Ordering::Relaxed);
        match text() {
            Err(Error::Memory { .. }) => refused += 1,
            found => assert_eq!(found.as_ref(), Ok(&undisturbed), "{name}, request {n}"),
        }
        assert_eq!(LEFT.swap(0, Ordering::Relaxed), 0, "{name}: request {n} was made");
    }
    println!("{name}: {requests} requests, {refused} errors");
    assert!(refused > 0, "{name}");
    requests
}

/// In a process of its own, whose other threads ask for nothing.
#[test]
#[cfg_attr(miri, ignore = "Miri starts no processes")]
fn whichever_request_is_refused_it_is_an_error_or_makes_no_difference() {
    const ALONE: &str = "BAYESPOINT_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = std::thread::current().name().expect("a test's").to_owned();
        let arguments = ["--exact", &name, "--test-threads=1", "--nocapture"];
        let program = std::env::current_exe().expect("this one");
        let command = &mut std::process::Command::new(program);
        let output = command.args(arguments).env(ALONE, "1").output().expect("starts");
        let text = String::from_utf8_lossy(&output.stdout);
        println!("{text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && text.contains("1 passed"));
        return;
    }
    let m = 12_usize;
    let near = |k| (-0.1 * ((k / m) as f64 - (k % m) as f64).powi(2)).exp();
    let matrix: Vec<f64> = (0..m * m).map(near).collect();
    let positive = |i: usize| (i * i) % 7 < 3;
    let labels: Vec<i8> = (0..m).map(|i| if positive(i) { 1 } else { -1 }).collect();
    let control = &Control::new();
    let gram = || Gram::new(&matrix, 0.0, vec![0.1; m]);
    let space = &VersionSpace::new(gram().expect("a matrix"), labels).expect("labels");
    let classes = (0..m).map(|i| i % 3).collect::<Vec<_>>();

    let settings =
        Settings { n_trajectories: 2, n_draws: 5, tol: Some(0.3), ..Settings::default() };
    each_refused("run", || run(space, &settings, control));
    let two = Settings { n_threads: 2, ..settings };
    each_refused("run, two threads", || run(space, &two, control));
    each_refused("run, classes", || {
        run(&VersionSpace::of_classes(gram()?, &classes, 3)?, &two, control)
    });
    // By a bridge, and on a ladder: behind half-silvered walls alone the trips down suffice.
    for targets in [vec![Mirror::HARD], vec![Mirror::HARD, Mirror::alike(0.1)]] {
        let settings = EvidenceSettings { tol: 0.5, targets, ..EvidenceSettings::default() };
        each_refused("evidence", || evidence(space, &settings, control));
    }
    let settings = OnionSettings { max_errors: [1, 1], tol: 0.5, ..OnionSettings::default() };
    each_refused("onion", || onion(space, &settings, control));
    each_refused("margin", || max_margin(space, &MarginSettings::default(), control));
    let settings = CorrelationSettings { n_pairs: 2, ..CorrelationSettings::default() };
    each_refused("correlation", || correlation(space, &settings, control));

    let features = Array2::from_shape_fn((m, 3), |(i, j)| near(m * i + 4 * j));
    let level = Array1::from_elem(m, 0.5);
    let positive = Array2::from_shape_fn((2, m), |(k, i)| positive(i + k));
    each_refused("propagation", || {
        let problems = Problems {
            features: features.view(),
            level: level.view(),
            positive: positive.view(),
            intervals: None,
            noise: [0.01, 0.02],
            change: 1e-6,
        };
        let found = propagate(&problems, None, 1, control)?;
        Ok(found.into_iter().map(|one| (one.log_evidence, one.left_out)).collect::<Vec<_>>())
    });
}

#[test]
#[cfg_attr(miri, ignore = "what Miri has no room for ends it")]
fn what_no_machine_has_is_refused() {
    let most = isize::MAX.unsigned_abs();
    assert_eq!(check(usize::MAX), Err(Error::Memory { bytes: usize::MAX }));
    assert_eq!(check(most / 4), Err(Error::Memory { bytes: most / 4 }));
    assert_eq!(check_vectors(usize::MAX, 2), Err(Error::Memory { bytes: usize::MAX }));
    assert!(check_threads(usize::MAX).is_err());
    assert!(reserved::<f64>(most / 8).is_err());
    assert!(reserved::<f64>(usize::MAX).is_err());
    assert_eq!(check(0), Ok(()));
    assert!(reserved_apart(most / 8).is_err());
    for n in [10, MANY, 2 * SPARE / size_of::<f64>()] {
        assert!(reserved_apart(n).is_ok_and(|values| values.capacity() >= n));
    }
    assert!(reserved::<f64>(10).is_ok_and(|values| values.capacity() >= 10));
}
