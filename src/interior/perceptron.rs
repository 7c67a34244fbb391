//! The kernel perceptron: example by example in a given order, or the worst example first.

use serde::Deserialize;

use crate::base::{Control, Error, Result, check_count, check_positive, count};
use crate::simd::{Precision, dot};
use crate::space::VersionSpace;

/// How the kernel perceptron learns.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PerceptronSettings {
    /// What a mistake adds to a coefficient.
    pub learning_rate: f64,
    /// Passes through the examples at most.
    #[serde(deserialize_with = "count")]
    pub max_epochs: usize,
}

impl Default for PerceptronSettings {
    fn default() -> Self {
        Self { learning_rate: 1.0, max_epochs: 1_000 }
    }
}

impl PerceptronSettings {
    /// Makes sure that a perceptron can have them.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for the first that is out of its range.
    pub fn check(&self) -> Result<()> {
        check_positive("learning_rate", self.learning_rate)?;
        check_count("max_epochs", self.max_epochs as u64)
    }
}

/// What the kernel perceptron learned.
#[derive(Clone, Debug)]
pub struct Perceptron {
    /// Dual coefficients, shape (m,): the rate times how often each example was a mistake, with its label.
    pub dual: Vec<f64>,
    /// Mistakes made, each followed by a correction.
    pub mistakes: u64,
    /// Passes through the examples, the last one without mistakes if it converged.
    pub epochs: usize,
    /// Whether the last pass was without mistakes.
    pub converged: bool,
}

/// A weight vector under correction.
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
        gram.add_row(i, step, &mut self.f);
        if gram.offset() != 0.0 {
            let lift = step * gram.offset();
            self.f.iter_mut().for_each(|f| *f += lift);
        }
        self.f[i] += step * gram.softness()[i];
    }

    /// Computes the plane coordinates anew. Returns whether all examples are satisfied.
    fn verify(&mut self, control: &Control) -> Result<bool> {
        let gram = self.space.gram();
        gram.multiply(&[&self.dual], &mut [&mut self.f], Precision::Compensated, control)?;
        Ok((0..self.f.len()).all(|i| self.margin(i) > 0.0))
    }
}

/// Goes through the examples in `order` again and again and adds `rate y_i φ_i` wherever `y_i <w, φ_i> ≤ 0`, from w = 0,
/// until a whole pass brings no mistake (Graepel, Herbrich and Williamson, 2001, Definition 1).
///
/// By Novikoff's theorem at most `(R/γ)²` mistakes are made, R the longest feature vector and γ the largest margin.
///
/// # Errors
///
/// [`Error::Invalid`] when `order` names an example that is not there, or for settings out of range;
/// [`Error::Interrupted`].
pub fn perceptron(
    space: &VersionSpace<'_>,
    order: &[usize],
    settings: &PerceptronSettings,
    control: &Control,
) -> Result<Perceptron> {
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
        if !learner.dual.iter().all(|c| c.is_finite()) {
            return Err(Error::invalid(
                "learning_rate",
                rate,
                "so small that its multiples are finite",
            ));
        }
        // The running coordinates carry the rounding of all corrections; the recomputed ones have the last word.
        if mistakes == before && learner.verify(control)? {
            return Ok(Perceptron { dual: learner.dual, mistakes, epochs: epoch, converged: true });
        }
    }
    Ok(Perceptron { dual: learner.dual, mistakes, epochs: max_epochs, converged: false })
}

/// Fewest examples that one of some weight vectors violates, of those that a perceptron comes by: from the difference of the
/// means of both classes it corrects one example after the other, each to its own length, and every vector counts both ways.
pub(crate) fn fewest_violations(space: &VersionSpace<'_>, control: &Control) -> Result<usize> {
    const PASSES: usize = 20;
    const CORRECTIONS: usize = 4000;
    /// Roundings of the terms of a plane coordinate within which it is on neither side.
    const ROUNDINGS: f64 = 64.0;
    let m = space.len();
    let lengths: Vec<f64> = (0..m).map(|i| space.gram().diagonal(i).sqrt()).collect();
    let positive = (0..m).filter(|&i| space.sign(i) > 0.0).count();
    let mut learner = Learner::new(space);
    for (i, length) in lengths.iter().enumerate() {
        let own = if space.sign(i) > 0.0 { positive } else { m - positive };
        learner.dual[i] = space.sign(i) * m as f64 / (own as f64 * length);
    }
    learner.verify(control)?;
    // Two planes that coincide and ask for different sides are not both satisfied, whatever rounding says.
    let count = |learner: &Learner<'_>, corrections: usize| {
        let terms = 2.0 * m as f64 + corrections as f64;
        let near = ROUNDINGS * f64::EPSILON * terms;
        let (below, above) = (0..m).fold((0, 0), |(below, above), i| {
            let (margin, near) = (learner.margin(i), near * lengths[i]);
            (below + usize::from(margin <= near), above + usize::from(margin >= -near))
        });
        below.min(above)
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

/// Finds a point inside version space, of unit length, by perceptron updates at the example whose normalized margin is
/// smallest: `w ← w + y_i φ_i / |φ_i|`, which is `c_i ← c_i + y_i / √K_ii`. Starts at w = 0, where every margin counts as violated.
///
/// By Novikoff's theorem at most `1/Γ²` updates are needed, Γ the largest normalized margin, however different the feature
/// vectors are in length. (Steps of `y_i / K_ii` need up to the ratio of the longest to the shortest of them times as many.)
/// `None` where `max_updates` do not suffice.
///
/// # Errors
///
/// [`Error::Interrupted`].
pub(super) fn point(
    space: &VersionSpace<'_>,
    max_updates: usize,
    control: &Control,
) -> Result<Option<Vec<f64>>> {
    let gram = space.gram();
    let m = space.len();
    let lengths: Vec<f64> = (0..m).map(|i| gram.diagonal(i).sqrt()).collect();
    let mut learner = Learner::new(space);
    let mut updates = 0;
    loop {
        if updates % 64 == 0 {
            control.check()?;
        }
        let (worst, margin) = (0..m)
            .map(|i| (i, learner.margin(i) / lengths[i]))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .ok_or_else(|| Error::invalid("labels", "none", "at least one"))?;
        // The running coordinates carry the rounding of all updates; the recomputed ones have the last word.
        if margin > 0.0 {
            if !learner.verify(control)? {
                continue;
            }
            let scale = dot::dot(gram.arch(), &learner.dual, &learner.f).sqrt().recip();
            learner.dual.iter_mut().for_each(|c| *c *= scale);
            // Where coefficients are large and margins small, the rounding of the last step may lead out again.
            if space.contains(&learner.dual)? {
                return Ok(Some(learner.dual));
            }
            break;
        }
        if updates == max_updates {
            break;
        }
        learner.correct(worst, lengths[worst].recip());
        updates += 1;
    }
    Ok(None)
}
