//! The chord billiard of Herbrich et al. and the flipper of Ruján and Marchand: straight flight in the cone over the space.
//!
//! A straight line `b + τ v` and the origin span a plane, so the line projects onto a great circle of the sphere. With the
//! angle ψ between b and v, the ball has moved t radians at
//!
//! ```text
//! τ = |b| sin t / (|v| sin(ψ - t))          (law of sines)
//! ```
//!
//! and the line ends, at infinity, at t = ψ. A reflection at a wall does not change the angle between position and direction.
//! A straight flight is therefore a flight of the geodesic [`Ball`] with a reach ψ that every arc uses up, whether positions
//! are normalized (chord) or not (flipper). Between two launches the ball moves at most ψ < π radians, and a bounce costs O(m).

use std::sync::{Arc, OnceLock};

use rand::Rng;
use serde::Deserialize;

use super::{Addition, RunningCenter};
use crate::ball::{Ball, DRAWS, laying};
use crate::base::{Control, Error, Result, require};
use crate::gram::Gram;
use crate::linalg::{Draw, Factor};
use crate::space::VersionSpace;
use crate::trajectory::dynamics::{Arrival, Dynamics, Geodesic};

/// Size of the dual coefficients of a unit vector, Σ |c_i| |x_i|, above which shorter ones are computed.
const LARGE: f64 = 1e3;
/// Number of examples above which the O(m³) factor costs more than it gains.
const MANY: usize = 2_000;

/// Consecutive escapes after which no flight is expected to reach a wall.
const MOST_ESCAPES: u32 = 2_000;

/// The points that a flipper averages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Points {
    /// The midpoint of every arc, weighted by its angle.
    Midpoints,
    /// The bouncing points, with equal weights: the uniform density on version space.
    Bounces,
}

/// Straight flight in version space. It does not preserve the measure: the flights given up are missing.
#[derive(Clone, Debug)]
pub struct Straight {
    /// The points that a flipper averages; None for a chord billiard.
    flips: Option<Points>,
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
    /// Launches since the last arrival.
    escapes_in_a_row: u32,
    /// Flights that met no wall since the last reset.
    pub escapes: u64,
    /// The center of the flights that ended at a wall.
    pub center: RunningCenter,
    /// Share of the next flight below which the center has converged.
    weight_tol: Option<f64>,
    /// A factor of the Gram matrix for [`Straight::shorten`], shared by the trajectories; `None` in it if there is none.
    factor: Arc<OnceLock<Option<Factor>>>,
}

impl Straight {
    /// Returns the billiard of Herbrich et al. (Algorithm 1) for m examples: straight flight between points of the sphere.
    ///
    /// Position and direction are normalized at every wall. If the flight time is `tau_max` or more, a new random direction is
    /// drawn on the spot. The center adds the midpoint of every flight by ⊕_μ, weighted by the length of its chord. It has
    /// converged once the share of the next flight cannot exceed `weight_tol`. A bounce costs O(m), a new direction O(m²).
    pub fn chord(m: usize, tau_max: f64, weight_tol: Option<f64>) -> Self {
        Self::new(None, m, tau_max, weight_tol)
    }

    /// Returns the flipper of Ruján and Marchand (Algorithm 18.1) for m examples.
    ///
    /// The position is not normalized. A flight that meets no wall within `tau_max` has escaped: the ball restarts from the
    /// running center, if there is one, in a random direction. The center adds arcs by Eq. 18.27. O(m), a restart O(m²).
    pub fn flipper(m: usize, tau_max: f64, points: Points) -> Self {
        Self::new(Some(points), m, tau_max, None)
    }

    fn new(flips: Option<Points>, m: usize, tau_max: f64, weight_tol: Option<f64>) -> Self {
        let addition = if flips.is_some() { Addition::Arc } else { Addition::Chord };
        Self {
            flips,
            reach: 0.0,
            length: 1.0,
            flown: 0.0,
            tau_max,
            left: None,
            escapes_in_a_row: 0,
            escapes: 0,
            center: RunningCenter::new(m, addition),
            weight_tol,
            factor: Arc::default(),
        }
    }

    /// Replaces dual coefficients by shorter ones of the same vectors, if their rounding shows. Returns the position's drift.
    ///
    /// If the Gram matrix is singular, dual coefficients have a component in its null space. A launch at the angle ψ gives the
    /// direction this component of the position times cot ψ, and a flight of t multiplies that of the next position by
    /// sin(ψ - t) / sin ψ. In two dimensions the product of these random factors grows without bound. (Choosing directions
    /// that keep the factors small, as in [`Ball::refresh_full`], would change the paper's law of directions.)
    fn shorten(&self, ball: &mut Ball, gram: &Gram, control: &Control) -> Result<f64> {
        let size = |dual: &[f64]| -> f64 {
            dual.iter().enumerate().map(|(i, c)| c.abs() * gram.diagonal(i).sqrt()).sum()
        };
        let large = size(&ball.position(0.0));
        let is_short = large.max(size(&ball.direction())) < LARGE;
        if is_short || gram.len() > MANY {
            return Ok(0.0);
        }
        if self.factor.get().is_none() {
            let factor = match Factor::new(gram, control) {
                Err(Error::Breakdown { .. }) => None,
                found => Some(found?),
            };
            // Another trajectory may have set it meanwhile, to the same factor.
            let _ = self.factor.set(factor);
        }
        let Some(Some(factor)) = self.factor.get() else { return Ok(0.0) };
        // If the part left out of the position matters, the rest is shorter than one by more than by rounding of the entries.
        let found = without_rounding(factor, gram, ball.f());
        if (found.square - 1.0).abs() > 4.0 * f64::EPSILON * large.max(LARGE).powi(2) {
            return Ok(0.0);
        }
        // The direction is random: any close to it will do.
        let other = without_rounding(factor, gram, ball.g());
        ball.recast(gram, found.dual, other.dual, true, control).map(|recast| recast.drift)
    }
}

