//! Cholesky factorization with pivots, a batch of columns at a time. It reads only the rows of its pivots, and of the few
//! candidates that were none, so that what it costs goes by the rank.
#![allow(
    clippy::inline_always,
    reason = "vector code must end up in the function compiled for its instruction set"
)]

use pulp::{Simd, WithSimd};

use super::Factor;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::gram::Gram;
use crate::room;

/// Candidates for pivots at a time, and columns kept together.
const BATCH: usize = 32;
/// A candidate is a pivot while its share is at least so much of the largest there is: a bound on the growth of entries that
/// complete pivoting has, at another constant.
const NEAR: f64 = 0.1;

/// Entries of an example in a batch of columns.
type Chunk = [f64; BATCH];

/// What is factored so far.
pub(super) struct Pivoted<'g, 'k> {
    gram: &'g Gram<'k>,
    /// Diagonal of what remains of K.
    left: Vec<f64>,
    /// Shares up to which nothing is said to remain.
    least: f64,
    taken: Vec<bool>,
    pivots: Vec<usize>,
    /// Columns of L, [`BATCH`] at a time, each with one chunk per example.
    columns: Vec<Vec<Chunk>>,
}

impl<'g, 'k> Pivoted<'g, 'k> {
    pub fn new(gram: &'g Gram<'k>) -> Self {
        let m = gram.len();
        let left = (0..m).map(|i| gram.diagonal(i)).collect();
        let (pivots, columns) = (Vec::new(), Vec::new());
        Self { gram, left, least: 0.0, taken: vec![false; m], pivots, columns }
    }

    /// What remains of the diagonal entry of an example, against its own size.
    fn share(&self, i: usize) -> f64 {
        self.left[i] / self.gram.diagonal(i)
    }

    /// Shares that are no more than rounding.
    fn tiny(&self) -> f64 {
        self.left.len() as f64 * f64::EPSILON
    }

    fn free(&self) -> impl Iterator<Item = usize> {
        (0..self.left.len()).filter(|&i| !self.taken[i])
    }

    fn largest(&self) -> f64 {
        self.free().map(|i| self.share(i)).fold(0.0, f64::max)
    }

    /// Columns so far.
    pub fn rank(&self) -> usize {
        self.pivots.len()
    }

    /// Adds columns until no share above `least` and rounding remains, or there are more than `most`. Returns whether there
    /// are no more.
    ///
    /// # Errors
    ///
    /// [`Error::Breakdown`] when a remaining diagonal entry is clearly negative; [`Error::Memory`]; [`Error::Interrupted`].
    pub fn run(&mut self, most: usize, least: f64, control: &Control) -> Result<bool> {
        self.least = least.max(self.tiny());
        let mut width = BATCH;
        while self.largest() > self.least {
            if self.rank() > most {
                return Ok(false);
            }
            let found = self.batch(width.min(most + 1 - self.rank()), control)?;
            // Near copies of a pivot are candidates in vain.
            width = (2 * found).clamp(4, BATCH);
        }
        let left = self.free().map(|i| self.share(i)).fold(0.0, f64::min);
        if left < -1e3 * self.tiny() {
            return Err(Error::Breakdown {
                what: "smallest pivot of the Gram matrix, relative to its diagonal entry",
                value: left,
            });
        }
        Ok(self.rank() <= most)
    }

    /// Adds a column for each of at most `width` candidates that is fit for a pivot: one at the least.
    fn batch(&mut self, width: usize, control: &Control) -> Result<usize> {
        let m = self.left.len();
        room::check_vectors(3 * BATCH, m)?;
        let candidates = self.candidates(width);
        let rest = self.remainder(&candidates, control)?;
        let mut fresh: Vec<Chunk> = vec![[0.0; BATCH]; m];
        let mut open: Vec<usize> = (0..candidates.len()).collect();
        let mut found = 0;
        while let Some(at) = (0..open.len())
            .max_by(|&a, &b| {
                let share = |at: usize| self.share(candidates[open[at]]);
                share(a).total_cmp(&share(b))
            })
            .filter(|&at| {
                let share = self.share(candidates[open[at]]);
                share > self.least && share >= NEAR * self.largest()
            })
        {
            control.check()?;
            let slot = open.swap_remove(at);
            let pivot = candidates[slot];
            let head = fresh[pivot];
            let root = self.left[pivot].sqrt();
            self.taken[pivot] = true;
            self.pivots.push(pivot);
            for i in 0..m {
                if self.taken[i] && i != pivot {
                    continue;
                }
                let done: f64 = fresh[i][..found].iter().zip(&head).map(|(a, b)| a * b).sum();
                let entry = if i == pivot { root } else { (rest[i][slot] - done) / root };
                fresh[i][found] = entry;
                self.left[i] -= entry * entry;
            }
            found += 1;
        }
        self.append(&fresh, found);
        Ok(found)
    }

