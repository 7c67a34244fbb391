//! Walkers: trajectories that move along a ladder of distributions, and their samples on each rung.

use std::sync::Arc;

use crate::ball::Ball;
use crate::base::{Control, Result, Stream};
use crate::linalg::{Factor, Isotropic};
use crate::space::{Mirror, VersionSpace};
use crate::trajectory::{Geodesic, Goal, Layers, Observer, Refresh, Trajectory};

/// Standard errors by which the trips up and down may differ by chance.
const CHANCE: f64 = 2.0;

/// Full refreshes per radian. Near κ = 1 there are hardly any reflections, and the refresh alone must mix.
const REFRESH_RATE: f64 = 0.5;

/// The samples of a walker on each rung: pieces of its path, each with the number of its trip, down or up the ladder.
#[derive(Default)]
pub struct RungSamples<T> {
    rungs: Vec<Vec<(usize, T)>>,
    /// The number of the current trip.
    pub trip: usize,
}

impl<T> RungSamples<T> {
    /// Adds a piece of the current trip on rung k.
    pub fn push(&mut self, k: usize, piece: T) {
        if self.rungs.len() <= k {
            self.rungs.resize_with(k + 1, Vec::new);
        }
        self.rungs[k].push((self.trip, piece));
    }

    /// The pieces on rung k, each with its trip.
    pub fn on(&self, k: usize) -> impl Iterator<Item = &(usize, T)> {
        self.rungs.get(k).into_iter().flatten()
    }

    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.rungs.iter().flatten().map(|(_, piece)| piece)
    }
}

/// Returns the pieces of all walkers on rung k that `keep` selects, converted. No walkers share the number of a trip.
pub fn pieces<'r, T: 'r, P>(
    walkers: impl ExactSizeIterator<Item = &'r RungSamples<T>>,
    k: usize,
    keep: impl Fn(usize, usize) -> bool,
    convert: impl Fn(&T) -> P,
) -> Vec<(usize, P)> {
    let n = walkers.len();
    let mut pieces = Vec::new();
    for (i, samples) in walkers.enumerate() {
        let kept = samples.on(k).filter(|(trip, _)| keep(i, *trip));
        pieces.extend(kept.map(|(trip, piece)| (trip * n + i, convert(piece))));
    }
    pieces
}

/// Returns the bias of ln Z that half the difference of the trips up and down indicates, beyond what chance explains.
///
/// The biases of both trips cancel to first order. But that of the trips down is larger, the more so the harder version space
/// is to find: a third of the lag remained on teacher problems, and half where an example was alone among the other class.
pub fn bias_of_lag(lag: f64, error: f64) -> f64 {
    if lag.is_nan() { f64::INFINITY } else { (lag.abs() - CHANCE * error).max(0.0) }
}

/// A trajectory among half-silvered mirrors that moves from rung to rung.
pub struct LadderWalker<'s, T> {
    pub trajectory: Trajectory<'s, Geodesic>,
    pub samples: RungSamples<T>,
    /// Path so far, radians.
    pub length: f64,
    pub control: &'s Control,
}

impl<'s, T: Default> LadderWalker<'s, T> {
    pub fn new(trajectory: Trajectory<'s, Geodesic>, control: &'s Control) -> Self {
        Self { trajectory, samples: RungSamples::default(), length: 0.0, control }
    }

    /// Moves to a rung and burns in there.
    pub fn enter(&mut self, mirror: Mirror, path: f64) -> Result<()> {
        self.trajectory.set_mirror(mirror);
        self.fly(path, &mut ())
    }

    /// Runs for a path and returns it by layer.
    pub fn count(&mut self, path: f64) -> Result<Layers> {
        let mut layers = Layers::new();
        self.fly(path, &mut layers)?;
        Ok(layers)
    }

    fn fly(&mut self, path: f64, observer: &mut impl Observer) -> Result<()> {
        self.trajectory.reset();
        self.trajectory.run_observed(Goal::path(path), observer, self.control)?;
        self.length += self.trajectory.tally().path;
        Ok(())
    }
}

/// Returns a trajectory from an isotropic position and direction.
pub fn isotropic<'s>(
    space: &'s VersionSpace<'s>,
    factor: &Arc<Factor>,
    mut rng: Stream,
    control: &Control,
) -> Result<Trajectory<'s, Geodesic>> {
    let (position, direction) = (factor.draw(&mut rng).dual, factor.draw(&mut rng).dual);
    let ball = Ball::new(space.gram(), &position, &direction, control)?;
    Ok(refreshed(space, ball, rng, factor))
}

pub fn refreshed<'s>(
    space: &'s VersionSpace<'s>,
    ball: Ball,
    rng: Stream,
    factor: &Arc<Factor>,
) -> Trajectory<'s, Geodesic> {
    let mut trajectory = Trajectory::new(space, Geodesic, ball, rng);
    trajectory.set_refresh(Refresh::Full { rate: REFRESH_RATE, source: Arc::clone(factor) as _ });
    trajectory
}
