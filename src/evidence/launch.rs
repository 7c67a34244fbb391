//! Trajectories with full refresh for the ladder.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use crate::ball::Ball;
use crate::base::{Control, Result};
use crate::linalg::Factor;
use crate::space::VersionSpace;
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::{Refresh, Trajectory};

/// Full refreshes per radian. Near κ = 1 there are hardly any reflections, and the refresh alone must mix.
const REFRESH_RATE: f64 = 0.5;

/// Returns a trajectory from an isotropic position and direction.
pub(crate) fn isotropic<'s>(
    space: &'s VersionSpace<'s>,
    factor: &Arc<Factor>,
    mut rng: ChaCha8Rng,
    control: &Control,
) -> Result<Trajectory<'s, Geodesic>> {
    let (position, direction) = (factor.draw(&mut rng).dual, factor.draw(&mut rng).dual);
    let ball = Ball::new(space.gram(), &position, &direction, control)?;
    Ok(refreshed(space, ball, rng, factor))
}

/// Returns a trajectory from a ball.
pub(super) fn refreshed<'s>(
    space: &'s VersionSpace<'s>,
    ball: Ball,
    rng: ChaCha8Rng,
    factor: &Arc<Factor>,
) -> Trajectory<'s, Geodesic> {
    let mut trajectory = Trajectory::new(space, Geodesic, ball, rng);
    trajectory.set_refresh(Refresh::Full { rate: REFRESH_RATE, source: Arc::clone(factor) as _ });
    trajectory
}
