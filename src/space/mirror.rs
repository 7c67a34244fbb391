//! Mirrors: walls that let the ball pass with a given probability.

use rand::{Rng, RngExt};
use serde::Deserialize;

use super::{Role, VersionSpace};
use crate::base::{Result, require};

/// Walls that let a ball pass with some probability.
pub trait Transparency {
    /// Returns the probability that a plane lets a ball in a layer pass, from the side of its coordinate `f`.
    fn transparency(&self, space: &VersionSpace, plane: usize, f: f64, layer: [u32; 2]) -> f64;
}

/// Transparency κ of the walls, one value per class.
///
/// A ball from the violated side always passes. From the satisfied side it passes with probability κ and is reflected
/// otherwise. The invariant density is therefore `Π κ^(violated)`. κ = 0 gives hard walls, κ = ε / (1 - ε) the posterior under
/// label noise ε, and κ = 1 the uniform distribution on the sphere.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Mirror(
    /// κ of the walls of examples labeled -1, and of those labeled +1, in [0, 1].
    pub [f64; 2],
);

impl Mirror {
    /// Hard walls.
    pub const HARD: Self = Self([0.0; 2]);

    pub(crate) fn check(&self) -> Result<()> {
        for kappa in self.0 {
            require((0.0..=1.0).contains(&kappa), "transparency", kappa, "in [0, 1]")?;
        }
        Ok(())
    }

    /// Returns walls with κ = e^-s for both classes.
    pub(crate) fn alike(s: f64) -> Self {
        Self([(-s).exp(); 2])
    }

    /// Returns whether both transparencies are 0.
    pub fn is_hard(&self) -> bool {
        self.0.iter().all(|&kappa| kappa == 0.0)
    }

    /// Returns κ of the walls of examples with this label.
    pub(crate) fn of(&self, label: i8) -> f64 {
        self.0[usize::from(label > 0)]
    }

    /// Returns ln of the weight of a point that violates this many planes of labels -1 and +1.
    pub(crate) fn log_weight(&self, layer: [u32; 2]) -> f64 {
        let power = |kappa: f64, n: u32| if n == 0 { 0.0 } else { f64::from(n) * kappa.ln() };
        power(self.0[0], layer[0]) + power(self.0[1], layer[1])
    }

    /// Draws whether a wall with this transparency lets the ball pass.
    #[inline]
    pub(crate) fn lets_pass(transparency: f64, rng: &mut impl Rng) -> bool {
        // No random number is drawn if the outcome is certain: hard walls stay reversible and cheap.
        transparency >= 1.0 || (transparency > 0.0 && rng.random::<f64>() < transparency)
    }
}

impl Transparency for Mirror {
    /// Returns `min(1, w' / w)` for the weights κ^violations on both sides.
    #[inline]
    fn transparency(&self, space: &VersionSpace, plane: usize, f: f64, _: [u32; 2]) -> f64 {
        match space.role(plane) {
            Role::Follows { agrees: false } => 1.0,
            Role::Decides(sides) if !sides.contains(&[0; 2]) => {
                let (here, there) = space.violated(plane, f);
                let ratio = (self.log_weight(there) - self.log_weight(here)).exp();
                // Two hard sides give NaN: nothing passes.
                if ratio.is_nan() { 0.0 } else { ratio.min(1.0) }
            }
            _ if space.satisfied(plane, f) => self.of(space.labels()[plane]),
            _ => 1.0,
        }
    }
}
