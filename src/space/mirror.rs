//! Half-silvered mirrors: what happens when the ball arrives at a wall.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};

/// Transparency κ of the walls, one value per class.
///
/// A ball from the violated side always passes; from the satisfied side it passes with probability κ and is
/// reflected otherwise. This leaves the measure uniform up to the weight `Π κ^(violated)`. κ = 0 is the hard billiard,
/// κ = ε / (1 - ε) the posterior under label noise ε, κ = 1 no billiard at all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(f64, f64)")]
pub struct Mirror {
    /// κ of the walls of examples labeled -1, in [0, 1].
    pub negative: f64,
    /// κ of the walls of examples labeled +1, in [0, 1].
    pub positive: f64,
}

/// What a mirror does with a ball.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encounter {
    /// The ball is thrown back.
    Reflects,
    /// The ball goes on, on the other side.
    Passes,
}

impl From<(f64, f64)> for Mirror {
    fn from((negative, positive): (f64, f64)) -> Self {
        Self { negative, positive }
    }
}

impl Mirror {
    /// Hard walls.
    pub const HARD: Self = Self { negative: 0.0, positive: 0.0 };

    /// # Errors
    ///
    /// [`Error::Invalid`] when a transparency is outside [0, 1].
    pub fn new(negative: f64, positive: f64) -> Result<Self> {
        let mirror = Self { negative, positive };
        mirror.check().map(|()| mirror)
    }

    /// # Errors
    ///
    /// As [`Mirror::new`].
    pub(crate) fn check(&self) -> Result<()> {
        for kappa in [self.negative, self.positive] {
            if !(0.0..=1.0).contains(&kappa) {
                return Err(Error::invalid("transparency", kappa, "in [0, 1]"));
            }
        }
        Ok(())
    }

    /// Walls of κ = e^-s for both classes.
    pub(crate) fn alike(s: f64) -> Self {
        let kappa = (-s).exp();
        Self { negative: kappa, positive: kappa }
    }

    /// True when no satisfied wall lets the ball out.
    pub fn is_hard(&self) -> bool {
        self.negative == 0.0 && self.positive == 0.0
    }

    /// κ of the walls of examples with a label.
    pub(crate) fn of(&self, label: i8) -> f64 {
        if label > 0 { self.positive } else { self.negative }
    }

    /// ln of the weight that violating `negative` planes of label -1 and `positive` of label +1 costs.
    pub(crate) fn log_weight(&self, [negative, positive]: [u32; 2]) -> f64 {
        let power = |kappa: f64, n: u32| if n == 0 { 0.0 } else { f64::from(n) * kappa.ln() };
        power(self.negative, negative) + power(self.positive, positive)
    }

    /// Decides on an arrival at a wall that lets through with the given probability.
    #[inline]
    pub(crate) fn meet(transparency: f64, rng: &mut impl Rng) -> Encounter {
        // No random number where nothing is left to chance: hard walls stay reversible and cheap.
        if transparency >= 1.0 || (transparency > 0.0 && rng.random::<f64>() < transparency) {
            Encounter::Passes
        } else {
            Encounter::Reflects
        }
    }
}
