//! The center by conditional means agrees with that by arcs, with less noise and a correct error.

use bayespoint::{
    Control, Error, Inverse, Mirror, Outcome, RefreshChoice, Settings, VersionSpace, run_with,
};

use crate::center_error::{long_run, reported, rms_angle};
use crate::common::{inverse, rbf, run, seed, size, space, uniform};

struct Case {
    gram: Vec<f64>,
    labels: Vec<i8>,
    softness: f64,
    columns: Vec<f64>,
    diagonal: Vec<f64>,
}

impl Case {
    fn new(gram: Vec<f64>, labels: Vec<i8>, softness: f64) -> Self {
        let (columns, diagonal) = inverse(&gram, softness);
        Self { gram, labels, softness, columns, diagonal }
    }

    fn rbf(m: usize, sigma: f64, softness: f64, index: u64) -> Self {
        let (gram, labels) = rbf(m, sigma, index);
        Self::new(gram, labels, softness)
    }

    fn space(&self) -> VersionSpace<'_> {
        space(&self.gram, &self.labels, self.softness)
    }

    fn run(&self, settings: &Settings) -> Outcome {
        let inverse = Inverse::new(&self.columns, &self.diagonal).expect("an inverse");
        run_with(&self.space(), settings, Some(inverse), &Control::new()).expect("a run")
    }
}

fn settings(length: f64) -> Settings {
    Settings { length: Some(length), tol: None, n_draws: 1, ..Settings::default() }
}

/// Compares the true errors with the reported ones, by a long run without conditional means, and with the errors from arcs
/// alone, which must be larger by the factor `gain`.
fn check(name: &str, case: &Case, settings: &Settings, gain: f64) {
    let space = case.space();
    let each = |k: u64| Settings { seed: seed(2_000 + k), ..settings.clone() };
    let repetitions = size(30, 150);
    let outcomes: Vec<Outcome> = (0..repetitions).map(|k| case.run(&each(k))).collect();
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
    check("soft", &Case::rbf(120, 3.0, 0.1, 2), &settings(20.0), 1.5);
}

#[test]
fn nearly_orthogonal_planes() {
    check("nearly orthogonal", &Case::rbf(80, 1.0, 0.0, 3), &settings(20.0), 2.0);
}

#[test]
fn transparent_walls() {
    let mirror = Mirror::new(0.02, 0.2).expect("a mirror");
    let settings = Settings { mirror, ..settings(30.0) };
    check("transparent", &Case::rbf(80, 2.0, 0.2, 4), &settings, 1.5);
}

#[test]
fn orthogonal_planes_are_exact() {
    let m = 5;
    let labels = vec![1, -1, 1, 1, -1];
    let case = Case::new(uniform(m, 1.0, 0.0), labels.clone(), 0.0);
    for mirror in [Mirror::HARD, Mirror::new(0.3, 0.3).expect("a mirror")] {
        let found = case.run(&Settings { mirror, seed: seed(0), ..settings(3.0) });
        for (c, y) in found.center.dual.iter().zip(&labels) {
            assert!((c * f64::from(*y) - 5f64.sqrt().recip()).abs() < 1e-9, "{:?}", found.center);
        }
        assert!(found.center.error < 1e-6);
    }
}

#[test]
fn inverses_that_do_not_fit_are_errors() {
    let case = Case::rbf(20, 2.0, 0.1, 7);
    let wrong = |error: Error| assert!(error.to_string().contains("factor"), "{error}");
    wrong(Inverse::new(&case.columns[1..], &case.diagonal).expect_err("too few"));
    let mut bad = case.diagonal.clone();
    bad[3] = f64::NAN;
    wrong(Inverse::new(&case.columns, &bad).expect_err("not a number"));
    let other = Case::rbf(10, 2.0, 0.1, 7);
    let inverse = Inverse::new(&other.columns, &other.diagonal).expect("an inverse");
    let found = run_with(&case.space(), &settings(1.0), Some(inverse), &Control::new());
    wrong(found.expect_err("of other examples"));
}
