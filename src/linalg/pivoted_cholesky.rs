//! Pivoted Cholesky factorization, a batch of columns at a time: O(m rank²), since only rows of candidates are read.

use std::iter::zip;

use super::factor::Factor;
use crate::base::{Control, Result, memory, require_sound};
use crate::gram::Gram;
use crate::simd::{dot, vectorized};

/// Most candidates for pivots at a time, and fewest, when most of the previous ones were rejected.
const BATCH: usize = 32;
const MIN_BATCH: usize = 4;
/// Examples per tile: two tiles of a batch of columns stay in the cache.
const TILE: usize = 256;
/// A candidate becomes a pivot if its relative residual exceeds this fraction of the largest one. Smaller fractions let
/// rounding errors grow: of 300 Gaussian vectors in 290 dimensions 0.24 m ε was left at 1/2, and 2.8 m ε at 1/10.
const PIVOT_THRESHOLD: f64 = 0.5;

/// Most operations of an optional factor: half a second, for 2400 examples in as many dimensions.
const MAX_OPERATIONS: f64 = 4.7e9;

/// Entries of one example in a batch of columns.
type Chunk = [f64; BATCH];

/// Relative residual of a diagonal entry that is rounding error, for m examples.
fn rounding(m: usize) -> f64 {
    4.0 * m as f64 * f64::EPSILON
}

struct Pivoted<'g, 'k> {
    gram: &'g Gram<'k>,
    /// Diagonal of the residual `K - L Lᵀ`.
    residual: Vec<f64>,
    /// Residual diagonal entries up to these count as zero.
    tolerances: Vec<f64>,
    is_pivot: Vec<bool>,
    pivots: Vec<usize>,
    /// Columns of L, each of length m.
    columns: Vec<Vec<f64>>,
}

impl<'g, 'k> Pivoted<'g, 'k> {
    /// Starts a factorization that ends when each residual is rounding or at most the share `least` of its diagonal entry.
    pub fn new(gram: &'g Gram<'k>, least: f64) -> Self {
        let m = gram.len();
        let residual = gram.diagonals().to_vec();
        // The entries of K were rounded before the offset was added.
        let exact = if gram.is_single() { gram.offset() } else { 0.0 };
        let tolerance = |size: &f64| (least * (size - exact)).max(rounding(m) * size);
        let tolerances = residual.iter().map(tolerance).collect();
        let (pivots, columns) = (Vec::new(), Vec::new());
        Self { gram, residual, tolerances, is_pivot: vec![false; m], pivots, columns }
    }

    /// The residual diagonal entry of an example, relative to its diagonal entry.
    fn relative(&self, i: usize) -> f64 {
        self.residual[i] / self.gram.diagonal(i)
    }

    fn non_pivots(&self) -> impl Iterator<Item = usize> {
        (0..self.residual.len()).filter(|&i| !self.is_pivot[i])
    }

    /// Examples whose residual diagonal entry exceeds the tolerance.
    fn unfinished(&self) -> impl Iterator<Item = usize> {
        self.non_pivots().filter(|&i| self.residual[i] > self.tolerances[i])
    }

    /// Number of columns so far.
    pub fn rank(&self) -> usize {
        self.pivots.len()
    }

    /// Adds columns until the factorization ends, which it returns, or there are more than `most`, on which the choice does not
    /// depend. [`Error::Breakdown`] when a residual diagonal entry is clearly negative.
    pub fn run(&mut self, most: usize, control: &Control) -> Result<bool> {
        let mut width = BATCH;
        loop {
            self.check()?;
            if self.rank() > most {
                return Ok(false);
            }
            if self.unfinished().next().is_none() {
                return Ok(true);
            }
            let found = self.batch(width, most, control)?;
            // Candidates that are nearly copies of a pivot are rejected.
            width = (2 * found).clamp(MIN_BATCH, BATCH);
        }
    }

