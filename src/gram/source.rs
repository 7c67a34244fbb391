//! Sources of the rows of a Gram matrix.

use std::fmt::Debug;
use std::sync::Arc;

use pulp::Arch;

use super::classes::Classes;
use super::panels::Panels;
use crate::base::{Control, Result};
use crate::simd::Precision;

/// A row of a Gram matrix, without offset and softness.
#[derive(Clone, Debug)]
pub enum Row<'a> {
    /// Borrowed from a matrix of doubles.
    Doubles(&'a [f64]),
    /// Borrowed from a matrix of singles.
    Singles(&'a [f32]),
    /// Computed, and shared with the cache.
    Shared(Arc<[f64]>),
}

impl Row<'_> {
    /// The entries.
    #[inline]
    pub fn values(&self) -> Values<'_> {
        match self {
            Row::Doubles(row) => Values::Doubles(row),
            Row::Singles(row) => Values::Singles(row),
            Row::Shared(row) => Values::Doubles(row),
        }
    }

    /// Entry j.
    ///
    /// # Panics
    ///
    /// If j is out of bounds.
    #[inline]
    pub fn at(&self, j: usize) -> f64 {
        match self.values() {
            Values::Doubles(row) => row[j],
            Values::Singles(row) => f64::from(row[j]),
        }
    }

    /// All entries, as doubles.
    pub fn to_vec(&self) -> Vec<f64> {
        match self.values() {
            Values::Doubles(row) => row.to_vec(),
            Values::Singles(row) => row.iter().map(|&x| f64::from(x)).collect(),
        }
    }
}

/// The entries of a row as stored.
#[derive(Clone, Copy, Debug)]
pub enum Values<'r> {
    /// Doubles.
    Doubles(&'r [f64]),
    /// Singles.
    Singles(&'r [f32]),
}

/// Explicit features: the entries of the matrix are inner products of `points`, times `factor`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features<'a> {
    pub(super) points: &'a Panels,
    pub(super) factor: f64,
}

impl<'a> Features<'a> {
    /// One point per example.
    pub(crate) fn points(self) -> &'a Panels {
        self.points
    }

    /// The factor of the inner products.
    pub(crate) fn factor(self) -> f64 {
        self.factor
    }
}

/// The rows of a symmetric matrix, without offset and softness, in memory or computed on demand.
///
/// All rows of a source have the same variant of [`Values`].
pub(crate) trait Source: Debug + Send + Sync {
    /// Row i, length m.
    fn row(&self, i: usize) -> Row<'_>;

    /// Entry (i, j), with the same bits as in row i and in row j.
    fn entry(&self, i: usize, j: usize) -> f64;

    /// Entry (i, j), if row i is read in any case.
    fn entry_of_read_row(&self, i: usize, j: usize) -> f64 {
        self.row(i).at(j)
    }

    /// `out[k] = K duals[k]`, each of length m, in one pass over the matrix.
    fn multiply(
        &self,
        arch: Arch,
        duals: &[&[f64]],
        out: &mut [&mut [f64]],
        precision: Precision,
        control: &Control,
    ) -> Result<()>;

    /// `K dual` of a vector with few nonzero coefficients, if that needs something else than the rows of these.
    fn combination(&self, _dual: &[f64], _control: &Control) -> Option<Result<Vec<f64>>> {
        None
    }

    /// Copies the rows and columns of the chosen examples.
    fn submatrix(&self, chosen: &[usize]) -> Arc<dyn Source>;

    /// True if the rows are in memory. Only then may a factor take as much memory as the matrix.
    fn is_in_memory(&self) -> bool;

    /// The features, if the entries are inner products of explicit features.
    fn features(&self) -> Option<Features<'_>> {
        None
    }

    /// Itself, if the rows are those of the walls between several classes.
    fn classes(&self) -> Option<&Classes<'_>> {
        None
    }

    /// One key per example. Keys differ by at most [`KEY_WINDOW`] if the feature vectors, with `offset` added to their inner
    /// products, are parallel up to rounding, so parallel ones are found without computing all rows. None if the rows are in
    /// memory.
    fn keys(&self, _offset: f64) -> Option<Vec<f64>> {
        None
    }
}

/// Largest difference of the keys of parallel vectors, see [`Source::keys`]: twice the distance of unit vectors whose squared
/// cosine is 1 up to eight rounding units.
pub(crate) const KEY_WINDOW: f64 = 1e-7;
