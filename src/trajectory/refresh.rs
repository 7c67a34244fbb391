//! Refresh: random changes of direction between walls that leave the uniform measure invariant.
//!
//! A billiard alone is not ergodic in low dimensions, and integrable between nearly orthogonal planes. At the times of a
//! Poisson process the direction is therefore reflected in a random tangent vector, or drawn again.

use std::sync::Arc;

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::ball::Ball;
use crate::base::{Control, Error, Result, ensure};
use crate::gram::Gram;
use crate::linalg::{Factor, Inverse, Isotropic};

/// Pair refreshes per arrival at a wall, in general and with isolated planes, in whose directions only refreshes move.
const PAIRS_PER_ARRIVAL: f64 = 0.05;
const MANY_PAIRS_PER_ARRIVAL: f64 = 1.5;
/// Full refreshes per radian. Higher rates make the path diffusive and the center noisier.
const FULL_PER_RADIAN: f64 = 0.1;
/// The same where the center needs no more accuracy and the draws do. A direction that few walls bound keeps its amplitude from
/// one refresh to the next, so that the squares of coordinates have a third as many effective draws as there are refreshes.
const HASTENED_PER_RADIAN: f64 = 0.5;
/// The same with few or isolated planes, where bounces hardly change the direction.
const FRESH_PER_RADIAN: f64 = 0.3;
const FEW: usize = 30;
/// A plane is isolated when the squared cosines between its normal and all others sum to less.
const ISOLATED: f64 = 0.5;
/// Share of isolated planes above which refreshes are more frequent, and the largest number of rows that it is computed from.
const SHARE: f64 = 0.05;
const MOST_ROWS: usize = 200;
/// Directions with at most this share of all squared lengths are not refreshed: plane coordinates would lose eight digits.
const THIN: f64 = 1e-9;
/// The same where the entries of the matrix are rounded to singles.
const THIN_OF_SINGLES: f64 = 1e-4;
/// Upper limit of events per radian in a stored state. Runs stay far below it.
const HIGHEST_OF_STATES: f64 = 1e12;

/// Which refresh to use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefreshChoice {
    /// Kind and rate are chosen from the Gram matrix.
    Auto,
    /// No refresh.
    None,
    /// Tangent pairs, at a rate in events per radian or, by default, one proportional to the arrivals at walls.
    Pair(Option<f64>),
    /// Independent directions, at a rate in events per radian; by default 0.1, or 0.3 among few or isolated planes.
    Full(Option<f64>),
}

/// Kind of refresh and its rate in events per radian of path.
#[derive(Clone)]
pub enum Refresh<'s> {
    /// No refresh.
    None,
    /// Reflection in the tangent vector of two random planes; two Gram rows an event.
    Pair {
        /// Events per radian.
        rate: f64,
    },
    /// A new isotropic direction; O(m rank) operations an event.
    Full {
        /// Events per radian.
        rate: f64,
        /// Source of directions, shared by the trajectories: usually a factor of the Gram matrix.
        source: Arc<dyn Isotropic + 's>,
    },
}

impl<'s> Refresh<'s> {
    /// Returns the refresh for a choice. `arrivals` is the number of arrivals at walls per radian.
    ///
    /// Full refreshes are preferred if they are affordable. Some directions are bounded by few planes: each example's own
    /// direction with softness, the many directions of little variance of a smooth kernel, and those of as many Gaussian
    /// examples as dimensions. Along them the billiard alone is nearly integrable, and pairs mix slowly. A ball that starts
    /// near the center has too small a component there. It takes some forty pairs for each plane to equilibrate, many times
    /// that along directions of little variance, and meanwhile all trajectories have the same bias. Measured: with 100 Gaussian
    /// examples in 100 dimensions rare pairs left the norm of the center 25 standard errors too large. With 150 examples and a
    /// wide RBF kernel it was too large by 0.12, and by 0.06 with 1.5 pairs per arrival, and votes were overconfident. Where
    /// planes bound all directions closely, rare pairs and full refreshes have equal effective sample sizes.
    pub(crate) fn chosen(
        choice: RefreshChoice,
        gram: &Gram,
        arrivals: f64,
        given: Option<Inverse<'s>>,
        control: &Control,
    ) -> Result<Self> {
        let (rate, source): (f64, Arc<dyn Isotropic + 's>) = match (choice, given) {
            (RefreshChoice::None, _) => return Ok(Self::None),
            (RefreshChoice::Pair(Some(rate)), _) => return Ok(Self::Pair { rate }),
            (RefreshChoice::Pair(None), _) => return Self::free(gram, arrivals, false, control),
            (RefreshChoice::Auto, None) => return Self::free(gram, arrivals, true, control),
            (RefreshChoice::Auto, Some(inverse)) => (FULL_PER_RADIAN, Arc::new(inverse)),
            (RefreshChoice::Full(rate), Some(inverse)) => {
                (rate.unwrap_or(FULL_PER_RADIAN), Arc::new(inverse))
            }
            (RefreshChoice::Full(rate), None) => (
                rate.unwrap_or_else(|| rate_of_full(gram, has_isolated_planes(gram))),
                Arc::new(Factor::truncated(gram, thin(gram), control)?),
            ),
        };
        Ok(Self::Full { rate, source })
    }

