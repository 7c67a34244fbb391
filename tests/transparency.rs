//! Half-silvered mirrors: the weight κ^violations.

mod common;

use bayespoint::{Mirror, RefreshChoice, Settings};
use common::{Problem, mean_and_error, normals, rng, run, seed, size, space};

fn settings(kappa: f64, length: f64, seed: u64) -> Settings {
    Settings {
        n_trajectories: 1,
        n_draws: 1,
        length: Some(length),
        settle: Some(20.0),
        tol: None,
        mirror: Mirror::new(kappa, kappa).expect("a transparency"),
        // Near κ = 1 hardly anything reflects: the refresh alone must mix.
        refresh: RefreshChoice::Full(Some(0.5)),
        seed,
        ..Settings::default()
    }
}

/// Mean violations and standard error over independent runs.
fn violations(gram: &[f64], labels: &[i8], kappa: f64, runs: u64, salt: u64) -> (f64, f64) {
    let space = space(gram, labels, 0.0);
    let values: Vec<f64> = (0..runs)
        .map(|k| run(&space, &settings(kappa, 150.0, seed(1000 * salt + k))).mean_violations)
        .collect();
    mean_and_error(&values)
}

fn orthant(m: usize) -> (Vec<f64>, Vec<i8>) {
    let mut gram = vec![0.0; m * m];
    for i in 0..m {
        gram[i * m + i] = 1.0;
    }
    (gram, (0..m).map(|i| if i % 3 == 0 { -1 } else { 1 }).collect())
}

#[test]
fn transparent_walls_leave_half_of_the_planes_violated() {
    let mut rng = rng(1);
    let teacher = normals(6, &mut rng);
    let problem = Problem::taught(30, &teacher, 0.2, &mut rng);
    let (mean, error) = violations(&problem.gram, &problem.labels, 1.0, size(30, 200), 1);
    assert!((mean - 15.0).abs() <= 4.5 * error && error < 0.3, "{mean} ± {error}");
}

#[test]
fn orthants_have_the_exact_mean_violations_and_volumes() {
    for m in [5, 10] {
        let (gram, labels) = orthant(m);
        // ln Z(0) = -∫ E_κ[violations] / κ dκ, on Gauss-Legendre nodes of κ.
        let nodes = [
            (0.046_910_077_030_668, 0.118_463_442_528_094_5),
            (0.230_765_344_947_158_4, 0.239_314_335_249_683_2),
            (0.5, 0.284_444_444_444_444_4),
            (0.769_234_655_052_841_5, 0.239_314_335_249_683_2),
            (0.953_089_922_969_332, 0.118_463_442_528_094_5),
        ];
        let (mut log_volume, mut variance) = (0.0, 0.0);
        for (k, (kappa, weight)) in nodes.into_iter().enumerate() {
            let salt = 100 * m as u64 + k as u64;
            let (mean, error) = violations(&gram, &labels, kappa, size(64, 128), salt);
            // The coordinates are independent: each is violated with odds κ : 1.
            let exact = m as f64 * kappa / (1.0 + kappa);
            assert!(
                (mean - exact).abs() <= 6.0 * error,
                "m = {m}, κ = {kappa}: {mean} ± {error}, {exact}"
            );
            log_volume -= weight * mean / kappa;
            variance += (weight * error / kappa).powi(2);
        }
        let exact = -(m as f64) * 2f64.ln();
        // The quadrature itself is good to 1e-3 of this integrand.
        assert!(
            (log_volume - exact).abs() <= 4.0 * variance.sqrt() + 2e-3 * m as f64,
            "m = {m}: ln volume {log_volume} ± {}, exact {exact}",
            variance.sqrt()
        );
        assert!(variance.sqrt() < 0.1);
    }
}

#[test]
fn classes_have_their_own_transparency() {
    let (gram, labels) = orthant(9);
    let space = space(&gram, &labels, 0.0);
    let values: Vec<f64> = (0..size(16, 64))
        .map(|k| {
            let settings = Settings {
                mirror: Mirror::new(0.5, 0.1).expect("transparencies"),
                ..settings(0.0, 150.0, seed(k))
            };
            run(&space, &settings).mean_violations
        })
        .collect();
    let (mean, error) = mean_and_error(&values);
    let exact = 3.0 * 0.5 / 1.5 + 6.0 * 0.1 / 1.1;
    assert!((mean - exact).abs() <= 6.0 * error && error < 0.1, "{mean} ± {error}, exact {exact}");
}
