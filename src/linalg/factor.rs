//! Pivoted Cholesky factor of the Gram matrix: isotropic Gaussian vectors of the span.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::gram::Gram;
use crate::simd::dot;

/// `K = L Lᵀ` with the rows of L in the order of the examples and its columns in the order of the pivots.
///
/// L has as many columns as K has numerical rank r, so singular matrices are welcome.
#[derive(Clone, Debug)]
pub struct Factor {
    /// Row-major (m, rank).
    pub(super) rows: Vec<f64>,
    /// The example of each column, length rank.
    pub(super) pivots: Vec<usize>,
    /// Whether nothing but rounding is left of K: the columns span all feature vectors.
    pub(super) is_whole: bool,
    /// Whether what softness gives to an example is among what is left.
    pub(super) loses_softness: bool,
    /// Entries of each row up to its last that is not zero, length m: its column for a pivot, the rank for the others.
    pub(super) lengths: Vec<usize>,
    pub(super) arch: pulp::Arch,
}

/// A source of isotropic Gaussian vectors of the span.
pub trait Isotropic: std::fmt::Debug + Send + Sync {
    /// Draws one.
    fn draw(&self, rng: &mut dyn Rng) -> Draw;

    /// The factor that they are of, where that leaves out what is thin.
    fn part(&self) -> Option<&Factor> {
        None
    }

    /// Whether it leaves out what softness gives to an example.
    fn loses_softness(&self) -> bool {
        false
    }
}

impl Isotropic for Factor {
    fn draw(&self, rng: &mut dyn Rng) -> Draw {
        Self::draw(self, rng)
    }

    fn part(&self) -> Option<&Factor> {
        (!self.is_whole).then_some(self)
    }

    fn loses_softness(&self) -> bool {
        self.loses_softness
    }
}

/// An isotropic Gaussian vector of the span.
#[derive(Clone, Debug)]
pub struct Draw {
    /// Dual coefficients c = L^-T ξ, shape (m,).
    pub dual: Vec<f64>,
    /// Plane coordinates L ξ, shape (m,).
    pub field: Vec<f64>,
    /// Squared length |ξ|².
    pub square: f64,
}

impl Factor {
    pub(crate) fn examples(&self) -> usize {
        self.lengths.len()
    }

    /// Numerical rank: the dimension of the span.
    pub fn rank(&self) -> usize {
        self.pivots.len()
    }

    /// Draws an isotropic Gaussian vector of the span: f = L ξ, c = L^-T ξ.
    pub fn draw(&self, rng: &mut (impl Rng + ?Sized)) -> Draw {
        self.vector(self.normal(rng))
    }

    /// The vector of the span with orthonormal coordinates ξ, length rank: f = L ξ, c = L^-T ξ.
    pub(crate) fn vector(&self, mut xi: Vec<f64>) -> Draw {
        let (m, rank) = (self.lengths.len(), self.rank());
        let square = xi.iter().map(|x| x * x).sum();
        let field = (0..m)
            .map(|i| {
                let length = self.lengths[i];
                dot::dot(self.arch, &self.rows[i * rank..i * rank + length], &xi[..length])
            })
            .collect();
        let dual = self.solve_upper(&mut xi, m);
        Draw { dual, field, square }
    }

    /// Dual coefficients of what to add to a direction, of plane coordinates g, at a position, of plane coordinates f, so that
    /// of the part within the span of the columns what lies across that of the position is drawn afresh, at the length it
    /// had. The rest of the direction stays, and so do its length and its right angle with the position: the uniform measure is
    /// invariant.
    ///
    /// None where nothing is across.
    pub(crate) fn turn(&self, f: &[f64], g: &[f64], rng: &mut impl Rng) -> Option<Vec<f64>> {
        if self.rank() < 2 {
            return None;
        }
        let position = self.coordinates(f);
        let square = dot::dot(self.arch, &position, &position).max(f64::MIN_POSITIVE);
        let across = |xi: &mut Vec<f64>| {
            // Twice: one projection leaves a part of the order of its own rounding.
            for _ in 0..2 {
                let along = dot::dot(self.arch, xi, &position) / square;
                dot::axpy(self.arch, -along, &position, xi);
            }
            dot::dot(self.arch, xi, xi).sqrt()
        };
        let mut old = self.coordinates(g);
        let length = across(&mut old);
        let mut new: Vec<f64> = self.normal(rng);
        let scale = length / across(&mut new);
        if !scale.is_finite() {
            return None;
        }
        for (new, old) in new.iter_mut().zip(&old) {
            *new = *new * scale - old;
        }
        Some(self.solve_upper(&mut new, self.examples()))
    }

    fn normal(&self, rng: &mut (impl Rng + ?Sized)) -> Vec<f64> {
        std::iter::repeat_with(|| StandardNormal.sample(rng)).take(self.rank()).collect()
    }

    /// The orthonormal coordinates ξ of the vector with plane coordinates `field`: L ξ = f at the pivots.
    pub(crate) fn coordinates(&self, field: &[f64]) -> Vec<f64> {
        let rank = self.rank();
        let mut xi = Vec::with_capacity(rank);
        for (column, &pivot) in self.pivots.iter().enumerate() {
            let row = &self.rows[pivot * rank..=pivot * rank + column];
            xi.push((field[pivot] - dot::dot(self.arch, &row[..column], &xi)) / row[column]);
        }
        xi
    }

    /// The vector of the plane coordinates `field`, without what it has along columns that may be the rounding of a matrix of
    /// less rank.
    pub(crate) fn without_rounding(&self, gram: &Gram<'_>, field: &[f64]) -> Draw {
        const ROUNDING: f64 = 1e-12;
        let mut xi = self.coordinates(field);
        for (column, (x, &pivot)) in xi.iter_mut().zip(&self.pivots).enumerate() {
            let root = self.rows[pivot * self.rank() + column];
            if root * root < ROUNDING * gram.diagonal(pivot) {
                *x = 0.0;
            }
        }
        self.vector(xi)
    }

    /// The dual coefficients c, shape (m,) and zero but for the pivots, with `Lᵀ c = ξ`. Spends ξ.
    fn solve_upper(&self, xi: &mut [f64], m: usize) -> Vec<f64> {
        let rank = self.rank();
        let mut dual = vec![0.0; m];
        for column in (0..rank).rev() {
            let pivot = self.pivots[column];
            let row = &self.rows[pivot * rank..=pivot * rank + column];
            let c = xi[column] / row[column];
            dual[pivot] = c;
            dot::axpy(self.arch, -c, &row[..column], &mut xi[..column]);
        }
        dual
    }
}
