//! Draws: positions at equal spacing along the path.

use super::observer::Observer;
use crate::ball::Ball;
use crate::base::{Result, ensure, ensure_finite, memory};
use crate::gram::Gram;

/// Keeps dual coefficients, and plane coordinates at a few watched planes, at equal spacing along the path.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// Number of dual coefficients of a position: m, or that of the coordinates of walls.
    width: usize,
    spacing: f64,
    /// Number of the next position: it is due at this many spacings.
    next: u64,
    /// Planes, and one over the lengths of their feature vectors.
    watched: Vec<(usize, f64)>,
    /// Row-major (kept, m).
    draws: Vec<f64>,
    /// Row-major (kept, watched): plane coordinates relative to the length of the feature vector.
    functionals: Vec<f64>,
}

impl Recorder {
    /// Starts a record at `spacing`, 2 `spacing`, ... radians, with room for `expected`. [`crate::Error::Memory`] without.
    pub fn new(spacing: f64, watched: &[usize], expected: usize, gram: &Gram) -> Result<Self> {
        let watched: Vec<_> =
            watched.iter().map(|&i| (i, gram.diagonal(i).sqrt().recip())).collect();
        // Reserved memory that is never written takes no pages; a vector that grows is copied.
        let draws = memory::reserved_apart(expected.saturating_mul(gram.outer_len()))?;
        let functionals = memory::reserved(expected.saturating_mul(watched.len()))?;
        Ok(Self { width: gram.outer_len(), spacing, next: 1, watched, draws, functionals })
    }

    /// Returns a record of nothing.
    pub(crate) fn none() -> Self {
        Self { spacing: f64::INFINITY, next: 1, ..Self::default() }
    }

    /// Returns the path between positions, in radians.
    pub fn spacing(&self) -> f64 {
        self.spacing
    }

    /// Returns the number of positions kept.
    pub fn kept(&self) -> usize {
        self.draws.len() / self.width
    }

    fn lengths(&self, n: usize) -> (usize, usize) {
        (n * self.width, n * self.watched.len())
    }

    /// Returns the last `n` positions, row-major (n, m), and their watched plane coordinates, row-major (n, watched).
    pub fn last(&self, n: usize) -> (&[f64], &[f64]) {
        let (draws, functionals) = self.lengths(self.kept() - n);
        (&self.draws[draws..], &self.functionals[functionals..])
    }

    /// As [`Recorder::last`], but moves the values out of the record.
    pub(crate) fn take_last(&mut self, n: usize) -> (Vec<f64>, Vec<f64>) {
        let skip = self.lengths(self.kept() - n);
        let mut draws = std::mem::take(&mut self.draws);
        let mut functionals = std::mem::take(&mut self.functionals);
        draws.drain(..skip.0);
        functionals.drain(..skip.1);
        // Shrinking before the copy returns the unused memory.
        draws.shrink_to_fit();
        (draws, functionals)
    }

    /// Returns the spacing and the number of the next position, to be stored.
    pub(crate) fn schedule(&self) -> (f64, u64) {
        (self.spacing, self.next)
    }

    /// Restores a record with these draws and their functionals, `path` radians from its beginning.
    pub(crate) fn restored(
        (spacing, next): (f64, u64),
        watched: &[usize],
        gram: &Gram,
        (draws, functionals): (&[f64], &[f64]),
        path: f64,
    ) -> Result<Self> {
        // The next position must lie ahead: the record would otherwise fill in all that were missed.
        let ahead = spacing > 0.0 && spacing.is_finite() && (next as f64 + 0.5) * spacing > path;
        ensure(ahead, "one with a draw in the past")?;
        ensure_finite(&[draws, functionals])?;
        let mut record = Self { next, ..Self::new(spacing, watched, 0, gram)? };
        memory::reserve(&mut record.draws, draws.len())?;
        memory::reserve(&mut record.functionals, functionals.len())?;
        record.draws.extend_from_slice(draws);
        record.functionals.extend_from_slice(functionals);
        Ok(record)
    }

    /// Returns draws and functionals of the first `n` positions.
    pub(crate) fn first(&self, n: usize) -> (&[f64], &[f64]) {
        let (draws, functionals) = self.lengths(n);
        (&self.draws[..draws], &self.functionals[..functionals])
    }

    /// Records the position `ahead` radians from the ball.
    pub(crate) fn record(&mut self, ball: &Ball, gram: &Gram, ahead: f64) {
        let (sin, cos) = ahead.sin_cos();
        self.draws.extend(gram.outer_duals(ball.position(ahead)));
        self.functionals.extend(
            self.watched.iter().map(|&(i, inverse_length)| {
                (ball.f()[i] * cos + ball.g()[i] * sin) * inverse_length
            }),
        );
    }

    /// Keeps every second position and doubles the spacing.
    pub(crate) fn coarsen(&mut self) {
        let (m, q, kept) = (self.width, self.watched.len(), self.kept() / 2);
        for k in 0..kept {
            self.draws.copy_within((2 * k + 1) * m..(2 * k + 2) * m, k * m);
            self.functionals.copy_within((2 * k + 1) * q..(2 * k + 2) * q, k * q);
        }
        self.draws.truncate(kept * m);
        self.functionals.truncate(kept * q);
        self.spacing *= 2.0;
        self.next = kept as u64 + 1;
    }
}

impl Observer for Recorder {
    #[inline]
    fn flies(&mut self, ball: &Ball, gram: &Gram, (path, flight): (f64, f64), _: [u32; 2]) {
        loop {
            let due = self.next as f64 * self.spacing;
            // The sum of many flights may miss the last position by rounding.
            if due > (path + flight) * (1.0 + 1e-12) {
                break;
            }
            self.record(ball, gram, (due - path).clamp(0.0, flight));
            self.next += 1;
        }
    }
}
