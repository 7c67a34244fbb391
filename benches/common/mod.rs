//! Problems that the benches share.

use bayespoint::{Control, Gram, VersionSpace, feasible_point};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Features of the points.
pub const DIMENSION: usize = 20;

/// Independent normal numbers.
pub fn normals(n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    StandardNormal.sample_iter(rng).take(n).collect()
}

/// An RBF Gram matrix of normal points, its labels by a plane, softness 0.1: a version space like a user's.
pub struct Problem {
    /// Row-major (m, m).
    pub gram: Vec<f64>,
    /// Dual coefficients of a point inside.
    pub start: Vec<f64>,
    labels: Vec<i8>,
}

impl Problem {
    /// A problem of m examples.
    pub fn new(m: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let x: Vec<Vec<f64>> = (0..m).map(|_| normals(DIMENSION, &mut rng)).collect();
        let gram = x
            .iter()
            .flat_map(|a| x.iter().map(move |b| (a, b)))
            .map(|(a, b)| {
                let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
                (-square / (2.0 * DIMENSION as f64)).exp()
            })
            .collect();
        let labels = x.iter().map(|x| if x[0] > 0.0 { 1 } else { -1 }).collect();
        let mut problem = Self { gram, start: Vec::new(), labels };
        (problem.start, _) =
            feasible_point(&problem.space(), 1, &Control::new()).expect("separable by softness");
        problem
    }

    /// Its version space.
    pub fn space(&self) -> VersionSpace<'_> {
        Gram::new(&self.gram, 0.0, vec![0.1; self.labels.len()])
            .and_then(|gram| VersionSpace::new(gram, self.labels.clone()))
            .expect("a good problem")
    }
}