    /// Checks that no residual diagonal entry is below zero by more than rounding or the tolerance.
    fn check(&self) -> Result<()> {
        let rounding = 1e3 * rounding(self.residual.len());
        let what = "smallest pivot of the Gram matrix, relative to its diagonal entry";
        self.non_pivots().try_for_each(|i| {
            let lowest = -self.tolerances[i].max(rounding * self.gram.diagonal(i));
            require_sound(self.residual[i] >= lowest, what, self.relative(i))
        })
    }

    /// Tries `width` candidates and adds at least one column, until there are more than `most`. Returns how many it added.
    fn batch(&mut self, width: usize, most: usize, control: &Control) -> Result<usize> {
        memory::check_vectors(2 * width, self.residual.len())?;
        let candidates = self.candidates(width);
        let rows = self.residual_rows(&candidates, control)?;
        let mut rows: Vec<(usize, Vec<f64>)> = zip(candidates, rows).collect();
        let first = self.rank();
        while self.rank() <= most {
            control.check()?;
            rows.retain(|&(i, _)| self.residual[i] > self.tolerances[i]);
            let sizes = rows.iter().map(|&(i, _)| self.relative(i)).enumerate();
            let Some((at, size)) = sizes.max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
            let largest = self.unfinished().map(|i| self.relative(i)).fold(0.0, f64::max);
            if size <= PIVOT_THRESHOLD * largest {
                break;
            }
            let (pivot, row) = rows.swap_remove(at);
            self.eliminate(pivot, row, first);
        }
        Ok(self.rank() - first)
    }

    /// Adds the column of a pivot. `column` is its residual row before the columns from `first` on were added.
    fn eliminate(&mut self, pivot: usize, mut column: Vec<f64>, first: usize) {
        let root = self.residual[pivot].sqrt();
        let fresh = &self.columns[first..];
        let done: Vec<(f64, &[f64])> = fresh.iter().map(|x| (-x[pivot], x.as_slice())).collect();
        dot::axpy_all(&done, &mut column);
        self.is_pivot[pivot] = true;
        for ((entry, residual), &is_pivot) in
            zip(zip(&mut column, &mut self.residual), &self.is_pivot)
        {
            *entry = if is_pivot { 0.0 } else { *entry / root };
            *residual -= *entry * *entry;
        }
        column[pivot] = root;
        self.residual[pivot] = 0.0;
        self.pivots.push(pivot);
        self.columns.push(column);
    }

    /// The examples with the largest relative residuals, in descending order.
    fn candidates(&self, width: usize) -> Vec<usize> {
        let mut examples: Vec<usize> = self.unfinished().collect();
        let order =
            |a: &usize, b: &usize| self.relative(*b).total_cmp(&self.relative(*a)).then(a.cmp(b));
        if examples.len() > width {
            examples.select_nth_unstable_by(width - 1, order);
            examples.truncate(width);
        }
        examples.sort_by(order);
        examples
    }