/// Returns the vector with plane coordinates `field`, without components along columns whose pivots may be rounding errors.
fn without_rounding(factor: &Factor, gram: &Gram, field: &[f64]) -> Draw {
    const ROUNDING: f64 = 1e-12;
    let mut xi = factor.coordinates(field);
    let (gram, columns) = (gram.of_examples(), factor.columns());
    for (k, x) in xi.iter_mut().enumerate() {
        let (column, pivot) = (k % columns, factor.pivots[k % columns]);
        let root = factor.rows[pivot * columns + column];
        if root * root < ROUNDING * gram.diagonal(pivot) {
            *x = 0.0;
        }
    }
    factor.vector(xi)
}

impl Dynamics for Straight {
    /// `None` if the flight time to the next wall is infinite.
    #[inline]
    fn flight(&mut self, ball: &Ball) -> Option<f64> {
        let ahead = ball.to_wall();
        let whole = self.flown + ahead;
        let rest = self.reach - whole;
        let arrives = rest > 0.0 && self.length * whole.sin() < self.tau_max * rest.sin();
        arrives.then_some(ahead)
    }

    #[inline]
    fn flew(&mut self, angle: f64) {
        self.flown += angle;
    }

    #[inline]
    fn arrive(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace,
        transparency: f64,
        rng: &mut impl Rng,
    ) -> Arrival {
        let ahead = ball.to_wall();
        let whole = self.flown + ahead;
        // Negative behind the ball.
        let midpoint = 0.5 * (ahead - self.flown);
        let (point, weight) = match self.flips {
            None => (midpoint, 2.0 * (0.5 * whole).sin()),
            Some(Points::Midpoints) => (midpoint, whole),
            Some(Points::Bounces) => (ahead, 1.0),
        };
        self.center.add(ball, point, weight);
        if self.flips.is_some() {
            self.length *= self.reach.sin() / (self.reach - whole).sin();
        }
        self.reach -= whole;
        self.flown = 0.0;
        self.left = Some(ball.next_wall().plane);
        self.escapes_in_a_row = 0;
        Geodesic.arrive(ball, space, transparency, rng)
    }

    /// Launches the ball in a random direction, at a wall away from it, into version space (Herbrich et al., Eq. 12).
    ///
    /// The direction's dual coefficients are drawn, as in the papers, with products in O(m²). Returns the position's drift.
    fn launch(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace,
        rng: &mut impl Rng,
        control: &Control,
    ) -> Result<f64> {
        let fits = self.escapes_in_a_row < MOST_ESCAPES;
        require(fits, "tau_max", "one that no flight reaches a wall in", "longer")?;
        self.escapes_in_a_row += 1;
        self.escapes += 1;
        let gram = space.gram();
        let from_center = self.flips.is_some() && self.center.weight > 0.0;
        let position = from_center.then(|| self.center.dual.clone());
        let left = if from_center { None } else { self.left };
        let (reach, drift) = launch(ball, gram, position, rng, control)?;
        let drift = drift.max(self.shorten(ball, gram, control)?);
        self.reach = reach;
        self.length = 1.0;
        self.flown = 0.0;
        self.left = left;
        // A direction and its opposite are equally likely, so reversing one amounts to drawing until it fits.
        if let Some(plane) = left
            && !space.satisfied(plane, ball.g()[plane])
        {
            ball.reverse(gram);
            self.reach = std::f64::consts::PI - self.reach;
        }
        Ok(drift)
    }

    fn has_ended(&self) -> bool {
        self.weight_tol.is_some_and(|tol| self.center.next_share() <= tol)
    }

    /// A flipper restarts at its own running center, so its halves and its draws never agree.
    fn mixes(&self) -> bool {
        self.flips.is_none()
    }

    fn reset(&mut self) {
        self.center.reset();
        self.escapes_in_a_row = 0;
        self.escapes = 0;
    }
}

/// Moves a ball to `position`, dual coefficients of a unit vector, if given, and lets it fly along the tangent part of a random
/// vector. Every plane keeps its side. Returns the angle between both vectors, and the drift of the position.
///
/// The drift matters if launches are frequent and the Gram matrix is singular. Straight flights that end early magnify the
/// part of the dual coefficients in the null space of the matrix, until it shows, unless a factor reduces it in time.
fn launch(
    ball: &mut Ball,
    gram: &Gram,
    position: Option<Vec<f64>>,
    rng: &mut impl Rng,
    control: &Control,
) -> Result<(f64, f64)> {
    let stays = position.is_none();
    let position = position.unwrap_or_else(|| ball.position(0.0));
    let mut draws = 0;
    loop {
        draws += 1;
        let mut launched = ball.clone();
        let direction = laying::random_direction(gram, rng);
        match launched.recast(gram, position.clone(), direction, stays, control) {
            // The drawn vector is parallel to the position up to rounding.
            Err(Error::Breakdown { what: "direction", .. }) if draws < DRAWS => {}
            Err(error) => return Err(error),
            Ok(recast) => {
                *ball = launched;
                let moved = if stays { recast.drift } else { 0.0 };
                return Ok((recast.angle, moved.max((recast.norm - 1.0).abs())));
            }
        }
    }
}
