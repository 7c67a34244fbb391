//! Refresh: random changes of direction in mid-air that leave the uniform measure invariant.
//!
//! A billiard alone is not ergodic in low dimension, and integrable on nearly orthogonal planes. At the times of a
//! Poisson process the direction is therefore reflected in a random tangent pair, or drawn afresh.

use std::sync::Arc;

use rand::{Rng, RngExt};

use crate::ball::Ball;
use crate::conditional::Inverse;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::factor::{Factor, Isotropic, MANY};
use crate::gram::Gram;
use crate::settings::RefreshChoice;
use crate::state::foreign;

/// Pair refreshes per arrival at a wall, and where only they can turn the direction of isolated planes.
const PAIRS_PER_ARRIVAL: f64 = 0.05;
const MANY_PAIRS_PER_ARRIVAL: f64 = 1.5;
/// Full refreshes per radian.
const FULL_PER_RADIAN: f64 = 0.3;
/// The same where it is for directions that few planes know of, or a factor was given, and with it what takes their noise out
/// of the center.
const FRESH_PER_RADIAN: f64 = 0.1;
/// Examples up to which full refreshes cost next to nothing.
const FEW: usize = 30;
/// A plane is isolated when the squared cosines between its normal and all others sum to less.
const ISOLATED: f64 = 0.5;
/// Share of isolated planes, of the rows looked at, that makes a difference.
const SHARE: f64 = 0.05;
const LOOKED_AT: usize = 200;
/// Dimensions for each plane from which on a few planes have to close some direction.
const OPEN: f64 = 0.6;
/// Events per radian that no run has: it has few for each bounce.
const HIGHEST_OF_STATES: f64 = 1e12;

/// Kind of refresh and its rate in events per radian of path.
#[derive(Clone, Debug)]
pub enum Refresh<'s> {
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
        source: Arc<dyn Isotropic + 's>,
    },
}

impl<'s> Refresh<'s> {
    /// The refresh of a choice. `arrivals` is the number of arrivals at walls per radian.
    ///
    /// Which is best depends on whether there are directions that few planes know of, as softness gives one to each, or planes
    /// that are nearly orthogonal to all others. Along such directions the billiard alone is close to integrable, and pairs
    /// turn it too little: if the ball starts with too little of its length there, as near the middle, it takes some forty pairs
    /// a plane to get it, all trajectories meanwhile being off in the same way. Measured by the effective samples of linear
    /// functionals, the worst of them included: elsewhere pairs at a twentieth of the arrivals are as good as anything.
    ///
    /// The same holds where there are hardly more planes than dimensions ([`is_open`]).
    ///
    /// Where a factor is at hand, fresh directions cost next to nothing. Directions that few planes know of have their share
    /// of the length of position and direction from the start on, and hardly anything else changes it.
    pub(crate) fn chosen(
        choice: RefreshChoice,
        gram: &Gram<'_>,
        arrivals: f64,
        given: Option<Inverse<'s>>,
        control: &Control,
    ) -> Result<Self> {
        let asked = matches!(choice, RefreshChoice::Auto | RefreshChoice::Pair(None));
        let isolated = asked && has_isolated_planes(gram);
        let soft = gram.softness().iter().any(|&softness| softness > 0.0);
        let lonely = isolated || soft;
        let pair = Self::Pair {
            rate: arrivals * if lonely { MANY_PAIRS_PER_ARRIVAL } else { PAIRS_PER_ARRIVAL },
        };
        let full = |rate: f64| -> Result<Self> {
            let source: Arc<dyn Isotropic + 's> = match given {
                Some(inverse) => Arc::new(inverse),
                None => Arc::new(Factor::new(gram, control)?),
            };
            Ok(Self::Full { rate, source })
        };
        match choice {
            RefreshChoice::None => Ok(Self::None),
            RefreshChoice::Pair(Some(rate)) => Ok(Self::Pair { rate }),
            RefreshChoice::Full(rate) => full(rate.unwrap_or(FULL_PER_RADIAN)),
            RefreshChoice::Auto if given.is_some() => full(FRESH_PER_RADIAN),
            RefreshChoice::Auto if gram.is_in_memory() && gram.len() <= MANY => {
                match Factor::new(gram, control) {
                    Ok(factor) if lonely || gram.len() <= FEW || is_open(&factor) => {
                        let rare = soft && !isolated && gram.len() > FEW;
                        let rate = if rare { FRESH_PER_RADIAN } else { FULL_PER_RADIAN };
                        Ok(Self::Full { rate, source: Arc::new(factor) })
                    }
                    // Rounding of a singular matrix that was computed in low precision: pairs need no factor.
                    Ok(_) | Err(Error::Breakdown { .. }) => Ok(pair),
                    Err(other) => Err(other),
                }
            }
            RefreshChoice::Auto | RefreshChoice::Pair(None) => Ok(pair),
        }
    }

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

    /// A number for its kind, for [`Refresh::of_code`].
    pub(crate) fn code(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Pair { .. } => 1,
            Self::Full { .. } => 2,
        }
    }

    /// The refresh of a kind; full ones take their directions from `source`.
    pub(crate) fn of_code(
        code: u64,
        rate: f64,
        source: impl FnOnce() -> Result<Arc<dyn Isotropic + 's>>,
    ) -> Result<Self> {
        // With NaN or infinitely many events the ball would never fly.
        if !(0.0..HIGHEST_OF_STATES).contains(&rate) {
            return Err(foreign(format!("one with {rate} refreshes per radian")));
        }
        match code {
            0 => Ok(Self::None),
            1 => Ok(Self::Pair { rate }),
            2 => Ok(Self::Full { rate, source: source()? }),
            _ => Err(foreign("one with another refresh")),
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

/// Whether there are so few planes for each dimension that hardly any of them closes some direction.
///
/// With as many Gaussian examples as dimensions, 100, and the coarse tolerance of a learning curve, pairs left the center's norm 25
/// standard errors too large and students nearer to the teacher than they are; with 1.4 times as many 3, with 1.7 none.
/// With 150 examples under a wide RBF kernel it was too large by 0.12.
fn is_open(factor: &Factor) -> bool {
    factor.rank() as f64 > OPEN * factor.examples() as f64
}

/// Whether some planes are nearly orthogonal to all others.
fn has_isolated_planes(gram: &Gram<'_>) -> bool {
    let m = gram.len();
    // The offset is one direction that all feature vectors share; the rest decides.
    let own: Vec<f64> = (0..m).map(|i| gram.diagonal(i) - gram.offset()).collect();
    let looked_at = m.min(LOOKED_AT);
    let isolated = (0..looked_at).map(|k| k * m / looked_at).filter(|&i| {
        let row = gram.row(i).to_vec();
        let terms = row.iter().zip(&own).enumerate().filter(|&(j, _)| j != i);
        let sum: f64 = terms.map(|(_, (k, d))| if *d > 0.0 { k * k / d } else { 0.0 }).sum();
        sum < ISOLATED * own[i]
    });
    isolated.count() as f64 > SHARE * looked_at as f64
}
