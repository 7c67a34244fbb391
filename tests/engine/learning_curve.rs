//! The learning curve of the Bayes perceptron against the theory of Opper and Haussler.

use bayespoint::Settings;

use crate::common::{
    Problem, angle, density, mean_and_error, normal, normals, rng, run, seed, size, unit,
};

/// R of `R/√(1-R) = (α/π) ∫ Dx e^(-R x²/2) / H(√R x)`, by bisection; error of the Bayes point arccos(√R)/π.
fn bayes_error(alpha: f64) -> f64 {
    let excess = |r: f64| {
        let steps = 4000;
        let (low, high) = (-12.0, 12.0);
        let dx = (high - low) / f64::from(steps);
        let integral: f64 = (0..steps)
            .map(|k| {
                let x = low + (f64::from(k) + 0.5) * dx;
                let tail = normal(-r.sqrt() * x);
                if tail > 0.0 { density(x) * (-r * x * x / 2.0).exp() / tail * dx } else { 0.0 }
            })
            .sum();
        r / (1.0 - r).sqrt() - alpha / std::f64::consts::PI * integral
    };
    let (mut low, mut high) = (0.0, 1.0 - 1e-9);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if excess(middle) < 0.0 { low = middle } else { high = middle }
    }
    low.sqrt().acos() / std::f64::consts::PI
}

#[test]
fn theory_gives_the_published_values() {
    for (alpha, error) in [(2.0, 0.1745), (5.0, 0.0839), (10.0, 0.0436)] {
        assert!((bayes_error(alpha) - error).abs() < 1e-4, "{alpha}: {}", bayes_error(alpha));
    }
}

#[test]
fn center_of_mass_has_the_error_of_theory() {
    const DIMENSION: usize = 100;
    for (k, ratio) in [1, 2, 5].into_iter().enumerate() {
        let errors: Vec<f64> = (0..size(24, 100))
            .map(|repeat| {
                let index = 1000 * k as u64 + repeat;
                let mut rng = rng(index);
                let teacher = unit(normals(DIMENSION, &mut rng));
                let m = ratio * DIMENSION;
                let problem = Problem::taught(m, &teacher, 0.0, &mut rng);
                let settings = Settings {
                    tol: Some(0.05),
                    n_draws: 10,
                    seed: seed(index),
                    n_threads: 2,
                    ..Settings::default()
                };
                let outcome = run(&problem.space(), &settings);
                angle(&problem.weight(&outcome.center.dual), &teacher) / std::f64::consts::PI
            })
            .collect();
        let (mean, error) = mean_and_error(&errors);
        let alpha = ratio as f64;
        let theory = bayes_error(alpha);
        assert!(
            (mean - theory).abs() <= 3.0 * error && error < 0.04 * theory,
            "α = {alpha}: {mean} ± {error}, theory {theory}"
        );
    }
}
