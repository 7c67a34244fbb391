//! Problems, oracles and statistics for the tests.
//!
//! All seeds come from [`seed`]. The environment variable `BAYESPOINT_SEED` shifts them; the tests must pass for any value.
//! `BAYESPOINT_SLOW=1` selects the longest form of the statistical tests.
#![allow(dead_code, reason = "every test binary uses its own part")]

pub mod states;

use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::fmt::Debug;
use std::slice::ChunksExact;
use std::sync::Arc;

use bayespoint::dynamics::{Arrival, Dynamics, Geodesic};
use bayespoint::papers::motions::{self, Motion, MotionOutcome, MotionSettings};
use bayespoint::{
    Ball, Control, Entry, Error, Factor, Goal, Gram, Inverse, Isotropic, Mirror, Outcome, Refresh,
    Result, Settings, State, Tally, Trajectory, VersionSpace, sample,
};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// Returns the seed of a random object.
pub fn seed(index: u64) -> u64 {
    let shift: u64 = std::env::var("BAYESPOINT_SEED")
        .map_or(0, |text| text.parse().expect("BAYESPOINT_SEED must be a whole number"));
    index.wrapping_add(shift.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Returns `long` under `BAYESPOINT_SLOW=1`, else `short`.
pub fn size<T>(short: T, long: T) -> T {
    if std::env::var("BAYESPOINT_SLOW").is_ok_and(|x| x == "1") { long } else { short }
}

pub fn rng(index: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed(index))
}

pub fn normals(n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    StandardNormal.sample_iter(rng).take(n).collect()
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

pub fn unit(mut x: Vec<f64>) -> Vec<f64> {
    let length = dot(&x, &x).sqrt();
    x.iter_mut().for_each(|x| *x /= length);
    x
}

/// Returns the angle between two vectors, accurately if it is small.
pub fn angle(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (unit(a.to_vec()), unit(b.to_vec()));
    let chord: f64 = a.iter().zip(&b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
    2.0 * (chord / 2.0).min(1.0).asin()
}

/// A linear classification problem in `r` dimensions with explicit feature vectors.
pub struct Problem {
    pub x: Vec<Vec<f64>>,
    pub labels: Vec<i8>,
    pub gram: Vec<f64>,
}

impl Problem {
    pub fn new(x: Vec<Vec<f64>>, labels: Vec<i8>) -> Self {
        let gram = x.iter().flat_map(|a| x.iter().map(|b| dot(a, b))).collect();
        Self { x, labels, gram }
    }

    /// Normal examples in `r` dimensions, labeled by the plane of `teacher`, each label flipped with probability `noise`.
    pub fn taught(m: usize, teacher: &[f64], noise: f64, rng: &mut ChaCha8Rng) -> Self {
        let x: Vec<Vec<f64>> = (0..m).map(|_| normals(teacher.len(), rng)).collect();
        let labels = x
            .iter()
            .map(|x| {
                let flip = noise > 0.0 && rng.random::<f64>() < noise;
                if (dot(x, teacher) > 0.0) == flip { -1 } else { 1 }
            })
            .collect();
        Self::new(x, labels)
    }

    pub fn space(&self) -> VersionSpace<'_> {
        space(&self.gram, &self.labels, 0.0)
    }

    /// Feature vectors times labels, of unit length: the inward normals of the walls.
    pub fn inward(&self) -> Vec<Vec<f64>> {
        let signed = |(x, y): (&Vec<f64>, &i8)| unit(x.iter().map(|x| x * f64::from(*y)).collect());
        self.x.iter().zip(&self.labels).map(signed).collect()
    }

    /// The number of labels of either class, -1 and 1, that a weight vector violates.
    pub fn violations(&self, weight: &[f64]) -> [u32; 2] {
        let mut violations = [0; 2];
        for (x, y) in self.x.iter().zip(&self.labels) {
            violations[usize::from(*y > 0)] += u32::from(dot(x, weight) * f64::from(*y) < 0.0);
        }
        violations
    }

    /// Isotropic unit vectors, layer by layer: their sum and their number.
    pub fn layers(&self, draws: u32, rng: &mut ChaCha8Rng) -> BTreeMap<[u32; 2], (Vec<f64>, f64)> {
        let d = self.x[0].len();
        let mut layers = BTreeMap::new();
        for _ in 0..draws {
            let w = unit(normals(d, rng));
            let (sum, count) =
                layers.entry(self.violations(&w)).or_insert_with(|| (vec![0.0; d], 0.0));
            sum.iter_mut().zip(&w).for_each(|(s, w)| *s += w);
            *count += 1.0;
        }
        layers
    }

    /// Checks a certificate of infeasibility, the weights of a convex combination of the labeled feature vectors. Returns the
    /// length of the combination relative to the longest feature vector, which bounds every margin.
    pub fn check_certificate(&self, certificate: &[f64]) -> f64 {
        assert_eq!(certificate.len(), self.x.len());
        assert!(certificate.iter().all(|a| *a >= 0.0), "{certificate:?}");
        assert!((certificate.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let combination = self.weight(&self.signed(certificate));
        let longest = self.x.iter().map(|x| dot(x, x)).fold(0.0, f64::max);
        (dot(&combination, &combination) / longest).sqrt()
    }

    /// One value for each example times its label.
    pub fn signed(&self, values: &[f64]) -> Vec<f64> {
        values.iter().zip(&self.labels).map(|(a, y)| a * f64::from(*y)).collect()
    }

    /// The weight vector of dual coefficients.
    pub fn weight(&self, dual: &[f64]) -> Vec<f64> {
        let mut w = vec![0.0; self.x[0].len()];
        for (c, x) in dual.iter().zip(&self.x) {
            for (w, x) in w.iter_mut().zip(x) {
                *w += c * x;
            }
        }
        w
    }

    /// Pairs of planes with a corner of the spherical polygon (r = 3) on both, and the corner.
    pub fn corners(&self) -> Vec<(usize, usize, Vec<f64>)> {
        let normals = self.inward();
        let mut corners = Vec::new();
        for (i, n) in normals.iter().enumerate() {
            for (j, other) in normals.iter().enumerate().skip(i + 1) {
                for sign in [1.0, -1.0] {
                    let corner = unit(cross(n, other).iter().map(|x| x * sign).collect());
                    let inside =
                        |(k, n): (usize, &Vec<f64>)| k == i || k == j || dot(n, &corner) > 0.0;
                    if normals.iter().enumerate().all(inside) {
                        corners.push((i, j, corner));
                    }
                }
            }
        }
        corners
    }

    /// The exact centroid of a spherical polygon (r = 3): ½ Σ (edge length) · (unit inward normal), as a unit vector.
    pub fn polygon_centroid(&self) -> Vec<f64> {
        let corners = self.corners();
        let mut centroid = vec![0.0; 3];
        for (i, n) in self.inward().iter().enumerate() {
            let on_this: Vec<_> = corners.iter().filter(|c| c.0 == i || c.1 == i).collect();
            // The two ends of this edge, if the plane has one.
            if let [(_, _, a), (_, _, b)] = on_this[..] {
                let length = angle(a, b);
                centroid.iter_mut().zip(n).for_each(|(c, n)| *c += 0.5 * length * n);
            }
        }
        unit(centroid)
    }
}

/// Normal examples in `r` dimensions, labeled by a random teacher.
pub fn taught(m: usize, r: usize, index: u64) -> Problem {
    noisily_taught(m, r, 0.0, index)
}

/// The same with each label flipped with probability `noise`.
pub fn noisily_taught(m: usize, r: usize, noise: f64, index: u64) -> Problem {
    let mut rng = rng(index);
    let teacher = normals(r, &mut rng);
    Problem::taught(m, &teacher, noise, &mut rng)
}

/// A matrix with `diagonal` on and `rest` off the diagonal.
pub fn uniform(m: usize, diagonal: f64, rest: f64) -> Vec<f64> {
    (0..m * m).map(|k| if k / m == k % m { diagonal } else { rest }).collect()
}

pub fn cross(a: &[f64], b: &[f64]) -> Vec<f64> {
    vec![a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub fn space<'a>(gram: &'a [f64], labels: &[i8], softness: f64) -> VersionSpace<'a> {
    space_of(Gram::new(gram, 0.0, vec![softness; labels.len()]), labels)
}

pub fn space_of<'a>(gram: Result<Gram<'a>>, labels: &[i8]) -> VersionSpace<'a> {
    gram.and_then(|gram| VersionSpace::new(gram, labels.to_vec())).expect("a valid problem")
}

/// `Q diag(1 .. 10^-decades) Qᵀ` with Q from normal vectors, made orthonormal.
pub fn ill_conditioned(m: usize, decades: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    while basis.len() < m {
        let mut vector = normals(m, rng);
        for _ in 0..2 {
            for b in &basis {
                let along = dot(&vector, b);
                vector.iter_mut().zip(b).for_each(|(x, b)| *x -= along * b);
            }
        }
        basis.push(unit(vector));
    }
    let mut gram = vec![0.0; m * m];
    for (k, b) in basis.iter().enumerate() {
        let eigenvalue = 10f64.powf(-decades * k as f64 / (m as f64 - 1.0));
        for i in 0..m {
            for j in 0..m {
                gram[i * m + j] += eigenvalue * b[i] * b[j];
            }
        }
    }
    for i in 0..m {
        for j in 0..i {
            gram[i * m + j] = gram[j * m + i];
        }
    }
    gram
}

/// An RBF problem of normal points in ten dimensions with a curved boundary.
pub fn rbf(m: usize, sigma: f64, seed: u64) -> (Vec<f64>, Vec<i8>) {
    let mut rng = rng(seed);
    let x: Vec<Vec<f64>> = (0..m).map(|_| normals(10, &mut rng)).collect();
    let labels =
        x.iter().map(|x| if x[0] + (2.0 * x[1]).sin() / 2.0 > 0.0 { 1 } else { -1 }).collect();
    let gram = x
        .iter()
        .flat_map(|a| x.iter().map(move |b| (a, b)))
        .map(|(a, b)| {
            let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
            (-square / (2.0 * sigma * sigma)).exp()
        })
        .collect();
    (gram, labels)
}

/// Walls of one transparency for both classes.
pub fn alike(kappa: f64) -> Mirror {
    Mirror([kappa, kappa])
}

pub fn run(space: &VersionSpace<'_>, settings: &Settings) -> Outcome {
    bayespoint::run(space, settings, &Control::new()).expect("a good run")
}

/// Runs a motion of the papers.
pub fn try_fly(space: &VersionSpace<'_>, motion: Motion, run: &Settings) -> Result<MotionOutcome> {
    motions::fly(space, &MotionSettings { motion, run: run.clone() }, &Control::new())
}

pub fn fly(space: &VersionSpace<'_>, motion: Motion, run: &Settings) -> MotionOutcome {
    try_fly(space, motion, run).expect("a good run")
}

/// Returns the name of the argument that an error blames.
pub fn blamed<T: Debug>(result: Result<T>) -> &'static str {
    match result {
        Err(Error::Invalid { name, .. }) => name,
        other => panic!("{other:?}"),
    }
}

/// Returns a counter of each trajectory of a run.
pub fn each<T>(outcome: &Outcome, of: impl Fn(&Tally) -> T) -> Vec<T> {
    outcome.tallies.iter().map(of).collect()
}

/// Returns the sum of a counter over the trajectories of a run.
pub fn total(outcome: &Outcome, of: impl Fn(&Tally) -> u64) -> u64 {
    each(outcome, of).into_iter().sum()
}

/// Returns the draws of a run, trajectory by trajectory.
pub fn draws(outcome: &Outcome) -> ChunksExact<'_, f64> {
    let values = &outcome.draws;
    values.as_slice().expect("row-major").chunks_exact(values.dim().2)
}