    /// The examples of which the largest shares remain, the largest first.
    fn candidates(&self, width: usize) -> Vec<usize> {
        let mut free: Vec<usize> = self.free().collect();
        let order = |a: &usize, b: &usize| self.share(*b).total_cmp(&self.share(*a)).then(a.cmp(b));
        if free.len() > width {
            free.select_nth_unstable_by(width - 1, order);
            free.truncate(width);
        }
        free.sort_by(order);
        free
    }

    /// What remains of the rows of the candidates, transposed.
    fn remainder(&self, candidates: &[usize], control: &Control) -> Result<Vec<Chunk>> {
        let m = self.left.len();
        let mut rest: Vec<Chunk> = vec![[0.0; BATCH]; m];
        for (slot, &candidate) in candidates.iter().enumerate() {
            control.check()?;
            for (rest, x) in rest.iter_mut().zip(self.gram.shifted_row(candidate)) {
                rest[slot] = x;
            }
        }
        for columns in &self.columns {
            control.check()?;
            let mut of_candidates = [[0.0; BATCH]; BATCH];
            for (slot, &candidate) in candidates.iter().enumerate() {
                for (k, entry) in columns[candidate].iter().enumerate() {
                    of_candidates[k][slot] = *entry;
                }
            }
            let taken = &self.taken;
            self.gram.arch().dispatch(Subtract { rest: &mut rest, columns, of_candidates, taken });
        }
        Ok(rest)
    }

    fn append(&mut self, fresh: &[Chunk], found: usize) {
        let first = self.rank() - found;
        for k in 0..found {
            let slot = (first + k) % BATCH;
            if slot == 0 {
                self.columns.push(vec![[0.0; BATCH]; fresh.len()]);
            }
            if let Some(columns) = self.columns.last_mut() {
                for (chunk, fresh) in columns.iter_mut().zip(fresh) {
                    chunk[slot] = fresh[k];
                }
            }
        }
    }

    /// The factor, with the rows in one piece.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`].
    pub fn factor(self) -> Result<Factor> {
        let (m, rank) = (self.left.len(), self.rank());
        room::check_vectors(rank, m)?;
        let mut rows = Vec::with_capacity(m * rank);
        for i in 0..m {
            let chunks = self.columns.iter().flat_map(|columns| columns[i]);
            rows.extend(chunks.take(rank));
        }
        let mut lengths = vec![rank; m];
        for (column, &pivot) in self.pivots.iter().enumerate() {
            lengths[pivot] = column + 1;
        }
        let is_whole = self.largest() <= self.tiny();
        Ok(Factor { rows, pivots: self.pivots, is_whole, lengths, arch: self.gram.arch() })
    }
}

/// Subtracts the product of finished columns with those entries of them that belong to the candidates.
struct Subtract<'a> {
    rest: &'a mut [Chunk],
    columns: &'a [Chunk],
    of_candidates: [Chunk; BATCH],
    taken: &'a [bool],
}

