//! The pieces of path in each layer, and the centers by them.

use ndarray::{Array2, Array3};

use crate::base::{Control, Result};
use crate::ensemble::{Batch, Center, SHORTEST_LENGTH, WorkerPool, center};
use crate::gram::Gram;
use crate::onion::outcome::OnionOutcome;
use crate::space::{LayerRange, VersionSpace};
use crate::trajectory::Trajectory;
use crate::trajectory::dynamics::Geodesic;

/// How the pieces of path grow from round to round.
pub(super) const GROWTH: f64 = 1.5;
/// Pieces of path that are kept apart, and pieces in which a layer must have been seen before its error is told.
pub(super) const MOST_BATCHES: usize = 8;
const LEAST_BATCHES: usize = 4;
/// Rounds in a row without a new layer after which those that were not seen are taken for empty.
const PATIENCE: usize = 5;

/// The pieces of a trajectory's path, layer by layer.
pub(super) struct Pieces {
    pub batches: Vec<Vec<Batch>>,
    pub paths: Vec<f64>,
    pub events: Vec<u64>,
}

impl Pieces {
    pub fn new(layers: usize) -> Self {
        Self {
            batches: vec![Vec::new(); layers],
            paths: vec![0.0; layers],
            events: vec![0; layers],
        }
    }

    /// Takes over what a trajectory has integrated since the last time.
    pub fn take(&mut self, trajectory: &mut Trajectory<'_, Geodesic>) {
        for (layer, found) in trajectory.take_layer_integrals().into_iter().enumerate() {
            self.paths[layer] += found.path;
            self.events[layer] += found.events;
            if found.path > 0.0 {
                let (integral, length) = (found.integral, found.path);
                self.batches[layer].push(Batch {
                    integral,
                    length,
                    densities: None,
                    plain: None,
                    field: None,
                });
            }
        }
    }

    /// Joins the pieces of layers that have too many.
    fn join(&mut self) {
        for batches in self.batches.iter_mut().filter(|batches| batches.len() > MOST_BATCHES) {
            center::join_pairs(batches);
        }
    }
}

/// A layer's center, where it has one.
pub(super) type Found = Option<Center>;

/// The centers by all pieces so far.
pub(super) fn estimate<T: Send>(
    space: &VersionSpace<'_>,
    range: LayerRange,
    pool: &WorkerPool,
    walkers: &mut [T],
    pieces: impl Fn(&mut T) -> &mut Pieces + Sync,
    control: &Control,
) -> Result<Vec<Found>> {
    let gram = space.gram();
    pool.each(walkers, |_, walker| {
        let pieces = pieces(walker);
        pieces.join();
        for batches in pieces.batches.iter_mut().filter(|batches| !batches.is_empty()) {
            center::fill_fields(gram, batches, control)?;
        }
        Ok(())
    })?;
    let pieces: Vec<&Pieces> = walkers.iter_mut().map(|walker| &*pieces(walker)).collect();
    let centers = range.iter().enumerate().map(|(layer, violated)| {
        if is_own_opposite(space, violated) {
            return None;
        }
        let lists: Vec<&[Batch]> = pieces.iter().map(|one| &*one.batches[layer]).collect();
        layer_center(gram, &lists)
    });
    Ok(centers.collect())
}

/// The center of one layer by the pieces of each trajectory.
fn layer_center(gram: &Gram<'_>, lists: &[&[Batch]]) -> Found {
    let (mut path, mut pieces) = (0.0, 0);
    for batch in lists.iter().copied().flatten() {
        path += batch.length;
        pieces += 1;
    }
    // Shorter paths drown in the rounding of their integral.
    if path < SHORTEST_LENGTH {
        return None;
    }
    let center = center::center(gram, lists);
    let error = if pieces < LEAST_BATCHES { f64::NAN } else { center.error };
    Some(Center { error, ..center })
}

/// Largest error of the centers, NaN where one is unknown, and the number of layers seen.
pub(super) fn worst(centers: &[Found]) -> (f64, usize) {
    let seen = || centers.iter().flatten();
    let largest = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
    (seen().map(|center| center.error).fold(0.0, largest), seen().count())
}

/// True for a layer that holds with every vector its opposite, which violates the rest of the planes: the mean is zero.
fn is_own_opposite(space: &VersionSpace<'_>, violated: [u32; 2]) -> bool {
    let counts = space.class_counts();
    (0..2).all(|class| 2 * violated[class] == counts[class])
}

/// Ends a run when all layers seen are known well enough and no new ones turn up.
pub(super) struct Watch {
    /// Layers that may have a center.
    wanted: usize,
    seen: usize,
    /// Rounds since the last new layer.
    quiet: usize,
}

impl Watch {
    pub fn new(space: &VersionSpace<'_>, range: LayerRange) -> Self {
        let wanted = range.iter().filter(|&layer| !is_own_opposite(space, layer)).count();
        Self { wanted, seen: 0, quiet: 0 }
    }

    pub fn is_over(&mut self, centers: &[Found], tol: f64) -> bool {
        let (error, seen) = worst(centers);
        self.quiet = if seen == self.seen { self.quiet + 1 } else { 0 };
        self.seen = seen;
        let patience = if seen == self.wanted { 1 } else { PATIENCE };
        self.quiet >= patience && error <= tol
    }
}

/// Puts the parts of an outcome together that both methods have.
pub(super) fn outcome<'p>(
    range: LayerRange,
    m: usize,
    centers: Vec<Found>,
    pieces: impl Iterator<Item = &'p Pieces>,
    length: f64,
    converged: bool,
) -> OnionOutcome {
    let mut paths = vec![0.0; range.len()];
    for pieces in pieces {
        for (sum, path) in paths.iter_mut().zip(&pieces.paths) {
            *sum += path;
        }
    }
    let table = |values: Vec<f64>| table(range, values);
    let of = |value: fn(&Center) -> f64| {
        table(centers.iter().map(|center| center.as_ref().map_or(f64::NAN, value)).collect())
    };
    let (norms, errors) = (of(|center| center.norm), of(|center| center.error));
    let dual = |center: Found| center.map_or_else(|| vec![f64::NAN; m], |center| center.dual);
    let (rows, columns) = range.shape();
    let duals = centers.into_iter().flat_map(dual).collect();
    OnionOutcome {
        range,
        centers: Array3::from_shape_vec((rows, columns, m), duals).expect("m numbers of each"),
        norms,
        errors,
        paths: table(paths),
        log_volumes: None,
        log_volume_errors: None,
        layers: Vec::new(),
        log_shares: Array2::default((0, 0)),
        length,
        converged,
    }
}

/// A table with a value for each layer of a range.
pub(super) fn table(range: LayerRange, values: Vec<f64>) -> Array2<f64> {
    Array2::from_shape_vec(range.shape(), values).expect("a value for each layer")
}
