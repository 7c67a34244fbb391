//! The largest margin meets its optimality conditions, or a certificate proves that there is none. The perceptron meets Novikoff's
//! bound.

use bayespoint::papers::perceptron::{PerceptronSettings, perceptron};
use bayespoint::{Control, Error, MarginSettings, MaxMargin, max_margin};
use rand::RngExt;

use crate::common::{Problem, blamed, dot, normals, rng, space};

/// A problem of random size. Every third has examples on a lattice, with ties and duplicates.
fn problem(index: u64, noise: f64) -> Problem {
    let mut rng = rng(index);
    let (m, r) = (rng.random_range(4..80), rng.random_range(1..8));
    let teacher = normals(r, &mut rng);
    let mut drawn = Problem::taught(m, &teacher, noise, &mut rng);
    drawn.labels[0] = -1;
    drawn.labels[1] = 1;
    if index.is_multiple_of(3) {
        for x in drawn.x.iter_mut().flatten() {
            *x = (2.0 * *x).round() + 0.25;
        }
        drawn = Problem::new(drawn.x, drawn.labels);
    }
    drawn
}

/// Checks the optimality conditions with explicit feature vectors.
fn check(problem: &Problem, found: &MaxMargin, tol: f64) {
    let w = problem.weight(&problem.signed(&found.multipliers));
    let total: f64 = found.multipliers.iter().sum();
    let square = dot(&w, &w);
    assert!((square - found.norm.powi(2)).abs() <= 1e-7 * square + 1e-12 * total, "{square}");
    for ((x, y), &a) in problem.x.iter().zip(&problem.labels).zip(&found.multipliers) {
        let margin = f64::from(*y) * dot(&w, x);
        assert!(a >= 0.0 && margin >= 1.0 - tol, "{margin} at multiplier {a}");
        assert!(a == 0.0 || margin <= 1.0 + tol, "{margin} at multiplier {a}");
    }
    assert!(found.converged && found.kkt <= tol, "{}", found.kkt);
}

#[test]
fn margins_meet_their_conditions_or_are_refused_with_a_certificate() {
    let (mut solved, mut refused) = (0, 0);
    for index in 0..600 {
        let problem = problem(2000 + index, if index % 2 == 0 { 0.0 } else { 0.05 });
        match max_margin(&problem.space(), &MarginSettings::default(), &Control::new()) {
            Ok(found) => {
                solved += 1;
                // Narrow margins have large multipliers with large rounding errors.
                let total: f64 = found.multipliers.iter().sum();
                check(&problem, &found, 1e-8f64.max(1e-13 * total));
                assert!(found.margin > 0.0 && found.margin <= found.bound * (1.0 + 1e-9));
                assert!(found.margin >= found.bound * (1.0 - 1e-6));
            }
            Err(Error::Infeasible { certificate, margin_bound, .. }) => {
                refused += 1;
                assert!(problem.check_certificate(&certificate) < 1e-7 && margin_bound < 1e-7);
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(solved > 100 && refused > 100, "{solved} {refused}");
}

#[test]
fn an_ill_conditioned_margin_is_exact() {
    // Two classes on a circle, separated only by a feature of size δ: the margin is δ.
    for delta in [1e-2, 1e-4, 1e-6] {
        let mut x = Vec::new();
        let mut labels = Vec::new();
        for k in 0..60 {
            let label = if k % 2 == 0 { 1i8 } else { -1 };
            let angle = f64::from(k / 2) * 0.2;
            x.push(vec![angle.cos(), angle.sin(), f64::from(label) * delta]);
            labels.push(label);
        }
        let problem = Problem::new(x, labels);
        let found = max_margin(&problem.space(), &MarginSettings::default(), &Control::new())
            .expect("separable");
        assert!((found.margin / delta - 1.0).abs() < 1e-3, "{} {delta}", found.margin);
        assert!(problem.space().contains(&found.dual).expect("shapes fit"));
    }
}

#[test]
fn bad_settings_are_refused() {
    let (identity, control) = ([1.0, 0.0, 0.0, 1.0], Control::new());
    let space = space(&identity, &[1, 1], 0.0);
    let default = MarginSettings::default;
    for (name, settings) in [
        ("tol", MarginSettings { tol: 0.0, ..default() }),
        ("tol", MarginSettings { tol: f64::NAN, ..default() }),
        ("max_iter", MarginSettings { max_iter: 0, ..default() }),
    ] {
        assert_eq!(blamed(max_margin(&space, &settings, &control)), name);
    }
    for (name, index, rate) in
        [("order", 2, 1.0), ("learning_rate", 1, 0.0), ("learning_rate", 1, f64::NAN)]
    {
        assert_eq!(blamed(perceptron(&space, &[0, index], &learning(rate), &control)), name);
    }
}

fn learning(learning_rate: f64) -> PerceptronSettings {
    PerceptronSettings { learning_rate, max_epochs: 10_000_000 }
}

#[test]
fn perceptron_mistakes_stay_below_novikoffs_bound() {
    for index in 0..300 {
        let problem = problem(3000 + index, 0.0);
        let space = problem.space();
        let Ok(best) = max_margin(&space, &MarginSettings::default(), &Control::new()) else {
            continue; // rounding to the lattice has moved an example across
        };
        let square = (0..space.len()).map(|i| space.gram().diagonal(i)).fold(0.0, f64::max);
        let bound = square / best.margin.powi(2);
        if bound > 1e6 {
            continue;
        }
        let mut order: Vec<usize> = (0..space.len()).collect();
        for turn in 0..2 {
            let found = perceptron(&space, &order, &learning(0.5), &Control::new()).expect("ok");
            assert!(found.converged && space.contains(&found.dual).expect("shapes fit"));
            assert!(found.mistakes as f64 <= bound, "{} {bound}", found.mistakes);
            let made = found.dual.iter().map(|c| c.abs() / 0.5).sum::<f64>();
            assert!((made - found.mistakes as f64).abs() < 1e-6, "turn {turn}");
            order.reverse();
        }
    }
}
