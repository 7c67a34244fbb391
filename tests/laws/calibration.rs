//! Simulation-based calibration: a teacher from the prior has a uniform rank among draws of the posterior.

use bayespoint::{RefreshChoice, Settings};

use crate::common::{self, Problem, alike, dot, normals, rng, seed, size};
use crate::special::chi_square_tail;

pub const DRAWS: usize = 63;
const BINS: usize = 8;

/// A test quantity of a weight vector on a problem.
pub type Quantity<P> = (&'static str, fn(&P, &[f64]) -> f64);
const QUANTITIES: [Quantity<Problem>; 3] = [
    ("first coordinate", |_, w| w[0]),
    ("margin of the first example", |p, w| dot(w, &p.x[0]) * f64::from(p.labels[0])),
    ("smallest squared margin", |p, w| {
        p.x.iter().map(|x| dot(w, x).powi(2)).fold(f64::INFINITY, f64::min)
    }),
];

/// Returns, for each quantity, the probability of ranks at least as uneven, of teachers among the
/// weight vectors drawn for their problems.
pub fn unevenness<P>(
    data_sets: u64,
    quantities: &[Quantity<P>],
    taught: impl Fn(u64) -> (P, Vec<f64>),
    sample: impl Fn(&P, u64) -> Vec<Vec<f64>>,
) -> Vec<(&'static str, f64)> {
    let mut counts = vec![[0usize; BINS]; quantities.len()];
    for data_set in 0..data_sets {
        let (problem, teacher) = taught(data_set);
        let draws = sample(&problem, seed(data_set));
        assert_eq!(draws.len(), DRAWS);
        for ((_, quantity), counts) in quantities.iter().zip(&mut counts) {
            let own = quantity(&problem, &teacher);
            let rank = draws.iter().filter(|w| quantity(&problem, w) < own).count();
            counts[rank * BINS / (DRAWS + 1)] += 1;
        }
    }
    let expected = data_sets as f64 / BINS as f64;
    let tail = |((name, _), counts): (&Quantity<P>, &[usize; BINS])| {
        let square = counts.iter().map(|&n| (n as f64 - expected).powi(2) / expected).sum();
        (*name, chi_square_tail(square, BINS as f64 - 1.0))
    };
    quantities.iter().zip(&counts).map(tail).collect()
}

fn calibrate(
    data_sets: u64,
    (r, m): (usize, usize),
    noise: f64,
    sample: impl Fn(&Problem, u64) -> Vec<Vec<f64>>,
) -> Vec<(&'static str, f64)> {
    let taught = |data_set| {
        let mut rng = rng(10_000 * r as u64 + data_set);
        let teacher = common::unit(normals(r, &mut rng));
        (Problem::taught(m, &teacher, noise, &mut rng), teacher)
    };
    unevenness(data_sets, &QUANTITIES, taught, |problem, seed| {
        sample(problem, seed).iter().map(|dual| problem.weight(dual)).collect()
    })
}

/// Returns the sampler of the engine, thinned until draws are nearly independent.
fn engine(refresh: RefreshChoice, noise: f64) -> impl Fn(&Problem, u64) -> Vec<Vec<f64>> {
    move |problem, seed| {
        let settings = Settings {
            n_trajectories: 1,
            n_draws: DRAWS,
            length: Some(6.0 * DRAWS as f64),
            burn_in: Some(30.0),
            tol: None,
            mirror: alike(noise / (1.0 - noise)),
            refresh,
            seed,
            ..Settings::default()
        };
        let outcome = common::run(&problem.space(), &settings);
        common::draws(&outcome).map(<[f64]>::to_vec).collect()
    }
}

pub fn data_sets() -> u64 {
    size(200, 1000)
}

pub fn check_ranks(name: &str, tails: &[(&str, f64)]) {
    for (quantity, p) in tails {
        // Fifteen comparisons here and twenty of several classes: one false alarm in 570 seeds.
        assert!(*p > 5e-5, "{name}, {quantity}: such uneven ranks have probability {p:e}");
    }
}

#[test]
fn hard_walls_with_pairs() {
    let pairs = RefreshChoice::Pair(Some(20.0));
    check_ranks("r = 5", &calibrate(data_sets(), (5, 15), 0.0, engine(pairs, 0.0)));
    check_ranks("r = 20", &calibrate(data_sets(), (20, 50), 0.0, engine(pairs, 0.0)));
}

#[test]
fn hard_walls_with_full_refresh() {
    let full = RefreshChoice::Full(Some(0.5));
    check_ranks("r = 20", &calibrate(data_sets(), (20, 50), 0.0, engine(full, 0.0)));
}

#[test]
fn label_noise() {
    let full = RefreshChoice::Full(Some(0.5));
    check_ranks("r = 5", &calibrate(data_sets(), (5, 15), 0.1, engine(full, 0.1)));
    check_ranks("r = 20", &calibrate(data_sets(), (20, 50), 0.1, engine(full, 0.1)));
}

/// The wrong noise level is rejected.
#[test]
fn a_wrong_transparency_fails() {
    let full = RefreshChoice::Full(Some(0.5));
    let tails = calibrate(200, (5, 15), 0.1, engine(full, 0.0001));
    assert!(tails.iter().any(|(_, p)| *p < 1e-8), "{tails:?}");
}
