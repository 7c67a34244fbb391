//! The kernel perceptron, which corrects the examples in a given order or the worst example first.

use serde::Deserialize;

use crate::base::{Control, Error, Result, check_count, check_positive, count, require};
use crate::interior::lengths;
use crate::simd::{Precision, dot};
use crate::space::VersionSpace;

/// Settings of the kernel perceptron.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PerceptronSettings {
    /// Change of a dual coefficient per mistake.
    pub learning_rate: f64,
    /// Most passes through the examples.
    #[serde(deserialize_with = "count")]
    pub max_epochs: usize,
}

impl Default for PerceptronSettings {
    fn default() -> Self {
        Self { learning_rate: 1.0, max_epochs: 1_000 }
    }
}

impl PerceptronSettings {
    /// Checks the ranges. [`Error::Invalid`] for the first setting out of range.
    pub fn check(&self) -> Result<()> {
        check_positive("learning_rate", self.learning_rate)?;
        check_count("max_epochs", self.max_epochs as u64)
    }
}

/// Result of the kernel perceptron.
#[derive(Clone, Debug)]
pub struct Perceptron {
    /// Dual coefficients, shape (m,): learning rate times label times number of mistakes of each example.
    pub dual: Vec<f64>,
    /// Number of mistakes, each followed by a correction.
    pub mistakes: u64,
    /// Number of passes through the examples.
    pub epochs: usize,
    /// Whether the last pass was without mistakes.
    pub converged: bool,
}

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

/// Trains a kernel perceptron (Graepel, Herbrich and Williamson, 2001, Definition 1). Starts at w = 0, passes through the
/// examples in `order`, adds `rate y_i φ_i` to w whenever `y_i <w, φ_i> ≤ 0`, and stops after a pass without mistakes.
///
/// By Novikoff's theorem there are at most `(R/γ)²` mistakes, where R is the length of the longest feature vector and γ the
/// largest margin.
///
/// [`Error::Invalid`] if an index of `order` or a setting is out of range; [`Error::Interrupted`].
pub fn perceptron(
    space: &VersionSpace<'_>,
    order: &[usize],
    settings: &PerceptronSettings,
    control: &Control,
) -> Result<Perceptron> {
    space.check_no_walls("method", "a perceptron")?;
    settings.check()?;
    let PerceptronSettings { learning_rate: rate, max_epochs } = *settings;
    if let Some(bad) = order.iter().find(|i| **i >= space.len()) {
        return Err(Error::invalid("order", bad, "indices of examples"));
    }
    let mut learner = Learner::new(space);
    let mut mistakes = 0;
    for epoch in 1..=max_epochs {
        control.check()?;
        let before = mistakes;
        for &i in order {
            if learner.margin(i) <= 0.0 {
                learner.correct(i, rate);
                mistakes += 1;
                if mistakes % 64 == 0 {
                    control.check()?;
                }
            }
        }
        let fits = learner.dual.iter().all(|c| c.is_finite());
        require(fits, "learning_rate", rate, "so small that its multiples are finite")?;
        // The updated plane coordinates contain the rounding errors of all corrections, so check recomputed ones.
        if mistakes == before && learner.verify(control)? {
            return Ok(Perceptron { dual: learner.dual, mistakes, epochs: epoch, converged: true });
        }
    }
    Ok(Perceptron { dual: learner.dual, mistakes, epochs: max_epochs, converged: false })
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

/// Returns a point inside version space, of unit length, by updates at the example with the smallest normalized margin:
/// `w ← w + y_i φ_i / |φ_i|`, that is, `c_i ← c_i + y_i / √K_ii`, from w = 0. None if `max_updates` do not suffice.
///
/// By Novikoff's theorem `1/Γ²` updates suffice, where Γ is the largest normalized margin. Steps of `y_i / K_ii` may take as many
/// times more as the longest feature vector is longer than the shortest.
pub(super) fn point(
    space: &VersionSpace<'_>,
    max_updates: usize,
    control: &Control,
) -> Result<Option<Vec<f64>>> {
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
        // As in `perceptron`, check recomputed plane coordinates.
        if margin > 0.0 {
            if !learner.verify(control)? {
                continue;
            }
            let scale = dot::dot(gram.arch(), &learner.dual, &learner.f).sqrt().recip();
            learner.dual.iter_mut().for_each(|c| *c *= scale);
            // If coefficients are large and margins small, the rounding of the scaling may lead out of version space.
            return Ok(space.contains(&learner.dual)?.then_some(learner.dual));
        }
        if updates == max_updates {
            return Ok(None);
        }
        learner.correct(worst, lengths[worst].recip());
        updates += 1;
    }
}
