//! Cholesky factorization with pivots, a batch of columns at a time. It reads only the rows of its pivots, and of the few
//! candidates that were none, so that what it costs goes by the rank.
#![allow(
    clippy::inline_always,
    reason = "vector code must end up in the function compiled for its instruction set"
)]

use std::iter::zip;

use pulp::{Simd, WithSimd};

use super::factor::Factor;
use crate::base::{Control, Error, Result, memory};
use crate::gram::Gram;
use crate::simd::dot;

/// Candidates for pivots at a time, at most, and at least where most before were in vain.
const BATCH: usize = 32;
const LEAST: usize = 4;
/// Examples of which columns are brought together at a time: two blocks stay in the cache.
const TILE: usize = 256;
/// A candidate is a pivot while its share is more than so much of the largest there is, or rounding grows from column to
/// column: after all columns of 60 matrices of 300 Gaussian vectors in 290 dimensions there was at most 0.24 m ε left of a
/// diagonal entry at 1/2, 2.8 m ε at 1/10.
const NEAR: f64 = 0.5;

/// Operations of a factor that nobody asked for: that of 2400 examples in as many dimensions, half a second.
const AFFORDABLE: f64 = 4.7e9;

/// Entries of an example in a batch of columns.
type Chunk = [f64; BATCH];

/// Share of a diagonal entry of m that is no more than rounding.
fn rounding(m: usize) -> f64 {
    4.0 * m as f64 * f64::EPSILON
}

/// What is factored so far.
struct Pivoted<'g, 'k> {
    gram: &'g Gram<'k>,
    /// Diagonal of what remains of K.
    left: Vec<f64>,
    /// Up to how much of a diagonal entry nothing is said to remain.
    floors: Vec<f64>,
    taken: Vec<bool>,
    pivots: Vec<usize>,
    /// Columns of L, each of length m.
    columns: Vec<Vec<f64>>,
}

impl<'g, 'k> Pivoted<'g, 'k> {
    /// Columns will be added until nothing remains but rounding, or the share `least` of the squared length of a feature vector.
    pub fn new(gram: &'g Gram<'k>, least: f64) -> Self {
        let m = gram.len();
        let left: Vec<f64> = (0..m).map(|i| gram.diagonal(i)).collect();
        // Singles are rounded before the offset is added.
        let common = if gram.is_single() { gram.offset() } else { 0.0 };
        let floor = |size: &f64| (least * (size - common)).max(rounding(m) * size);
        let floors = left.iter().map(floor).collect();
        let (pivots, columns) = (Vec::new(), Vec::new());
        Self { gram, left, floors, taken: vec![false; m], pivots, columns }
    }

    /// What remains of the diagonal entry of an example, against its own size.
    fn share(&self, i: usize) -> f64 {
        self.left[i] / self.gram.diagonal(i)
    }

    fn free(&self) -> impl Iterator<Item = usize> {
        (0..self.left.len()).filter(|&i| !self.taken[i])
    }

    /// The examples of which something remains.
    fn open(&self) -> impl Iterator<Item = usize> {
        self.free().filter(|&i| self.left[i] > self.floors[i])
    }

    fn largest(&self) -> f64 {
        self.open().map(|i| self.share(i)).fold(0.0, f64::max)
    }

    /// Examples to which softness gives a dimension that counts.
    pub fn soft(&self) -> usize {
        zip(self.gram.softness(), &self.floors).filter(|(softness, floor)| softness > floor).count()
    }

    /// Columns so far.
    pub fn rank(&self) -> usize {
        self.pivots.len()
    }

    /// Adds columns until nothing remains, or there are more than `most`. Returns whether nothing does. Which columns they are
    /// does not depend on `most`.
    ///
    /// # Errors
    ///
    /// [`Error::Breakdown`] when a remaining diagonal entry is clearly negative; [`Error::Memory`]; [`Error::Interrupted`].
    pub fn run(&mut self, most: usize, control: &Control) -> Result<bool> {
        let mut width = BATCH;
        loop {
            self.check()?;
            if self.rank() > most {
                return Ok(false);
            }
            if self.open().next().is_none() {
                return Ok(true);
            }
            let found = self.batch(width, most, control)?;
            // Near copies of a pivot are candidates in vain.
            width = (2 * found).clamp(LEAST, BATCH);
        }
    }