    /// The rows of `K - L Lᵀ` of the candidates.
    fn residual_rows(&self, candidates: &[usize], control: &Control) -> Result<Vec<Vec<f64>>> {
        let mut rows = Vec::with_capacity(candidates.len());
        for &candidate in candidates {
            control.check()?;
            rows.push(self.gram.shifted_row(candidate));
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
        let non_pivots: Vec<usize> = self.non_pivots().collect();
        let (mut sums, mut entries) = (vec![[0.0; BATCH]; TILE], vec![[0.0; BATCH]; TILE]);
        for tile in non_pivots.chunks(TILE) {
            control.check()?;
            let (sums, entries) = (&mut sums[..tile.len()], &mut entries[..tile.len()]);
            gather(&rows, tile, sums);
            for (columns, heads) in zip(self.columns.chunks(BATCH), &heads) {
                gather(columns, tile, entries);
                subtract(sums, entries, heads);
            }
            for (slot, row) in rows.iter_mut().enumerate() {
                zip(&*sums, tile).for_each(|(sum, &i)| row[i] = sum[slot]);
            }
        }
        Ok(rows)
    }

    /// Returns the factor, stored by rows; [`Error::Breakdown`] if it has one column, in which nothing can turn, of more.
    pub fn factor(self, of_planes: &Gram, control: &Control) -> Result<Factor> {
        let (m, rank) = (self.residual.len(), self.rank());
        let largest = self.non_pivots().map(|i| self.relative(i)).fold(0.0, f64::max);
        let is_complete = largest <= rounding(m);
        let what = "largest pivot left out of a factor of rank 1, relative to its diagonal entry";
        require_sound(rank >= 2 || is_complete, what, largest)?;
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
        let loses_softness = self.non_pivots().any(|i| self.gram.softness()[i] > 0.0);
        let planes = of_planes.planes().cloned();
        Ok(Factor { rows, pivots: self.pivots, is_complete, loses_softness, lengths, planes })
    }
}

/// The largest rank r for which a factor of m examples takes at most [`MAX_OPERATIONS`], m r² - 2 r³ / 3.
fn affordable_rank(m: usize) -> usize {
    let operations = |rank: f64| (m as f64 - rank / 1.5) * rank.powi(2);
    (1..=m).take_while(|&rank| operations(rank as f64) <= MAX_OPERATIONS).count()
}

impl Factor {
    /// Factors K in O(m rank²) operations, with memory for 2 m rank numbers.
    ///
    /// Columns are added until each residual diagonal entry is at most `4 m ε` of its own: short vectors count as much.
    ///
    /// [`crate::Error::Breakdown`] when a residual diagonal entry is clearly negative (K is not positive semi-definite);
    /// [`crate::Error::Memory`]; [`crate::Error::Interrupted`].
    pub fn new(gram: &Gram, control: &Control) -> Result<Self> {
        Self::truncated(gram, 0.0, control)
    }

    /// As [`Self::new`], but stops when each residual diagonal entry is at most the share `least` of
    /// its diagonal entry. [`crate::Error::Breakdown`] also if that leaves only one direction.
    pub(crate) fn truncated(gram: &Gram, least: f64, control: &Control) -> Result<Self> {
        let mut pivoted = Pivoted::new(gram.of_examples(), least);
        pivoted.run(gram.len(), control)?;
        pivoted.factor(gram, control)
    }

    /// As [`Self::truncated`]; None if that would take more than about half a second.
    pub(crate) fn if_affordable(
        gram: &Gram,
        least: f64,
        control: &Control,
    ) -> Result<Option<Self>> {
        let examples = gram.of_examples();
        let most = affordable_rank(examples.len());
        let mut pivoted = Pivoted::new(examples, least);
        // Each example whose softness exceeds the tolerance adds a dimension.
        let softness = zip(examples.softness(), &pivoted.tolerances);
        let n_soft = softness.filter(|(softness, tolerance)| softness > tolerance).count();
        if n_soft > most || !pivoted.run(most, control)? {
            return Ok(None);
        }
        pivoted.factor(gram, control).map(Some)
    }
}

/// Copies the entries of some examples in at most [`BATCH`] columns into one chunk per example.
fn gather(columns: &[Vec<f64>], tile: &[usize], out: &mut [Chunk]) {
    for (slot, column) in columns.iter().enumerate() {
        zip(&mut *out, tile).for_each(|(chunk, &i)| chunk[slot] = column[i]);
    }
}

/// Subtracts products of entries and `heads`, those of candidates. Entries beyond the last column are stale, times zeros.
fn subtract(sums: &mut [Chunk], entries: &[Chunk], heads: &[Chunk; BATCH]) {
    vectorized!({
        for (sums, entries) in zip(sums, entries) {
            let mut chunk = *sums;
            for (entry, heads) in zip(entries, heads) {
                for (sum, head) in zip(&mut chunk, heads) {
                    *sum -= entry * head;
                }
            }
            *sums = chunk;
        }
    });
}

#[cfg(test)]
#[path = "../../tests/unit/linalg/pivoted_cholesky.rs"]
mod tests;
