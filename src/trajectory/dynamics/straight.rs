//! What the chord billiard and the flipper share: straight flight in the cone over version space.
//!
//! A straight line `b + τ v` and the origin span a plane, so the line projects onto a great circle of the sphere: with the
//! angle ψ between b and v the ball is t radians further at
//!
//! ```text
//! τ = |b| sin t / (|v| sin(ψ - t))          (law of sines)
//! ```
//!
//! and the line has come to its end, at infinity, at t = ψ. A reflection at a wall leaves the angle between position and
//! direction as it is. A straight flight is therefore a flight of the geodesic [`Ball`] with a reach ψ that every arc uses
//! up, whether positions are normalized (chord) or not (flipper): between two launches the ball gets at most ψ < π
//! radians far, and a bounce costs O(m).

use std::sync::{Arc, OnceLock};

use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{Arrival, Dynamics, DynamicsState, Geodesic};
use crate::ball::{Ball, laying};
use crate::base::{Control, Error, Result, ensure, ensure_finite, incompatible};
use crate::gram::Gram;
use crate::linalg::Factor;
use crate::space::VersionSpace;
use crate::trajectory::dynamics::running_center::{Addition, RunningCenter};

/// Size of the dual coefficients of a unit vector, Σ |c_i| |x_i|, above which shorter ones are looked for.
const LARGE: f64 = 1e3;
/// Examples beyond which their factor, at O(m³), costs more than it could gain.
const MANY: usize = 2_000;

/// A straight flight, seen from the sphere.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Straight {
    /// ψ: angle between position and direction where the present flight began; zero before the first launch.
    reach: f64,
    /// |b| / |v| where the present flight began.
    length: f64,
    /// Radians of the present flight that are behind the ball.
    flown: f64,
    /// Flight time that counts as infinite, in units of 1 / |v|.
    tau_max: f64,
    /// The plane of the last arrival.
    left: Option<usize>,
    /// The center of the flights that ended at a wall.
    pub center: RunningCenter,
    /// A factor of the Gram matrix for [`Straight::shorten`], which the trajectories share; `None` in it where there is none.
    #[serde(skip)]
    factor: Arc<OnceLock<Option<Factor>>>,
}

impl Straight {
    pub fn new(m: usize, tau_max: f64, addition: Addition, weight_tol: Option<f64>) -> Self {
        let center = RunningCenter::new(m, addition, weight_tol);
        let factor = Arc::default();
        Self { reach: 0.0, length: 1.0, flown: 0.0, tau_max, left: None, center, factor }
    }

    /// The flight and the center that were stored, under these settings.
    pub fn restore(&mut self, stored: DynamicsState) -> Result<()> {
        let DynamicsState::Straight(stored) = stored else {
            return Err(incompatible("one of another motion"));
        };
        let m = self.center.dual().len();
        ensure_finite(&[&[stored.reach, stored.length, stored.flown]])?;
        ensure(stored.left.is_none_or(|plane| plane < m), || "one with a wall of no example")?;
        let center = self.center.restored(stored.center)?;
        let factor = Arc::clone(&self.factor);
        *self = Self { tau_max: self.tau_max, center, factor, ..stored };
        Ok(())
    }

    /// Radians to the next wall, `None` where the flight time to it is infinite.
    #[inline]
    pub fn flight(&self, ball: &Ball) -> Option<f64> {
        let ahead = ball.to_wall();
        let whole = self.flown + ahead;
        let rest = self.reach - whole;
        let arrives = rest > 0.0 && self.length * whole.sin() < self.tau_max * rest.sin();
        arrives.then_some(ahead)
    }

    #[inline]
    pub fn flew(&mut self, angle: f64) {
        self.flown += angle;
    }

    /// Radians of the present flight as a whole, and those from the ball to its midpoint (negative behind the ball).
    #[inline]
    pub fn arc(&self, ball: &Ball) -> (f64, f64) {
        let ahead = ball.to_wall();
        (self.flown + ahead, 0.5 * (ahead - self.flown))
    }