    /// No remaining diagonal entry is below zero by more than rounding, or than what is left out.
    fn check(&self) -> Result<()> {
        let rounding = 1e3 * rounding(self.left.len());
        let is_wrong = |&i: &usize| {
            let lowest = -self.floors[i].max(rounding * self.gram.diagonal(i));
            self.left[i].is_nan() || self.left[i] < lowest
        };
        let what = "smallest pivot of the Gram matrix, relative to its diagonal entry";
        match self.free().find(is_wrong) {
            Some(i) => Err(Error::Breakdown { what, value: self.share(i) }),
            None => Ok(()),
        }
    }

    /// Adds a column for each of at most `width` candidates that is fit for a pivot, one at the least, and for no more than
    /// there are `most` and one.
    fn batch(&mut self, width: usize, most: usize, control: &Control) -> Result<usize> {
        memory::check_vectors(2 * width, self.left.len())?;
        let candidates = self.candidates(width);
        let rest = self.remainder(&candidates, control)?;
        let mut rest: Vec<(usize, Vec<f64>)> = zip(candidates, rest).collect();
        let first = self.rank();
        while self.rank() <= most {
            control.check()?;
            rest.retain(|&(i, _)| self.left[i] > self.floors[i]);
            let shares = rest.iter().map(|&(i, _)| self.share(i)).enumerate();
            let Some((at, share)) = shares.max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
            if share <= NEAR * self.largest() {
                break;
            }
            let (pivot, rest) = rest.swap_remove(at);
            self.eliminate(pivot, &rest, first);
        }
        Ok(self.rank() - first)
    }

    /// Adds the column of a pivot, of what remained of its row before the columns from `first` on.
    fn eliminate(&mut self, pivot: usize, rest: &[f64], first: usize) {
        let root = self.left[pivot].sqrt();
        let fresh = &self.columns[first..];
        let done: Vec<(f64, &[f64])> = fresh.iter().map(|x| (-x[pivot], x.as_slice())).collect();
        let mut column = rest.to_vec();
        dot::axpy_all(self.gram.arch(), &done, &mut column);
        self.taken[pivot] = true;
        for ((entry, left), &taken) in zip(zip(&mut column, &mut self.left), &self.taken) {
            *entry = if taken { 0.0 } else { *entry / root };
            *left -= *entry * *entry;
        }
        column[pivot] = root;
        self.left[pivot] = 0.0;
        self.pivots.push(pivot);
        self.columns.push(column);
    }

    /// The examples of which the largest shares remain, the largest first.
    fn candidates(&self, width: usize) -> Vec<usize> {
        let mut open: Vec<usize> = self.open().collect();
        let order = |a: &usize, b: &usize| self.share(*b).total_cmp(&self.share(*a)).then(a.cmp(b));
        if open.len() > width {
            open.select_nth_unstable_by(width - 1, order);
            open.truncate(width);
        }
        open.sort_by(order);
        open
    }

    /// What remains of the rows of the candidates.
    fn remainder(&self, candidates: &[usize], control: &Control) -> Result<Vec<Vec<f64>>> {
        let mut rest = Vec::with_capacity(candidates.len());
        for &candidate in candidates {
            control.check()?;
            rest.push(self.gram.shifted_row(candidate));
        }
        let heads: Vec<[Chunk; BATCH]> = self
            .columns
            .chunks(BATCH)
            .map(|columns| {
                let mut heads = [[0.0; BATCH]; BATCH];
                for (head, column) in zip(&mut heads, columns) {
                    head.iter_mut().zip(candidates).for_each(|(x, &i)| *x = column[i]);
                }
                heads
            })
            .collect();
        let free: Vec<usize> = self.free().collect();
        let (mut sums, mut entries) = (vec![[0.0; BATCH]; TILE], vec![[0.0; BATCH]; TILE]);
        for tile in free.chunks(TILE) {
            control.check()?;
            let (sums, entries) = (&mut sums[..tile.len()], &mut entries[..tile.len()]);
            gather(&rest, tile, sums);
            for (columns, heads) in zip(self.columns.chunks(BATCH), &heads) {
                gather(columns, tile, entries);
                self.gram.arch().dispatch(Subtract { sums, entries, heads });
            }
            for (slot, rest) in rest.iter_mut().enumerate() {
                zip(&*sums, tile).for_each(|(sum, &i)| rest[i] = sum[slot]);
            }
        }
        Ok(rest)
    }

