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
    /// [`Error::Memory`](crate::Error::Memory) where there is no room.
    pub fn new(spacing: f64, watched: &[usize], expected: usize, gram: &Gram<'_>) -> Result<Self> {
        let watched: Vec<_> =
            watched.iter().map(|&i| (i, gram.diagonal(i).sqrt().recip())).collect();
        // Room that is not used is never touched, while a record that grows is copied.
        let draws = memory::reserved_apart(expected.saturating_mul(gram.len()))?;
        let functionals = memory::reserved(expected.saturating_mul(watched.len()))?;
        Ok(Self { spacing, next: 1, watched, draws, functionals })
    }

    /// Path between positions, in radians.
    pub fn spacing(&self) -> f64 {
        self.spacing
    }

    /// Number of positions kept, of m coefficients each.
    pub fn kept(&self, m: usize) -> usize {
        self.draws.len() / m
    }

    /// The last `n` positions, row-major (n, m), and their watched plane coordinates, row-major (n, watched).
    pub fn last(&self, n: usize, m: usize) -> (&[f64], &[f64]) {
        let skip = self.kept(m) - n;
        (&self.draws[skip * m..], &self.functionals[skip * self.watched.len()..])
    }

    /// Takes out what [`Recorder::last`] lends.
    pub(crate) fn take_last(&mut self, n: usize, m: usize) -> (Vec<f64>, Vec<f64>) {
        let skip = self.kept(m) - n;
        let mut draws = std::mem::take(&mut self.draws);
        let mut functionals = std::mem::take(&mut self.functionals);
        draws.drain(..skip * m);
        functionals.drain(..skip * self.watched.len());
        // Before they are copied, what is left of them gives back the rest.
        draws.shrink_to_fit();
        (draws, functionals)
    }

    /// Spacing and number of the next position, to be stored.
    pub(crate) fn schedule(&self) -> (f64, u64) {
        (self.spacing, self.next)
    }

    /// A record that goes on with these draws and their functionals, `path` radians from its beginning.
    pub(crate) fn restored(
        (spacing, next): (f64, u64),
        watched: &[usize],
        gram: &Gram<'_>,
        (draws, functionals): (&[f64], &[f64]),
        path: f64,
    ) -> Result<Self> {
        // The next is still ahead: otherwise all between would be made up for.
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
    /// [`crate::Error::Invalid`] where many more positions come due on a path as long as a `stage` than a run that keeps
    /// `draws` records: they would take any memory.
    pub(crate) fn check_spacing(&self, stage: f64, draws: usize) -> Result<()> {
        // Twice the draws asked for come due where the path grows; twice that again before they are thinned.
        ensure(stage <= self.spacing * 8.0 * draws as f64, || {
            format!("one with draws every {} radians of {stage}", self.spacing)
        })
    }

    /// Puts what an earlier record holds before what this one does.
    pub(crate) fn follow(&mut self, earlier: &mut Self) {
        for (own, before) in [
            (&mut self.draws, &mut earlier.draws),
            (&mut self.functionals, &mut earlier.functionals),
        ] {
            std::mem::swap(own, before);
            own.append(before);
        }
    }

    /// Draws and functionals of the positions up to the `n`-th.
    pub(crate) fn first(&self, n: usize, m: usize) -> (&[f64], &[f64]) {
        (&self.draws[..n * m], &self.functionals[..n * self.watched.len()])
    }

    /// Records all positions due on a flight of `flight` radians that starts at `path`.
    #[inline]
    pub(crate) fn observe(&mut self, ball: &Ball, gram: &Gram<'_>, path: f64, flight: f64) {
        loop {
            let due = self.next as f64 * self.spacing;
            // The sum of many flights may miss the last position by its rounding.
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

    /// Records the present position out of turn.
    pub(crate) fn record_here(&mut self, ball: &Ball, gram: &Gram<'_>) {
        self.record(ball, gram, 0.0);
    }

    /// Keeps every second position and doubles the spacing. The number kept must be unit.
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
