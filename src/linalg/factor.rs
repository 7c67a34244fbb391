//! The pivoted Cholesky factor of the Gram matrix, and isotropic Gaussian vectors drawn with it.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::gram::Planes;
use crate::simd::dot;

/// `K = L Lᵀ`, with the rows of L in the order of the examples and its columns in the order of the pivots.
///
/// L has as many columns as the numerical rank of K, so K may be singular.
///
/// Where the planes are those of several classes or of walls, K is the matrix of the examples or coordinates. With classes a
/// vector has one coordinate for each class and column, and the sum of these over the classes is zero.
#[derive(Clone, Debug)]
pub struct Factor {
    /// Row-major (m, rank).
    pub(crate) rows: Vec<f64>,
    /// The example of each column, length rank.
    pub(crate) pivots: Vec<usize>,
    /// Whether the columns span all feature vectors: `K - L Lᵀ` is rounding error.
    pub(crate) is_complete: bool,
    /// Whether the softness of an example is in `K - L Lᵀ`.
    pub(crate) loses_softness: bool,
    /// Number of entries of each row up to the last nonzero one, length m: 1 + its column for a pivot, the rank for others.
    pub(super) lengths: Vec<usize>,
    /// The planes, where they are not those of single examples.
    pub(super) planes: Option<Planes>,
}

/// A source of isotropic Gaussian vectors in the span of the feature vectors.
pub trait Isotropic: Send + Sync {
    /// Draws a vector.
    fn draw(&self, rng: &mut dyn Rng) -> Draw;

    /// The factor that the vectors are drawn with, if it is one. It may leave out directions of small variance.
    fn factor(&self) -> Option<&Factor> {
        None
    }
}

impl Isotropic for Factor {
    fn draw(&self, rng: &mut dyn Rng) -> Draw {
        self.vector(self.normal(rng))
    }

    fn factor(&self) -> Option<&Factor> {
        Some(self)
    }
}

/// An isotropic Gaussian vector in the span of the feature vectors.
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
    /// Numerical rank of K.
    pub(crate) fn columns(&self) -> usize {
        self.pivots.len()
    }

    /// Numerical rank: the dimension of the span.
    pub fn rank(&self) -> usize {
        self.columns() * self.planes.as_ref().map_or(1, Planes::dimensions)
    }

    /// Returns the vector of the span with these orthonormal coordinates ξ.
    pub(crate) fn vector(&self, mut xi: Vec<f64>) -> Draw {
        let columns = self.columns();
        let square = xi.iter().map(|x| x * x).sum();
        let field = |xi: &[f64]| -> Vec<f64> {
            (self.lengths.iter().enumerate())
                .map(|(i, &length)| {
                    let row = &self.rows[i * columns..i * columns + length];
                    dot::dot(row, &xi[..length])
                })
                .collect()
        };
        let fields: Vec<_> = xi.chunks_exact(columns).map(field).collect();
        let field = match &self.planes {
            None => fields.concat(),
            Some(planes) => planes.plane_field(&fields),
        };
        Draw { dual: self.solve_upper(&mut xi), field, square }
    }

    /// Redraws the direction, with plane coordinates g, of a ball at f. Returns the dual coefficients of the change, if any.
    ///
    /// Only the component in the span of the columns and orthogonal to the position is redrawn, at the same length. The
    /// direction remains a unit vector orthogonal to the position, and the uniform measure invariant.
    pub(crate) fn turn(&self, f: &[f64], g: &[f64], rng: &mut impl Rng) -> Option<Vec<f64>> {
        if self.rank() < 2 {
            return None;
        }
        let position = self.coordinates(f);
        let square = dot::dot(&position, &position).max(f64::MIN_POSITIVE);
        let project = |xi: &mut Vec<f64>| {
            // Twice, to remove the rounding error of the first projection.
            for _ in 0..2 {
                let along = dot::dot(xi, &position) / square;
                dot::axpy(-along, &position, xi);
            }
            dot::dot(xi, xi).sqrt()
        };
        let mut old = self.coordinates(g);
        let length = project(&mut old);
        let mut new = self.normal(rng);
        let scale = length / project(&mut new);
        if !scale.is_finite() {
            return None;
        }
        for (new, old) in new.iter_mut().zip(&old) {
            *new = *new * scale - old;
        }
        Some(self.solve_upper(&mut new))
    }

    fn normal(&self, rng: &mut dyn Rng) -> Vec<f64> {
        let width = self.columns() * self.planes.as_ref().map_or(1, Planes::functions);
        let mut xi: Vec<f64> = StandardNormal.sample_iter(rng).take(width).collect();
        if let Some(planes) = &self.planes {
            planes.take_off_common(&mut xi, self.columns());
        }
        xi
    }

    /// Returns the orthonormal coordinates ξ of the vector with plane coordinates `field`: L ξ = f at the pivots.
    pub(crate) fn coordinates(&self, field: &[f64]) -> Vec<f64> {
        let fields = match &self.planes {
            None => vec![field.to_vec()],
            Some(planes) => planes.function_fields(field),
        };
        let columns = self.columns();
        let coordinates = |field: Vec<f64>| {
            let mut xi = Vec::with_capacity(columns);
            for (column, &pivot) in self.pivots.iter().enumerate() {
                let row = &self.rows[pivot * columns..=pivot * columns + column];
                xi.push((field[pivot] - dot::dot(&row[..column], &xi)) / row[column]);
            }
            xi
        };
        fields.into_iter().flat_map(coordinates).collect()
    }

    /// Returns the dual coefficients c, zero except at the pivots, with `Lᵀ c = ξ`. Overwrites ξ.
    fn solve_upper(&self, xi: &mut [f64]) -> Vec<f64> {
        let columns = self.columns();
        let dual = |xi: &mut [f64]| {
            let mut dual = vec![0.0; self.lengths.len()];
            for (column, &pivot) in self.pivots.iter().enumerate().rev() {
                let row = &self.rows[pivot * columns..=pivot * columns + column];
                let c = xi[column] / row[column];
                dual[pivot] = c;
                dot::axpy(-c, &row[..column], &mut xi[..column]);
            }
            dual
        };
        let duals: Vec<_> = xi.chunks_exact_mut(columns).map(dual).collect();
        match &self.planes {
            None => duals.concat(),
            Some(planes) => planes.plane_duals(&duals),
        }
    }
}
