//! Entries of the rows of a Gram matrix: double precision, or single precision, widened when loaded.

use std::borrow::Cow;

use pulp::Simd;

/// Largest number of lanes of a vector of doubles.
pub const WIDEST: usize = 32;

/// Arguments of a [`vector_fn`], and the version that is chosen.
pub struct Call<A, const VERSION: bool = false>(pub A);

/// A row of a Gram matrix, without offset and softness: borrowed from a matrix in memory, or computed.
#[derive(Clone, Debug)]
pub enum Row<'a> {
    /// Doubles.
    Doubles(Cow<'a, [f64]>),
    /// Singles.
    Singles(Cow<'a, [f32]>),
}

/// Does the same with the entries of a row of either kind.
macro_rules! with_entries {
    ($row:expr, |$entries:ident| $work:expr) => {
        match $row {
            $crate::simd::Row::Doubles($entries) => $work,
            $crate::simd::Row::Singles($entries) => $work,
        }
    };
}

/// Runs loops in the vector instructions that the machine has.
macro_rules! vectorized {
    ($work:expr) => {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || $work,
        )
    };
}

/// Defines a function that is compiled for each instruction set, whose vectors belong to `S`. A constant that chooses one of two
/// versions is named again, in angles.
macro_rules! vector_fn {
    ($(#[$text:meta])* $visible:vis fn $name:ident $([$($generics:tt)*])? $(<$version:ident>)? (
        $simd:ident: S, $($argument:ident: $type:ty),* $(,)?
    ) $(-> $output:ty)? $work:block) => {
        $(#[$text])*
        $visible fn $name $(<$($generics)*>)? ($($argument: $type),*) $(-> $output)? {
            pulp::Arch::new().dispatch($crate::simd::Call::<_ $(, $version)?>(($($argument,)*)))
        }

        impl $(<$($generics)*>)? pulp::WithSimd
            for $crate::simd::Call<($($type,)*) $(, $version)?>
        {
            #[allow(unused_parens, reason = "none stand for ()")]
            type Output = ($($output)?);

            #[inline(always)]
            fn with_simd<S: pulp::Simd>(self, $simd: S) $(-> $output)? {
                let ($($argument,)*) = self.0;
                $work
            }
        }
    };
}
pub(crate) use {vector_fn, vectorized, with_entries};

impl Row<'_> {
    /// Entry j. Panics if j is out of bounds.
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
/// All arithmetic is in `f64`. Widening is exact: an `f32` matrix gives the bits of an `f64` one with the same values.
pub trait Entry:
    Copy + Default + From<f32> + Into<f64> + std::fmt::Debug + Send + Sync + 'static
{
    /// A vector of entries, for arithmetic in their precision.
    type Lanes<S: Simd>: Copy;

    /// Number of entries in a vector.
    fn lanes<S: Simd>() -> usize;

    /// Returns a vector with the entry in every lane.
    fn splat<S: Simd>(simd: S, entry: Self) -> Self::Lanes<S>;

    /// The entries of some vectors, one after the other.
    fn entries_mut<S: Simd>(vectors: &mut [Self::Lanes<S>]) -> &mut [Self];

    /// Returns `a b + c`.
    fn mul_add<S: Simd>(
        simd: S,
        a: Self::Lanes<S>,
        b: Self::Lanes<S>,
        c: Self::Lanes<S>,
    ) -> Self::Lanes<S>;

    /// Borrows entries as a row.
    fn row(entries: &[Self]) -> Row<'_>;

    /// Loads one vector from the start of a slice that has at least that many entries.
    fn load<S: Simd>(simd: S, entries: &[Self]) -> S::f64s;

    /// Loads a slice shorter than a vector. The other lanes are zero.
    fn load_partial<S: Simd>(simd: S, entries: &[Self]) -> S::f64s;
}

/// What both types have alike, by their functions of [`Simd`].
macro_rules! arithmetic {
    ($vector:ident, $lanes:ident, $splat:ident, $mul_add:ident, $row:ident) => {
        type Lanes<S: Simd> = S::$vector;

        #[inline(always)]
        fn lanes<S: Simd>() -> usize {
            S::$lanes
        }

        #[inline(always)]
        fn splat<S: Simd>(simd: S, entry: Self) -> S::$vector {
            simd.$splat(entry)
        }

        #[inline(always)]
        fn entries_mut<S: Simd>(vectors: &mut [S::$vector]) -> &mut [Self] {
            pulp::bytemuck::cast_slice_mut(vectors)
        }

        #[inline(always)]
        fn mul_add<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector {
            simd.$mul_add(a, b, c)
        }

        #[inline]
        fn row(entries: &[Self]) -> Row<'_> {
            Row::$row(Cow::Borrowed(entries))
        }
    };
}

impl Entry for f64 {
    arithmetic!(f64s, F64_LANES, splat_f64s, mul_add_e_f64s, Doubles);

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
    arithmetic!(f32s, F32_LANES, splat_f32s, mul_add_e_f32s, Singles);

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
        let mut padded = [0.0; WIDEST];
        padded[..entries.len()].copy_from_slice(entries);
        Self::load(simd, &padded)
    }
}
