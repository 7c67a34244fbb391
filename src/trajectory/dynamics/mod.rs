//! Dynamics: how the ball gets from one wall to the next.

mod chord;
mod flipper;
mod geodesic;
mod running_center;
mod scattered;
mod straight;

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::ball::Ball;
use crate::base::{Control, Error, Result, incompatible};
use crate::space::VersionSpace;

pub use chord::Chord;
pub use flipper::{Flipper, Points};
pub use geodesic::Geodesic;
pub use running_center::{Addition, RunningCenter};
pub use scattered::Scattered;

/// Smallest radius of a scatterer: where the ball is in a cap is told by a cosine, which has lost a smaller one to rounding.
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
    /// [`Chord`].
    Chord {
        /// Flight time, with position and direction of unit length, from which a new direction is drawn; above 0.
        tau_max: f64,
        /// Largest share of the next flight in the center at which a run ends, in (0, 1): the algorithm's TOL.
        weight_tol: Option<f64>,
    },
    /// [`Flipper`].
    Flipper {
        /// Flight time, with position and direction of unit length at the launch, that counts as an escape; above 0.
        tau_max: f64,
    },
}

impl Motion {
    /// A number for its kind, with what it cannot be changed in on the way.
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

    /// True for the straight flights of the papers, which keep a center of their own.
    pub fn is_straight(&self) -> bool {
        matches!(self, Self::Chord { .. } | Self::Flipper { .. })
    }

    /// Makes sure that a ball can move so.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a number out of its range.
    pub fn check(&self) -> Result<()> {
        match *self {
            Self::Scattered { scatterer: Some(Radius::Given(x)), .. }
                if !(x >= SMALLEST_RADIUS && x.is_finite()) =>
            {
                Err(Error::invalid("scatterer", x, "finite and at least 1e-6 radians"))
            }
            Self::Scattered { cosine: false, scatterer: None } => {
                Err(Error::invalid("scatterer", "None", "a radius with scattering='specular'"))
            }
            Self::Chord { tau_max, .. } | Self::Flipper { tau_max }
                if tau_max.is_nan() || tau_max <= 0.0 =>
            {
                Err(Error::invalid("tau_max", tau_max, "positive"))
            }
            Self::Chord { weight_tol: Some(tol), .. } if !(tol > 0.0 && tol < 1.0) => {
                Err(Error::invalid("weight_tol", tol, "in (0, 1)"))
            }
            _ => Ok(()),
        }
    }
}

/// How large the reflecting sphere is.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Radius {
    /// Half of the distance between the center and the nearest wall.
    #[serde(rename = "auto")]
    Fitted,
    /// Radians, at least 1e-6.
    Given(f64),
}

/// What happened where a flight ended.
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
    /// The ball was scattered in mid-air.
    Turn,
}

/// The motion between refreshes: a flight and what happens at its end.
///
/// A dynamics owns no ball. It may read all of it and may change it through the moves of [`Ball`] alone, which keep
/// plane coordinates, dual coefficients and the arc integral consistent.
pub trait Dynamics: Clone + Send + Sync {
    /// Radians to the end of the present flight, in [0, π]; `None` where it has none: the ball has escaped, and must be
    /// launched anew.
    fn flight(&mut self, ball: &Ball) -> Option<f64>;

    /// Flies to the end of the present flight and does what has to be done there. `transparency` is the probability that
    /// the wall which comes next lets the ball through.
    fn arrive(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace<'_>,
        transparency: f64,
        rng: &mut impl Rng,
    ) -> Arrival;

    /// Launches the ball: at the start, and after an escape. Nothing to be done where a ball never escapes. Returns the
    /// drift found in the position.
    ///
    /// # Errors
    ///
    /// As [`Ball::launch`].
    fn launch(
        &mut self,
        _ball: &mut Ball,
        _space: &VersionSpace<'_>,
        _rng: &mut impl Rng,
        _control: &Control,
    ) -> Result<f64> {
        Ok(0.0)
    }

    /// Takes note of `angle` radians of a flight that ended before its arrival. Only for dynamics that remember where the
    /// flight began.
    fn flew(&mut self, _angle: f64) {}

    /// The center of mass that the papers' dynamics keep themselves.
    fn running_center(&self) -> Option<&RunningCenter> {
        None
    }

    /// The same, to start it anew.
    fn running_center_mut(&mut self) -> Option<&mut RunningCenter> {
        None
    }

    /// What is to be stored of it.
    fn state(&self) -> DynamicsState {
        DynamicsState::Geodesic
    }

    /// Goes on from what was stored, with the settings that it has.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Invalid`] for what [`Dynamics::state`] cannot have been.
    fn restore(&mut self, stored: DynamicsState) -> Result<()> {
        match stored {
            DynamicsState::Geodesic => Ok(()),
            _ => Err(incompatible("one of another motion")),
        }
    }
}

/// What the dynamics know of the present flight and of their centers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum DynamicsState {
    /// Nothing but the ball.
    Geodesic,
    /// The sphere.
    Scattered(Option<scattered::Cap>),
    /// The flight and the center.
    Straight(straight::Straight),
}