/// Returns the angle between two unit vectors with given dual coefficients.
pub fn dual_angle(space: &VersionSpace<'_>, a: &[f64], b: &[f64]) -> f64 {
    let difference: Vec<f64> = a.iter().zip(b).map(|(x, y)| x - y).collect();
    let m = a.len();
    let square: f64 = (0..m)
        .map(|i| {
            difference[i] * (0..m).map(|j| space.gram().entry(i, j) * difference[j]).sum::<f64>()
        })
        .sum();
    2.0 * (square.max(0.0).sqrt() / 2.0).min(1.0).asin()
}

/// Checks that two outcomes have the same bits. Numbers are printed with as many digits as identify them.
pub fn assert_same<T: Debug>(a: &T, b: &T, what: &str) {
    assert!(format!("{a:?}") == format!("{b:?}"), "{what}: not the same bits");
}

/// The inverse of a matrix with softness.
#[derive(Clone)]
pub struct Inverted {
    /// The columns of the Cholesky factor, one after the other.
    pub columns: Vec<f64>,
    /// The columns of its inverse.
    solved: Vec<Vec<f64>>,
    diagonal: Vec<f64>,
}

impl Inverted {
    pub fn new(gram: &[f64], softness: f64) -> Self {
        let m = gram.len().isqrt();
        let mut columns = vec![0.0; m * m];
        for j in 0..m {
            for i in j..m {
                let done: f64 = (0..j).map(|k| columns[k * m + i] * columns[k * m + j]).sum();
                let shift = if i == j { softness } else { 0.0 };
                let rest = gram[i * m + j] + shift - done;
                columns[j * m + i] = if i == j { rest.sqrt() } else { rest / columns[j * m + j] };
            }
        }
        let solve = |i: usize| {
            let mut x = vec![0.0; m];
            x[i] = 1.0;
            for j in i..m {
                x[j] /= columns[j * m + j];
                for k in j + 1..m {
                    x[k] -= columns[j * m + k] * x[j];
                }
            }
            x
        };
        let solved: Vec<Vec<f64>> = (0..m).map(solve).collect();
        let diagonal = solved.iter().map(|x| dot(x, x)).collect();
        Self { columns, solved, diagonal }
    }

