//! Where the rows of a Gram matrix come from.

use std::fmt::Debug;
use std::sync::Arc;

use pulp::Arch;

use super::features::Features;
use crate::base::{Control, Result};
use crate::simd::Precision;

/// A row of a Gram matrix without the shifts, borrowed from a matrix or shared with a cache.
#[derive(Clone, Debug)]
pub enum Row<'a> {
    /// Of a matrix of doubles.
    Doubles(&'a [f64]),
    /// Of a matrix of singles.
    Singles(&'a [f32]),
    /// Computed.
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
    /// When there is none.
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

/// The entries of a row, as they lie in memory.
#[derive(Clone, Copy, Debug)]
pub enum Values<'r> {
    /// Doubles.
    Doubles(&'r [f64]),
    /// Singles, to be widened as they are read.
    Singles(&'r [f32]),
}

/// The rows of a symmetric matrix without the shifts, in memory or computed when they are asked for.
///
/// All rows of one source are made of the same kind of [`Values`].
pub(crate) trait Source: Debug + Send + Sync {
    /// Row i, length m.
    fn row(&self, i: usize) -> Row<'_>;

    /// Entry (i, j): the same bits as in row i and in row j.
    fn entry(&self, i: usize, j: usize) -> f64;

    /// `out[k] = rows duals[k]`, each of length m, in one sweep.
    fn multiply(
        &self,
        arch: Arch,
        duals: &[&[f64]],
        out: &mut [&mut [f64]],
        precision: Precision,
        control: &Control,
    ) -> Result<()>;

    /// The rows and columns of some of the examples, in memory of its own.
    fn part(&self, chosen: &[usize]) -> Arc<dyn Source>;

    /// True where a row costs no more than to read it. Only then is a factor worth as many numbers as the matrix has.
    fn is_in_memory(&self) -> bool;

    /// The features, where the entries are their inner products.
    fn features(&self) -> Option<Features<'_>>;

    /// A number for each example that differs by no more than [`KEY_WINDOW`] between examples whose feature vectors, with
    /// `offset` added to their products, are parallel to rounding: it spares the search for them a sweep through all rows.
    /// None where that costs no more.
    fn keys(&self, offset: f64) -> Option<Vec<f64>>;
}

/// See [`Source::keys`]: unit vectors whose squared cosine is 1 to eight roundings are half as far apart.
pub(crate) const KEY_WINDOW: f64 = 1e-7;
