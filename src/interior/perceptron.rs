//! The kernel perceptron, which corrects the examples in turn or the worst example first.

use crate::base::{Control, Result};
use crate::interior::{lengths, max_margin};
use crate::simd::{Precision, dot};
use crate::space::VersionSpace;

/// The weight vector of a perceptron.
struct Learner<'s> {
    space: &'s VersionSpace<'s>,
    dual: Vec<f64>,
    /// Plane coordinates.
    f: Vec<f64>,
}

impl<'s> Learner<'s> {
    fn new(space: &'s VersionSpace<'s>) -> Self {
        Self { space, dual: vec![0.0; space.len()], f: vec![0.0; space.len()] }
    }

    fn margin(&self, i: usize) -> f64 {
        self.space.sign(i) * self.f[i]
    }

    /// `w ← w + rate y_i φ_i`.
    fn correct(&mut self, i: usize, rate: f64) {
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
    fn verify(&mut self, control: &Control) -> Result<bool> {
        let gram = self.space.gram();
        gram.multiply(&[&self.dual], &mut [&mut self.f], Precision::Compensated, control)?;
        Ok((0..self.f.len()).all(|i| self.margin(i) > 0.0))
    }
}

/// Returns the fewest violated examples of w and -w of a perceptron from the difference of the normalized class means on.
pub(crate) fn fewest_violations(space: &VersionSpace<'_>, control: &Control) -> Result<usize> {
    const PASSES: usize = 20;
    const CORRECTIONS: usize = 4000;
    /// A plane coordinate within this multiple of its rounding error is on neither side.
    const ROUNDINGS: f64 = 64.0;
    let m = space.len();
    let lengths = lengths(space);
    let counts = space.class_counts().map(f64::from);
    let mut learner = Learner::new(space);
    for (i, length) in lengths.iter().enumerate() {
        let own = counts[usize::from(space.sign(i) > 0.0)];
        learner.dual[i] = space.sign(i) * m as f64 / (own * length);
    }
    learner.verify(control)?;
    // Of two coinciding planes in conflict one is violated, even if rounded plane coordinates say otherwise.
    let count = |learner: &Learner<'_>, corrections: usize| {
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

/// Finds a point inside version space, of unit length, by updates at the example with the smallest normalized margin:
/// `w ← w + y_i φ_i / |φ_i|`, that is, `c_i ← c_i + y_i / √K_ii`, from w = 0; or by the maximal-margin search if `max_updates`
/// do not suffice. Errors as [`max_margin()`](super::max_margin()).
///
/// By Novikoff's theorem `1/Γ²` updates suffice, where Γ is the largest normalized margin. Steps of `y_i / K_ii` may take as many
/// times more as the longest feature vector is longer than the shortest.
pub fn perceptron_point(
    space: &VersionSpace<'_>,
    max_updates: usize,
    control: &Control,
) -> Result<Vec<f64>> {
    space.check_no_walls("method", "a perceptron")?;
    let gram = space.gram();
    let m = space.len();
    let lengths = lengths(space);
    let mut learner = Learner::new(space);
    let mut updates = 0;
    loop {
        if updates % 64 == 0 {
            control.check()?;
        }
        let (worst, margin) = (0..m)
            .map(|i| (i, learner.margin(i) / lengths[i]))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("at least one example");
        // The updated plane coordinates contain the rounding errors of all corrections, so check recomputed ones.
        if margin > 0.0 {
            if !learner.verify(control)? {
                continue;
            }
            let scale = dot::dot(gram.arch(), &learner.dual, &learner.f).sqrt().recip();
            learner.dual.iter_mut().for_each(|c| *c *= scale);
            // If coefficients are large and margins small, the rounding of the scaling may lead out of version space.
            if space.contains(&learner.dual)? {
                return Ok(learner.dual);
            }
            return max_margin::interior_point(space, control);
        }
        if updates == max_updates {
            return max_margin::interior_point(space, control);
        }
        learner.correct(worst, lengths[worst].recip());
        updates += 1;
    }
}
