//! Dynamics: how the ball gets from one wall to the next.

mod geodesic;

use rand::Rng;

use crate::ball::Ball;
use crate::version_space::VersionSpace;

pub use geodesic::Geodesic;

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
    /// The direction changed in mid-air.
    Turn,
}

/// The motion between refreshes: a flight and what happens at its end.
///
/// A dynamics owns no ball. It may read all of it and may change it through the moves of [`Ball`] alone, which keep
/// plane coordinates, dual coefficients and the arc integral consistent.
pub trait Dynamics: Clone + Send + Sync {
    /// Radians to the end of the present flight, in [0, π].
    fn flight(&self, ball: &Ball) -> f64;

    /// Flies to the end of the present flight and does what has to be done there. `transparency` is the probability that
    /// the wall which comes next lets the ball through.
    fn arrive(
        &self,
        ball: &mut Ball,
        space: &VersionSpace<'_>,
        transparency: f64,
        rng: &mut impl Rng,
    ) -> Arrival;
}
