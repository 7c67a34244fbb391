//! The evidence against closed forms and brute force, and its reported errors against true ones.

use std::f64::consts::{PI, TAU};

use bayespoint::{Control, Error, EvidenceOutcome, EvidenceSettings, Mirror, VersionSpace};
use rand::rngs::ChaCha8Rng;

use crate::common::{
    Problem, alike, angle, density, mean_and_error, noisily_taught, normal, normals, rms, rng,
    seed, size, space, uniform,
};

fn evidence(space: &VersionSpace<'_>, settings: &EvidenceSettings) -> EvidenceOutcome {
    bayespoint::evidence(space, settings, &Control::new()).expect("a good run")
}

/// Settings for half-silvered walls.
fn towards(target: Mirror, tol: f64, index: u64) -> EvidenceSettings {
    EvidenceSettings {
        tol,
        targets: vec![target],
        seed: seed(index),
        ..EvidenceSettings::default()
    }
}

/// Hard walls by a bridge, and on a ladder, which has transparent walls too.
fn both_ways() -> [(&'static str, Vec<Mirror>); 2] {
    [("bridge", vec![Mirror::HARD]), ("ladder", vec![Mirror::HARD, alike(1.0)])]
}

/// Repeats an estimate in both ways. The bias must be less than half the error, and the reported error agree with the spread
/// to a factor 1.5.
fn check(name: &str, gram: &[f64], labels: &[i8], exact: f64, tol: f64) {
    let space = space(gram, labels, 0.0);
    let repetitions = 100;
    for (way, targets) in both_ways() {
        let name = format!("{way}, {name}");
        let (mut values, mut errors) = (Vec::new(), Vec::new());
        for k in 0..repetitions {
            let settings = EvidenceSettings {
                tol,
                targets: targets.clone(),
                seed: seed(k),
                ..EvidenceSettings::default()
            };
            let found = evidence(&space, &settings);
            let (value, error) = (found.values[0], found.errors[0]);
            let converged = found.converged && error <= tol;
            assert!(converged, "{name}, repetition {k}: {value} ± {error}, exact {exact}");
            values.push(value);
            errors.push(error);
        }
        let (mean, error) = mean_and_error(&values);
        let (spread, reported) = (error * (repetitions as f64).sqrt(), rms(&errors));
        let found = format!(
            "{name}: {mean:.3} ± {error:.3}, exact {exact:.3}, spread {spread:.3}, reported {reported:.3}"
        );
        println!("{found}");
        assert!((mean - exact).abs() <= 0.5 * reported + 3.0 * error, "{found}");
        assert!((1.0 / 1.5..1.5).contains(&(spread / reported)), "{found}");
    }
}

fn check_orthant(m: usize) {
    let labels: Vec<i8> = (0..m).map(|i| if i % 2 == 0 { 1 } else { -1 }).collect();
    let exact = -(m as f64) * 2f64.ln();
    check(&format!("orthant {m}"), &uniform(m, 1.0, 0.0), &labels, exact, 0.2);
}

/// Equicorrelated at ½: P(all positive) = E Φ(x)^m = 1/(m+1).
fn check_equicorrelated(m: usize) {
    let exact = -((m + 1) as f64).ln();
    check(&format!("equicorrelated {m}"), &uniform(m, 1.0, 0.5), &vec![1; m], exact, 0.2);
}

#[test]
fn orthants() {
    check_orthant(10);
    check_equicorrelated(10);
}

#[test]
#[ignore = "long: make test-all"]
fn large_orthants() {
    for m in [5, 20, 50] {
        check_orthant(m);
    }
    for m in [50, 200] {
        check_equicorrelated(m);
    }
    // Another correlation, by a one-dimensional integral.
    let (m, rho) = (20, 0.2f64);
    let steps = 20_000;
    let integral: f64 = (0..steps)
        .map(|k| {
            let x = -10.0 + 20.0 * (f64::from(k) + 0.5) / f64::from(steps);
            let below = normal((rho / (1.0 - rho)).sqrt() * x);
            density(x) * below.powi(m) * 20.0 / f64::from(steps)
        })
        .sum();
    check("correlation 0.2", &uniform(20, 1.0, rho), &[1; 20], integral.ln(), 0.2);
}

/// Girard's theorem: the area of a spherical triangle is the excess of its angles, π minus those between the normals.
#[test]
fn spherical_triangles() {
    let mut rng = rng(200);
    let mut tried = 0;
    while tried < 3 {
        let normals: Vec<Vec<f64>> = (0..3).map(|_| normals(3, &mut rng)).collect();
        let angle = |a: usize, b: usize| PI - angle(&normals[a], &normals[b]);
        let excess = angle(0, 1) + angle(1, 2) + angle(2, 0) - PI;
        let exact = (excess / (4.0 * PI)).ln();
        // The ladder would need more rungs than the longest run allows.
        if exact < -7.0 {
            continue;
        }
        let problem = Problem::new(normals, vec![1; 3]);
        check(&format!("triangle {tried}"), &problem.gram, &problem.labels, exact, 0.1);
        tried += 1;
    }
}

/// Hardly any draw lies in the sliver between two nearly coinciding planes. The error must allow for it.
#[test]
fn slivers_beside_half_of_the_sphere() {
    for width in [0.3, 0.03, 0.01, 0.003, 0.001] {
        let gram = [1.0, f64::cos(width), f64::cos(width), 1.0];
        let space = space(&gram, &[1, 1], 0.0);
        let half = (PI - width) / TAU;
        let kappa = 0.4f64 / 0.6;
        let noisy = half * (1.0 + kappa * kappa) + 2.0 * kappa * (0.5 - half);
        for (target, exact) in [(Mirror::HARD, half.ln()), (alike(kappa), noisy.ln())] {
            for k in 0..20 {
                let settings = EvidenceSettings {
                    targets: vec![target],
                    seed: seed(k),
                    ..EvidenceSettings::default()
                };
                let found = evidence(&space, &settings);
                let off = (found.values[0] - exact).abs();
                assert!(off < 4.5 * found.errors[0], "{width}: {off} {}", found.errors[0]);
            }
        }
    }
}

/// Isotropic draws.
struct BruteForce {
    /// The layers, and the share of the draws in each.
    layers: Vec<([u32; 2], f64)>,
}

impl BruteForce {
    fn new(problem: &Problem, draws: u32, rng: &mut ChaCha8Rng) -> Self {
        let share = |(layer, (_, count))| (layer, count / f64::from(draws));
        Self { layers: problem.layers(draws, rng).into_iter().map(share).collect() }
    }

    fn evidence(&self, target: Mirror) -> f64 {
        let weight = |[negative, positive]: [u32; 2]| {
            target.0[0].powf(negative.into()) * target.0[1].powf(positive.into())
        };
        self.layers.iter().map(|&(layer, share)| share * weight(layer)).sum::<f64>().ln()
    }

    /// Checks ln of the shares by violations, where they are larger than `least`, and the shares of the layers with as many
    /// violations.
    fn check_shares(&self, found: &EvidenceOutcome, least: f64, tolerance: f64) {
        for (v, log_share) in (0u32..).zip(&found.log_share) {
            let of_v = self.layers.iter().filter(|(layer, _)| layer[0] + layer[1] == v);
            let all: f64 = of_v.map(|(_, share)| share).sum();
            // Small shares are sampled on the first rungs alone.
            let is_large = all > least;
            let off = (log_share - all.ln()).abs();
            assert!(!is_large || off < tolerance, "{v} violations: {log_share}, off by {off}");
            let layers = found.layers.iter().zip(&found.layer_shares);
            let of_v = layers.filter(|(layer, _)| layer[0] + layer[1] == v);
            let sum: f64 = of_v.clone().map(|(_, share)| share).sum();
            assert!(sum == 0.0 || (sum - 1.0).abs() < 1e-9, "{v} violations: {sum}");
            for (own, share) in of_v.filter(|_| is_large) {
                let seen = self.layers.iter().find(|(layer, _)| layer == own);
                let expected = seen.map_or(0.0, |(_, share)| share / all);
                assert!((share - expected).abs() < 0.15, "{own:?}: {share}");
            }
        }
    }
}

/// Z(κ) by integration and by brute force.
#[test]
fn integration_and_brute_force_agree() {
    let problem = noisily_taught(12, 4, 0.1, 7);
    let brute = BruteForce::new(&problem, size(400_000, 4_000_000), &mut rng(70));
    let targets = [-4.0, -1.5, -0.7].map(|s: f64| alike(s.exp()));
    // The error of the brute force is 0.01 at the smallest Z.
    let check = |case: &str, found: &EvidenceOutcome, targets: &[Mirror]| {
        for ((value, error), &target) in found.values.iter().zip(&found.errors).zip(targets) {
            let exact = brute.evidence(target);
            let close = (value - exact).abs() < 4.5 * error + 0.02;
            assert!(close && *error < 0.05, "{case}, {target:?}: {value} ± {error}, {exact}");
        }
    };
    for target in targets {
        let found = evidence(&problem.space(), &towards(target, 0.02, 3));
        check("one target", &found, &[target]);
    }
    let settings = EvidenceSettings {
        targets: targets.to_vec(),
        max_length: 1e6,
        n_threads: 2,
        ..towards(targets[0], 0.02, 3)
    };
    let found = evidence(&problem.space(), &settings);
    check("all targets", &found, &targets);
    // Without walls half of the twelve examples are violated, and ever fewer from rung to rung.
    let means = &found.mean_violations;
    assert!((means[0] - 6.0).abs() < 0.5, "{means:?}");
    assert!(means.is_sorted_by(|one, next| *next < one + 0.3), "{means:?}");
    brute.check_shares(&found, 0.01, 0.2);
}

/// Transparencies that differ between the classes, also with hard walls of one class.
#[test]
fn a_ladder_takes_each_class_by_itself() {
    let mut rng = rng(11);
    let teacher = normals(3, &mut rng);
    let targets = [(0.2, 0.02), (0.01, 0.4), (0.3, 0.0), (0.0, 0.3), (1.0, 0.1), (0.0, 1.0)]
        .map(|(negative, positive)| Mirror([negative, positive]));
    // Every volume must be large enough for brute force.
    let problem = (0..1000)
        .map(|k| Problem::taught(14, &teacher, 0.2, &mut crate::common::rng(1100 + k)))
        .find(|problem| {
            let brute = BruteForce::new(problem, 20_000, &mut rng);
            targets.iter().all(|target| brute.evidence(*target).exp() > 0.01)
        })
        .expect("a problem");
    let brute = BruteForce::new(&problem, size(400_000, 4_000_000), &mut rng);
    for target in targets {
        let found = evidence(&problem.space(), &towards(target, 0.03, 4));
        // The error of the brute force is 0.02.
        let (value, error, exact) = (found.values[0], found.errors[0], brute.evidence(target));
        let close = (value - exact).abs() < 4.5 * error + 0.03;
        assert!(close, "{target:?}: {value} ± {error}, {exact}");
        assert!(found.converged);
        brute.check_shares(&found, 0.02, 0.25);
    }
    // Each target that differs between the classes needs its own ladder.
    let settings = EvidenceSettings { targets: targets.to_vec(), ..EvidenceSettings::default() };
    let refused = bayespoint::evidence(&problem.space(), &settings, &Control::new());
    assert!(matches!(refused, Err(Error::Invalid { name: "targets", .. })), "{refused:?}");
}

/// Coinciding planes with contradicting labels, as from duplicate inputs.
#[test]
fn coinciding_planes_that_disagree() {
    let mut rng = rng(9);
    for r in [2, 4] {
        let mut x: Vec<Vec<f64>> = (0..6).map(|_| normals(r, &mut rng)).collect();
        // Two more of the first, the opposite of the second, the third again: votes of 2 to 1, 1 to 1, and 2 to 0.
        x.extend([x[0].clone(), x[0].clone()]);
        x.push(x[1].iter().map(|v| -2.0 * v).collect());
        x.push(x[2].clone());
        let labels = vec![1, 1, -1, 1, -1, 1, -1, 1, 1, -1];
        let problem = Problem::new(x, labels);
        let target = alike(0.02 / 0.98);
        let exact = BruteForce::new(&problem, 300_000, &mut rng).evidence(target);
        let values =
            (0..8).map(|k| evidence(&problem.space(), &towards(target, 0.03, k)).values[0]);
        let (mean, error) = mean_and_error(&values.collect::<Vec<f64>>());
        assert!((mean - exact).abs() < 6.0 * error + 0.02, "r = {r}: {mean} ± {error}, {exact}");
    }
}

/// A constant kernel with softness λ and mixed labels leaves a gap of √λ: the share is `√(λ / 2π) ∫ Φ³(t) Φ³(-t) dt`.
fn check_gap(softness: f64) {
    let exact = 0.5 * softness.ln() - 4.823_257_125;
    let gram = vec![1.0; 36];
    let space = space(&gram, &[1, -1, 1, -1, 1, -1], softness);
    let settings = EvidenceSettings { seed: seed(1), ..Default::default() };
    match bayespoint::evidence(&space, &settings, &Control::new()) {
        Ok(found) => {
            let (value, error) = (found.values[0], found.errors[0]);
            println!("λ = {softness:e}: {value:.3} ± {error:.3}, exact {exact:.3}");
            assert!((value - exact).abs() < 5.0 * error && error <= 0.2, "{found:?}");
        }
        // At a condition of 1e10 too few digits may be left.
        Err(error) => {
            println!("λ = {softness:e}: {error}");
            assert!(softness < 1e-9 && matches!(error, Error::Breakdown { .. }), "{error}");
        }
    }
}

#[test]
fn gaps_of_little_softness() {
    [1e-4, 1e-6, 1e-7].into_iter().for_each(check_gap);
}

#[test]
#[ignore = "long: make test-all"]
fn gaps_of_less_softness() {
    [1e-8, 1e-10].into_iter().for_each(check_gap);
}

/// A run that does not reach its tolerance ends with the path that it was given.
#[test]
fn the_largest_path_is_kept() {
    let mut rng = rng(31);
    let problem = Problem::taught(12, &normals(3, &mut rng), 0.0, &mut rng);
    for (way, targets) in both_ways() {
        let settings =
            EvidenceSettings { tol: 1e-9, max_length: 1e4, targets, ..EvidenceSettings::default() };
        let found = evidence(&problem.space(), &settings);
        assert!(!found.converged);
        let share = found.length / settings.max_length;
        assert!((0.3..=1.0 + 1e-9).contains(&share), "{way}: {share} of the path");
    }
}
