//! A harness that tests whether a sampler has the right law.
//!
//! It has targets with closed forms ([`targets`]), all samplers of the engine and wrong ones ([`samplers`]), and comparisons
//! ([`comparisons`]) of moments and of marginals by the Kolmogorov-Smirnov distance, with effective sample sizes and Holm's
//! correction over all comparisons of a test.

mod calibration;
mod classes;
#[path = "../common/mod.rs"]
mod common;
mod comparisons;
mod crosscheck;
mod geweke;
mod samplers;
mod special;
mod stability;
mod targets;

use bayespoint::dynamics::Geodesic;
use bayespoint::papers::motions::{Motion, Points, Radius};
use bayespoint::{Control, Refresh, RefreshChoice, Settings, sample};
use common::{Inverted, seed, size};
use comparisons::Comparisons;
use samplers::{
    LeaningRefresh, Path, ShortOfWall, SinglePlane, Source, by_hand, engine, flown, fresh,
};
use targets::{Cone, Sample, Target, half_sphere, orthant, triangle, wedge};

const SMALL: [[f64; 3]; 3] = [[1.0, 0.0, 0.2], [0.8, 0.5, 0.0], [0.9, 0.3, 0.5]];
const LARGE: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [-0.7, 0.7, 0.1], [-0.3, -0.5, 0.9]];

/// Cones of equicorrelated planes with labels of one class or both, hard walls or half-silvered ones, softness and offset.
fn cones() -> Vec<Target> {
    let cone = |m, negative, shared, softness, kappa| {
        Cone { m, negative, own: 0.75, shared, softness, kappa }.target()
    };
    vec![
        cone(6, 0, 0.75, 0.0, (0.0, 0.0)),
        cone(50, 0, 0.25, 0.5, (0.0, 0.0)),
        cone(12, 4, 0.75, 0.25, (0.0, 0.0)),
        cone(12, 4, 0.5, 0.5, (0.2, 0.2)),
        cone(20, 9, 0.25, 0.0, (0.3, 0.05)),
    ]
}

fn all_targets() -> Vec<Target> {
    let mut all = vec![
        orthant(2, 0.0),
        orthant(3, 0.0),
        orthant(10, 0.0),
        orthant(50, 0.0),
        orthant(5, 0.4),
        orthant(30, 0.05),
        wedge(2, 0.7),
        wedge(3, 2.5),
        wedge(8, 0.05),
        wedge(40, 1.0),
        triangle(SMALL),
        triangle(LARGE),
        half_sphere(3),
        half_sphere(25),
    ];
    all.extend(cones());
    all
}

/// Many trajectories of moderate length, for an error from the spread of their means.
fn settings(refresh: RefreshChoice, index: u64) -> Settings {
    Settings {
        n_trajectories: 32,
        n_draws: size(100, 1000),
        length: Some(size(300.0, 3000.0)),
        tol: None,
        refresh,
        seed: seed(index),
        ..Settings::default()
    }
}

/// Every target with every refresh; without refresh, which is not ergodic, from exact draws.
#[test]
fn every_refresh_has_every_law() {
    let mut comparisons = Comparisons::default();
    for (k, target) in all_targets().iter().enumerate() {
        for (name, refresh) in [
            ("auto", RefreshChoice::Auto),
            ("pair", RefreshChoice::Pair(Some(3.0))),
            ("full", RefreshChoice::Full(Some(0.7))),
        ] {
            // Pairs alone do not mix with hardly any reflections, nor in a plane.
            if name == "pair" && (target.rank == 2 || target.name.starts_with("half")) {
                continue;
            }
            let settings = settings(refresh, 100 + k as u64);
            let chains = engine(target, Source::Doubles, &settings);
            comparisons.check(&format!("{}; {name}", target.name), target, &chains);
        }
        if target.exact.is_some() {
            let path = Path { chains: size(200, 2000), draws: 20, spacing: 5.0 };
            let chains = by_hand(target, &Geodesic, &Refresh::None, path);
            comparisons.check(&format!("{}; none", target.name), target, &chains);
        }
    }
    comparisons.assert_right();
}

/// Every source of rows with every refresh, for hard walls and half-silvered ones.
#[test]
fn every_source_and_refresh_has_the_law() {
    let mut comparisons = Comparisons::default();
    for (k, kappa) in [(0.0, 0.0), (0.3, 0.1)].into_iter().enumerate() {
        let cone = Cone { m: 6, negative: 2, own: 0.75, shared: 0.5, softness: 0.25, kappa };
        let target = cone.target();
        for source in [Source::Doubles, Source::Singles] {
            for refresh in [
                RefreshChoice::Auto,
                RefreshChoice::Pair(Some(3.0)),
                RefreshChoice::Full(Some(0.7)),
            ] {
                let chains = engine(&target, source, &settings(refresh, 700 + k as u64));
                let case = format!("{}; {source:?}, {refresh:?}", target.name);
                comparisons.check(&case, &target, &chains);
            }
        }
    }
    comparisons.assert_right();
}

