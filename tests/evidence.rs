//! ln volumes with closed forms, and the honesty of their errors.

mod common;

use bayespoint::{Control, Error, EvidenceOutcome, EvidenceSettings, Method, Mirror, VersionSpace};
use common::{Problem, mean_and_error, normal_tail, normals, rms, rng, seed, size, space};

fn evidence(space: &VersionSpace<'_>, settings: &EvidenceSettings) -> EvidenceOutcome {
    bayespoint::evidence(space, settings, &Control::new()).expect("a good run")
}

/// Walls of transparency e^-s for both classes.
fn alike(s: f64) -> Mirror {
    let kappa = (-s).exp();
    Mirror { negative: kappa, positive: kappa }
}

/// Matrix with `diagonal` on and `rest` off the diagonal.
fn uniform(m: usize, diagonal: f64, rest: f64) -> Vec<f64> {
    (0..m * m).map(|k| if k / m == k % m { diagonal } else { rest }).collect()
}

/// Repeats an estimate: unbiased to half its error, and the reported error is the spread to a factor 1.5.
fn check(name: &str, gram: &[f64], labels: &[i8], exact: f64, tol: f64) {
    check_by(Method::Bridge, name, gram, labels, exact, tol);
    check_by(Method::Integration, name, gram, labels, exact, tol);
}

fn check_by(method: Method, name: &str, gram: &[f64], labels: &[i8], exact: f64, tol: f64) {
    let space = space(gram, labels, 0.0);
    let repetitions = 100;
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    for k in 0..repetitions {
        let settings =
            EvidenceSettings { tol, method, seed: seed(k), ..EvidenceSettings::default() };
        let outcome = evidence(&space, &settings);
        assert!(
            outcome.converged && outcome.errors[0] <= tol,
            "{method:?}, {name}, repetition {k}: {} ± {}, exact {exact}",
            outcome.values[0],
            outcome.errors[0]
        );
        values.push(outcome.values[0]);
        errors.push(outcome.errors[0]);
    }
    let (mean, error) = mean_and_error(&values);
    let spread = error * (repetitions as f64).sqrt();
    let reported = rms(&errors);
    println!(
        "{method:?}, {name}: {mean:.3} ± {error:.3}, exact {exact:.3}, spread {spread:.3}, reported {reported:.3}"
    );
    assert!(
        (mean - exact).abs() <= 0.5 * reported + 3.0 * error,
        "{method:?}, {name}: {mean} ± {error}, exact {exact}"
    );
    assert!(
        (1.0 / 1.5..1.5).contains(&(spread / reported)),
        "{method:?}, {name}: spread {spread}, reported {reported}"
    );
}

#[test]
fn orthants() {
    for m in [5, 10, 20, 50] {
        let labels: Vec<i8> = (0..m).map(|i| if i % 2 == 0 { 1 } else { -1 }).collect();
        let exact = -(m as f64) * 2f64.ln();
        check(&format!("orthant {m}"), &uniform(m, 1.0, 0.0), &labels, exact, 0.2);
    }
}

/// Equicorrelated at ½: P(all positive) = E Φ(x)^m = 1/(m+1).
#[test]
fn equicorrelated_orthants() {
    for m in [10, 50, 200] {
        let exact = -((m + 1) as f64).ln();
        check(&format!("equicorrelated {m}"), &uniform(m, 1.0, 0.5), &vec![1; m], exact, 0.2);
    }
    // By the one-dimensional integral, at another correlation.
    let (m, rho) = (20, 0.2f64);
    let steps = 20_000;
    let integral: f64 = (0..steps)
        .map(|k| {
            let x = -10.0 + 20.0 * (f64::from(k) + 0.5) / f64::from(steps);
            let density = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let below = 1.0 - normal_tail((rho / (1.0 - rho)).sqrt() * x);
            density * below.powi(m) * 20.0 / f64::from(steps)
        })
        .sum();
    check("correlation 0.2", &uniform(20, 1.0, rho), &[1; 20], integral.ln(), 0.2);
}

/// Girard: the area of a spherical triangle is its excess; the three angles are π minus those between the normals.
#[test]
fn spherical_triangles() {
    let mut rng = rng(200);
    let mut tried = 0;
    while tried < 3 {
        let normals: Vec<Vec<f64>> = (0..3).map(|_| normals(3, &mut rng)).collect();
        let angle =
            |a: usize, b: usize| std::f64::consts::PI - common::angle(&normals[a], &normals[b]);
        let excess = angle(0, 1) + angle(1, 2) + angle(2, 0) - std::f64::consts::PI;
        let exact = (excess / (4.0 * std::f64::consts::PI)).ln();
        // Down many narrow rungs integration takes longer than the longest run.
        if exact < -7.0 {
            continue;
        }
        let problem = Problem::new(normals, vec![1; 3]);
        check(&format!("triangle {tried}"), &problem.gram, &problem.labels, exact, 0.1);
        tried += 1;
    }
}

