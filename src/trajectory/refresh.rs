//! Refresh: random changes of direction in mid-air that leave the uniform measure invariant.
//!
//! A billiard alone is not ergodic in low dimension, and integrable on nearly orthogonal planes. At the times of a
//! Poisson process the direction is therefore reflected in a random tangent pair, or drawn afresh.

use std::sync::Arc;

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::ball::Ball;
use crate::base::{Control, Error, Result, ensure, incompatible};
use crate::gram::Gram;
use crate::linalg::{Factor, Inverse, Isotropic};

/// Pair refreshes per arrival at a wall, and where only they can turn the direction of isolated planes.
const PAIRS_PER_ARRIVAL: f64 = 0.05;
const MANY_PAIRS_PER_ARRIVAL: f64 = 1.5;
/// Full refreshes per radian: what is fresh has to come back, or the center has more noise.
const FULL_PER_RADIAN: f64 = 0.1;
/// The same where hardly anything else changes a direction: among few planes, or isolated ones.
const FRESH_PER_RADIAN: f64 = 0.3;
const FEW: usize = 30;
/// A plane is isolated when the squared cosines between its normal and all others sum to less.
const ISOLATED: f64 = 0.5;
/// Share of isolated planes, of the rows looked at, that makes a difference.
const SHARE: f64 = 0.05;
const LOOKED_AT: usize = 200;
/// Directions in which all examples have no more than this share of their squared lengths keep what the direction has there:
/// dual coefficients are so large along them that plane coordinates would lose eight digits and more.
const THIN: f64 = 1e-9;
/// The same where the entries of the matrix are rounded to singles.
const THIN_OF_SINGLES: f64 = 1e-4;
/// Events per radian that no run has: it has few for each bounce.
const HIGHEST_OF_STATES: f64 = 1e12;

/// Which refresh to use.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefreshChoice {
    /// Kind and rate by how the planes lie.
    Auto,
    /// The bare billiard.
    None,
    /// Tangent pairs, at a rate in events per radian or by that of arrivals at walls.
    Pair(Option<f64>),
    /// Fresh directions, at a rate in events per radian; by default 0.1, or 0.3 among few or isolated planes.
    Full(Option<f64>),
}

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
    /// A fresh isotropic direction; O(m rank) an event.
    Full {
        /// Events per radian.
        rate: f64,
        /// Where directions come from, shared by the trajectories: a factor of the Gram matrix, as a rule.
        source: Arc<dyn Isotropic + 's>,
    },
}

/// What is stored of a refresh.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct RefreshState {
    kind: RefreshKind,
    rate: f64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum RefreshKind {
    None,
    Pair,
    Full,
}

impl<'s> Refresh<'s> {
    /// The refresh of a choice. `arrivals` is the number of arrivals at walls per radian.
    ///
    /// Fresh directions are right wherever they can be had. There are directions that few planes close, or none closely: softness
    /// gives one to each example, a smooth kernel has many in which all feature vectors are thin, and so have as many Gaussian
    /// examples as dimensions. Along them the billiard alone is close to integrable, and pairs turn it too little: if the ball
    /// starts with too little of its length there, as near the middle, it takes some forty pairs a plane to get it, and many
    /// times that where they are thin, all trajectories meanwhile being off in the same way. With as many Gaussian examples as
    /// dimensions, 100, and the tolerance of a learning curve, rare pairs left the center's norm 25 standard errors too large and
    /// students nearer to the teacher than they are. With 150 examples under a wide RBF kernel it was too large by 0.12, by 0.06
    /// still with 1.5 pairs per arrival, and votes were too sure: draws so near to the middle tell its direction sooner, of which
    /// nobody can be sure who has not seen the others. Where planes close all directions rare pairs are as good as anything, by
    /// the effective samples of linear functionals, and fresh directions as good as they.
    pub(crate) fn chosen(
        choice: RefreshChoice,
        gram: &Gram<'_>,
        arrivals: f64,
        given: Option<Inverse<'s>>,
        control: &Control,
    ) -> Result<Self> {
        let full = |rate: f64, source: Arc<dyn Isotropic + 's>| Ok(Self::Full { rate, source });
        match (choice, given) {
            (RefreshChoice::None, _) => Ok(Self::None),
            (RefreshChoice::Pair(Some(rate)), _) => Ok(Self::Pair { rate }),
            (RefreshChoice::Pair(None), _) => Self::free(gram, arrivals, false, control),
            (RefreshChoice::Auto, None) => Self::free(gram, arrivals, true, control),
            (RefreshChoice::Auto, Some(inverse)) => full(FULL_PER_RADIAN, Arc::new(inverse)),
            (RefreshChoice::Full(rate), given) => {
                let free = || rate_of_full(gram, has_isolated_planes(gram));
                match given {
                    Some(inverse) => full(rate.unwrap_or(FULL_PER_RADIAN), Arc::new(inverse)),
                    None => full(rate.unwrap_or_else(free), Arc::new(directions(gram, control)?)),
                }
            }
        }
    }