    /// For the center by conditional means.
    pub fn inverse(&self) -> Inverse<'_> {
        Inverse::new(&self.columns, &self.diagonal).expect("an inverse")
    }

    pub fn rows(&self) -> Vec<Vec<f64>> {
        self.solved.iter().map(|x| self.solved.iter().map(|y| dot(x, y)).collect()).collect()
    }
}

/// A problem that owns its matrix.
#[derive(Clone)]
pub struct Owned<E = f64> {
    pub gram: Vec<E>,
    pub labels: Vec<i8>,
    pub softness: f64,
    /// For the center by conditional means.
    pub inverted: Option<Inverted>,
}

impl Owned {
    /// An RBF problem of [`rbf`].
    pub fn rbf(m: usize, sigma: f64, softness: f64, index: u64) -> Self {
        let (gram, labels) = rbf(m, sigma, index);
        Self::new(gram, labels, softness)
    }

    /// The same problem with conditional means.
    pub fn inverted(&self) -> Self {
        Self { inverted: Some(Inverted::new(&self.gram, self.softness)), ..self.clone() }
    }
}

impl<E: Entry> Owned<E> {
    pub fn new(gram: Vec<E>, labels: Vec<i8>, softness: f64) -> Self {
        Self { gram, labels, softness, inverted: None }
    }

