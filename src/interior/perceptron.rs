//! The kernel perceptron, and the fewest examples that it violates.

use super::lengths;
use crate::base::{Control, Result};
use crate::simd::Precision;
use crate::space::VersionSpace;

/// The weight vector of a perceptron.
pub struct Learner<'s> {
    space: &'s VersionSpace<'s>,
    pub dual: Vec<f64>,
    /// Plane coordinates.
    f: Vec<f64>,
}

impl<'s> Learner<'s> {
    pub fn new(space: &'s VersionSpace<'s>) -> Self {
        Self { space, dual: vec![0.0; space.len()], f: vec![0.0; space.len()] }
    }

    pub fn margin(&self, i: usize) -> f64 {
        self.space.sign(i) * self.f[i]
    }

    /// `w ← w + rate y_i φ_i`.
    pub fn correct(&mut self, i: usize, rate: f64) {
        let gram = self.space.gram();
        let step = self.space.sign(i) * rate;
        self.dual[i] += step;
        gram.add_rows(&[(step, i)], &mut self.f);
        if gram.offset() != 0.0 {
            let lift = step * gram.offset();
            self.f.iter_mut().for_each(|f| *f += lift);
        }
        self.f[i] += step * gram.softness()[i];
    }

    /// Recomputes the plane coordinates. Returns whether all examples are satisfied.
    pub fn verify(&mut self, control: &Control) -> Result<bool> {
        self.f = self.space.gram().product(&self.dual, Precision::Compensated, control)?;
        Ok((0..self.f.len()).all(|i| self.margin(i) > 0.0))
    }
}

/// Returns the fewest violated examples of w and -w of a perceptron from the difference of the normalized class means on.
pub fn fewest_violations(space: &VersionSpace, control: &Control) -> Result<usize> {
    const PASSES: usize = 20;
    const CORRECTIONS: usize = 4000;
    /// A plane coordinate within this multiple of its rounding error is on neither side.
    const ROUNDINGS: f64 = 64.0;
    let m = space.len();
    let lengths = lengths(space.gram());
    let counts = space.class_counts().map(f64::from);
    let mut learner = Learner::new(space);
    for (i, length) in lengths.iter().enumerate() {
        let own = counts[usize::from(space.sign(i) > 0.0)];
        learner.dual[i] = space.sign(i) * m as f64 / (own * length);
    }
    learner.verify(control)?;
    // Of two coinciding planes in conflict one is violated, even if rounded plane coordinates say otherwise.
    let count = |learner: &Learner, corrections: usize| {
        let terms = 2.0 * m as f64 + corrections as f64;
        let near = ROUNDINGS * f64::EPSILON * terms;
        let below = space.count_examples(|i| learner.margin(i) <= near * lengths[i]);
        below.min(space.count_examples(|i| learner.margin(i) >= -near * lengths[i]))
    };
    let mut fewest = count(&learner, 0);
    let mut corrections = 0;
    for i in (0..PASSES).flat_map(|_| 0..m) {
        if learner.margin(i) > 0.0 {
            continue;
        }
        if corrections % 64 == 0 {
            control.check()?;
        }
        learner.correct(i, lengths[i].recip());
        corrections += 1;
        fewest = fewest.min(count(&learner, corrections));
        if corrections == CORRECTIONS {
            break;
        }
    }
    Ok(fewest)
}
