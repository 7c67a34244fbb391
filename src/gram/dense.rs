//! A matrix in memory.

use std::borrow::Cow;
use std::sync::Arc;

use pulp::Arch;

use super::source::{Row, Source};
use crate::base::{Control, Error, Result};
use crate::simd::dot::dots;
use crate::simd::{Entry, Precision};

/// A row-major m x m matrix of doubles or singles; owned if it is a submatrix.
#[derive(Debug)]
pub(super) struct Dense<'a, E: Entry> {
    values: Cow<'a, [E]>,
    m: usize,
}

/// Element types of a matrix in memory.
pub trait Stored: Entry {
    /// Wraps the entries of a row.
    #[doc(hidden)]
    fn row(entries: &[Self]) -> Row<'_>;
}

impl Stored for f64 {
    #[inline]
    fn row(entries: &[Self]) -> Row<'_> {
        Row::Doubles(entries)
    }
}

impl Stored for f32 {
    #[inline]
    fn row(entries: &[Self]) -> Row<'_> {
        Row::Singles(entries)
    }
}

impl<'a, E: Stored> Dense<'a, E> {
    /// Borrows a matrix, which must be square with m rows.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it is not finite or not symmetric to 1e-8 of its largest diagonal entry.
    pub fn new(values: &'a [E], m: usize) -> Result<Self> {
        let dense = Self { values: Cow::Borrowed(values), m };
        if let Some(at) = values.iter().position(|&x| !x.into().is_finite()) {
            let got = format!("{} at row {}, column {}", values[at].into(), at / m, at % m);
            return Err(Error::invalid("gram", got, "finite"));
        }
        let largest = (0..m).map(|i| dense.entry(i, i).abs()).fold(0.0, f64::max);
        // Compare tile by tile: both tiles stay in cache.
        const TILE: usize = 64;
        for i0 in (0..m).step_by(TILE) {
            for j0 in (0..=i0).step_by(TILE) {
                for i in i0..(i0 + TILE).min(m) {
                    for j in j0..(j0 + TILE).min(i) {
                        let (a, b): (f64, f64) =
                            (values[i * m + j].into(), values[j * m + i].into());
                        if (a - b).abs() > 1e-8 * largest {
                            let got = format!("{a} at ({i}, {j}) and {b} at ({j}, {i})");
                            return Err(Error::invalid("gram", got, "symmetric"));
                        }
                    }
                }
            }
        }
        Ok(dense)
    }

    /// Returns the matrix with the given entries.
    pub fn of(m: usize, entry: impl Fn(usize, usize) -> E) -> Dense<'static, E> {
        let entry = &entry;
        let values = (0..m).flat_map(|i| (0..m).map(move |j| entry(i, j))).collect();
        Dense { values: Cow::<'static, [E]>::Owned(values), m }
    }

    #[inline]
    fn entries(&self, i: usize) -> &[E] {
        &self.values[i * self.m..(i + 1) * self.m]
    }
}

impl<E: Stored> Source for Dense<'_, E> {
    #[inline]
    fn row(&self, i: usize) -> Row<'_> {
        E::row(self.entries(i))
    }

    #[inline]
    fn entry(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.m + j].into()
    }

    fn multiply(
        &self,
        arch: Arch,
        duals: &[&[f64]],
        out: &mut [&mut [f64]],
        precision: Precision,
        control: &Control,
    ) -> Result<()> {
        // Two vectors at a time, so that rows are read half as often.
        let (pairs, last) = duals.as_chunks::<2>();
        let (pairs_out, last_out) = out.as_chunks_mut::<2>();
        for i in 0..self.m {
            if i % 64 == 0 {
                control.check()?;
            }
            let row = self.entries(i);
            for (pair, [f, g]) in pairs.iter().zip(&mut *pairs_out) {
                [f[i], g[i]] = dots(arch, row, *pair, precision);
            }
            for (c, f) in last.iter().zip(&mut *last_out) {
                [f[i]] = dots(arch, row, [*c], precision);
            }
        }
        Ok(())
    }

    fn submatrix(&self, chosen: &[usize]) -> Arc<dyn Source> {
        Arc::new(Self::of(chosen.len(), |i, j| self.entries(chosen[i])[chosen[j]]))
    }
}