    /// The factor, with the rows in one piece.
    ///
    /// # Errors
    ///
    /// [`Error::Breakdown`] where next to one column something remains: no two directions are far enough apart to turn from one
    /// to the other; [`Error::Memory`]; [`Error::Interrupted`].
    pub fn factor(self, control: &Control) -> Result<Factor> {
        let (m, rank) = (self.left.len(), self.rank());
        let share = self.free().map(|i| self.share(i)).fold(0.0, f64::max);
        if rank < 2 && share > rounding(m) {
            let what = "largest share of a feature vector across another";
            return Err(Error::Breakdown { what, value: share });
        }
        memory::check_vectors(rank, m)?;
        let mut rows = Vec::with_capacity(m * rank);
        for i in 0..m {
            if i % TILE == 0 {
                control.check()?;
            }
            rows.extend(self.columns.iter().map(|column| column[i]));
        }
        let mut lengths = vec![rank; m];
        for (column, &pivot) in self.pivots.iter().enumerate() {
            lengths[pivot] = column + 1;
        }
        let is_whole = share <= rounding(m);
        let loses_softness = self.free().any(|i| self.gram.softness()[i] > 0.0);
        let arch = self.gram.arch();
        Ok(Factor { rows, pivots: self.pivots, is_whole, loses_softness, lengths, arch })
    }
}

/// The largest rank r of m examples whose factor takes no more operations, m r² - 2 r³ / 3.
fn affordable_rank(m: usize) -> usize {
    let operations = |rank: f64| (m as f64 - rank / 1.5) * rank.powi(2);
    (1..=m).take_while(|&rank| operations(rank as f64) <= AFFORDABLE).count()
}

/// Whether the feature vectors span more than so many dimensions. Reads a batch of rows, and one for each beyond.
///
/// # Errors
///
/// [`crate::Error::Breakdown`] as for a factor; [`crate::Error::Memory`]; [`crate::Error::Interrupted`].
pub(crate) fn has_rank_above(gram: &Gram<'_>, most: usize, control: &Control) -> Result<bool> {
    // Sixteen roundings of the entries.
    let least = if gram.is_single() { 1e-6 } else { 0.0 };
    Ok(!Pivoted::new(gram, least).run(most, control)?)
}

impl Factor {
    /// Factors K, O(m rank²) operations and 2 m rank numbers.
    ///
    /// Every diagonal entry is judged against its own size, so that short feature vectors count as much as long ones:
    /// columns are added until no more than `4 m ε` of any remains.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Invalid`] when the rows of K are computed on demand, for there may be as many dimensions as rows;
    /// [`crate::Error::Breakdown`] when a remaining diagonal entry is clearly negative (K is not positive semi-definite);
    /// [`crate::Error::Memory`] where there is no room for it; [`crate::Error::Interrupted`].
    pub fn new(gram: &Gram<'_>, control: &Control) -> Result<Self> {
        gram.check_in_memory()?;
        Self::without_thin(gram, 0.0, control)
    }

    /// The same from any source of rows, without directions in which all examples have no more than the share `least` of their
    /// squared lengths.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Breakdown`] also where that leaves but one.
    pub(crate) fn without_thin(gram: &Gram<'_>, least: f64, control: &Control) -> Result<Self> {
        let mut pivoted = Pivoted::new(gram, least);
        pivoted.run(gram.len(), control)?;
        pivoted.factor(control)
    }

    /// The same if half a second is enough for it, so that nobody has to have asked; None otherwise.
    pub(crate) fn if_affordable(
        gram: &Gram<'_>,
        least: f64,
        control: &Control,
    ) -> Result<Option<Self>> {
        let most = affordable_rank(gram.len());
        let mut pivoted = Pivoted::new(gram, least);
        if pivoted.soft() > most {
            return Ok(None);
        }
        let all = pivoted.run(most, control)?;
        all.then(|| pivoted.factor(control)).transpose()
    }
}

/// Brings the entries of some examples in at most [`BATCH`] columns together.
fn gather(columns: &[Vec<f64>], tile: &[usize], out: &mut [Chunk]) {
    for (slot, column) in columns.iter().enumerate() {
        zip(&mut *out, tile).for_each(|(chunk, &i)| chunk[slot] = column[i]);
    }
}

/// Subtracts the products of entries in finished columns with those of the candidates, `heads`, in the same columns. What is
/// left in a chunk beyond the last column meets zeros there.
struct Subtract<'a> {
    sums: &'a mut [Chunk],
    entries: &'a [Chunk],
    heads: &'a [Chunk; BATCH],
}

