//! Dual coordinate ascent, best coordinate first. A few steps suggest which examples have positive multipliers.

use crate::base::{Control, Result};
use crate::simd::{Entry, vectorized, with_entries};
use crate::space::VersionSpace;

/// Number of running maxima.
const LANES: usize = 16;

/// Maximizes `Σ a_i - ½ |Σ a_i y_i φ_i|²` over `a_i ≥ 0`.
pub struct Ascent<'s> {
    space: &'s VersionSpace<'s>,
    /// Multipliers, shape (m,).
    pub a: Vec<f64>,
    /// `y_i <w, φ_i>`, shape (m,).
    margins: Vec<f64>,
    signs: Vec<f64>,
    /// |φ_i|² and its reciprocal.
    squares: Vec<f64>,
    inverse_squares: Vec<f64>,
    /// Fewest violated examples of the states checked.
    pub fewest_violations: usize,
}

impl<'s> Ascent<'s> {
    /// Starts at a = 0.
    pub fn new(space: &'s VersionSpace<'s>) -> Self {
        let m = space.len();
        let squares = space.gram().diagonals().to_vec();
        Self {
            space,
            a: vec![0.0; m],
            margins: vec![0.0; m],
            signs: (0..m).map(|i| space.sign(i)).collect(),
            inverse_squares: squares.iter().map(|square| square.recip()).collect(),
            squares,
            fewest_violations: space.examples(),
        }
    }

    /// Takes at most `steps` steps, and fewer if no step increases the objective. Returns their number.
    pub fn run(&mut self, steps: usize, control: &Control) -> Result<usize> {
        let mut best = self.update_margins(0, 0.0);
        let mut taken = 0;
        while taken < steps
            && let Some(i) = best
        {
            if taken % 16 == 0 {
                control.check()?;
                self.count_violations();
            }
            let slack = 1.0 - self.margins[i];
            let step = Self::best_step(slack, self.inverse_squares[i], self.a[i]);
            self.a[i] += step;
            best = self.update_margins(i, step);
            taken += 1;
        }
        self.count_violations();
        Ok(taken)
    }

    fn count_violations(&mut self) {
        let violations = self.space.count_examples(|i| self.margins[i] <= 0.0);
        self.fewest_violations = self.fewest_violations.min(violations);
    }

    /// The step that maximizes the objective along one coordinate, to at least 0.
    #[inline(always)]
    fn best_step(slack: f64, inverse_square: f64, a: f64) -> f64 {
        (slack * inverse_square).max(-a)
    }

    /// The increase of the objective by [`Self::best_step`], given the squared length and its reciprocal.
    #[inline(always)]
    fn gain(margin: f64, a: f64, (square, inverse): (f64, f64)) -> f64 {
        let slack = 1.0 - margin;
        let step = Self::best_step(slack, inverse, a);
        step * (slack - 0.5 * square * step)
    }

    /// Updates the margins after a step of multiplier i. Returns the coordinate whose step gains most, if any.
    fn update_margins(&mut self, i: usize, step: f64) -> Option<usize> {
        let gram = self.space.gram();
        self.margins[i] += step * gram.softness()[i];
        let signed = step * self.signs[i];
        let lift = signed * gram.offset();
        with_entries!(&gram.row(i), |row| self.add_row(row, signed, lift))
    }

    /// Adds `signed` times a row to the signed margins, and `lift`. Returns what [`Ascent::update_margins`] returns.
    fn add_row<E: Entry>(&mut self, row: &[E], signed: f64, lift: f64) -> Option<usize> {
        vectorized!({
            let (signs, sign_rest) = self.signs.as_chunks::<LANES>();
            let (row, row_rest) = row.as_chunks::<LANES>();
            let (a, a_rest) = self.a.as_chunks::<LANES>();
            let (squares, square_rest) = self.squares.as_chunks::<LANES>();
            let (inverses, inverse_rest) = self.inverse_squares.as_chunks::<LANES>();
            let (margins, margin_rest) = self.margins.as_chunks_mut::<LANES>();
            let (mut most, mut which) = ([0.0; LANES], [0; LANES]);
            let mut first = 0;
            let blocks = margins.iter_mut().zip(signs).zip(row).zip(a).zip(squares).zip(inverses);
            for (((((margins, signs), row), a), squares), inverses) in blocks {
                for l in 0..LANES {
                    margins[l] += signs[l] * (signed * row[l].into() + lift);
                    let gain = Ascent::gain(margins[l], a[l], (squares[l], inverses[l]));
                    let better = gain > most[l];
                    most[l] = if better { gain } else { most[l] };
                    which[l] = if better { first } else { which[l] };
                }
                first += LANES;
            }
            for (l, margin) in margin_rest.iter_mut().enumerate() {
                *margin += sign_rest[l] * (signed * row_rest[l].into() + lift);
                let gain = Ascent::gain(*margin, a_rest[l], (square_rest[l], inverse_rest[l]));
                if gain > most[l] {
                    (most[l], which[l]) = (gain, first);
                }
            }
            let best = (0..LANES).fold(0, |best, l| if most[l] > most[best] { l } else { best });
            (most[best] > 0.0).then(|| which[best] + best)
        })
    }
}
