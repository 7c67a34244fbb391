//! The running centers of the papers: sums of unit vectors on the sphere.

use crate::ball::Ball;
use crate::base::{Control, Result};
use crate::gram::Gram;
use crate::simd::{Precision, dot};

/// How the papers add unit vectors s and t: the sum is `ρ₁ s + ρ₂ t`, on the arc between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addition {
    /// `s ⊕_μ t` (Herbrich et al., Eqs. 21-24): `|t - s ⊕_μ t| = μ |t - s|`, with μ the old share of the weight.
    Chord,
    /// Ruján and Marchand, Eq. 18.27: the angle between s and t is divided in proportion to the weights.
    Arc,
}

impl Addition {
    /// Returns `(ρ₁, ρ₂)` for `cosine` = <s, t> > -1, the weight `old` > 0 of s and the weight `new` ≥ 0 of t.
    pub fn shares(self, cosine: f64, old: f64, new: f64) -> (f64, f64) {
        match self {
            Self::Chord => {
                let mu = old / (old + new);
                let missing = mu * mu * (1.0 - cosine);
                let first = mu * ((2.0 - missing) / (1.0 + cosine)).sqrt();
                // With the sign of the printed root that makes it positive.
                (first, (1.0 - missing - first * cosine).max(0.0))
            }
            Self::Arc => {
                let share = new / (old + new);
                let angle = cosine.clamp(-1.0, 1.0).acos();
                let sin = angle.sin();
                if sin > 0.0 {
                    (((1.0 - share) * angle).sin() / sin, (share * angle).sin() / sin)
                } else {
                    (1.0 - share, share)
                }
            }
        }
    }
}

/// A running center of mass on the sphere: unit vectors added one by one.
#[derive(Clone, Debug)]
pub struct RunningCenter {
    addition: Addition,
    /// Dual coefficients of the unit vector, shape (m,); zeros before the first addition.
    pub dual: Vec<f64>,
    /// The total weight.
    pub weight: f64,
    /// The smallest cosine between the center and a vector added to it.
    least_cosine: f64,
    largest_weight: f64,
}

impl RunningCenter {
    pub(crate) fn new(m: usize, addition: Addition) -> Self {
        let dual = vec![0.0; m];
        Self { addition, dual, weight: 0.0, least_cosine: 1.0, largest_weight: 0.0 }
    }

    /// Adds the point `ahead` radians from the ball on its great circle. O(m).
    pub(crate) fn add(&mut self, ball: &Ball, ahead: f64, weight: f64) {
        if self.weight > 0.0 {
            let (sin, cos) = ahead.sin_cos();
            // <w, b> = Σ c_j f_j for the coefficients c of w.
            let cosine =
                cos * dot::dot(&self.dual, ball.f()) + sin * dot::dot(&self.dual, ball.g());
            let shares = self.addition.shares(cosine, self.weight, weight);
            ball.blend(ahead, shares, &mut self.dual);
            self.least_cosine = self.least_cosine.min(cosine);
        } else {
            ball.blend(ahead, (0.0, 1.0), &mut self.dual);
        }
        self.weight += weight;
        self.largest_weight = self.largest_weight.max(weight);
    }

    /// Adds the center of another trajectory.
    pub(crate) fn join(&mut self, gram: &Gram, other: &Self, control: &Control) -> Result<()> {
        if other.weight == 0.0 {
            return Ok(());
        }
        if self.weight == 0.0 {
            self.dual.clone_from(&other.dual);
        } else {
            let field = gram.product(&other.dual, Precision::Compensated, control)?;
            let cosine = dot::dot(&self.dual, &field);
            let (first, second) = self.addition.shares(cosine, self.weight, other.weight);
            for (c, new) in self.dual.iter_mut().zip(&other.dual) {
                *c = first * *c + second * new;
            }
        }
        self.weight += other.weight;
        Ok(())
    }

    /// Returns an upper bound of the share ρ₂ of the next vector, if it is no further from the center and no heavier than those
    /// before; 1 before the first. (ρ₂ decreases with the cosine: the smallest counts, not the largest as in Algorithm 1.)
    pub fn next_share(&self) -> f64 {
        if self.weight > 0.0 {
            self.addition.shares(self.least_cosine, self.weight, self.largest_weight).1
        } else {
            1.0
        }
    }

    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.dual.len(), self.addition);
    }
}
