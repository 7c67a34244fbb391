//! Dynamics: how the ball gets from one wall to the next.

mod running_center;
mod scattered;
mod straight;

use rand::Rng;
use serde::Deserialize;

use crate::ball::Ball;
use crate::base::{Control, Error, Result, ensure, require};
use crate::space::{Mirror, VersionSpace};

pub use running_center::{Addition, RunningCenter};
pub use scattered::Scattered;
pub use straight::{Points, Straight};

/// Smallest radius of a scatterer. The cosine that decides whether the ball is inside has no digits for a smaller one.
const SMALLEST_RADIUS: f64 = 1e-6;

/// Which dynamics to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum Motion {
    /// Great circles: the exact billiard.
    #[default]
    Geodesic,
    /// [`Scattered`]: great circles that mix faster, and stay exact.
    Scattered {
        /// Directions by the cosine law after a bounce, in place of the mirror image.
        cosine: bool,
        /// The reflecting sphere around the center.
        scatterer: Option<Radius>,
    },
    /// [`Straight::chord`].
    Chord {
        /// Flight time, with position and direction of unit length, from which a new direction is drawn; above 0.
        tau_max: f64,
        /// Largest share of the next flight in the center at which a run ends, in (0, 1): the algorithm's TOL.
        weight_tol: Option<f64>,
    },
    /// [`Straight::flipper`].
    Flipper {
        /// Flight time, with position and direction of unit length at the launch, that counts as an escape; above 0.
        tau_max: f64,
    },
}

impl Motion {
    /// Returns a number for the kind, including the settings that a continued run cannot change.
    pub(crate) fn code(&self) -> u64 {
        match self {
            Self::Geodesic => 0,
            Self::Scattered { cosine, scatterer } => {
                1 + u64::from(*cosine) + 2 * u64::from(scatterer.is_some())
            }
            Self::Chord { .. } => 5,
            Self::Flipper { .. } => 6,
        }
    }

    /// Checks the ranges of its settings. [`Error::Invalid`] for a number out of its range.
    pub fn check(&self) -> Result<()> {
        match *self {
            Self::Scattered { scatterer: Some(Radius::Given(x)), .. } => {
                let fits = x >= SMALLEST_RADIUS && x.is_finite();
                require(fits, "scatterer", x, "finite and at least 1e-6 radians")
            }
            Self::Scattered { cosine: false, scatterer: None } => {
                Err(Error::invalid("scatterer", "None", "a radius with scattering='specular'"))
            }
            Self::Chord { tau_max, .. } | Self::Flipper { tau_max } => {
                require(tau_max > 0.0, "tau_max", tau_max, "positive")?;
                let Self::Chord { weight_tol: Some(tol), .. } = *self else { return Ok(()) };
                require(tol > 0.0 && tol < 1.0, "weight_tol", tol, "in (0, 1)")
            }
            _ => Ok(()),
        }
    }
}

/// Radius of the reflecting sphere.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Radius {
    /// Half of the distance between the center and the nearest wall.
    #[serde(rename = "auto")]
    Fitted,
    /// Radians, at least 1e-6.
    Given(f64),
}

/// What happened at the end of a flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// The ball was reflected: the plane and the signed multiple of its feature vector added to the direction.
    Bounce {
        /// The plane that was hit.
        plane: usize,
        /// Impulse, positive for label +1.
        impulse: f64,
    },
    /// The ball passed to the other side of the plane.
    Crossing {
        /// The plane that was crossed.
        plane: usize,
    },
    /// The ball was reflected by the scatterer.
    Turn,
}

/// The motion between refreshes: a flight and what happens at its end.
///
/// A dynamics changes the ball only by the methods of [`Ball`], which keep its coordinates and integral consistent.
pub trait Dynamics: Clone + Send + Sync {
    /// Returns the radians to the end of the present flight, in [0, π]. `None`: the ball has escaped and must be launched.
    fn flight(&mut self, ball: &Ball) -> Option<f64>;

    /// Moves the ball to the end of the flight and reflects it or, with the probability `transparency`, lets it pass.
    fn arrive(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace<'_>,
        transparency: f64,
        rng: &mut impl Rng,
    ) -> Arrival;

    /// Launches the ball at the start and after an escape, if there are some. Returns the drift. Errors as [`Ball::launch`].
    fn launch(
        &mut self,
        _ball: &mut Ball,
        _space: &VersionSpace<'_>,
        _rng: &mut impl Rng,
        _control: &Control,
    ) -> Result<f64> {
        Ok(0.0)
    }

    /// Records that the ball has moved `angle` radians without an arrival. Only for dynamics whose flights have a beginning.
    fn flew(&mut self, _angle: f64) {}

    /// Returns the running center of mass of the papers' dynamics.
    fn running_center(&self) -> Option<&RunningCenter> {
        None
    }

    /// Resets the running center.
    fn reset(&mut self) {}

    /// Returns the stored form, empty if there is nothing to store.
    fn state(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Restores the stored form, but for the settings. [`crate::Error::Invalid`] for another motion, or what is out of range.
    fn restore(&mut self, stored: &[u8]) -> Result<()> {
        ensure(stored.is_empty(), "one of another motion")
    }
}

/// Flight along great circles, which meet every plane within π radians, and reflection as at mirrors, preserve the measure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Geodesic;

impl Dynamics for Geodesic {
    #[inline]
    fn flight(&mut self, ball: &Ball) -> Option<f64> {
        Some(ball.to_wall())
    }

    #[inline]
    fn arrive(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace<'_>,
        transparency: f64,
        rng: &mut impl Rng,
    ) -> Arrival {
        if Mirror::lets_pass(transparency, rng) {
            return Arrival::Crossing { plane: ball.cross(space.gram()) };
        }
        let (plane, impulse) = ball.reflect(space.gram());
        Arrival::Bounce { plane, impulse }
    }
}