    /// The best refresh where the rate is free, and the kind too unless full ones are ruled out.
    fn free(gram: &Gram<'_>, arrivals: f64, may_be_full: bool, control: &Control) -> Result<Self> {
        let isolated = has_isolated_planes(gram);
        let mut lonely = isolated || gram.softness().iter().any(|&softness| softness > 0.0);
        // On a circle there is no direction to choose.
        if may_be_full && gram.len() > 2 {
            match Factor::if_affordable(gram, thin(gram), control) {
                Ok(Some(factor)) => {
                    let rate = rate_of_full(gram, isolated);
                    return Ok(Self::Full { rate, source: Arc::new(factor) });
                }
                // Too many dimensions, or a matrix that is indefinite by more than rounding: pairs need no factor.
                Ok(None) | Err(Error::Breakdown { .. }) => lonely = true,
                Err(other) => return Err(other),
            }
        }
        let each = if lonely { MANY_PAIRS_PER_ARRIVAL } else { PAIRS_PER_ARRIVAL };
        Ok(Self::Pair { rate: arrivals * each })
    }

    /// Events per radian.
    pub fn rate(&self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Pair { rate } | Self::Full { rate, .. } => *rate,
        }
    }

    /// True where fresh directions leave out what softness gives to an example.
    pub(crate) fn loses_softness(&self) -> bool {
        matches!(self, Self::Full { source, .. } if source.loses_softness())
    }

    /// "none", "pair" or "full".
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Pair { .. } => "pair",
            Self::Full { .. } => "full",
        }
    }

    /// Kind and rate, to be stored.
    pub(crate) fn state(&self) -> RefreshState {
        let kind = match self {
            Self::None => RefreshKind::None,
            Self::Pair { .. } => RefreshKind::Pair,
            Self::Full { .. } => RefreshKind::Full,
        };
        RefreshState { kind, rate: self.rate() }
    }

    /// The refresh that was stored; full ones are by the inverse, if there is one.
    pub(crate) fn restored(
        RefreshState { kind, rate }: RefreshState,
        gram: &Gram<'_>,
        inverse: Option<Inverse<'s>>,
        control: &Control,
    ) -> Result<Self> {
        // With NaN or infinitely many events the ball would never fly.
        ensure((0.0..HIGHEST_OF_STATES).contains(&rate), || {
            format!("one with {rate} refreshes per radian")
        })?;
        Ok(match (kind, inverse) {
            (RefreshKind::None, _) => Self::None,
            (RefreshKind::Pair, _) => Self::Pair { rate },
            (RefreshKind::Full, Some(inverse)) => Self::Full { rate, source: Arc::new(inverse) },
            (RefreshKind::Full, None) => {
                Self::Full { rate, source: Arc::new(directions(gram, control)?) }
            }
        })
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
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`].
    pub(crate) fn apply(
        &self,
        ball: &mut Ball,
        gram: &Gram<'_>,
        angle: f64,
        rng: &mut impl Rng,
        control: &Control,
    ) -> Result<()> {
        match self {
            Self::None => ball.fly(gram, angle),
            Self::Full { source, .. } => match source.part() {
                Some(factor) => return ball.refresh_part(gram, angle, factor, rng, control),
                None => ball.refresh_full(gram, angle, || source.draw(rng)),
            },
            Self::Pair { .. } => match gram.len() {
                1 => ball.fly(gram, angle),
                m => {
                    let k = rng.random_range(0..m);
                    let l = rng.random_range(0..m - 1);
                    let l = if l >= k { l + 1 } else { l };
                    ball.refresh_pair(gram, angle, (k, l));
                }
            },
        }
        Ok(())
    }
}

/// Where fresh directions that were asked for come from, and those of a run that is gone on with: it could afford what it
/// made of rows on demand.
fn directions(gram: &Gram<'_>, control: &Control) -> Result<Factor> {
    if gram.is_in_memory() {
        return Factor::without_thin(gram, thin(gram), control);
    }
    let found = Factor::if_affordable(gram, thin(gram), control)?;
    found.ok_or_else(|| incompatible("one with fresh directions of rows on demand".to_string()))
}

/// Few examples that nearly contradict one another leave a version space that is thin itself.
fn thin(gram: &Gram<'_>) -> f64 {
    if gram.is_single() {
        THIN_OF_SINGLES
    } else if gram.len() <= FEW {
        0.0
    } else {
        THIN
    }
}

fn rate_of_full(gram: &Gram<'_>, isolated: bool) -> f64 {
    if gram.len() <= FEW || isolated { FRESH_PER_RADIAN } else { FULL_PER_RADIAN }
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
