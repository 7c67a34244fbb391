//! Simulation-based calibration with several classes: a teacher from the prior has a uniform rank among draws of the posterior.

use bayespoint::dynamics::{Dynamics, Geodesic};
use bayespoint::{Gram, Mirror, RefreshChoice, Settings, VersionSpace};
use rand::RngExt;

use crate::calibration::{DRAWS, Quantity, check_ranks, data_sets, unevenness};
use crate::common::{self, TransparentWalls, alike, burnt_in, dot, normals, rng, unit};
use crate::samplers::record;

/// Path between draws.
const SPACING: f64 = 8.0;

/// Normal examples in some dimensions with labels by the largest of as many weight vectors as classes.
struct Problem {
    x: Vec<Vec<f64>>,
    gram: Vec<f64>,
    labels: Vec<usize>,
    n_classes: usize,
    noise: f64,
}

impl Problem {
    /// Returns a problem and its teacher, of unit length and without a part that all classes share, shape (C, r) row-major.
    fn taught(
        (r, m, n_classes): (usize, usize, usize),
        noise: f64,
        index: u64,
    ) -> (Self, Vec<f64>) {
        let mut rng = rng(index);
        let mut teacher = normals(n_classes * r, &mut rng);
        for k in 0..r {
            let mean = teacher.iter().skip(k).step_by(r).sum::<f64>() / n_classes as f64;
            teacher.iter_mut().skip(k).step_by(r).for_each(|w| *w -= mean);
        }
        let teacher = unit(teacher);
        let x: Vec<Vec<f64>> = (0..m).map(|_| normals(r, &mut rng)).collect();
        let labels = x.iter().map(|x| {
            let values: Vec<f64> = teacher.chunks(r).map(|w| dot(w, x)).collect();
            let own = (0..n_classes).max_by(|&a, &b| values[a].total_cmp(&values[b])).expect("one");
            let other = (own + rng.random_range(1..n_classes)) % n_classes;
            if rng.random::<f64>() < noise { other } else { own }
        });
        let labels = labels.collect();
        let gram = x.iter().flat_map(|a| x.iter().map(|b| dot(a, b))).collect();
        (Self { x, gram, labels, n_classes, noise }, teacher)
    }

    fn space(&self) -> VersionSpace<'_> {
        Gram::new(&self.gram, 0.0, vec![0.0; self.x.len()])
            .and_then(|gram| VersionSpace::of_classes(gram, &self.labels, self.n_classes))
            .expect("a good problem")
    }

    fn mirror(&self) -> Mirror {
        alike(self.noise / ((self.n_classes - 1) as f64 * (1.0 - self.noise)))
    }

    /// The weight vector of a draw, shape (C, r) row-major.
    fn weight(&self, dual: &[f64]) -> Vec<f64> {
        let r = self.x[0].len();
        let classes = self.space().planes().expect("classes").function_duals(dual);
        let part = |dual: &Vec<f64>| -> Vec<f64> {
            (0..r).map(|k| dual.iter().zip(&self.x).map(|(c, x)| c * x[k]).sum()).collect()
        };
        classes.iter().flat_map(part).collect()
    }

    /// Leads of the classes of the examples over all others.
    fn leads<'a>(&'a self, w: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let r = self.x[0].len();
        let value = move |c: usize, i: usize| dot(&w[c * r..(c + 1) * r], &self.x[i]);
        (0..self.x.len()).flat_map(move |i| {
            let own = self.labels[i];
            (0..self.n_classes).filter(move |&c| c != own).map(move |c| value(own, i) - value(c, i))
        })
    }
}

const QUANTITIES: [Quantity<Problem>; 4] = [
    ("first coordinate", |_, w| w[0]),
    ("first lead", |p, w| p.leads(w).next().expect("an example")),
    ("smallest squared lead", |p, w| p.leads(w).map(|x| x * x).fold(f64::INFINITY, f64::min)),
    ("sum of leads", |p, w| p.leads(w).sum()),
];

/// Returns the probability of ranks at least as uneven, for each quantity.
fn calibrate(
    data_sets: u64,
    shape: (usize, usize, usize),
    noise: f64,
    sample: impl Fn(&Problem, u64) -> Vec<Vec<f64>>,
) -> Vec<(&'static str, f64)> {
    let taught = |data_set| Problem::taught(shape, noise, 777_000 + data_set);
    unevenness(data_sets, &QUANTITIES, taught, |problem, seed| {
        sample(problem, seed).iter().map(|dual| problem.weight(dual)).collect()
    })
}

/// Draws of the engine, thinned until they are nearly independent.
fn engine(problem: &Problem, seed: u64) -> Vec<Vec<f64>> {
    let settings = Settings {
        n_trajectories: 1,
        n_draws: DRAWS,
        length: Some(SPACING * DRAWS as f64),
        burn_in: Some(40.0),
        tol: None,
        mirror: problem.mirror(),
        refresh: RefreshChoice::Full(Some(0.5)),
        seed,
        ..Settings::default()
    };
    let outcome = common::run(&problem.space(), &settings);
    common::draws(&outcome).map(<[f64]>::to_vec).collect()
}

/// Draws of a trajectory with any dynamics.
fn by_hand<D: Dynamics>(dynamics: &D, problem: &Problem, seed: u64) -> Vec<Vec<f64>> {
    let space = problem.space();
    let mut trajectory = burnt_in(&space, dynamics, problem.mirror(), 60.0, rng(seed));
    let draws = record(&mut trajectory, DRAWS, SPACING);
    draws.chunks(space.len()).map(<[f64]>::to_vec).collect()
}

#[test]
fn hard_walls() {
    check_ranks("C = 3", &calibrate(data_sets(), (4, 14, 3), 0.0, engine));
    check_ranks("C = 5", &calibrate(data_sets(), (4, 20, 5), 0.0, engine));
}

#[test]
fn label_noise() {
    check_ranks("C = 3", &calibrate(data_sets(), (4, 14, 3), 0.2, engine));
    check_ranks("C = 5", &calibrate(data_sets(), (4, 20, 5), 0.2, engine));
    let right = |problem: &Problem, seed| by_hand(&Geodesic, problem, seed);
    check_ranks("by hand", &calibrate(data_sets(), (4, 14, 3), 0.2, right));
}

/// Transparencies of walls in place of examples are rejected.
#[test]
fn walls_in_place_of_examples_fail() {
    let wrong =
        |problem: &Problem, seed| by_hand(&TransparentWalls(problem.mirror().0[1]), problem, seed);
    let tails = calibrate(400, (4, 20, 5), 0.2, wrong);
    println!("{tails:?}");
    assert!(tails.iter().any(|(_, p)| *p < 1e-6), "{tails:?}");
}