    /// Flies to the wall. `normalizes` sets the position to unit length there.
    #[inline]
    pub fn arrive(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace<'_>,
        transparency: f64,
        rng: &mut impl Rng,
        normalizes: bool,
    ) -> Arrival {
        let (whole, _) = self.arc(ball);
        if !normalizes {
            self.length *= self.reach.sin() / (self.reach - whole).sin();
        }
        self.reach -= whole;
        self.flown = 0.0;
        self.left = Some(ball.next_wall().plane);
        Geodesic.arrive(ball, space, transparency, rng)
    }

    /// Launches the ball in a random direction: from `position`, dual coefficients of a point in version space, or
    /// from where it is. At a wall the direction points away from it, into version space (Herbrich et al., Eq. 12).
    ///
    /// The dual coefficients of the direction are drawn, as in the papers, and the plane coordinates are products with the
    /// Gram matrix: O(m²). Returns the drift found in the position.
    pub fn launch(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace<'_>,
        position: Option<Vec<f64>>,
        rng: &mut impl Rng,
        control: &Control,
    ) -> Result<f64> {
        let gram = space.gram();
        let left = if position.is_some() { None } else { self.left };
        let (reach, drift) =
            ball.launch(gram, position, || laying::random_direction(gram, rng), control)?;
        let drift = drift.max(self.shorten(ball, gram, control)?);
        self.reach = reach;
        self.length = 1.0;
        self.flown = 0.0;
        self.left = left;
        // A direction and its opposite are equally likely: to turn round is to draw again until it fits.
        if let Some(plane) = left
            && !space.satisfied(plane, ball.g()[plane])
        {
            ball.reverse(gram);
            self.reach = std::f64::consts::PI - self.reach;
        }
        Ok(drift)
    }

    /// Gives position and direction shorter dual coefficients of the same vectors, where theirs are so large that their rounding
    /// shows. Returns the drift found in the position.
    ///
    /// Where the Gram matrix is singular, dual coefficients have a part that no plane sees. A launch at the angle ψ gives the
    /// direction this part of the position times cot ψ, and a flight of t leaves the next position with its sin(ψ - t) / sin ψ
    /// fold: a product of random factors, that in two dimensions becomes as large as one waits for. (Directions that keep
    /// these factors small may not be chosen instead, as in [`Ball::refresh_full`]: the paper's law of directions is another.)
    fn shorten(&self, ball: &mut Ball, gram: &Gram<'_>, control: &Control) -> Result<f64> {
        let size = |dual: &[f64]| -> f64 {
            dual.iter().enumerate().map(|(i, c)| c.abs() * gram.diagonal(i).sqrt()).sum()
        };
        let large = size(&ball.position(0.0));
        let is_short = large.max(size(&ball.direction())) < LARGE;
        if is_short || gram.len() > MANY || !gram.is_in_memory() {
            return Ok(0.0);
        }
        if self.factor.get().is_none() {
            let factor = match Factor::new(gram, control) {
                Err(Error::Breakdown { .. }) => None,
                found => Some(found?),
            };
            // Another trajectory may have been faster, with the same factor.
            let _ = self.factor.set(factor);
        }
        let Some(Some(factor)) = self.factor.get() else { return Ok(0.0) };
        // Where what is left out of the position matters, the rest is shorter than one, by more than the rounding of the entries
        // of the matrix makes of its length.
        let found = factor.without_rounding(gram, ball.f());
        if (found.square - 1.0).abs() > 4.0 * f64::EPSILON * large.max(LARGE).powi(2) {
            return Ok(0.0);
        }
        // The direction is a random one: any that is near will do.
        let other = factor.without_rounding(gram, ball.g());
        ball.recast(gram, found.dual, other.dual, control).map(|(of_position, _)| of_position)
    }
}
