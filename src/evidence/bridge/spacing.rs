//! The path between two samples, and the rate of refreshes.

use std::sync::Arc;

use crate::base::{Control, Result};
use crate::linalg::Isotropic;
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::{Goal, Refresh, Trajectory};

/// Path between two samples: arrivals at walls for each plane, and the largest path in radians.
const SAMPLE_ARRIVALS: f64 = 0.25;
const SAMPLE_PATH: f64 = 0.5;
/// Full refreshes between two samples, and the smallest rate per radian.
const REFRESHES: f64 = 0.1;
const LEAST_REFRESHES: f64 = 0.5;
/// Largest distance of two samples relative to the path between them, in the mean over `STRETCHES`. Beyond it the ball has
/// not turned round yet, as in a slit, where nearly all arrivals are at its two walls.
const LARGEST_DISTANCE: f64 = 0.5;
const STRETCHES: usize = 8;
/// A path shorter than this, radians, has no refresh: the ball keeps its first direction, which in a slit is that of the light
/// trap, from wall to wall. Each stretch then begins with this many refreshes, one for each arrival.
const SHORT: f64 = 0.02;
const FIRST_REFRESHES: f64 = 20.0;
/// Path on which arrivals are counted: radians, and arrivals for each plane.
const COUNTING_PATH: f64 = 10.0;
const COUNTING_ARRIVALS: u64 = 2;

/// Measures the path between samples by a run of a trajectory, radians, and the full refreshes per radian, and sets its refresh.
pub(super) fn measure<'s>(
    trajectory: &mut Trajectory<'s, Geodesic>,
    source: &Arc<dyn Isotropic>,
    control: &Control,
) -> Result<(f64, f64)> {
    let m = trajectory.space().len();
    let refresh = |rate| Refresh::Full { rate, source: Arc::clone(source) };
    trajectory.set_refresh(refresh(LEAST_REFRESHES));
    trajectory.reset();
    trajectory.run(Goal::either(COUNTING_PATH, COUNTING_ARRIVALS * m as u64 + 16), control)?;
    let tally = trajectory.tally();
    let rate = tally.arrivals() as f64 / tally.path;
    let is_short = tally.path < SHORT;
    let redirect = |trajectory: &mut Trajectory<'s, Geodesic>| -> Result<()> {
        if is_short {
            trajectory.set_refresh(refresh(rate));
            trajectory.reset();
            trajectory.run(Goal::path(FIRST_REFRESHES / rate), control)?;
            trajectory.set_refresh(refresh(LEAST_REFRESHES));
        }
        Ok(())
    };
    let mut path = (SAMPLE_ARRIVALS * m as f64 / rate).min(SAMPLE_PATH);
    while path < SAMPLE_PATH
        && mean_distance(trajectory, path, redirect, control)? > LARGEST_DISTANCE * path
    {
        path = (2.0 * path).min(SAMPLE_PATH);
    }
    let rate = (REFRESHES / path).max(LEAST_REFRESHES);
    trajectory.set_refresh(refresh(rate));
    Ok((path, rate))
}

/// Returns the mean angle between both ends of some stretches of path, in radians. It is computed from the chord, since the
/// cosine of a small angle is lost to rounding. `redirect` may change the direction of the ball before each stretch.
fn mean_distance<'s>(
    trajectory: &mut Trajectory<'s, Geodesic>,
    path: f64,
    mut redirect: impl FnMut(&mut Trajectory<'s, Geodesic>) -> Result<()>,
    control: &Control,
) -> Result<f64> {
    let mut sum = 0.0;
    for _ in 0..STRETCHES {
        redirect(trajectory)?;
        let ball = trajectory.ball();
        let (dual, field) = (ball.position(0.0), ball.f().to_vec());
        trajectory.reset();
        trajectory.run(Goal::path(path), control)?;
        let ball = trajectory.ball();
        let ends = ball.position(0.0).into_iter().zip(dual).zip(ball.f().iter().zip(field));
        let square: f64 = ends.map(|((c, d), (f, e))| (c - d) * (f - e)).sum();
        sum += 2.0 * (0.5 * square.clamp(0.0, 4.0).sqrt()).asin();
    }
    Ok(sum / STRETCHES as f64)
}