impl WithSimd for Subtract<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (sums, entries) in zip(self.sums, self.entries) {
            let mut chunk = *sums;
            for (entry, heads) in zip(entries, self.heads) {
                for (sum, head) in zip(&mut chunk, heads) {
                    *sum -= entry * head;
                }
            }
            *sums = chunk;
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
            let mut pivoted = Pivoted::new(&gram, 0.0);
            assert!(pivoted.run(m, &Control::new()).expect("semi-definite"));
            let factor = pivoted.factor(&Control::new()).expect("room");
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
            let mut pivoted = Pivoted::new(&gram, 0.0);
            assert_eq!(pivoted.run(most, &Control::new()), Ok(all), "{most}");
            assert_eq!(pivoted.rank(), (most + 1).min(33), "{most}");
        }
    }

    #[test]
    fn copies_are_candidates_in_vain() {
        let m = 200;
        let matrix: Vec<f64> =
            (0..m * m).map(|at| f64::from(u8::from(at / m % 3 == at % m % 3))).collect();
        let gram = Gram::new(&matrix, 0.0, vec![0.0; m]).expect("a matrix");
        let mut pivoted = Pivoted::new(&gram, 0.0);
        assert_eq!(pivoted.run(m, &Control::new()), Ok(true));
        assert_eq!(pivoted.rank(), 3);
    }

    /// Rounding of the entries is judged before the offset is added, which is exact.
    #[test]
    fn singles_under_a_large_offset() {
        let (m, rank) = (60, 5);
        #[allow(clippy::cast_possible_truncation, reason = "a matrix of singles")]
        let matrix: Vec<f32> = matrix(m, rank).iter().map(|&x| x as f32).collect();
        let gram = Gram::new(&matrix, 1e6, vec![0.0; m]).expect("a matrix");
        let factor = Factor::without_thin(&gram, 1e-4, &Control::new()).expect("room");
        assert_eq!((factor.rank(), factor.is_whole), (rank + 1, false));
    }

    #[test]
    fn one_direction_is_none_to_turn_in() {
        let m = 40;
        let matrix = matrix(m, 5);
        let gram = Gram::new(&matrix, 1e12, vec![0.0; m]).expect("a matrix");
        let error = Factor::without_thin(&gram, 1e-9, &Control::new()).expect_err("all are thin");
        assert!(matches!(error, Error::Breakdown { .. }), "{error}");
        let line = Gram::new(&[1.0, -2.0, -2.0, 4.0], 0.0, vec![0.0; 2]).expect("a matrix");
        let factor = Factor::without_thin(&line, 1e-9, &Control::new()).expect("all there is");
        assert_eq!((factor.rank(), factor.is_whole), (1, true));
    }

    /// What is lost of other examples is no matter.
    #[test]
    fn softness_is_lost_where_it_is_thin() {
        let m = 40;
        let matrix = matrix(m, 3);
        let lost = |softness: &dyn Fn(usize) -> f64, least: f64| {
            let softness = (0..m).map(softness).collect();
            let gram = Gram::new(&matrix, 0.0, softness).expect("a matrix");
            let factor = Factor::without_thin(&gram, least, &Control::new()).expect("room");
            (factor.rank(), factor.is_whole, factor.loses_softness)
        };
        assert_eq!(lost(&|_| 0.0, 1e-9), (3, true, false));
        assert_eq!(lost(&|i| if i < 7 { 0.1 } else { 0.0 }, 1e-9), (10, true, false));
        assert_eq!(lost(&|i| if i < 7 { 1e-12 } else { 0.0 }, 1e-9), (3, false, true));
        assert_eq!(lost(&|_| 1e-17, 0.0), (3, true, true));
        #[allow(clippy::cast_possible_truncation, reason = "a matrix of singles")]
        let singles: Vec<f32> = matrix.iter().map(|&x| x as f32).collect();
        let softness = (0..m).map(|i| if i < 7 { 0.1 } else { 0.0 }).collect();
        let gram = Gram::new(&singles, 0.0, softness).expect("a matrix");
        let factor = Factor::without_thin(&gram, 1e-4, &Control::new()).expect("room");
        assert_eq!((factor.rank(), factor.is_whole, factor.loses_softness), (10, false, false));
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
                *new += turn.iter().zip(&x).map(|(c, x)| c * x[k]).sum::<f64>();
            }
            assert!((inner(&new, &new) - 1.0).abs() < 1e-8, "{new:?}");
            assert!(inner(&new, &position).abs() < 1e-8, "{new:?}");
            assert!(new[3].abs() < 1e-4 && (new[4] - 0.6).abs() < 1e-4, "{new:?}");
            let turned = gram.combination(&turn, &Control::new()).expect("nobody interrupts");
            for ((turned, old), new) in turned.iter().zip(&g).zip(field(&new)) {
                assert!((old + turned - new).abs() < 1e-9);
            }
            mean.iter_mut().zip(new).for_each(|(mean, new)| *mean += new / 1000.0);
        }
        // Isotropic in the plane across: no trace of where it was.
        assert!(mean[..3].iter().all(|mean| mean.abs() < 0.1), "{mean:?}");
    }
}
