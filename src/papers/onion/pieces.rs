//! The pieces of path in each layer, and the centers estimated from them.

use ndarray::{Array2, Array3};

use super::{LayerRange, OnionOutcome};
use crate::ball::Ball;
use crate::base::Result;
use crate::ensemble::{Batch, Center, SHORTEST_LENGTH, WorkerPool, center};
use crate::gram::Gram;
use crate::space::VersionSpace;
use crate::trajectory::{Layers, Observer};

/// Growth of the pieces of path from round to round.
pub(super) const GROWTH: f64 = 1.5;
/// Largest number of batches of a layer and trajectory, and smallest number of all batches of a layer for which it has an error.
pub(super) const MOST_BATCHES: usize = 8;
const LEAST_BATCHES: usize = 4;
/// Rounds in a row without a new layer after which the missing ones are taken to be empty.
const PATIENCE: usize = 5;

/// The path of a trajectory in one layer.
#[derive(Clone, Default)]
pub(super) struct Piece {
    pub batches: Vec<Batch>,
    /// Path so far, radians.
    pub path: f64,
    /// Arrivals at walls, a measure of the work.
    pub events: u64,
    /// The open batch: its integral, shape (m,), and path.
    integral: Vec<f64>,
    length: f64,
}

/// The path of a trajectory in each layer of a range, as an observer of its flights.
pub(super) struct Pieces {
    range: LayerRange,
    pub layers: Vec<Piece>,
    /// The layer of the ball; none beyond the range.
    here: Option<usize>,
    /// Path by layer since the last batch was closed, also beyond the range.
    visits: Layers,
}

impl Pieces {
    pub fn new(range: LayerRange, m: usize) -> Self {
        let empty = Piece { integral: vec![0.0; m], ..Piece::default() };
        Self { range, layers: vec![empty; range.len()], here: None, visits: Layers::new() }
    }

    /// Adds the arc between two angles ahead of the ball, radians: its chord has the direction of its middle.
    pub fn add(&mut self, ball: &Ball, layer: usize, [from, to]: [f64; 2]) {
        let piece = &mut self.layers[layer];
        let chord = 2.0 * (0.5 * (to - from)).sin();
        ball.blend(0.5 * (from + to), (1.0, chord), &mut piece.integral);
        piece.length += to - from;
    }

    /// Closes the batches and begins others. Returns the path by layer meanwhile.
    pub fn close(&mut self) -> Layers {
        for Piece { batches, path, integral, length, .. } in &mut self.layers {
            if *length > 0.0 {
                let (empty, length) = (vec![0.0; integral.len()], std::mem::take(length));
                let integral = std::mem::replace(integral, empty);
                *path += length;
                batches.push(Batch { integral, length, densities: None, field: None });
            }
        }
        std::mem::take(&mut self.visits)
    }
}

impl Observer for Pieces {
    fn flies(&mut self, ball: &Ball, gram: &Gram, flight: (f64, f64), layer: [u32; 2]) {
        self.visits.flies(ball, gram, flight, layer);
        self.here = self.range.index(layer);
        if let Some(here) = self.here {
            self.add(ball, here, [0.0, flight.1]);
        }
    }

    fn arrives(&mut self, _: &Ball, _: &VersionSpace) {
        if let Some(here) = self.here {
            self.layers[here].events += 1;
        }
    }
}

/// Returns the centers of the layers of a range; none where nothing was found, or where the center is not defined.
pub(super) fn estimate<T: Send>(
    space: &VersionSpace,
    range: LayerRange,
    pool: &WorkerPool,
    walkers: &mut [T],
    pieces: impl Fn(&mut T) -> &mut Pieces + Sync,
) -> Result<Vec<Option<Center>>> {
    let gram = space.gram();
    pool.each(walkers, |_, walker| {
        let layers = &mut pieces(walker).layers;
        let mut layers: Vec<_> = layers.iter_mut().map(|piece| &mut piece.batches).collect();
        let long = layers.iter_mut().filter(|batches| batches.len() > MOST_BATCHES);
        long.for_each(|batches| center::join_pairs(batches));
        // One pass over the matrix for all layers.
        let mut batches: Vec<_> = layers.into_iter().flatten().collect();
        center::fill_fields(gram, &mut batches, pool.control)
    })?;
    let pieces: Vec<&Pieces> = walkers.iter_mut().map(|walker| &*pieces(walker)).collect();
    let centers = range.iter().enumerate().map(|(layer, violated)| {
        if is_own_opposite(space, violated) {
            return None;
        }
        let lists: Vec<&[Batch]> = pieces.iter().map(|one| &*one.layers[layer].batches).collect();
        layer_center(gram, &lists)
    });
    Ok(centers.collect())
}

fn layer_center(gram: &Gram, lists: &[&[Batch]]) -> Option<Center> {
    let batches = || lists.iter().copied().flatten();
    // The integral of a shorter path is lost to rounding.
    if batches().map(|batch| batch.length).sum::<f64>() < SHORTEST_LENGTH {
        return None;
    }
    let center = center::center(gram, lists, f64::INFINITY);
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
fn is_own_opposite(space: &VersionSpace, violated: [u32; 2]) -> bool {
    let counts = space.class_counts();
    (0..2).all(|class| 2 * violated[class] == counts[class])
}

/// Returns a function of the centers after each round: whether all have reached the tolerance and no new layers are found.
pub(super) fn watch(
    space: &VersionSpace,
    range: LayerRange,
    tol: f64,
) -> impl FnMut(&[Option<Center>]) -> bool {
    // The number of layers that may have a center, of centers so far, and of rounds since the last new layer.
    let possible = range.iter().filter(|&layer| !is_own_opposite(space, layer)).count();
    let (mut last, mut quiet) = (0, 0);
    move |centers| {
        let (error, found) = worst(centers);
        quiet = if found == last { quiet + 1 } else { 0 };
        last = found;
        let patience = if found == possible { 1 } else { PATIENCE };
        quiet >= patience && error <= tol
    }
}

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
        for (sum, piece) in paths.iter_mut().zip(&pieces.layers) {
            *sum += piece.path;
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
        length,
        converged,
        ..OnionOutcome::default()
    }
}

pub(super) fn table(range: LayerRange, values: Vec<f64>) -> Array2<f64> {
    Array2::from_shape_vec(range.shape(), values).expect("a value for each layer")
}

#[cfg(test)]
#[path = "../../../tests/unit/papers/onion/pieces.rs"]
mod tests;
