//! The start of one trajectory without a given point.

use rand::rngs::ChaCha8Rng;

use crate::ball::laying;
use crate::base::{Control, Result};
use crate::ensemble::conditional_means::Smoother;
use crate::interior::{Trapped, light_trap};
use crate::space::{Mirror, VersionSpace};
use crate::trajectory::Trajectory;
use crate::trajectory::dynamics::Geodesic;

/// Plane coordinates and dual coefficients of the middle of version space; see [`Smoother::middle`].
pub(super) type Middle = [Vec<f64>; 2];

/// Starts one trajectory at a random point about the middle of version space, if that is known, else with a light trap.
pub(super) fn attempt<'s>(
    space: &'s VersionSpace<'s>,
    mirror: Mirror,
    middle: Option<(&Smoother<'_>, &Middle)>,
    mut rng: ChaCha8Rng,
    control: &Control,
) -> Result<Trapped<'s>> {
    if let Some((smoother, middle)) = middle {
        let position = smoother.typical(space, middle, &mut rng, control)?;
        // Between walls that are very close, rounding may put the point outside.
        if space.contains(&position)? {
            return at(space, &position, rng, control).map(Trapped::Caught);
        }
    }
    light_trap::trap(space, mirror, rng, control)
}

/// Returns a trajectory that starts at a point.
pub(super) fn at<'s>(
    space: &'s VersionSpace<'s>,
    position: &[f64],
    mut rng: ChaCha8Rng,
    control: &Control,
) -> Result<Trajectory<'s, Geodesic>> {
    let ball = laying::ball_at(space.gram(), position, &mut rng, control)?;
    Ok(Trajectory::new(space, Geodesic, ball, rng))
}
