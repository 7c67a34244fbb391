//! The center by conditional means agrees with that by arcs, with less noise and a correct error.

use bayespoint::{Control, Inverse, Mirror, Outcome, RefreshChoice, Settings, sample};

use crate::center_error::{long_run, reported, rms_angle, settings};
use crate::common::{Owned, alike, blamed, run, seed, size, uniform};

/// Compares the true errors with the reported ones, by a long run without conditional means, and with the errors from arcs
/// alone, which must be larger by the factor `gain`.
fn check(name: &str, case: &Owned, settings: &Settings, gain: f64) {
    let space = case.space();
    let each = |k: u64| Settings { seed: seed(2_000 + k), ..settings.clone() };
    let repetitions = size(30, 150);
    let inverted = case.inverted();
    let outcomes: Vec<Outcome> = (0..repetitions).map(|k| inverted.run(&each(k))).collect();
    let reported = reported(&outcomes);
    let full = RefreshChoice::Full;
    let fresh = Settings { refresh: full(Some(0.3)), ..settings.clone() };
    let exact = long_run(&space, &fresh, 0.25 * reported);
    let plain: Vec<Outcome> = (0..repetitions / 3)
        .map(|k| run(&space, &Settings { refresh: full(None), ..each(k) }))
        .collect();
    let (off, arcs) = (rms_angle(&space, &outcomes, &exact), rms_angle(&space, &plain, &exact));
    println!(
        "{name}: true {off:.4}, reported {reported:.4}, of arcs {arcs:.4}, long run {:.4}",
        exact.center.error
    );
    let ratio = (off.powi(2) - exact.center.error.powi(2)).max(0.0).sqrt() / reported;
    assert!((1.0 / 1.5..1.5).contains(&ratio), "{name}: {ratio}");
    assert!(arcs > gain * off, "{name}: {arcs} against {off}");
}

#[test]
fn soft_walls() {
    check("soft", &Owned::rbf(120, 3.0, 0.1, 2), &settings(20.0), 1.5);
}

#[test]
fn nearly_orthogonal_planes() {
    check("nearly orthogonal", &Owned::rbf(80, 1.0, 0.0, 3), &settings(20.0), 2.0);
}

#[test]
fn transparent_walls() {
    let mirror = Mirror([0.02, 0.2]);
    let settings = Settings { mirror, ..settings(30.0) };
    check("transparent", &Owned::rbf(80, 2.0, 0.2, 4), &settings, 1.5);
}

#[test]
fn orthogonal_planes_are_exact() {
    let m = 5;
    let labels = vec![1, -1, 1, 1, -1];
    let case = Owned::new(uniform(m, 1.0, 0.0), labels.clone(), 0.0).inverted();
    for mirror in [Mirror::HARD, alike(0.3)] {
        let found = case.run(&Settings { mirror, seed: seed(0), ..settings(3.0) });
        for (c, y) in found.center.dual.iter().zip(&labels) {
            assert!((c * f64::from(*y) - 5f64.sqrt().recip()).abs() < 1e-9, "{:?}", found.center);
        }
        assert!(found.center.error < 1e-6);
    }
}

#[test]
fn inverses_that_do_not_fit_are_errors() {
    let (ones, control) = ([1.0; 9], Control::new());
    let case = Owned::rbf(20, 2.0, 0.1, 7);
    let of_others = Inverse::new(&ones, &ones[..3]).expect("an inverse");
    blamed(sample(&case.space(), &settings(1.0), Some(of_others), None, &control));
    for (columns, diagonal) in [(&ones[1..], &ones[..3]), (&ones, &[1.0, f64::NAN, 1.0])] {
        blamed(Inverse::new(columns, diagonal));
    }
}
