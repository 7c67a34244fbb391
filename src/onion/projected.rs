//! The projected onion (Ruján and Marchand, sec. 18.5.3): the rays of a hard billiard in version space, each followed beyond
//! the wall it hits. Cheap, but not uniform in any layer but version space itself.

use crate::base::{Control, Result};
use crate::ensemble::{Settings, WorkerPool, burn_in};
use crate::onion::OnionOutcome;
use crate::onion::pieces::{GROWTH, Pieces, estimate, outcome, take, watch, worst};
use crate::onion::settings::OnionSettings;
use crate::space::{LayerRange, RaysBeyond, VersionSpace};
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::{Goal, Trajectory};

const PIECES: usize = 3;
/// Path of a piece in the first round: radians, or arrivals at walls if version space is small.
const PIECE_PATH: f64 = std::f64::consts::FRAC_PI_2;
const PIECE_ARRIVALS: f64 = 1_000.0;

/// A trajectory, the rays beyond its walls, and their pieces in each layer.
type Prober<'s> = (Trajectory<'s, Geodesic>, RaysBeyond, Pieces);

pub(super) fn onion(
    space: &VersionSpace<'_>,
    settings: &OnionSettings,
    range: LayerRange,
    pool: &WorkerPool<'_>,
    control: &Control,
) -> Result<OnionOutcome> {
    let billiard = Settings {
        n_trajectories: settings.n_trajectories,
        n_threads: settings.n_threads,
        seed: settings.seed,
        ..Settings::default()
    };
    let mut probers: Vec<Prober<'_>> = burn_in::trajectories(space, &billiard, pool)?
        .into_iter()
        .map(|trajectory| {
            (trajectory, RaysBeyond::new(range), vec![Default::default(); range.len()])
        })
        .collect();
    let (path, arrivals) = probers.iter().fold((0.0, 0), |(path, arrivals), (trajectory, ..)| {
        let tally = trajectory.tally();
        (path + tally.path, arrivals + tally.arrivals())
    });
    let per_arrival = if arrivals > 0 { path / arrivals as f64 } else { f64::INFINITY };
    let shortest = PIECE_PATH.min(PIECE_ARRIVALS * per_arrival);
    let mut unit = shortest;
    for (trajectory, ..) in &mut probers {
        trajectory.reset();
        trajectory.keep_layers(Some(range));
    }
    let mut is_over = watch(space, range, settings.tol);
    let mut length = 0.0;
    loop {
        pool.each(&mut probers, |_, (trajectory, rays, pieces)| {
            for piece in 1..=PIECES {
                let path = length + unit * piece as f64;
                trajectory.run_observed(Goal::path(path), rays, control)?;
                take(pieces, trajectory);
            }
            Ok(())
        })?;
        length += unit * PIECES as f64;
        let centers = estimate(space, range, pool, &mut probers, |prober| &mut prober.2)?;
        control.report(length, worst(&centers).0);
        let converged = is_over(&centers);
        unit = (GROWTH * unit).min((settings.max_length - length) / PIECES as f64);
        if converged || unit < shortest {
            let pieces = probers.iter().map(|prober| &prober.2);
            return Ok(outcome(range, space.len(), centers, pieces, length, converged));
        }
    }
}
