//! Starting points of trajectories.

use super::chain::{Chain, Context};
use crate::ball::laying;
use crate::base::{Control, Result, Stream, random};
use crate::interior::{Start, conflicts, hard_point, light_trap};
use crate::space::VersionSpace;
use crate::trajectory::{Geodesic, Trajectory};

/// Starts all trajectories: at the given point; or each at a random point about the middle, if there are conditional means; or
/// where a light trap catches it, or failing that at the point of a single maximal-margin search.
pub fn start<'s>(run: &Context<'s, '_>) -> Result<Vec<Chain<'s>>> {
    let Context { space, settings, pool, control, .. } = *run;
    let mirror = settings.mirror;
    conflicts::check(space, mirror, control)?;
    let middle = match &run.smoother {
        Some(smoother) if settings.start.is_none() && space.walls().is_none() => {
            Some((smoother, smoother.middle(space, mirror, control)?))
        }
        _ => None,
    };
    // A search may take any time, a point near the middle takes little.
    control.require_all(settings.start.is_none() && middle.is_none());
    let tried = pool.each(&mut vec![(); settings.n_trajectories], |i, ()| {
        let mut rng = random::stream(settings.seed, i);
        if let Some(position) = &settings.start {
            return at(space, position, rng, control).map(Ok);
        }
        if let Some((smoother, middle)) = &middle {
            let position = smoother.typical(space, middle, &mut rng, control)?;
            let tried = at(space, &position, rng, control);
            control.check()?;
            // Between walls that are very close, rounding may put the point outside or on one of them.
            if let Ok(trajectory) = tried
                && trajectory.violated() == 0
                && trajectory.ball().f().iter().all(|&f| f != 0.0)
            {
                return Ok(Ok(trajectory));
            }
            rng = random::stream(settings.seed, i);
        }
        light_trap::trap(space, mirror, rng, control)
    })?;
    let caught = match (&settings.start, middle) {
        (Some(_), _) => Start::Given,
        (None, Some(_)) => Start::Typical,
        (None, None) => Start::LightTrap,
    };
    let mut interior = None;
    let started = tried.into_iter().map(|trapped| {
        let (mut trajectory, start) = match trapped {
            Ok(trajectory) => (trajectory, caught),
            Err(rng) => {
                let known = interior.take();
                let position = known.map_or_else(|| hard_point(space, mirror, control), Ok)?;
                let trajectory = at(space, interior.insert(position), rng, control)?;
                (trajectory, Start::MaxMargin)
            }
        };
        trajectory.set_mirror(mirror);
        Ok(Chain::new(trajectory, start))
    });
    let started = started.collect();
    control.require_all(false);
    started
}

fn at<'s>(
    space: &'s VersionSpace<'s>,
    position: &[f64],
    mut rng: Stream,
    control: &Control,
) -> Result<Trajectory<'s, Geodesic>> {
    let ball = laying::ball_at(space.gram(), position, &mut rng, control)?;
    Ok(Trajectory::new(space, Geodesic, ball, rng))
}
