//! Great circles and mirror reflections: exactly measure preserving.

use rand::Rng;

use super::{Arrival, Dynamics};
use crate::ball::Ball;
use crate::space::{Encounter, Mirror, VersionSpace};

/// Flight along great circles, which meet every plane within π radians, and mirror reflection at the walls.
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
        match Mirror::meet(transparency, rng) {
            Encounter::Reflects => {
                let hit = ball.reflect(space.gram());
                Arrival::Bounce { plane: hit.plane, impulse: hit.impulse }
            }
            Encounter::Passes => Arrival::Crossing { plane: ball.cross(space.gram()) },
        }
    }
}
