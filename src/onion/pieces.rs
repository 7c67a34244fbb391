//! The pieces of path in each layer, and the centers estimated from them.

use ndarray::{Array2, Array3};

use crate::base::{Control, Result};
use crate::ensemble::{Batch, Center, SHORTEST_LENGTH, WorkerPool, center};
use crate::gram::Gram;
use crate::onion::outcome::OnionOutcome;
use crate::space::{LayerRange, VersionSpace};
use crate::trajectory::Trajectory;
use crate::trajectory::dynamics::Geodesic;

/// Growth of the pieces of path from round to round.
pub(super) const GROWTH: f64 = 1.5;
/// Largest number of batches of a layer and trajectory, and smallest number of all batches of a layer for which it has an error.
pub(super) const MOST_BATCHES: usize = 8;
const LEAST_BATCHES: usize = 4;
/// Rounds in a row without a new layer after which the missing ones are taken to be empty.
const PATIENCE: usize = 5;

/// The path of a trajectory in each layer.
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

    /// Adds what a trajectory has integrated since the last call.
    pub fn take(&mut self, trajectory: &mut Trajectory<'_, Geodesic>) {
        for (layer, found) in trajectory.take_layer_integrals().into_iter().enumerate() {
            self.paths[layer] += found.path;
            self.events[layer] += found.events;
            if found.path > 0.0 {
                self.batches[layer].push(Batch {
                    integral: found.integral,
                    length: found.path,
                    densities: None,
                    field: None,
                });
            }
        }
    }
}

/// Returns the centers of the layers of a range; none where nothing was found, or where the center is not defined.
pub(super) fn estimate<T: Send>(
    space: &VersionSpace<'_>,
    range: LayerRange,
    pool: &WorkerPool,
    walkers: &mut [T],
    pieces: impl Fn(&mut T) -> &mut Pieces + Sync,
    control: &Control,
) -> Result<Vec<Option<Center>>> {
    let gram = space.gram();
    pool.each(walkers, |_, walker| {
        let layers = &mut pieces(walker).batches;
        layers
            .iter_mut()
            .filter(|batches| batches.len() > MOST_BATCHES)
            .for_each(center::join_pairs);
        // One pass over the matrix for all layers.
        center::fill_fields(gram, &mut layers.iter_mut().flatten().collect::<Vec<_>>(), control)
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

/// Returns the center of one layer from the batches of each trajectory.
fn layer_center(gram: &Gram<'_>, lists: &[&[Batch]]) -> Option<Center> {
    let batches = || lists.iter().copied().flatten();
    // The integral of a shorter path is lost to rounding.
    if batches().map(|batch| batch.length).sum::<f64>() < SHORTEST_LENGTH {
        return None;
    }
    let center = center::center(gram, lists);
    let error = if batches().count() < LEAST_BATCHES { f64::NAN } else { center.error };
    Some(Center { error, ..center })
}

/// Returns the largest error of the centers, NaN if one is unknown, and the number of centers.
pub(super) fn worst(centers: &[Option<Center>]) -> (f64, usize) {
    let found = || centers.iter().flatten();
    let largest = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
    (found().map(|center| center.error).fold(0.0, largest), found().count())
}

/// True for a layer that contains the opposite of each of its vectors, which violates exactly the other planes: the mean is zero.
fn is_own_opposite(space: &VersionSpace<'_>, violated: [u32; 2]) -> bool {
    let counts = space.class_counts();
    (0..2).all(|class| 2 * violated[class] == counts[class])
}

/// Ends a run when all centers have reached the tolerance and no new layers are found.
pub(super) struct Watch {
    /// Number of layers that may have a center.
    possible: usize,
    /// Number of centers so far.
    found: usize,
    /// Rounds since the last new layer.
    quiet: usize,
}

impl Watch {
    pub fn new(space: &VersionSpace<'_>, range: LayerRange) -> Self {
        let possible = range.iter().filter(|&layer| !is_own_opposite(space, layer)).count();
        Self { possible, found: 0, quiet: 0 }
    }

    pub fn is_over(&mut self, centers: &[Option<Center>], tol: f64) -> bool {
        let (error, found) = worst(centers);
        self.quiet = if found == self.found { self.quiet + 1 } else { 0 };
        self.found = found;
        let patience = if found == self.possible { 1 } else { PATIENCE };
        self.quiet >= patience && error <= tol
    }
}

/// Returns an outcome with the parts that both methods have.
pub(super) fn outcome<'p>(
    range: LayerRange,
    m: usize,
    centers: Vec<Option<Center>>,
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
    let dual =
        |center: Option<Center>| center.map_or_else(|| vec![f64::NAN; m], |center| center.dual);
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

/// Returns a table with a value for each layer of a range.
pub(super) fn table(range: LayerRange, values: Vec<f64>) -> Array2<f64> {
    Array2::from_shape_vec(range.shape(), values).expect("a value for each layer")
}
