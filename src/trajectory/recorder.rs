//! Draws: positions at equal spacing along the path.

use crate::ball::Ball;
use crate::base::{Result, ensure, ensure_finite, memory};
use crate::gram::Gram;

/// Keeps dual coefficients, and plane coordinates at a few watched planes, at equal spacing along the path.
#[derive(Clone, Debug)]
pub struct Recorder {
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
    /// Starts a record with positions at `spacing`, 2 `spacing`, ... radians, with room for `expected` of them.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) if memory does not suffice.
    pub fn new(spacing: f64, watched: &[usize], expected: usize, gram: &Gram<'_>) -> Result<Self> {
        let watched: Vec<_> =
            watched.iter().map(|&i| (i, gram.diagonal(i).sqrt().recip())).collect();
        // Reserved memory that is never written costs nothing; a vector that grows is copied.
        let draws = memory::reserved_apart(expected.saturating_mul(gram.len()))?;
        let functionals = memory::reserved(expected.saturating_mul(watched.len()))?;
        Ok(Self { spacing, next: 1, watched, draws, functionals })
    }

    /// Returns the path between positions, in radians.
    pub fn spacing(&self) -> f64 {
        self.spacing
    }

    /// Returns the number of positions kept, of m coefficients each.
    pub fn kept(&self, m: usize) -> usize {
        self.draws.len() / m
    }

    /// Returns the last `n` positions, row-major (n, m), and their watched plane coordinates, row-major (n, watched).
    pub fn last(&self, n: usize, m: usize) -> (&[f64], &[f64]) {
        let skip = self.kept(m) - n;
        (&self.draws[skip * m..], &self.functionals[skip * self.watched.len()..])
    }

    /// As [`Recorder::last`], but moves the values out of the record.
    pub(crate) fn take_last(&mut self, n: usize, m: usize) -> (Vec<f64>, Vec<f64>) {
        let skip = self.kept(m) - n;
        let mut draws = std::mem::take(&mut self.draws);
        let mut functionals = std::mem::take(&mut self.functionals);
        draws.drain(..skip * m);
        functionals.drain(..skip * self.watched.len());
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
        gram: &Gram<'_>,
        (draws, functionals): (&[f64], &[f64]),
        path: f64,
    ) -> Result<Self> {
        // The next position must lie ahead: the record would otherwise fill in all that were missed.
        let ahead = spacing > 0.0 && spacing.is_finite() && (next as f64 + 0.5) * spacing > path;
        ensure(ahead, || {
            format!("one with draws {spacing} radians apart, the next being number {next}")
        })?;
        let (m, q) = (gram.len(), watched.len());
        let whole = draws.len().is_multiple_of(m) && functionals.len() == draws.len() / m * q;
        ensure(whole, || "one with draws in pieces")?;
        ensure_finite(&[draws, functionals])?;
        let mut own = (memory::reserved(draws.len())?, memory::reserved(functionals.len())?);
        own.0.extend_from_slice(draws);
        own.1.extend_from_slice(functionals);
        let (draws, functionals) = own;
        Ok(Self { next, draws, functionals, ..Self::new(spacing, watched, 0, gram)? })
    }

    /// # Errors
    ///
    /// [`crate::Error::Invalid`] if a path as long as a `stage` has many more positions than a run that keeps `draws` records:
    /// they could take any amount of memory.
    pub(crate) fn check_spacing(&self, stage: f64, draws: usize) -> Result<()> {
        // A growing path records twice the requested draws, and twice that before thinning.
        ensure(stage <= self.spacing * 8.0 * draws as f64, || {
            format!("one with draws every {} radians of {stage}", self.spacing)
        })
    }

    /// Prepends the contents of an earlier record.
    pub(crate) fn follow(&mut self, earlier: &mut Self) {
        for (own, before) in [
            (&mut self.draws, &mut earlier.draws),
            (&mut self.functionals, &mut earlier.functionals),
        ] {
            std::mem::swap(own, before);
            own.append(before);
        }
    }

    /// Returns draws and functionals of the first `n` positions.
    pub(crate) fn first(&self, n: usize, m: usize) -> (&[f64], &[f64]) {
        (&self.draws[..n * m], &self.functionals[..n * self.watched.len()])
    }

    /// Records all positions on a flight of `flight` radians that starts at `path`.
    #[inline]
    pub(crate) fn observe(&mut self, ball: &Ball, gram: &Gram<'_>, path: f64, flight: f64) {
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

    fn record(&mut self, ball: &Ball, gram: &Gram<'_>, ahead: f64) {
        let (sin, cos) = ahead.sin_cos();
        self.draws.extend(ball.positions(ahead));
        self.functionals.extend(self.watched.iter().map(|&(i, inverse_length)| {
            let (f, g) = ball.coordinates(gram, i);
            (f * cos + g * sin) * inverse_length
        }));
    }

    /// Records the present position in addition.
    pub(crate) fn record_here(&mut self, ball: &Ball, gram: &Gram<'_>) {
        self.record(ball, gram, 0.0);
    }

    /// Keeps every second position and doubles the spacing. The number kept must be even.
    pub(crate) fn coarsen(&mut self, m: usize) {
        debug_assert_eq!(self.kept(m) % 2, 0);
        let (q, kept) = (self.watched.len(), self.kept(m) / 2);
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
