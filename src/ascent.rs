//! Dual coordinate ascent, the best coordinate first: it soon knows which examples matter.
#![allow(
    clippy::inline_always,
    reason = "vector code must end up in the function compiled for its instruction set"
)]

use crate::active_set::Bounds;
use crate::control::Control;
use crate::entry::Entry;
use crate::error::Result;
use crate::free_set;
use crate::gram::Values;
use crate::version_space::VersionSpace;

/// Running maxima, one a lane.
const LANES: usize = 16;

/// Multipliers on the way up `Σ a_i - ½ |Σ a_i y_i φ_i|²`, `0 ≤ a_i ≤ C`; a free bias takes part in the norm.
pub(crate) struct Ascent<'s> {
    space: &'s VersionSpace<'s>,
    cost: f64,
    /// Added to all kernel values: a bias with a price.
    shift: f64,
    a: Vec<f64>,
    /// y_i <w, φ_i>
    margins: Vec<f64>,
    signs: Vec<f64>,
    /// |φ_i|², the shift included, and its inverse.
    squares: Vec<f64>,
    inverse_squares: Vec<f64>,
    /// What the exact step of each coordinate gains.
    gains: Vec<f64>,
    fewest_violations: usize,
}

impl<'s> Ascent<'s> {
    /// Starts at a = 0.
    pub(crate) fn new(space: &'s VersionSpace<'s>, bounds: Bounds) -> Self {
        let m = space.len();
        let shift = if bounds.free_bias { free_set::mean_diagonal(space) } else { 0.0 };
        let squares: Vec<f64> = (0..m).map(|i| space.gram().diagonal(i) + shift).collect();
        Self {
            space,
            cost: bounds.cost,
            shift,
            a: vec![0.0; m],
            margins: vec![0.0; m],
            signs: (0..m).map(|i| space.sign(i)).collect(),
            inverse_squares: squares.iter().map(|square| square.recip()).collect(),
            squares,
            gains: vec![0.0; m],
            fewest_violations: m,
        }
    }

    /// Multipliers, shape (m,).
    pub(crate) fn multipliers(&self) -> &[f64] {
        &self.a
    }

    /// Fewest violated examples at the points looked at.
    pub(crate) fn fewest_violations(&self) -> usize {
        self.fewest_violations
    }

    /// Takes `steps` steps, or as many as there are. Returns their number.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Interrupted`].
    pub(crate) fn run(&mut self, steps: usize, control: &Control) -> Result<usize> {
        for taken in 0..steps {
            if taken % 16 == 0 {
                control.check()?;
                let violations = self.margins.iter().filter(|&&margin| margin <= 0.0).count();
                self.fewest_violations = self.fewest_violations.min(violations);
            }
            let Some(i) = self.best() else { return Ok(taken) };
            self.step(i);
        }
        Ok(steps)
    }

    /// The exact step of a coordinate between its bounds.
    #[inline(always)]
    fn best_step(slack: f64, inverse_square: f64, a: f64, cost: f64) -> f64 {
        (slack * inverse_square).max(-a).min(cost - a)
    }

    /// The coordinate whose step raises the objective most, if any does.
    fn best(&mut self) -> Option<usize> {
        let Self { cost, a, margins, squares, inverse_squares, gains, .. } = self;
        let largest = self.space.gram().arch().dispatch(
            #[inline(always)]
            || {
                let sizes = squares.iter().zip(inverse_squares.iter());
                let each = a.iter().zip(margins.iter()).zip(sizes);
                for (gain, ((&a, &margin), (&square, &inverse))) in gains.iter_mut().zip(each) {
                    let slack = 1.0 - margin;
                    let step = Self::best_step(slack, inverse, a, *cost);
                    *gain = step * (slack - 0.5 * square * step);
                }
                let mut lanes = [0.0; LANES];
                let (chunks, rest) = gains.as_chunks::<LANES>();
                for chunk in chunks {
                    for (lane, &gain) in lanes.iter_mut().zip(chunk) {
                        *lane = if gain > *lane { gain } else { *lane };
                    }
                }
                lanes.iter().chain(rest).fold(0.0, |largest: f64, &gain| largest.max(gain))
            },
        );
        if largest > 0.0 { self.gains.iter().position(|&gain| gain >= largest) } else { None }
    }

    fn step(&mut self, i: usize) {
        let gram = self.space.gram();
        let slack = 1.0 - self.margins[i];
        let step = Self::best_step(slack, self.inverse_squares[i], self.a[i], self.cost);
        self.a[i] += step;
        let signed = step * self.signs[i];
        let lift = signed * (gram.offset() + self.shift);
        match gram.row(i).values() {
            Values::Doubles(row) => self.add_row(row, signed, lift),
            Values::Singles(row) => self.add_row(row, signed, lift),
        }
        self.margins[i] += step * gram.softness()[i];
    }

    fn add_row<E: Entry>(&mut self, row: &[E], signed: f64, lift: f64) {
        let (margins, signs) = (&mut self.margins, &self.signs);
        self.space.gram().arch().dispatch(
            #[inline(always)]
            || {
                for ((margin, &k), sign) in margins.iter_mut().zip(row).zip(signs) {
                    *margin += sign * (signed * k.into() + lift);
                }
            },
        );
    }
}
