//! Refresh: random changes of direction in mid-air that leave the uniform measure invariant.
//!
//! A billiard alone is not ergodic in low dimension, and integrable on nearly orthogonal planes. At the times of a
//! Poisson process the direction is therefore reflected in a random tangent pair, or drawn afresh.

use std::sync::Arc;

use rand::{Rng, RngExt};

use crate::ball::Ball;
use crate::factor::Isotropic;
use crate::gram::Gram;

/// Kind of refresh and its rate in events per radian of path.
#[derive(Clone, Debug)]
pub enum Refresh {
    /// The bare billiard.
    None,
    /// Reflection in the tangent vector of two random planes; two Gram rows an event.
    Pair {
        /// Events per radian.
        rate: f64,
    },
    /// A fresh isotropic direction; O(m²) an event.
    Full {
        /// Events per radian.
        rate: f64,
        /// Where directions come from, shared by the trajectories: a factor of the Gram matrix, as a rule.
        source: Arc<dyn Isotropic>,
    },
}

impl Refresh {
    /// Events per radian.
    pub fn rate(&self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Pair { rate } | Self::Full { rate, .. } => *rate,
        }
    }

    /// "none", "pair" or "full".
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Pair { .. } => "pair",
            Self::Full { .. } => "full",
        }
    }

    /// Work of one event, in bounces: counted, not timed, so that choices made by it are reproducible.
    pub(crate) fn cost(&self, gram: &Gram<'_>) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Pair { .. } => 1.3,
            // A triangular product and a triangular solution of m²/2 terms each against a pass over 5 m
            // numbers, and the laying of a new frame; measured at m = 400 and 1000.
            Self::Full { .. } => 3.0 + 0.3 * gram.len() as f64,
        }
    }

    /// Radians to the next event.
    pub(crate) fn draw_clock(&self, rng: &mut impl Rng) -> f64 {
        let rate = self.rate();
        if rate > 0.0 {
            // 1 - u is in (0, 1]: the logarithm is finite.
            -(1.0 - rng.random::<f64>()).ln() / rate
        } else {
            f64::INFINITY
        }
    }

    /// Flies `angle` radians and refreshes the direction there.
    pub(crate) fn apply(&self, ball: &mut Ball, gram: &Gram<'_>, angle: f64, rng: &mut impl Rng) {
        match self {
            Self::None => ball.fly(gram, angle),
            Self::Full { source, .. } => ball.refresh_full(gram, angle, || source.draw(rng)),
            Self::Pair { .. } => {
                let m = gram.len();
                if m < 2 {
                    return ball.fly(gram, angle);
                }
                let k = rng.random_range(0..m);
                let l = rng.random_range(0..m - 1);
                let l = if l >= k { l + 1 } else { l };
                ball.refresh_pair(gram, angle, (k, l));
            }
        }
    }
}
