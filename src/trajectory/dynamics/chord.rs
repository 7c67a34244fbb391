//! The kernel billiard of Herbrich, Graepel and Campbell.

use rand::Rng;

use super::straight::Straight;
use super::{Arrival, Dynamics, DynamicsState};
use crate::ball::Ball;
use crate::base::{Control, Result};
use crate::space::VersionSpace;
use crate::trajectory::dynamics::running_center::{Addition, RunningCenter};

/// Straight flight between points of the sphere (Herbrich et al., Algorithm 1).
///
/// Position and direction are normalized at every wall. Where the flight time is `tau_max` or more, a new random direction
/// is drawn on the spot. The center adds the midpoint of every flight by ⊕_μ, with the length of its chord as the
/// weight. A bounce costs O(m), a new direction O(m²). Not measure preserving: the flights that are given up are
/// missing, and they are not a fair sample.
#[derive(Clone, Debug)]
pub struct Chord {
    straight: Straight,
}

impl Chord {
    /// A billiard in version space of m examples. Its center has converged once the share of the next flight in it cannot
    /// exceed `weight_tol`, the algorithm's TOL.
    pub fn new(m: usize, tau_max: f64, weight_tol: Option<f64>) -> Self {
        Self { straight: Straight::new(m, tau_max, Addition::Chord, weight_tol) }
    }
}

impl Dynamics for Chord {
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
        self.straight.center.add(space.gram(), ball, midpoint, 2.0 * (0.5 * arc).sin());
        self.straight.arrive(ball, space, transparency, rng, true)
    }

    fn launch(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace<'_>,
        rng: &mut impl Rng,
        control: &Control,
    ) -> Result<f64> {
        self.straight.launch(ball, space, None, rng, control)
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