    /// Returns the default refresh: full if that is allowed and affordable, else pairs.
    fn free(gram: &Gram, arrivals: f64, may_be_full: bool, control: &Control) -> Result<Self> {
        let isolated = has_isolated_planes(gram);
        let mut needs_many =
            isolated || gram.of_examples().softness().iter().any(|&softness| softness > 0.0);
        // On a circle there is no other direction.
        if may_be_full && gram.len() > 2 {
            match Factor::if_affordable(gram, thin(gram), control) {
                Ok(Some(factor)) => {
                    let rate = rate_of_full(gram, isolated);
                    return Ok(Self::Full { rate, source: Arc::new(factor) });
                }
                // Too many dimensions, or a matrix that is not positive semidefinite: pairs need no factor.
                Ok(None) | Err(Error::Breakdown { .. }) => needs_many = true,
                Err(other) => return Err(other),
            }
        }
        let each = if needs_many { MANY_PAIRS_PER_ARRIVAL } else { PAIRS_PER_ARRIVAL };
        Ok(Self::Pair { rate: arrivals * each })
    }

    /// Returns the events per radian.
    pub fn rate(&self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Pair { rate } | Self::Full { rate, .. } => *rate,
        }
    }

    /// Returns the full refresh at the higher rate that favors the draws, if the present rate is lower.
    pub(crate) fn hastened(&self) -> Option<Self> {
        match self {
            Self::Full { rate, source } if *rate < HASTENED_PER_RADIAN => {
                Some(Self::Full { rate: HASTENED_PER_RADIAN, source: Arc::clone(source) })
            }
            _ => None,
        }
    }

    /// Returns whether full refreshes leave out the direction that softness gives to an example.
    pub(crate) fn loses_softness(&self) -> bool {
        matches!(self, Self::Full { source, .. } if source.factor().is_some_and(|factor| factor.loses_softness))
    }

    /// Returns "none", "pair" or "full".
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Pair { .. } => "pair",
            Self::Full { .. } => "full",
        }
    }

    /// Returns kind and rate, to be stored.
    pub(crate) fn state(&self) -> RefreshChoice {
        match self {
            Self::None => RefreshChoice::None,
            Self::Pair { rate } => RefreshChoice::Pair(Some(*rate)),
            Self::Full { rate, .. } => RefreshChoice::Full(Some(*rate)),
        }
    }

    /// Restores a refresh. Full ones use the inverse, if there is one.
    pub(crate) fn restored(
        stored: RefreshChoice,
        gram: &Gram,
        inverse: Option<Inverse<'s>>,
        control: &Control,
    ) -> Result<Self> {
        let rate = match stored {
            RefreshChoice::None => 0.0,
            RefreshChoice::Pair(Some(rate)) | RefreshChoice::Full(Some(rate)) => rate,
            _ => f64::NAN,
        };
        // With NaN or an infinite rate the ball would not move.
        ensure((0.0..HIGHEST_OF_STATES).contains(&rate), "one with too many refreshes")?;
        Self::chosen(stored, gram, 0.0, inverse, control)
    }

    /// Returns the radians to the next event.
    pub(crate) fn draw_clock(&self, rng: &mut impl Rng) -> f64 {
        let rate = self.rate();
        if rate > 0.0 {
            // 1 - u is in (0, 1]: the logarithm is finite.
            -(1.0 - rng.random::<f64>()).ln() / rate
        } else {
            f64::INFINITY
        }
    }

    /// Moves the ball by `angle` radians and refreshes the direction there.
    pub(crate) fn apply(
        &self,
        ball: &mut Ball,
        gram: &Gram,
        angle: f64,
        rng: &mut impl Rng,
        control: &Control,
    ) -> Result<()> {
        match self {
            Self::None => ball.fly(gram, angle),
            Self::Full { source, .. } => match source.factor().filter(|factor| !factor.is_complete)
            {
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

/// Few examples that nearly contradict one another leave a version space that is thin itself.
fn thin(gram: &Gram) -> f64 {
    if gram.is_single() {
        THIN_OF_SINGLES
    } else if gram.of_examples().len() <= FEW {
        0.0
    } else {
        THIN
    }
}

fn rate_of_full(gram: &Gram, isolated: bool) -> f64 {
    if gram.of_examples().len() <= FEW || isolated { FRESH_PER_RADIAN } else { FULL_PER_RADIAN }
}

/// Returns whether some planes are nearly orthogonal to all others.
fn has_isolated_planes(gram: &Gram) -> bool {
    // Planes of one example are not orthogonal; the others have the angles of the feature vectors.
    let gram = gram.of_examples();
    let m = gram.len();
    // The offset is one direction that all feature vectors share; the rest decides.
    let own: Vec<f64> = gram.diagonals().iter().map(|square| square - gram.offset()).collect();
    let rows = m.min(MOST_ROWS);
    let isolated = (0..rows).map(|k| k * m / rows).filter(|&i| {
        let row = gram.row(i).to_vec();
        let terms = row.iter().zip(&own).enumerate().filter(|&(j, _)| j != i);
        let sum: f64 = terms.map(|(_, (k, d))| if *d > 0.0 { k * k / d } else { 0.0 }).sum();
        sum < ISOLATED * own[i]
    });
    isolated.count() as f64 > SHARE * rows as f64
}
