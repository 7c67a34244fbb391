//! Rows of the Gram matrix of explicit features.

use std::sync::Arc;

use pulp::Arch;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::panels::Panels;
use super::source::{Row, Source};
use crate::base::{Control, Error, Result, memory};
use crate::simd::{Precision, Product, dot};

/// Vectors of length m that are allocated with the features.
const VECTORS: usize = 8;

/// Explicit features: the entries of the matrix are their inner products. The m x m matrix is never stored.
///
/// A row takes O(m d) operations, and so does `K c`, through the weight vector in feature space. This suits many examples in few
/// dimensions, of whose planes a ball keeps a neighbor list.
#[derive(Debug)]
pub(super) struct Features {
    points: Panels,
    arch: Arch,
}

impl Features {
    /// Copies the features of m examples, row-major (m, d).
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for another number of values, none at all, or one that is not finite; [`Error::Memory`].
    pub fn new(values: &[f64], m: usize, d: usize) -> Result<Self> {
        if values.is_empty() || Some(values.len()) != m.checked_mul(d) {
            let got = format!("{} values for {m} examples with {d} features", values.len());
            return Err(Error::invalid("features", got, "as many values for each example"));
        }
        memory::check_vectors(d + VECTORS, m)?;
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            let got = format!("{} at example {}, feature {}", values[at], at / d, at % d);
            return Err(Error::invalid("features", got, "finite"));
        }
        let points = Panels::new(m, d, |i, point| point.copy_from_slice(&values[i * d..][..d]));
        Ok(Self { points, arch: Arch::new() })
    }

    /// One point per example.
    pub fn points(&self) -> &Panels {
        &self.points
    }

    /// One key per example. Keys differ by at most [`KEY_WINDOW`] if the feature vectors, with `offset` added to their inner
    /// products, are parallel up to rounding, so parallel ones are found without computing all rows.
    pub fn keys(&self, offset: f64) -> Vec<f64> {
        let (arch, d) = (self.arch, self.points.dimension());
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut direction: Vec<f64> = StandardNormal.sample_iter(&mut rng).take(d + 1).collect();
        let length = dot::dot(arch, &direction, &direction).sqrt();
        direction.iter_mut().for_each(|x| *x /= length);
        // The component along `direction` of the normalized features with a constant coordinate √offset.
        let mut point = Vec::with_capacity(d + 1);
        let key = |i| {
            point.clear();
            point.extend(self.points.point(i).chain([offset.sqrt()]));
            let square = dot::dot(arch, &point, &point);
            if square == 0.0 {
                return 0.0;
            }
            (dot::dot(arch, &direction, &point) / square.sqrt()).abs()
        };
        (0..self.points.len()).map(key).collect()
    }
}

/// Largest difference of the keys of parallel vectors, see [`Features::keys`]: twice the distance of unit vectors whose squared
/// cosine is 1 up to eight rounding units.
pub(crate) const KEY_WINDOW: f64 = 1e-7;

impl Source for Features {
    fn row(&self, i: usize) -> Row<'_> {
        let mut row = vec![0.0; self.points.len()];
        self.points.row(self.arch, i, &mut row);
        Row::Computed(row)
    }

    fn entry(&self, i: usize, j: usize) -> f64 {
        self.points.entry(self.arch, i, j)
    }

    fn multiply(
        &self,
        arch: Arch,
        duals: &[&[f64]],
        out: &mut [&mut [f64]],
        precision: Precision,
        control: &Control,
    ) -> Result<()> {
        let product: Product<f64> = precision.product();
        let (m, d) = (self.points.len(), self.points.dimension());
        let mut weights = vec![vec![0.0; d]; duals.len()];
        let mut column = vec![0.0; m];
        for k in 0..d {
            control.check()?;
            self.points.column(k, &mut column);
            for (c, w) in duals.iter().zip(&mut weights) {
                w[k] = product(arch, &column, c);
            }
        }
        let mut point = Vec::with_capacity(d);
        for i in 0..m {
            if i % 256 == 0 {
                control.check()?;
            }
            point.clear();
            point.extend(self.points.point(i));
            for (w, f) in weights.iter().zip(out.iter_mut()) {
                f[i] = product(arch, &point, w);
            }
        }
        Ok(())
    }

    fn submatrix(&self, chosen: &[usize]) -> Arc<dyn Source> {
        Arc::new(Self { points: self.points.subset(chosen), arch: self.arch })
    }

    fn features(&self) -> Option<&Features> {
        Some(self)
    }
}
