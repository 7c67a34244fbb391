//! What the rows of a Gram matrix are made of: doubles, or singles that are widened as they are read.
#![allow(
    clippy::inline_always,
    reason = "vector code must end up in the function compiled for its instruction set"
)]

use pulp::Simd;

/// The most doubles that a vector holds.
pub(crate) const WIDEST: usize = 32;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
}

/// An entry of a Gram row: `f64`, or `f32`, which takes half the memory.
///
/// All arithmetic is in doubles: a single is widened when it is loaded, which is exact. So a matrix of singles gives the
/// same bits as the matrix of doubles with the same values.
pub trait Entry:
    Copy + Into<f64> + std::fmt::Debug + Send + Sync + sealed::Sealed + 'static
{
    /// Loads the first vector of a slice that is at least as long.
    #[doc(hidden)]
    fn load<S: Simd>(simd: S, entries: &[Self]) -> S::f64s;

    /// Loads a slice that is shorter than a vector; the other lanes are zero.
    #[doc(hidden)]
    fn load_partial<S: Simd>(simd: S, entries: &[Self]) -> S::f64s;
}

impl Entry for f64 {
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