/// What next to no draw sees is no reason to be sure: a sliver between two planes that nearly coincide.
#[test]
fn slivers_beside_half_of_the_sphere() {
    for width in [0.3, 0.03, 0.01, 0.003, 0.001] {
        let gram = [1.0, f64::cos(width), f64::cos(width), 1.0];
        let space = space(&gram, &[1, 1], 0.0);
        let half = (std::f64::consts::PI - width) / std::f64::consts::TAU;
        let kappa = 0.4f64 / 0.6;
        let noisy = half * (1.0 + kappa * kappa) + 2.0 * kappa * (0.5 - half);
        for (target, exact) in [(Mirror::HARD, half.ln()), (alike(-kappa.ln()), noisy.ln())] {
            for k in 0..20 {
                let settings = EvidenceSettings {
                    targets: vec![target],
                    method: if target.is_hard() { Method::Bridge } else { Method::Integration },
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

/// Z(κ) by integration, by annealing and by brute force, from version space to half-transparent walls.
#[test]
fn integration_annealing_and_brute_force_agree() {
    let mut rng = rng(7);
    let teacher = normals(4, &mut rng);
    let problem = Problem::taught(12, &teacher, 0.1, &mut rng);
    let depths = [4.0, 1.5, 0.7];
    let draws = size(400_000, 4_000_000);
    let mut sums = vec![0.0; depths.len()];
    let mut violated_by = [0u32; 13];
    for _ in 0..draws {
        let w = normals(4, &mut rng);
        let violated = problem
            .x
            .iter()
            .zip(&problem.labels)
            .filter(|(x, y)| common::dot(x, &w) * f64::from(**y) < 0.0)
            .count();
        violated_by[violated] += 1;
        for (sum, s) in sums.iter_mut().zip(&depths) {
            *sum += f64::exp(-s * violated as f64);
        }
    }
    for (s, sum) in depths.iter().zip(&sums) {
        let settings = EvidenceSettings {
            tol: 0.02,
            targets: vec![alike(*s)],
            method: Method::Integration,
            seed: seed(3),
            ..EvidenceSettings::default()
        };
        let (exact, found) = ((sum / f64::from(draws)).ln(), evidence(&problem.space(), &settings));
        let allowed = 4.5 * found.errors[0] + 0.02;
        assert!((found.values[0] - exact).abs() < allowed, "s = {s}: {} {exact}", found.values[0]);
    }
    for method in [Method::Integration, Method::Annealing] {
        let settings = EvidenceSettings {
            tol: 0.02,
            targets: depths.iter().map(|&s| alike(s)).collect(),
            method,
            max_length: 1e6,
            seed: seed(3),
            n_threads: 2,
            ..EvidenceSettings::default()
        };
        let outcome = evidence(&problem.space(), &settings);
        for (k, sum) in sums.iter().enumerate() {
            let (exact, found) = ((sum / f64::from(draws)).ln(), outcome.values[k]);
            // The brute force at the smallest Z here is good to 0.01.
            let allowed = 4.5 * outcome.errors[k] + 0.02;
            assert!(
                (found - exact).abs() < allowed,
                "{method:?}, s = {}: {found} {exact}",
                depths[k]
            );
            assert!(outcome.errors[k] < 0.05);
        }
        if method == Method::Integration {
            for (v, &count) in violated_by.iter().enumerate().filter(|(_, n)| **n > 4000) {
                let share = (f64::from(count) / f64::from(draws)).ln();
                assert!((outcome.log_share[v] - share).abs() < 0.2, "share of {v} violations");
            }
        }
    }
}

/// With label noise the evidence needs no feasible point: ln Z at κ > 0 of data that are not separable.
#[test]
fn inseparable_data_have_evidence_under_label_noise_but_no_volume() {
    let mut rng = rng(8);
    let teacher = normals(3, &mut rng);
    let problem = Problem::taught(40, &teacher, 0.3, &mut rng);
    let settings = EvidenceSettings {
        targets: vec![alike((0.7f64 / 0.3).ln()), Mirror::HARD],
        method: Method::Integration,
        max_length: 60_000.0,
        ..EvidenceSettings::default()
    };
    let outcome = evidence(&problem.space(), &settings);
    assert!(outcome.values[0].is_finite() && outcome.errors[0] < 0.15);
    assert_eq!((outcome.values[1], outcome.errors[1]), (f64::NEG_INFINITY, f64::INFINITY));
    assert!(!outcome.converged);
    // The search for a start has the last word, with a certificate.
    let bridge =
        bayespoint::evidence(&problem.space(), &EvidenceSettings::default(), &Control::new());
    assert!(matches!(bridge, Err(Error::Infeasible { violations, .. }) if violations > 0));
}

/// Transparencies that differ between the classes, hard for one of them too, against brute force.
#[test]
fn a_ladder_takes_each_class_by_itself() {
    let mut rng = rng(11);
    let teacher = normals(3, &mut rng);
    let targets = [(0.2, 0.02), (0.01, 0.4), (0.3, 0.0), (0.0, 0.3), (1.0, 0.1), (0.0, 1.0)]
        .map(|(negative, positive)| Mirror { negative, positive });
    let mut means = |problem: &Problem, draws: u32| {
        let mut sums = [0.0; 6];
        for _ in 0..draws {
            let w = normals(3, &mut rng);
            let mut weights = [1.0; 6];
            for (x, y) in problem.x.iter().zip(&problem.labels) {
                if common::dot(x, &w) * f64::from(*y) < 0.0 {
                    for (weight, target) in weights.iter_mut().zip(&targets) {
                        *weight *= if *y > 0 { target.positive } else { target.negative };
                    }
                }
            }
            sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
        }
        sums.map(|sum| sum / f64::from(draws))
    };
    // Where a class has no room by itself a hard target has no evidence, and where it has little
    // room brute force does not find it.
    let problem = (0..1000)
        .map(|k| Problem::taught(14, &teacher, 0.2, &mut common::rng(1100 + k)))
        .find(|problem| means(problem, 20_000).into_iter().all(|mean| mean > 0.01))
        .expect("a problem");
    let exact = means(&problem, size(400_000, 4_000_000)).map(f64::ln);
    for (target, exact) in targets.into_iter().zip(exact) {
        for method in [Method::Integration, Method::Annealing] {
            let settings = EvidenceSettings {
                tol: 0.03,
                targets: vec![target],
                method,
                seed: seed(4),
                ..EvidenceSettings::default()
            };
            let found = evidence(&problem.space(), &settings);
            // The brute force is good to 0.02.
            let (value, error) = (found.values[0], found.errors[0]);
            let allowed = 4.5 * error + 0.03;
            assert!((value - exact).abs() < allowed, "{method:?} {target:?}: {value} {exact}");
            assert!(found.converged);
            if method == Method::Integration {
                check_shares(&problem, &found);
            }
        }
    }
    // Each has a ladder of its own, and none a bridge.
    for (method, targets) in [
        (Method::Integration, &targets[..]),
        (Method::Annealing, &targets[..]),
        (Method::Bridge, &targets[..1]),
        (Method::Bridge, &[alike(1.0)]),
    ] {
        let targets = targets.to_vec();
        let settings = EvidenceSettings { targets, method, ..EvidenceSettings::default() };
        let refused = bayespoint::evidence(&problem.space(), &settings, &Control::new());
        assert!(matches!(refused, Err(Error::Invalid { name: "targets", .. })), "{method:?}");
    }
}

/// Shares by violations, and of the layers among those that violate as many, against brute force.
fn check_shares(problem: &Problem, found: &EvidenceOutcome) {
    let mut rng = rng(12);
    let draws = size(200_000, 2_000_000);
    let mut layers = std::collections::BTreeMap::new();
    for _ in 0..draws {
        let w = normals(3, &mut rng);
        let mut layer = (0, 0);
        for (x, y) in problem.x.iter().zip(&problem.labels) {
            if common::dot(x, &w) * f64::from(*y) < 0.0 {
                *(if *y > 0 { &mut layer.1 } else { &mut layer.0 }) += 1;
            }
        }
        *layers.entry(layer).or_insert(0u32) += 1;
    }
    for (v, log_share) in (0u32..).zip(&found.log_share) {
        let all: u32 = layers.iter().filter(|(l, _)| l.0 + l.1 == v).map(|(_, n)| n).sum();
        // On its way to a target a ladder leaves what is far from it to its first rungs.
        if all > draws / 50 {
            let share = (f64::from(all) / f64::from(draws)).ln();
            assert!((log_share - share).abs() < 0.25, "{v} violations: {log_share}, {share}");
        }
        let of_v = found.layers.iter().filter(|(a, b, _)| a + b == v);
        let sum: f64 = of_v.clone().map(|layer| layer.2).sum();
        assert!(sum == 0.0 || (sum - 1.0).abs() < 1e-9, "{v} violations: {sum}");
        for &(negative, positive, share) in of_v {
            let seen = layers.get(&(negative, positive)).copied().unwrap_or(0);
            let expected = f64::from(seen) / f64::from(all.max(1));
            let tolerance = if all > draws / 50 { 0.15 } else { 1.0 };
            assert!((share - expected).abs() < tolerance, "{negative}, {positive}: {share}");
        }
    }
}

#[test]
fn one_dimension_is_exact() {
    let outcome = evidence(
        &space(&[1.0, 2.0, 2.0, 4.0], &[1, 1], 0.0),
        &EvidenceSettings {
            targets: vec![Mirror::HARD, alike(1.0)],
            method: Method::Integration,
            ..EvidenceSettings::default()
        },
    );
    assert!((outcome.values[0] - 0.5f64.ln()).abs() < 1e-12);
    assert!((outcome.values[1] - (0.5 + 0.5 * (-2f64).exp()).ln()).abs() < 1e-12);
}

#[test]
fn same_seed_same_bits_and_bad_settings() {
    let gram = uniform(12, 1.0, 0.3);
    let space = space(&gram, &[1; 12], 0.0);
    let run = |n_threads, seed| {
        let settings = EvidenceSettings { n_threads, seed, ..EvidenceSettings::default() };
        evidence(&space, &settings).values[0].to_bits()
    };
    assert_eq!(run(1, 5), run(2, 5));
    assert_eq!(run(1, 5), run(8, 5));
    assert_ne!(run(1, 5), run(1, 6));
    let default = EvidenceSettings::default;
    for bad in [
        EvidenceSettings { n_trajectories: 0, ..default() },
        EvidenceSettings { tol: 0.0, ..default() },
        EvidenceSettings { max_length: f64::NAN, ..default() },
        EvidenceSettings { targets: vec![alike(-1.0)], ..default() },
        EvidenceSettings { targets: vec![Mirror::HARD; 2], ..default() },
        EvidenceSettings { targets: vec![], ..default() },
        EvidenceSettings { n_threads: 0, ..default() },
    ] {
        assert!(bayespoint::evidence(&space, &bad, &Control::new()).is_err());
    }
}

/// Planes that coincide and ask for different sides, as duplicate inputs with different labels do.
#[test]
fn coinciding_planes_that_disagree() {
    let mut rng = rng(9);
    for r in [2, 4] {
        let mut x: Vec<Vec<f64>> = (0..6).map(|_| normals(r, &mut rng)).collect();
        // Twice the first, opposite the second, and the third again; two against one, one against one, agreeing.
        x.extend([x[0].clone(), x[0].clone()]);
        x.push(x[1].iter().map(|v| -2.0 * v).collect());
        x.push(x[2].clone());
        let labels = vec![1, 1, -1, 1, -1, 1, -1, 1, 1, -1];
        let problem = Problem::new(x, labels);
        let draws = 1_000_000;
        let s = (0.98f64 / 0.02).ln();
        let mut sum = 0.0;
        for _ in 0..draws {
            let w = normals(r, &mut rng);
            let examples = problem.x.iter().zip(&problem.labels);
            let violated =
                examples.filter(|(x, y)| common::dot(x, &w) * f64::from(**y) < 0.0).count();
            sum += f64::exp(-s * violated as f64);
        }
        let exact = (sum / f64::from(draws)).ln();
        let values: Vec<f64> = (0..8)
            .map(|k| {
                let settings = EvidenceSettings {
                    tol: 0.03,
                    targets: vec![alike(s)],
                    method: Method::Integration,
                    seed: seed(k),
                    ..EvidenceSettings::default()
                };
                evidence(&problem.space(), &settings).values[0]
            })
            .collect();
        let (mean, error) = mean_and_error(&values);
        assert!((mean - exact).abs() < 6.0 * error + 0.02, "r = {r}: {mean} ± {error}, {exact}");
    }
}

/// A constant kernel with a little softness and mixed labels leaves a gap of √λ: the share is `√(λ / 2π) ∫ Φ³(t) Φ³(-t) dt`.
#[test]
fn gaps_of_little_softness() {
    for (k, softness) in [1e-4f64, 1e-6, 1e-7, 1e-8, 1e-10].into_iter().enumerate() {
        let exact = 0.5 * softness.ln() - 4.823_257_125;
        let gram = vec![1.0; 36];
        let space = space(&gram, &[1, -1, 1, -1, 1, -1], softness);
        let settings = EvidenceSettings { seed: seed(k as u64), ..Default::default() };
        match bayespoint::evidence(&space, &settings, &Control::new()) {
            Ok(found) => {
                let (value, error) = (found.values[0], found.errors[0]);
                println!("λ = {softness:e}: {value:.3} ± {error:.3}, exact {exact:.3}");
                assert!((value - exact).abs() < 5.0 * error && error <= 0.2, "{found:?}");
            }
            // Of a condition of 1e10 too few digits may be left.
            Err(error) => {
                println!("λ = {softness:e}: {error}");
                assert!(softness < 1e-9 && matches!(error, Error::Breakdown { .. }), "{error}");
            }
        }
    }
}
