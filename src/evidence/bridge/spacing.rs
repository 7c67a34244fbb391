//! How far a ball flies between two samples, and how often its direction is refreshed.

use std::sync::Arc;

use crate::base::{Control, Result};
use crate::linalg::Isotropic;
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::{Goal, Refresh, Trajectory};

/// Path between two samples: arrivals for each plane, and radians where there are fewer.
const SAMPLE_ARRIVALS: f64 = 0.25;
const SAMPLE_PATH: f64 = 0.5;
/// Full refreshes between two samples, and the least for each radian.
const REFRESHES: f64 = 0.1;
const LEAST_REFRESHES: f64 = 0.5;
/// Part of the path between two samples that the ball may have got away from the first, in the mean of so many stretches: more,
/// and it has not turned round yet, as in a slit, where nearly all arrivals are at the two walls of it.
const AWAY: f64 = 0.5;
const STRETCHES: usize = 8;
/// On a path as short as this, radians, nothing has refreshed the direction that the ball came with, in a slit that of the light
/// trap, from wall to wall. Then every stretch gets a direction of its own, by as many refreshes, one for each arrival.
const SHORT: f64 = 0.02;
const FRESH: f64 = 20.0;
/// Path on which arrivals are counted: radians, and arrivals for each plane.
const GAUGE_PATH: f64 = 10.0;
const GAUGE_ARRIVALS: u64 = 2;

#[derive(Clone, Copy, Debug)]
pub(super) struct Spacing {
    /// Radians from sample to sample.
    pub path: f64,
    /// Full refreshes per radian.
    pub rate: f64,
}

impl Spacing {
    /// The one with the longest path between samples: a ball in a corner sees nothing but its walls.
    pub fn slowest(spacings: &[Self]) -> Self {
        *spacings.iter().max_by(|a, b| a.path.total_cmp(&b.path)).expect("at least one")
    }

    /// By the arrivals that a trajectory counts now; sets its refresh.
    pub fn gauge<'s>(
        trajectory: &mut Trajectory<'s, Geodesic>,
        source: &Arc<dyn Isotropic>,
        control: &Control,
    ) -> Result<Self> {
        let m = trajectory.space().len();
        let refresh = |rate| Refresh::Full { rate, source: Arc::clone(source) };
        trajectory.set_refresh(refresh(LEAST_REFRESHES));
        trajectory.reset(None);
        trajectory.run(Goal::either(GAUGE_PATH, GAUGE_ARRIVALS * m as u64 + 16), control)?;
        let tally = trajectory.tally();
        let rate = tally.arrivals() as f64 / tally.path;
        let is_short = tally.path < SHORT;
        let turn = |trajectory: &mut Trajectory<'s, Geodesic>| -> Result<()> {
            if is_short {
                trajectory.set_refresh(refresh(rate));
                trajectory.reset(None);
                trajectory.run(Goal::path(FRESH / rate), control)?;
                trajectory.set_refresh(refresh(LEAST_REFRESHES));
            }
            Ok(())
        };
        let mut spacing = (SAMPLE_ARRIVALS * m as f64 / rate).min(SAMPLE_PATH);
        while spacing < SAMPLE_PATH && away(trajectory, spacing, turn, control)? > AWAY * spacing {
            spacing = (2.0 * spacing).min(SAMPLE_PATH);
        }
        let found = Self { path: spacing, rate: (REFRESHES / spacing).max(LEAST_REFRESHES) };
        trajectory.set_refresh(refresh(found.rate));
        Ok(found)
    }
}

/// Radians from one end of a stretch of path to the other, in the mean of some. By the chord: of ends that are near each other
/// rounding leaves nothing of the cosine. `turn` may give the ball another direction before each.
fn away<'s>(
    trajectory: &mut Trajectory<'s, Geodesic>,
    path: f64,
    mut turn: impl FnMut(&mut Trajectory<'s, Geodesic>) -> Result<()>,
    control: &Control,
) -> Result<f64> {
    let mut sum = 0.0;
    for _ in 0..STRETCHES {
        turn(trajectory)?;
        let ball = trajectory.ball();
        let (dual, field) = (ball.position(0.0), ball.f().to_vec());
        trajectory.reset(None);
        trajectory.run(Goal::path(path), control)?;
        let ball = trajectory.ball();
        let ends = ball.position(0.0).into_iter().zip(dual).zip(ball.f().iter().zip(field));
        let square: f64 = ends.map(|((c, d), (f, e))| (c - d) * (f - e)).sum();
        sum += 2.0 * (0.5 * square.clamp(0.0, 4.0).sqrt()).asin();
    }
    Ok(sum / STRETCHES as f64)
}
