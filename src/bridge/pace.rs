//! How far a ball flies between two samples, and how often its direction is refreshed.

use std::sync::Arc;

use crate::control::Control;
use crate::dynamics::Geodesic;
use crate::error::Result;
use crate::factor::Isotropic;
use crate::refresh::Refresh;
use crate::trajectory::{Goal, Trajectory};

/// Path between two samples: arrivals for each plane, and radians where there are fewer.
const SAMPLE_ARRIVALS: f64 = 0.25;
const SAMPLE_PATH: f64 = 0.5;
/// Full refreshes between two samples, and the least for each radian.
const REFRESHES: f64 = 0.1;
const LEAST_REFRESHES: f64 = 0.5;
/// Path on which arrivals are counted: radians, and arrivals for each plane.
const GAUGE_PATH: f64 = 10.0;
const GAUGE_ARRIVALS: u64 = 2;

#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Radians from sample to sample.
    pub spacing: f64,
    /// Full refreshes per radian.
    pub rate: f64,
}

impl Pace {
    /// By the arrivals that a trajectory counts now; sets its refresh.
    pub fn gauge(
        trajectory: &mut Trajectory<'_, Geodesic>,
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
        let spacing = (SAMPLE_ARRIVALS * m as f64 / rate).min(SAMPLE_PATH);
        let pace = Self { spacing, rate: (REFRESHES / spacing).max(LEAST_REFRESHES) };
        trajectory.set_refresh(refresh(pace.rate));
        Ok(pace)
    }
}
