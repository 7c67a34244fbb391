//! Products of a tall matrix, with a row for each example, and a few vectors, in the precision of the matrix.
//!
//! A library packs the matrix first, which takes longer than the products with a few vectors.

use std::array;

use super::entry::{Entry, vector_fn};

/// Rows that share what is read of the vectors.
const ROWS: usize = 8;

/// A matrix in row-major order.
#[derive(Clone, Copy, Debug)]
pub struct Tall<'a, E> {
    /// The rows, one after the other.
    pub entries: &'a [E],
    /// Number of columns.
    pub width: usize,
}

impl<E: Entry> Tall<'_, E> {
    /// Returns the products of the rows with k vectors, those of a vector one after the other.
    pub fn values(&self, vectors: &[E], k: usize) -> Vec<E> {
        let n = self.len();
        let mut found = vec![E::default(); k * n];
        if k * n > 0 {
            multiply::<E, false>(*self, vectors, &mut found);
        }
        found
    }

    /// Returns k sums of multiples of the rows. `factors` holds those of a sum, one for each row, one after the other.
    pub fn sums(&self, factors: &[E], k: usize) -> Vec<E> {
        let mut found = vec![E::default(); k * self.width];
        if k * self.len() > 0 {
            multiply::<E, true>(*self, factors, &mut found);
        }
        found
    }

    fn len(&self) -> usize {
        self.entries.len() / self.width.max(1)
    }

    /// Returns some rows from `first` on; beyond the end the last one again.
    #[inline(always)]
    fn rows(&self, first: usize) -> [&[E]; ROWS] {
        array::from_fn(|j| {
            &self.entries[(first + j).min(self.len() - 1) * self.width..][..self.width]
        })
    }
}

vector_fn! {
    /// [`Tall::sums`] if `SUMS`, otherwise [`Tall::values`].
    fn multiply[E: Entry, const SUMS: bool]<SUMS>(
        simd: S,
        tall: Tall<'_, E>,
        given: &[E],
        found: &mut [E],
    ) {
        let (r, n, lanes) = (tall.width, tall.len(), E::lanes::<S>());
        let k = given.len() / if SUMS { n } else { r };
        let panels = k.div_ceil(lanes);
        let one = E::from(1.0);
        // The vectors or the sums, transposed: as many side by side as a vector register holds.
        let mut across = vec![E::splat(simd, E::default()); panels * r];
        if !SUMS {
            let flat = E::entries_mut::<S>(&mut across);
            for (v, vector) in given.chunks_exact(r).enumerate() {
                for (p, &x) in vector.iter().enumerate() {
                    flat[((v / lanes) * r + p) * lanes + v % lanes] = x;
                }
            }
        }
        for first in (0..n).step_by(ROWS) {
            let rows = tall.rows(first);
            for (panel, across) in across.chunks_exact_mut(r).enumerate() {
                let mut own = [E::splat(simd, E::default()); ROWS];
                let rows = rows.map(|row| &row[..across.len()]);
                let chosen = panel * lanes..k.min((panel + 1) * lanes);
                if SUMS {
                    let flat = E::entries_mut::<S>(&mut own);
                    for v in chosen {
                        let factors = &given[v * n..][first..n.min(first + ROWS)];
                        for (j, &x) in factors.iter().enumerate() {
                            flat[j * lanes + v % lanes] = x;
                        }
                    }
                    for (p, sum) in across.iter_mut().enumerate() {
                        // Two chains of additions, which overlap.
                        let mut other = E::splat(simd, E::default());
                        for j in (0..ROWS).step_by(2) {
                            *sum = E::mul_add(simd, E::splat(simd, rows[j][p]), own[j], *sum);
                            other =
                                E::mul_add(simd, E::splat(simd, rows[j + 1][p]), own[j + 1], other);
                        }
                        *sum = E::mul_add(simd, E::splat(simd, one), other, *sum);
                    }
                } else {
                    for (p, vector) in across.iter().enumerate() {
                        for j in 0..ROWS {
                            own[j] = E::mul_add(simd, E::splat(simd, rows[j][p]), *vector, own[j]);
                        }
                    }
                    let own = E::entries_mut::<S>(&mut own);
                    for v in chosen {
                        for (j, x) in
                            found[v * n..][first..n.min(first + ROWS)].iter_mut().enumerate()
                        {
                            *x = own[j * lanes + v % lanes];
                        }
                    }
                }
            }
        }
        if SUMS {
            let flat = E::entries_mut::<S>(&mut across);
            for (v, sum) in found.chunks_exact_mut(r).enumerate() {
                for (p, x) in sum.iter_mut().enumerate() {
                    *x = flat[((v / lanes) * r + p) * lanes + v % lanes];
                }
            }
        }
    }
}
