//! Dynamics: how the ball gets from one wall to the next.

use rand::Rng;

use crate::ball::Ball;
use crate::base::{Control, Result};
use crate::space::{Mirror, VersionSpace};

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
    /// The ball was reflected where there is no wall.
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
        space: &VersionSpace,
        transparency: f64,
        rng: &mut impl Rng,
    ) -> Arrival;

    /// Launches the ball at the start and after an escape, if there are some. Returns the drift, or why it cannot.
    fn launch(
        &mut self,
        _ball: &mut Ball,
        _space: &VersionSpace,
        _rng: &mut impl Rng,
        _control: &Control,
    ) -> Result<f64> {
        Ok(0.0)
    }

    /// Records that the ball has moved `angle` radians without an arrival. Only for dynamics whose flights have a beginning.
    fn flew(&mut self, _angle: f64) {}

    /// Returns whether the dynamics has reached an end of its own; see [`crate::Until::Ended`].
    fn has_ended(&self) -> bool {
        false
    }

    /// Returns whether all trajectories come to have one distribution, for whose agreement a run may wait.
    fn mixes(&self) -> bool {
        true
    }

    /// Forgets what it has counted.
    fn reset(&mut self) {}
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
        space: &VersionSpace,
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
