//! The projected onion (Ruján and Marchand, sec. 18.5.3): the rays of a hard billiard in version space, each followed beyond
//! the wall it hits. Cheap, but not uniform in any layer but version space itself.

use super::layers::{LayerRange, RaysBeyond};
use super::pieces::{GROWTH, Pieces, estimate, outcome, watch, worst};
use super::{OnionOutcome, OnionSettings};
use crate::ball::Ball;
use crate::base::{Control, Result};
use crate::ensemble::burn_in::burn_in;
use crate::ensemble::chain::{Context, totals};
use crate::ensemble::{Settings, WorkerPool};
use crate::gram::Gram;
use crate::space::VersionSpace;
use crate::trajectory::{Goal, Observer};

const PIECES: usize = 3;
/// Path of a piece in the first round: radians, or arrivals at walls if version space is small.
const PIECE_PATH: f64 = std::f64::consts::FRAC_PI_2;
const PIECE_ARRIVALS: f64 = 1_000.0;

/// The flights inside hard walls and the rays beyond them, of a ball that uses all planes, which rays may meet.
struct Rays {
    beyond: RaysBeyond,
    pieces: Pieces,
}

impl Observer for Rays {
    fn flies(&mut self, ball: &Ball, gram: &Gram, flight: (f64, f64), layer: [u32; 2]) {
        self.pieces.flies(ball, gram, flight, layer);
    }

    fn arrives(&mut self, ball: &Ball, space: &VersionSpace) {
        self.pieces.arrives(ball, space);
        for &(layer, arc) in self.beyond.trace((ball.f(), ball.g()), space.labels()) {
            self.pieces.add(ball, layer, arc);
        }
    }
}

pub(super) fn onion(
    space: &VersionSpace,
    settings: &OnionSettings,
    range: LayerRange,
    pool: &WorkerPool,
    control: &Control,
) -> Result<OnionOutcome> {
    let billiard = Settings {
        n_trajectories: settings.n_trajectories,
        n_threads: settings.n_threads,
        seed: settings.seed,
        ..Settings::default()
    };
    let (chains, _) = burn_in(&Context::new(space, &billiard, None, pool)?)?;
    let (path, arrivals) = totals(&chains);
    let per_arrival = if arrivals > 0 { path / arrivals as f64 } else { f64::INFINITY };
    let shortest = PIECE_PATH.min(PIECE_ARRIVALS * per_arrival);
    let mut unit = shortest;
    let mut probers: Vec<_> = chains
        .into_iter()
        .map(|mut chain| {
            chain.trajectory.reset();
            let pieces = Pieces::new(range, space.len());
            (chain.trajectory, Rays { beyond: RaysBeyond::new(range), pieces })
        })
        .collect();
    let mut is_over = watch(space, range, settings.tol);
    let mut length = 0.0;
    loop {
        pool.each(&mut probers, |_, (trajectory, rays)| {
            for piece in 1..=PIECES {
                let path = length + unit * piece as f64;
                trajectory.run_observed(Goal::path(path), rays, control)?;
                rays.pieces.close();
            }
            Ok(())
        })?;
        length += unit * PIECES as f64;
        let centers = estimate(space, range, pool, &mut probers, |prober| &mut prober.1.pieces)?;
        control.report(length, worst(&centers).0);
        let converged = is_over(&centers);
        unit = (GROWTH * unit).min((settings.max_length - length) / PIECES as f64);
        if converged || unit < shortest {
            let pieces = probers.iter().map(|prober| &prober.1.pieces);
            return Ok(outcome(range, space.len(), centers, pieces, length, converged));
        }
    }
}
