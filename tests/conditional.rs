//! The center of conditional means: that of the arcs, with far less noise and an error that is true.

mod common;

use bayespoint::{Control, Inverse, Mirror, Outcome, RefreshChoice, Settings, VersionSpace};
use bayespoint::{Error, run_with};
use common::{dual_angle, inverse, rms, run, seed, size, space};

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
        let (gram, labels) = common::rbf(m, sigma, index);
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

/// True errors over reported ones, by a long run without conditional means; and over those of the arcs alone.
fn honesty(name: &str, case: &Case, settings: &Settings, gain: f64) {
    let space = case.space();
    let repetitions = size(30, 150);
    let each = |k: u64| Settings { seed: seed(2_000 + k), ..settings.clone() };
    let outcomes: Vec<Outcome> = (0..repetitions).map(|k| case.run(&each(k))).collect();
    let reported = rms(&outcomes.iter().map(|outcome| outcome.center_error).collect::<Vec<f64>>());
    let long = Settings {
        length: None,
        tol: Some(0.25 * reported),
        n_trajectories: 8,
        n_threads: 2,
        seed: seed(99),
        refresh: RefreshChoice::Full(Some(0.3)),
        ..settings.clone()
    };
    let exact = run(&space, &long);
    let off = |outcomes: &[Outcome]| {
        rms(&outcomes
            .iter()
            .map(|outcome| dual_angle(&space, &outcome.center, &exact.center))
            .collect::<Vec<f64>>())
    };
    let plain: Vec<Outcome> = (0..repetitions / 3)
        .map(|k| {
            let refresh = RefreshChoice::Full(None);
            run(&space, &Settings { refresh, ..each(k) })
        })
        .collect();
    let (conditional, arcs) = (off(&outcomes), off(&plain));
    println!(
        "{name}: true {conditional:.4}, reported {reported:.4}, of arcs {arcs:.4}, long run {:.4}",
        exact.center_error
    );
    let ratio = (conditional.powi(2) - exact.center_error.powi(2)).max(0.0).sqrt() / reported;
    assert!((1.0 / 1.5..1.5).contains(&ratio), "{name}: {ratio}");
    assert!(arcs > gain * conditional, "{name}: {arcs} against {conditional}");
}

#[test]
fn soft_walls() {
    honesty("soft", &Case::rbf(120, 3.0, 0.1, 2), &settings(20.0), 1.5);
}

#[test]
fn nearly_orthogonal_planes() {
    honesty("nearly orthogonal", &Case::rbf(80, 1.0, 0.0, 3), &settings(20.0), 2.0);
}

#[test]
fn transparent_walls() {
    let mirror = Mirror::new(0.02, 0.2).expect("a mirror");
    let settings = Settings { mirror, ..settings(30.0) };
    honesty("transparent", &Case::rbf(80, 2.0, 0.2, 4), &settings, 1.5);
}

/// Where planes are orthogonal nothing is left to chance.
#[test]
fn orthogonal_planes_are_exact() {
    let m = 5;
    let gram: Vec<f64> = (0..m * m).map(|k| f64::from(u8::from(k % (m + 1) == 0))).collect();
    let labels = vec![1, -1, 1, 1, -1];
    let case = Case::new(gram, labels.clone(), 0.0);
    for mirror in [Mirror::HARD, Mirror::new(0.3, 0.3).expect("a mirror")] {
        let found = case.run(&Settings { mirror, seed: seed(0), ..settings(3.0) });
        for (c, y) in found.center.iter().zip(&labels) {
            assert!((c * f64::from(*y) - 5f64.sqrt().recip()).abs() < 1e-9, "{:?}", found.center);
        }
        assert!(found.center_error < 1e-6);
    }
}

#[test]
fn threads_change_nothing() {
    let case = Case::rbf(60, 2.0, 0.1, 5);
    let settings = Settings { tol: Some(0.1), seed: seed(6), ..Settings::default() };
    let one = case.run(&settings);
    let two = case.run(&Settings { n_threads: 2, ..settings });
    assert_eq!(one.center, two.center);
    assert_eq!(one.draws, two.draws);
    assert_eq!((one.refresh, one.start[0].name()), ("full", "typical"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let case = Case::rbf(20, 2.0, 0.1, 7);
    let wrong = |error: Error| assert!(error.to_string().contains("factor"), "{error}");
    wrong(Inverse::new(&case.columns[1..], &case.diagonal).expect_err("too few"));
    let mut bad = case.diagonal.clone();
    bad[3] = f64::NAN;
    wrong(Inverse::new(&case.columns, &bad).expect_err("not a number"));
    let other = Case::rbf(10, 2.0, 0.1, 7);
    let inverse = Inverse::new(&other.columns, &other.diagonal).expect("an inverse");
    let run = |motion| {
        let settings = Settings { motion, ..settings(1.0) };
        run_with(&case.space(), &settings, Some(inverse), &Control::new())
    };
    wrong(run(bayespoint::dynamics::Motion::Geodesic).expect_err("of other examples"));
    let chord = bayespoint::dynamics::Motion::Chord { tau_max: 1e6, weight_tol: None };
    wrong(run(chord).expect_err("of another motion"));
}
