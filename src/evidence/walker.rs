//! Walks along a ladder: a trajectory that burns in on a rung and counts its path there, and what was seen on the rungs.

use crate::base::{Control, Result};
use crate::space::Mirror;
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::{Goal, Layers, Trajectory};

/// What a walker saw on each rung, piece by piece, with the number of the trip. A trip leads one way, down or up; two are a
/// round trip.
#[derive(Clone, Debug)]
pub(crate) struct Seen<T> {
    rungs: Vec<Vec<(usize, T)>>,
    pub trips: usize,
}

impl<T> Seen<T> {
    pub fn new() -> Self {
        Self { rungs: Vec::new(), trips: 0 }
    }

    /// Keeps a piece of the present trip on rung k.
    pub fn keep(&mut self, k: usize, piece: T) {
        if self.rungs.len() <= k {
            self.rungs.resize_with(k + 1, Vec::new);
        }
        self.rungs[k].push((self.trips, piece));
    }

    /// The pieces on rung k, each with its trip.
    fn on(&self, k: usize) -> impl Iterator<Item = &(usize, T)> {
        self.rungs.get(k).into_iter().flatten()
    }

    /// All pieces on rung k.
    pub fn pieces(&self, k: usize) -> impl Iterator<Item = &T> {
        self.on(k).map(|(_, piece)| piece)
    }

    /// All pieces.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.rungs.iter().flatten().map(|(_, piece)| piece)
    }
}

/// What walkers saw on rung k on the trips that `keep` takes, given walker and trip. Trips are numbered across the walkers.
pub(crate) fn pieces<'r, T: 'r>(
    walkers: impl ExactSizeIterator<Item = &'r Seen<T>>,
    k: usize,
    keep: impl Fn(usize, usize) -> bool,
) -> Vec<(usize, &'r T)> {
    let n = walkers.len();
    let mut pieces = Vec::new();
    for (i, seen) in walkers.enumerate() {
        let kept = seen.on(k).filter(|(trip, _)| keep(i, *trip));
        pieces.extend(kept.map(|(trip, piece)| (trip * n + i, piece)));
    }
    pieces
}

/// A trajectory among half-silvered mirrors that goes from rung to rung.
pub(crate) struct LadderWalker<'s, T> {
    pub trajectory: Trajectory<'s, Geodesic>,
    pub seen: Seen<T>,
    /// Path flown, radians.
    pub flown: f64,
}

impl<'s, T> LadderWalker<'s, T> {
    pub fn new(trajectory: Trajectory<'s, Geodesic>) -> Self {
        Self { trajectory, seen: Seen::new(), flown: 0.0 }
    }

    fn fly(&mut self, path: f64, control: &Control) -> Result<()> {
        self.trajectory.run(Goal::path(path), control)?;
        self.flown += self.trajectory.tally().path;
        Ok(())
    }

    /// Flies without counting.
    pub fn burn_in(&mut self, path: f64, control: &Control) -> Result<()> {
        self.trajectory.reset(None);
        self.fly(path, control)
    }

    /// Goes to a rung and flies there without counting.
    pub fn enter(&mut self, mirror: Mirror, path: f64, control: &Control) -> Result<()> {
        self.trajectory.set_mirror(mirror);
        self.burn_in(path, control)
    }

    /// Flies and tells the path by layer.
    pub fn count(&mut self, path: f64, control: &Control) -> Result<Layers> {
        self.trajectory.reset_counting();
        self.fly(path, control)?;
        Ok(self.trajectory.take_layers().unwrap_or_default())
    }
}
