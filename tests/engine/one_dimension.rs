//! Feature vectors that are all parallel: version space is a point, or two.

use bayespoint::dynamics::{Motion, Radius};
use bayespoint::{
    Control, Error, EvidenceSettings, Method, Mirror, OnionMethod, OnionSettings, Settings,
    evidence, onion,
};

use crate::common::{run, space};

/// Three parallel vectors 1, 2, -1 with labels +, +, +: two against one.
const GRAM: [f64; 9] = [1.0, 2.0, -1.0, 2.0, 4.0, -2.0, -1.0, -2.0, 1.0];

#[test]
fn runs() {
    let one = [4.0];
    let outcome = run(&space(&one, &[-1], 0.0), &Settings::default());
    assert_eq!((outcome.center[0], outcome.center_norm), (-0.5, 1.0));
    let three = space(&GRAM, &[1, 1, 1], 0.0);
    let hard = bayespoint::run(&three, &Settings::default(), &Control::new());
    assert!(matches!(hard, Err(Error::Infeasible { violations: 1, .. })), "{hard:?}");
    let kappa = 0.25;
    let soft = Settings {
        mirror: Mirror::new(kappa, kappa).expect("a transparency"),
        n_draws: 5000,
        ..Settings::default()
    };
    let outcome = run(&three, &soft);
    // κ against κ²: the right side has weight 1 / (1 + κ).
    assert!((outcome.center_norm - (1.0 - kappa) / (1.0 + kappa)).abs() < 1e-12);
    assert!((outcome.mean_violations - (1.0 + 2.0 * kappa) / (1.0 + kappa)).abs() < 1e-12);
    let right =
        outcome.functionals.iter().step_by(3).filter(|f| **f > 0.0).count() as f64 / 20_000.0;
    assert!((right - 0.8).abs() < 0.02, "{right}");
}

/// All examples are the same point, and there is no direction to scatter in.
#[test]
fn a_constant_kernel() {
    let ones = [1.0; 25];
    let motion = Motion::Scattered { cosine: true, scatterer: Some(Radius::Fitted) };
    for settings in [Settings::default(), Settings { motion, ..Settings::default() }] {
        let same = run(&space(&ones, &[1; 5], 0.0), &settings);
        assert!((same.center.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(same.scatterings.iter().all(|&n| n == 0));
    }
    let mixed = space(&ones, &[1, -1, 1, 1, -1], 0.0);
    let mixed = bayespoint::run(&mixed, &Settings::default(), &Control::new());
    assert!(matches!(mixed, Err(Error::Infeasible { .. })), "{mixed:?}");
}

#[test]
fn evidence_is_exact() {
    let kappa = (-1f64).exp();
    let settings = EvidenceSettings {
        targets: vec![Mirror::HARD, Mirror { negative: kappa, positive: kappa }],
        method: Method::Integration,
        ..EvidenceSettings::default()
    };
    let gram = [1.0, 2.0, 2.0, 4.0];
    let outcome = evidence(&space(&gram, &[1, 1], 0.0), &settings, &Control::new()).expect("ok");
    assert!((outcome.values[0] - 0.5f64.ln()).abs() < 1e-12);
    assert!((outcome.values[1] - (0.5 + 0.5 * (-2f64).exp()).ln()).abs() < 1e-12);
}

#[test]
fn onions_have_two_points() {
    let control = Control::new();
    let gram = [4.0, 2.0, -2.0, 2.0, 1.0, -1.0, -2.0, -1.0, 1.0];
    let three = space(&gram, &[1, 1, 1], 0.0);
    let outcome = onion(&three, &OnionSettings::default(), &control).expect("a good run");
    assert_eq!(outcome.range.most, [0, 3]);
    assert_eq!(outcome.layers, [[0, 1], [0, 2]]);
    let half = 0.5f64.ln();
    assert_eq!(outcome.log_volumes, [f64::NEG_INFINITY, half, half, f64::NEG_INFINITY]);
    assert_eq!(outcome.errors[1..3], [0.0, 0.0]);
    assert_eq!(outcome.centers[3..6], [0.5, 0.0, 0.0]);
    assert_eq!(outcome.centers[6..9], [-0.5, 0.0, 0.0]);
    assert!(outcome.centers[..3].iter().chain(&outcome.centers[9..]).all(|c| c.is_nan()));
    assert!(outcome.paths.iter().all(|path| *path == 0.0) && outcome.converged);
    let projected = OnionSettings { method: OnionMethod::Projected, ..OnionSettings::default() };
    let error = onion(&three, &projected, &control).expect_err("no such point");
    assert!(matches!(error, Error::Infeasible { violations: 1, .. }), "{error}");
    // Both points in one layer: it is the whole sphere, and has no center.
    let gram = [1.0, -1.0, -1.0, 1.0];
    let both = onion(&space(&gram, &[1, 1], 0.0), &OnionSettings::default(), &control);
    let both = both.expect("a good run");
    assert_eq!(both.log_volumes, [f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY]);
    assert!(both.norms.iter().all(|norm| norm.is_nan()));
}