    pub fn space(&self) -> VersionSpace<'_> {
        space_of(Gram::new(&self.gram, 0.0, vec![self.softness; self.labels.len()]), &self.labels)
    }

    pub fn inverse(&self) -> Option<Inverse<'_>> {
        self.inverted.as_ref().map(Inverted::inverse)
    }

    pub fn run(&self, settings: &Settings) -> Outcome {
        sample(&self.space(), settings, self.inverse(), None, &Control::new()).expect("a good run")
    }

    pub fn resume(&self, settings: &Settings, state: &State) -> Result<Outcome> {
        sample(&self.space(), settings, self.inverse(), Some(state), &Control::new())
    }
}

pub fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// Returns the mean of independent values and its standard error.
pub fn mean_and_error(x: &[f64]) -> (f64, f64) {
    let (n, center) = (x.len() as f64, mean(x));
    let variance = x.iter().map(|x| (x - center).powi(2)).sum::<f64>() / (n - 1.0);
    (center, (variance / n).sqrt())
}

pub fn rms(x: &[f64]) -> f64 {
    mean(&x.iter().map(|x| x * x).collect::<Vec<_>>()).sqrt()
}

/// Density of the standard normal distribution.
pub fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// Distribution function of the standard normal distribution, with small relative error in both tails.
pub fn normal(x: f64) -> f64 {
    if x > 0.0 {
        return 1.0 - normal(-x);
    }
    if x > -3.0 {
        // Φ(x) = ½ + φ(x) Σ x^(2k+1) / (2k+1)!!
        let (mut term, mut sum) = (x, x);
        for k in 1..200 {
            term *= x * x / (2.0 * f64::from(k) + 1.0);
            sum += term;
            if term.abs() < 1e-17 {
                break;
            }
        }
        return 0.5 + density(x) * sum;
    }
    let fraction = (1..80).rev().fold(-x, |rest, k| -x + f64::from(k) / rest);
    density(x) / fraction
}

/// A wrong dynamics for several classes: a wall is half-silvered also where another wall of its example is violated.
#[derive(Clone)]
pub struct TransparentWalls(pub f64);

impl Dynamics for TransparentWalls {
    fn flight(&mut self, ball: &Ball) -> Option<f64> {
        Geodesic.flight(ball)
    }

    fn arrive(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace<'_>,
        _transparency: f64,
        rng: &mut impl Rng,
    ) -> Arrival {
        let violated = ball.f()[ball.next_wall().plane].is_sign_negative();
        Geodesic.arrive(ball, space, if violated { 1.0 } else { self.0 }, rng)
    }
}

/// Returns a trajectory from an isotropic start, with full refreshes, after a path of burn-in.
pub fn burnt_in<'s, D: Dynamics>(
    space: &'s VersionSpace<'s>,
    dynamics: &D,
    mirror: Mirror,
    path: f64,
    mut rng: ChaCha8Rng,
) -> Trajectory<'s, D> {
    let control = Control::new();
    let source = Arc::new(Factor::new(space.gram(), &control).expect("a factor"));
    let [position, direction] = [(); 2].map(|()| source.draw(&mut rng).dual);
    let ball = Ball::new(space.gram(), &position, &direction, &control).expect("a ball");
    let mut trajectory = Trajectory::new(space, dynamics.clone(), ball, rng);
    trajectory.set_mirror(mirror);
    trajectory.set_refresh(Refresh::Full { rate: 0.5, source });
    trajectory.reset();
    trajectory.run(Goal::path(path), &control).expect("runs");
    trajectory.reset();
    trajectory
}
