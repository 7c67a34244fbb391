//! The flipper of Ruján and Marchand.

use rand::Rng;

use super::straight::Straight;
use super::{Arrival, Dynamics, DynamicsState};
use crate::ball::Ball;
use crate::base::{Control, Result};
use crate::space::VersionSpace;
use crate::trajectory::dynamics::running_center::{Addition, RunningCenter};

/// What the flipper's center is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Points {
    /// The midpoint of every arc, its angle as the weight.
    Midpoints,
    /// The bouncing points, of equal weight: the uniform density on version space.
    Bounces,
}

/// Straight flight in the cone over version space (Ruján and Marchand, Algorithm 18.1).
///
/// The position is not normalized. A flight that meets no wall within `tau_max` has escaped: the ball starts again from
/// the running center in a random direction. The center adds arcs by Eq. 18.27. A bounce costs O(m), a restart O(m²).
/// Not measure preserving, for the restarts.
#[derive(Clone, Debug)]
pub struct Flipper {
    straight: Straight,
    points: Points,
}

impl Flipper {
    /// A flipper in version space of m examples.
    pub fn new(m: usize, tau_max: f64, points: Points) -> Self {
        Self { straight: Straight::new(m, tau_max, Addition::Arc, None), points }
    }
}

impl Dynamics for Flipper {
    #[inline]
    fn flight(&mut self, ball: &Ball) -> Option<f64> {
        self.straight.flight(ball)
    }

    #[inline]
    fn flew(&mut self, angle: f64) {
        self.straight.flew(angle);
    }

    #[inline]
    fn arrive(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace<'_>,
        transparency: f64,
        rng: &mut impl Rng,
    ) -> Arrival {
        let (arc, midpoint) = self.straight.arc(ball);
        let (ahead, weight) = match self.points {
            Points::Midpoints => (midpoint, arc),
            Points::Bounces => (ball.to_wall(), 1.0),
        };
        self.straight.center.add(space.gram(), ball, ahead, weight);
        self.straight.arrive(ball, space, transparency, rng, false)
    }

    /// From the running center; before there is one, from where the ball is.
    fn launch(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace<'_>,
        rng: &mut impl Rng,
        control: &Control,
    ) -> Result<f64> {
        let center = &self.straight.center;
        let position = (center.weight() > 0.0).then(|| center.dual().to_vec());
        self.straight.launch(ball, space, position, rng, control)
    }

    fn running_center(&self) -> Option<&RunningCenter> {
        Some(&self.straight.center)
    }

    fn running_center_mut(&mut self) -> Option<&mut RunningCenter> {
        Some(&mut self.straight.center)
    }

    fn state(&self) -> DynamicsState {
        DynamicsState::Straight(self.straight.clone())
    }

    fn restore(&mut self, stored: DynamicsState) -> Result<()> {
        self.straight.restore(stored)
    }
}
