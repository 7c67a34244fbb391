//! A matrix in memory.

use std::borrow::Cow;

use crate::base::{Control, Error, Result, require};
use crate::simd::dot::dots;
use crate::simd::{Entry, Precision, Row, with_entries};

/// A row-major m x m matrix of doubles or singles; owned if it is a submatrix.
#[derive(Debug)]
pub struct Dense<'a> {
    values: Row<'a>,
    m: usize,
}

impl<'a> Dense<'a> {
    /// Borrows a matrix of m rows; [`Error::Invalid`] unless finite, and symmetric to 1e-8 of its largest diagonal entry.
    pub fn new<E: Entry>(values: &'a [E], m: usize) -> Result<Self> {
        let dense = Self { values: E::row(values), m };
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
                        let got = format_args!("{a} at ({i}, {j}) and {b} at ({j}, {i})");
                        require((a - b).abs() <= 1e-8 * largest, "gram", got, "symmetric")?;
                    }
                }
            }
        }
        Ok(dense)
    }

    pub fn of(m: usize, entry: impl Fn(usize, usize) -> f64) -> Dense<'static> {
        Dense { values: Row::Doubles(square(m, entry)), m }
    }

    #[inline]
    pub fn row(&self, i: usize) -> Row<'_> {
        let own = i * self.m..(i + 1) * self.m;
        with_entries!(&self.values, |values| Entry::row(&values[own]))
    }

    #[inline]
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        self.values.at(i * self.m + j)
    }

    pub fn multiply(
        &self,
        duals: &[&[f64]],
        precision: Precision,
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        let mut fields = vec![vec![0.0; self.m]; duals.len()];
        // Two vectors at a time, so that rows are read half as often.
        let (pairs, last) = duals.as_chunks::<2>();
        let (pairs_out, last_out) = fields.as_chunks_mut::<2>();
        for i in 0..self.m {
            if i % 64 == 0 {
                control.check()?;
            }
            with_entries!(&self.row(i), |row| {
                for (pair, [f, g]) in pairs.iter().zip(&mut *pairs_out) {
                    [f[i], g[i]] = dots(row, *pair, precision);
                }
                for (c, f) in last.iter().zip(&mut *last_out) {
                    [f[i]] = dots(row, [*c], precision);
                }
            });
        }
        Ok(fields)
    }

    pub fn submatrix(&self, chosen: &[usize]) -> Dense<'static> {
        let m = chosen.len();
        let at = |i: usize, j: usize| chosen[i] * self.m + chosen[j];
        let values = match &self.values {
            Row::Doubles(values) => Row::Doubles(square(m, |i, j| values[at(i, j)])),
            Row::Singles(values) => Row::Singles(square(m, |i, j| values[at(i, j)])),
        };
        Dense { values, m }
    }
}

fn square<E: Entry>(m: usize, entry: impl Fn(usize, usize) -> E) -> Cow<'static, [E]> {
    let entry = &entry;
    (0..m).flat_map(|i| (0..m).map(move |j| entry(i, j))).collect()
}
