//! The kernel perceptron, which corrects the examples in a given order.

use serde::Deserialize;

use crate::base::{Control, Error, Result, check_count, check_positive, count, require};
use crate::interior::perceptron::Learner;
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

/// Trains a kernel perceptron (Graepel, Herbrich and Williamson, 2001, Definition 1). Starts at w = 0, passes through the
/// examples in `order`, adds `rate y_i φ_i` to w whenever `y_i <w, φ_i> ≤ 0`, and stops after a pass without mistakes.
///
/// By Novikoff's theorem there are at most `(R/γ)²` mistakes, where R is the length of the longest feature vector and γ the
/// largest margin.
///
/// [`Error::Invalid`] if an index of `order` or a setting is out of range; [`Error::Interrupted`].
pub fn perceptron(
    space: &VersionSpace,
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