/// Scattering, by the cosine law or off the sphere, keeps the law.
#[test]
fn cosine_law_and_scatterer_have_the_law() {
    let mut comparisons = Comparisons::default();
    let targets =
        [orthant(3, 0.0), orthant(10, 0.0), triangle(LARGE), wedge(5, 1.0), orthant(5, 0.4)];
    for (k, target) in targets.iter().enumerate() {
        for (cosine, scatterer) in
            [(true, None), (false, Some(Radius::Fitted)), (true, Some(Radius::Fitted))]
        {
            // The sphere requires hard walls.
            if scatterer.is_some() && !target.mirror.is_hard() {
                continue;
            }
            let motion = Motion::Scattered { cosine, scatterer };
            let settings = settings(RefreshChoice::Full(Some(0.3)), 400 + k as u64);
            let chains = flown(target, motion, &settings);
            let case = format!("{}; cosine {cosine}, {scatterer:?}", target.name);
            comparisons.check(&case, target, &chains);
        }
    }
    comparisons.assert_right();
}

/// The center from the arcs and from conditional means: its plane coordinates over independent runs.
#[test]
fn both_centers_are_the_exact_one() {
    let mut comparisons = Comparisons::default();
    for (k, target) in all_targets().iter().enumerate() {
        let exact = common::unit(target.center.clone().expect("a center"));
        let m = target.problem.x.len();
        let inverted = Inverted::new(&target.problem.gram, 0.0);
        for average in ["arc", "conditional"] {
            // Conditional means require as many dimensions as planes; between orthogonal planes they are exact.
            let orthogonal = target.name.starts_with("orthant") || target.name.starts_with("half");
            if average == "conditional" && (orthogonal || target.rank < 3) {
                continue;
            }
            let centers: Vec<Vec<f64>> = (0..size(24, 100))
                .map(|run| {
                    let settings = Settings {
                        n_trajectories: 4,
                        length: Some(40.0),
                        n_draws: 1,
                        mirror: target.mirror,
                        ..settings(RefreshChoice::Full(Some(0.7)), 10_000 + 100 * k as u64 + run)
                    };
                    let inverse = (average == "conditional").then(|| inverted.inverse());
                    target.space(Source::Doubles, |space| {
                        let outcome = sample(space, &settings, inverse, None, &Control::new());
                        target.problem.weight(&outcome.expect("runs").center.dual)
                    })
                })
                .collect();
            // Orthogonal to the exact center: along it a unit vector is too short by the square of its error.
            for plane in [0, m / 2, m - 1] {
                let x = &target.problem.x[plane];
                let share = common::dot(x, &exact);
                let across: Vec<f64> = centers
                    .iter()
                    .map(|center| common::dot(x, center) - share * common::dot(&exact, center))
                    .collect();
                // It may vanish in two dimensions or by symmetry.
                if common::rms(&across) > 1e-9 {
                    let case = format!("{}; {average}", target.name);
                    let what = format!("f_{} of the center", plane + 1);
                    comparisons.check_means(&case, &what, &across, 0.0);
                }
            }
        }
    }
    comparisons.assert_right();
}

/// The harness rejects wrong samplers and passes the right one.
#[test]
fn wrong_samplers_fail() {
    let path = Path { chains: 200, draws: 40, spacing: 4.0 };
    for target in [orthant(3, 0.0), triangle(SMALL), wedge(6, 1.0)] {
        let right = fresh(&target, 0.7);
        let compare = |chains: Vec<Vec<Sample>>| {
            let mut comparisons = Comparisons::default();
            comparisons.check(&target.name, &target, &chains);
            comparisons
        };
        compare(by_hand(&target, &Geodesic, &right, path)).assert_right();
        compare(by_hand(&target, &ShortOfWall, &right, path))
            .assert_wrong(&format!("{}, short of the wall", target.name));
        compare(by_hand(&target, &SinglePlane::default(), &right, path))
            .assert_wrong(&format!("{}, single-plane mirror in mid-air", target.name));
        compare(by_hand(&target, &Geodesic, &LeaningRefresh::refresh(&target, 2.0), path))
            .assert_wrong(&format!("{}, refresh towards the wall", target.name));
    }
}

/// The dynamics of the papers restart after an escape, which biases the law. The harness measures the bias and detects a large one.
#[test]
fn the_bias_of_straight_flights_is_seen() {
    let targets = [triangle(LARGE), orthant(3, 0.0), wedge(6, 1.0), orthant(20, 0.0)];
    for (name, motion, open) in [
        ("chord", Motion::Chord { tau_max: 1e6, weight_tol: None }, 0),
        ("flipper", Motion::Flipper { tau_max: f64::INFINITY, points: Points::Midpoints }, 2),
    ] {
        for (index, target) in targets.iter().enumerate() {
            let settings = Settings {
                n_draws: 400,
                length: Some(1200.0),
                ..settings(RefreshChoice::None, 500 + index as u64)
            };
            let mut comparisons = Comparisons::default();
            comparisons.check(&target.name, target, &flown(target, motion, &settings));
            let name = format!("{}, {name}", target.name);
            if index == open {
                comparisons.assert_wrong(&name);
            } else {
                comparisons.print_worst(&name);
            }
        }
    }
}