impl WithSimd for Subtract<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let rows = self.rest.iter_mut().zip(self.columns).zip(self.taken);
        for ((rest, entries), _) in rows.filter(|(_, taken)| !**taken) {
            let mut sums = *rest;
            for (entry, of_candidates) in entries.iter().zip(&self.of_candidates) {
                for (sum, x) in sums.iter_mut().zip(of_candidates) {
                    *sum -= entry * x;
                }
            }
            *rest = sums;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    use super::*;
    use crate::gram::Gram;

    /// The same for given pivots, column by column.
    fn plain(gram: &[f64], m: usize, pivots: &[usize]) -> Vec<Vec<f64>> {
        let mut rows = vec![Vec::new(); m];
        for (column, &pivot) in pivots.iter().enumerate() {
            let head: Vec<f64> = rows[pivot].clone();
            let inner = |row: &[f64]| row.iter().zip(&head).map(|(a, b)| a * b).sum::<f64>();
            let root = (gram[pivot * m + pivot] - inner(&head)).sqrt();
            for i in 0..m {
                let entry = if pivots[..column].contains(&i) {
                    0.0
                } else {
                    (gram[pivot * m + i] - inner(&rows[i])) / root
                };
                rows[i].push(entry);
            }
        }
        rows
    }

    fn matrix(m: usize, rank: usize) -> Vec<f64> {
        let x: Vec<Vec<f64>> = (0..m)
            .map(|i| {
                (0..rank).map(|k| ((1 + i * (k + 3)) as f64 * 0.7).sin() / (k + 1) as f64).collect()
            })
            .collect();
        let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum();
        x.iter().flat_map(|a| x.iter().map(move |b| inner(a, b))).collect()
    }

    #[test]
    fn batches_are_what_columns_one_by_one_are() {
        for (m, rank) in [(1, 1), (5, 5), (40, 3), (90, 33), (100, 64), (130, 90)] {
            let matrix = matrix(m, rank);
            let gram = Gram::new(&matrix, 0.0, vec![0.0; m]).expect("a matrix");
            let mut pivoted = Pivoted::new(&gram);
            assert!(pivoted.run(m, 0.0, &Control::new()).expect("semi-definite"));
            let factor = pivoted.factor().expect("room");
            assert_eq!(factor.rank(), rank, "{m}");
            let rows = plain(&matrix, m, &factor.pivots);
            for i in 0..m {
                let row = &factor.rows[i * rank..][..rank];
                let scale = gram.diagonal(i).sqrt();
                for (a, b) in row.iter().zip(&rows[i]) {
                    assert!((a - b).abs() < 1e-8 * scale, "{m} {rank}: {a} {b}");
                }
                for j in 0..m {
                    let other = &factor.rows[j * rank..][..rank];
                    let entry: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                    assert!((entry - matrix[i * m + j]).abs() < 1e-12 * scale, "{m} {rank}");
                }
            }
        }
    }

    #[test]
    fn it_stops_where_there_are_more_columns_than_wanted() {
        let matrix = matrix(90, 33);
        let gram = Gram::new(&matrix, 0.0, vec![0.0; 90]).expect("a matrix");
        for (most, all) in [(0, false), (2, false), (32, false), (33, true), (34, true)] {
            let mut pivoted = Pivoted::new(&gram);
            assert_eq!(pivoted.run(most, 0.0, &Control::new()), Ok(all), "{most}");
            assert_eq!(pivoted.rank(), (most + 1).min(33), "{most}");
        }
    }

    #[test]
    fn copies_are_candidates_in_vain() {
        let m = 200;
        let matrix: Vec<f64> =
            (0..m * m).map(|at| f64::from(u8::from(at / m % 3 == at % m % 3))).collect();
        let gram = Gram::new(&matrix, 0.0, vec![0.0; m]).expect("a matrix");
        let mut pivoted = Pivoted::new(&gram);
        assert_eq!(pivoted.run(m, 0.0, &Control::new()), Ok(true));
        assert_eq!(pivoted.rank(), 3);
    }

    /// What is drawn afresh keeps the length, the angle with the position and what is thin.
    #[test]
    fn a_turn_keeps_what_it_has_to() {
        let scales = [1.0, 0.3, 0.1, 1e-6, 1e-6];
        let (m, n) = (12, scales.len());
        let x: Vec<Vec<f64>> = (0..m)
            .map(|i| (0..n).map(|k| ((1 + i * (k + 3)) as f64 * 0.7).sin() * scales[k]).collect())
            .collect();
        let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let matrix: Vec<f64> = x.iter().flat_map(|a| x.iter().map(move |b| inner(a, b))).collect();
        let gram = Gram::new(&matrix, 0.0, vec![0.0; m]).expect("a matrix");
        let factor = Factor::without_thin(&gram, 1e-9, &Control::new()).expect("semi-definite");
        assert_eq!((factor.rank(), factor.is_whole), (3, false));
        let field = |w: &[f64]| x.iter().map(|x| inner(x, w)).collect::<Vec<_>>();
        let (position, direction) = ([0.6, 0.0, 0.48, 0.64, 0.0], [0.0, 0.8, 0.0, 0.0, 0.6]);
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut mean = [0.0; 5];
        for _ in 0..1000 {
            let (f, g) = (field(&position), field(&direction));
            let turn = factor.turn(&f, &g, &mut rng).expect("two dimensions are across");
            let mut new = direction;
            for (k, new) in new.iter_mut().enumerate() {
                *new += turn.dual.iter().zip(&x).map(|(c, x)| c * x[k]).sum::<f64>();
            }
            assert!((inner(&new, &new) - 1.0).abs() < 1e-8, "{new:?}");
            assert!(inner(&new, &position).abs() < 1e-8, "{new:?}");
            assert!(new[3].abs() < 1e-4 && (new[4] - 0.6).abs() < 1e-4, "{new:?}");
            for ((turned, old), new) in turn.field.iter().zip(&g).zip(field(&new)) {
                assert!((old + turned - new).abs() < 1e-9);
            }
            mean.iter_mut().zip(new).for_each(|(mean, new)| *mean += new / 1000.0);
        }
        // Isotropic in the plane across: no trace of where it was.
        assert!(mean[..3].iter().all(|mean| mean.abs() < 0.1), "{mean:?}");
    }
}
