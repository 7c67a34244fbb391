//! Sources of the rows of a Gram matrix.

use std::fmt::Debug;
use std::sync::Arc;

use pulp::Arch;

use super::classes::Classes;
use super::features::Features;
use crate::base::{Control, Result};
use crate::simd::Precision;

/// A row of a Gram matrix, without offset and softness.
#[derive(Clone, Debug)]
pub enum Row<'a> {
    /// Borrowed from a matrix of doubles.
    Doubles(&'a [f64]),
    /// Borrowed from a matrix of singles.
    Singles(&'a [f32]),
    /// Computed.
    Computed(Vec<f64>),
}

impl Row<'_> {
    /// The entries.
    #[inline]
    pub fn values(&self) -> Values<'_> {
        match self {
            Row::Doubles(row) => Values::Doubles(row),
            Row::Singles(row) => Values::Singles(row),
            Row::Computed(row) => Values::Doubles(row),
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

/// The rows of a symmetric matrix, without offset and softness, in memory or computed.
///
/// All rows of a source have the same variant of [`Values`].
pub(super) trait Source: Debug + Send + Sync {
    /// Row i, length m.
    fn row(&self, i: usize) -> Row<'_>;

    /// Entry (i, j), with the same bits as in row i and in row j.
    fn entry(&self, i: usize, j: usize) -> f64;

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

    /// Itself, if the entries are inner products of explicit features.
    fn features(&self) -> Option<&Features> {
        None
    }

    /// Itself, if the rows are those of the walls between several classes.
    fn classes(&self) -> Option<&Classes<'_>> {
        None
    }
}
