//! Entries of the rows of a Gram matrix: double precision, or single precision, widened when loaded.
#![allow(
    clippy::inline_always,
    reason = "vector code must end up in the function compiled for its instruction set"
)]

use std::borrow::Cow;

use pulp::Simd;

/// Largest number of lanes of a vector of doubles.
pub(crate) const WIDEST: usize = 32;

/// Arguments of a function that [`pulp`] compiles for each instruction set. `FLAG` chooses one of two versions of it.
pub(crate) struct Call<A, const FLAG: bool = false>(pub A);

/// A row of a Gram matrix, without offset and softness: borrowed from a matrix in memory, or computed.
#[derive(Clone, Debug)]
pub enum Row<'a> {
    /// Doubles.
    Doubles(Cow<'a, [f64]>),
    /// Singles.
    Singles(Cow<'a, [f32]>),
}

impl Row<'_> {
    /// Entry j.
    ///
    /// # Panics
    ///
    /// If j is out of bounds.
    #[inline]
    pub fn at(&self, j: usize) -> f64 {
        match self {
            Row::Doubles(row) => row[j],
            Row::Singles(row) => f64::from(row[j]),
        }
    }

    /// All entries, as doubles.
    pub fn to_vec(&self) -> Vec<f64> {
        match self {
            Row::Doubles(row) => row.to_vec(),
            Row::Singles(row) => row.iter().map(|&x| f64::from(x)).collect(),
        }
    }
}

/// An entry of a Gram row: `f64`, or `f32` for half the memory.
///
/// All arithmetic is in `f64`. Widening is exact, so an `f32` matrix gives the same bits as an `f64` matrix with the same
/// values.
pub trait Entry: Copy + Into<f64> + std::fmt::Debug + Send + Sync + 'static {
    /// Wraps the entries of a matrix in memory.
    #[doc(hidden)]
    fn row(entries: &[Self]) -> Row<'_>;

    /// Loads one vector from the start of a slice that has at least that many entries.
    #[doc(hidden)]
    fn load<S: Simd>(simd: S, entries: &[Self]) -> S::f64s;

    /// Loads a slice shorter than a vector. The other lanes are zero.
    #[doc(hidden)]
    fn load_partial<S: Simd>(simd: S, entries: &[Self]) -> S::f64s;
}

impl Entry for f64 {
    #[inline]
    fn row(entries: &[Self]) -> Row<'_> {
        Row::Doubles(Cow::Borrowed(entries))
    }

    #[inline(always)]
    fn load<S: Simd>(_: S, entries: &[Self]) -> S::f64s {
        S::as_simd_f64s(&entries[..S::F64_LANES]).0[0]
    }

    #[inline(always)]
    fn load_partial<S: Simd>(simd: S, entries: &[Self]) -> S::f64s {
        simd.partial_load_f64s(entries)
    }
}

impl Entry for f32 {
    #[inline]
    fn row(entries: &[Self]) -> Row<'_> {
        Row::Singles(Cow::Borrowed(entries))
    }

    #[inline(always)]
    fn load<S: Simd>(simd: S, entries: &[Self]) -> S::f64s {
        let mut wide = [0.0; WIDEST];
        for (wide, &entry) in wide[..S::F64_LANES].iter_mut().zip(&entries[..S::F64_LANES]) {
            *wide = f64::from(entry);
        }
        <f64 as Entry>::load(simd, &wide)
    }

    #[inline(always)]
    fn load_partial<S: Simd>(simd: S, entries: &[Self]) -> S::f64s {
        let mut wide = [0.0; WIDEST];
        for (wide, &entry) in wide.iter_mut().zip(entries) {
            *wide = f64::from(entry);
        }
        simd.partial_load_f64s(&wide[..entries.len()])
    }
}
