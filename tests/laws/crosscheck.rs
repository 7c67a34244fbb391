//! The engine against other samplers: rejection in few dimensions, Gibbs' sampler of truncated normal vectors in more.

use bayespoint::{RefreshChoice, Settings};
use ndarray::{Array3, ArrayView2};
use rand::RngExt;

use crate::common::{Problem, alike, dot, mean, normals, rbf, rng, seed, size, space, unit};
use crate::comparisons::{Comparisons, effective_size};
use crate::samplers::gibbs;

/// Compares the centers of two sets of chains of weight vectors, and their votes at test points.
fn compare(
    comparisons: &mut Comparisons,
    case: &str,
    billiard: &[Vec<Vec<f64>>],
    other: &[Vec<Vec<f64>>],
    inner: impl Fn(&[f64], &[f64]) -> f64,
    tests: &[Vec<f64>],
) {
    let center = |chains: &[Vec<Vec<f64>>]| {
        let mut sum = vec![0.0; chains[0][0].len()];
        for w in chains.iter().flatten() {
            sum.iter_mut().zip(w).for_each(|(s, w)| *s += w);
        }
        let norm = inner(&sum, &sum).sqrt();
        sum.iter_mut().for_each(|s| *s /= norm);
        sum
    };
    let cosine = inner(&center(billiard), &center(other));
    let mut squares = Vec::new();
    for (k, test) in tests.iter().enumerate() {
        let votes = |chains: &[Vec<Vec<f64>>]| {
            let votes: Vec<Vec<f64>> = chains
                .iter()
                .map(|c| c.iter().map(|w| f64::from(u8::from(dot(w, test) > 0.0))).collect())
                .collect();
            (mean(&votes.concat()), votes)
        };
        let ((a, votes_a), (b, votes_b)) = (votes(billiard), votes(other));
        let p = 0.5 * (a + b);
        // Skip unanimous votes.
        if p > 0.02 && p < 0.98 {
            let sizes = effective_size(&votes_a).recip() + effective_size(&votes_b).recip();
            let z = (a - b) / (p * (1.0 - p) * sizes).sqrt();
            squares.push(z * z);
            let what = format!("vote at test point {}", k + 1);
            comparisons.check_score(case, &what, (a, b), z);
        }
    }
    let largest = squares.iter().copied().fold(0.0, f64::max).sqrt();
    println!(
        "{case}: cosine of the centers {cosine:.6}; votes at {} points, rms {:.2} and at most {largest:.2} errors off",
        squares.len(),
        mean(&squares).sqrt(),
    );
    assert!(cosine >= 0.999, "{case}: {cosine}");
    assert!(squares.len() >= 5, "{case}: nearly all votes are unanimous");
}

fn settings(kappa: f64, index: u64) -> Settings {
    Settings {
        n_trajectories: 16,
        n_draws: size(600, 4000),
        length: Some(size(1200.0, 8000.0)),
        tol: None,
        mirror: alike(kappa),
        refresh: RefreshChoice::Full(Some(1.0)),
        seed: seed(index),
        ..Settings::default()
    }
}

fn chains(draws: &Array3<f64>) -> Vec<Vec<Vec<f64>>> {
    let rows = |chain: ArrayView2<'_, f64>| chain.rows().into_iter().map(|w| w.to_vec()).collect();
    draws.outer_iter().map(rows).collect()
}

#[test]
fn rejection_agrees() {
    let mut comparisons = Comparisons::default();
    for (r, m, kappa) in [(2, 4, 0.0), (3, 8, 0.0), (4, 10, 0.0), (3, 8, 0.15), (4, 10, 0.1)] {
        let mut rng = rng(80_000 + (10 * r + m) as u64);
        let teacher = unit(normals(r, &mut rng));
        let noise = kappa / (1.0 + kappa);
        let problem = Problem::taught(m, &teacher, noise, &mut rng);
        let outcome = crate::common::run(&problem.space(), &settings(kappa, 800 + r as u64));
        let billiard: Vec<Vec<Vec<f64>>> = chains(&outcome.draws)
            .iter()
            .map(|chain| chain.iter().map(|dual| problem.weight(dual)).collect())
            .collect();
        let mut accepted = Vec::new();
        while accepted.len() < size(20_000, 200_000) {
            let w = unit(normals(r, &mut rng));
            let violated: u32 = problem.violations(&w).iter().sum();
            if rng.random::<f64>() < f64::powf(kappa, violated.into()) {
                accepted.push(w);
            }
        }
        let other: Vec<Vec<Vec<f64>>> = accepted.chunks(500).map(<[Vec<f64>]>::to_vec).collect();
        // Votes are divided near the plane of the teacher.
        let tests: Vec<Vec<f64>> = (0..40).map(|_| across(&teacher, 0.5, &mut rng)).collect();
        let case = format!("rejection, r = {r}, m = {m}, κ = {kappa}");
        compare(&mut comparisons, &case, &billiard, &other, dot, &tests);
    }
    comparisons.assert_right();
}

/// Returns a test point near the plane of the teacher.
fn across(teacher: &[f64], off: f64, rng: &mut rand::rngs::ChaCha8Rng) -> Vec<f64> {
    let mut x = normals(teacher.len(), rng);
    let along = dot(&x, teacher);
    for (x, t) in x.iter_mut().zip(teacher) {
        *x -= (1.0 - off) * along * t;
    }
    x
}

#[test]
fn gibbs_agrees() {
    let mut comparisons = Comparisons::default();
    for (m, sigma, softness) in [(10, 2.0, 0.5), (25, 3.0, 0.2), (50, 3.0, 0.3), (50, 1.5, 0.05)] {
        let (mut gram, labels) = rbf(m, sigma, 900 + m as u64);
        let outcome = {
            let space = space(&gram, &labels, softness);
            crate::common::run(&space, &settings(0.0, 900 + m as u64))
        };
        for i in 0..m {
            gram[i * m + i] += softness;
        }
        let mut rng = rng(90_000 + m as u64);
        let start: Vec<f64> = labels.iter().map(|y| f64::from(*y)).collect();
        let other: Vec<Vec<Vec<f64>>> = (0..16)
            .map(|_| {
                // Without the first tenth as burn-in.
                let draws = size(300, 3000);
                let all = gibbs(&gram, &labels, &start, (draws * 11 / 10, 20), &mut rng);
                all[draws / 10..].to_vec()
            })
            .collect();
        let product = |a: &[f64], b: &[f64]| -> f64 {
            gram.chunks(m).zip(a).map(|(row, a)| a * dot(row, b)).sum()
        };
        // Sums of an example of each class, as functionals of the dual coefficients.
        let class = |y: i8| (0..m).filter(|&i| labels[i] == y).collect::<Vec<_>>();
        let (up, down) = (class(1), class(-1));
        let tests: Vec<Vec<f64>> = (0..30)
            .map(|k| {
                let (a, b) = (up[k % up.len()], down[(3 * k + 1) % down.len()]);
                (0..m).map(|j| gram[a * m + j] + gram[b * m + j]).collect()
            })
            .collect();
        let case = format!("Gibbs, m = {m}, σ = {sigma}, λ = {softness}");
        compare(&mut comparisons, &case, &chains(&outcome.draws), &other, product, &tests);
    }
    comparisons.assert_right();
}
