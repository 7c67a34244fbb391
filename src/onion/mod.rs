//! The onion: centers of the layers of weight vectors that violate given numbers of examples of either label.

mod exact;
mod one_dimensional_layers;
mod projected;

use crate::base::control::Control;
use crate::base::error::{Error, Result};
use crate::ensemble::center::{self, Batch, Center};
use crate::ensemble::chain;
use crate::ensemble::pool::WorkerPool;
use crate::ensemble::settings::SHORTEST_LENGTH;
use crate::gram::Gram;
use crate::space::layers::LayerRange;
use crate::space::one_dimensional;
use crate::space::version_space::VersionSpace;
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::event_loop::Trajectory;

/// How the pieces of path grow from round to round.
const GROWTH: f64 = 1.5;
/// Pieces of path that are kept apart, and pieces in which a layer must have been seen before its error is told.
const MOST_BATCHES: usize = 8;
const LEAST_BATCHES: usize = 4;
/// Rounds in a row without a new layer after which those that were not seen are taken for empty.
const PATIENCE: usize = 5;

/// How the layers are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnionMethod {
    /// By a half-silvered billiard: uniform in every layer.
    Exact,
    /// By the rays of a hard billiard, followed beyond its walls.
    Projected,
}

/// Settings of an onion run.
#[derive(Clone, Debug)]
pub struct OnionSettings {
    /// Most violated examples of labels -1 and +1.
    pub max_errors: [u32; 2],
    /// How.
    pub method: OnionMethod,
    /// Number of trajectories.
    pub n_trajectories: usize,
    /// Standard error to be reached by the center of every layer seen, radians.
    pub tol: f64,
    /// Standard error to be reached by ln of the volume of every layer seen, nats; the exact onion alone tells volumes.
    pub volume_tol: Option<f64>,
    /// Path per trajectory at which to stop all the same, radians.
    pub max_length: f64,
    /// Worker threads.
    pub n_threads: usize,
    /// Seed.
    pub seed: u64,
}

impl Default for OnionSettings {
    fn default() -> Self {
        Self {
            max_errors: [5, 5],
            method: OnionMethod::Exact,
            n_trajectories: 4,
            tol: 0.1,
            volume_tol: None,
            max_length: 1e5,
            n_threads: 1,
            seed: 0,
        }
    }
}

/// What an onion run found. The n layers are those of `range`, in its order.
#[derive(Clone, Debug)]
pub struct OnionOutcome {
    /// The layers: at most `max_errors`, and no more than there are examples of the label.
    pub range: LayerRange,
    /// Dual coefficients of the centers, unit length, shape (n, m); NaN where there is none.
    pub centers: Vec<f64>,
    /// Length of the mean of the unit weight vectors, shape (n,); NaN where there is none.
    pub norms: Vec<f64>,
    /// Standard errors of the directions of the centers, radians, shape (n,); NaN where unknown.
    pub errors: Vec<f64>,
    /// Path in each layer that was averaged over, all trajectories together, radians, shape (n,).
    pub paths: Vec<f64>,
    /// ln of each layer's share of the sphere, shape (n,), -∞ where it was not seen; empty for the projected onion.
    pub log_volumes: Vec<f64>,
    /// Standard errors thereof, nats.
    pub log_volume_errors: Vec<f64>,
    /// All layers that were seen, also beyond the range; empty for the projected onion.
    pub layers: Vec<[u32; 2]>,
    /// ln of the share of the sphere of each of `layers`, -∞ where it was not seen: first by all trajectories, then by
    /// all but the first, all but the second and so on; shape (1 + T, l), T = 0 for a single trajectory.
    pub log_shares: Vec<f64>,
    /// Path flown per trajectory, radians.
    pub length: f64,
    /// Whether every layer seen reached the tolerances.
    pub converged: bool,
}

impl OnionSettings {
    fn check(&self) -> Result<()> {
        for (name, count) in
            [("n_trajectories", self.n_trajectories), ("n_threads", self.n_threads)]
        {
            if count == 0 {
                return Err(Error::invalid(name, count, "at least 1"));
            }
        }
        let numbers = [
            ("tol", Some(self.tol)),
            ("volume_tol", self.volume_tol),
            ("max_length", Some(self.max_length)),
        ];
        for (name, x) in numbers {
            if let Some(x) = x.filter(|x| !(*x > 0.0 && x.is_finite())) {
                return Err(Error::invalid(name, x, "positive and finite"));
            }
        }
        if self.volume_tol.is_some() && self.method == OnionMethod::Projected {
            let got = "a number for the projected onion";
            return Err(Error::invalid("volume_tol", got, "None: it tells no volumes"));
        }
        Ok(())
    }
}

/// The centers of the layers of the onion.
///
/// The same seed gives the same bits for every number of threads.
///
/// # Errors
///
/// [`Error::Invalid`] for settings out of range, [`Error::Infeasible`] for the projected onion where version space seems
/// empty, [`Error::Breakdown`] where the arithmetic fails, [`Error::Interrupted`].
pub fn onion(
    space: &VersionSpace<'_>,
    settings: &OnionSettings,
    control: &Control,
) -> Result<OnionOutcome> {
    settings.check()?;
    let counts = space.class_counts();
    let most = [0, 1].map(|class| settings.max_errors[class].min(counts[class]));
    let range = LayerRange { most };
    if one_dimensional::is_one_dimensional(space.gram()) {
        return one_dimensional_layers::onion(space, settings, range);
    }
    let pool = WorkerPool::new(settings.n_threads.min(settings.n_trajectories), control)?;
    // The pieces of the layers with their plane coordinates, those of two rounds, and their integrals; the centers.
    let vectors = range.len() * (4 * MOST_BATCHES + 8);
    chain::check_memory(space, settings.n_trajectories, false, &pool)?;
    pool.check_memory(settings.n_trajectories, vectors, space.len())?;
    match settings.method {
        OnionMethod::Exact => exact::onion(space, settings, range, &pool, control),
        OnionMethod::Projected => projected::onion(space, settings, range, &pool, control),
    }
}

/// The pieces of a trajectory's path, layer by layer.
struct Pieces {
    batches: Vec<Vec<Batch>>,
    paths: Vec<f64>,
    events: Vec<u64>,
}

impl Pieces {
    fn new(layers: usize) -> Self {
        Self {
            batches: vec![Vec::new(); layers],
            paths: vec![0.0; layers],
            events: vec![0; layers],
        }
    }

    /// Takes over what a trajectory has integrated since the last time.
    fn take(&mut self, trajectory: &mut Trajectory<'_, Geodesic>) {
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
type Found = Option<Center>;

/// The centers by all pieces so far.
fn estimate<T: Send>(
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
    let centers = range.iter().enumerate().map(|(layer, violated)| {
        if is_own_opposite(space, violated) {
            return None;
        }
        let mut lists: Vec<Vec<Batch>> = walkers
            .iter_mut()
            .map(|walker| std::mem::take(&mut pieces(walker).batches[layer]))
            .collect();
        let center = layer_center(gram, &lists);
        for (walker, list) in walkers.iter_mut().zip(&mut lists) {
            pieces(walker).batches[layer] = std::mem::take(list);
        }
        center
    });
    Ok(centers.collect())
}

/// The center of one layer by the pieces of each trajectory.
fn layer_center(gram: &Gram<'_>, lists: &[Vec<Batch>]) -> Found {
    let (mut path, mut pieces) = (0.0, 0);
    for batch in lists.iter().flatten() {
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
fn worst(centers: &[Found]) -> (f64, usize) {
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
struct Watch {
    /// Layers that may have a center.
    wanted: usize,
    seen: usize,
    /// Rounds since the last new layer.
    quiet: usize,
}

impl Watch {
    fn new(space: &VersionSpace<'_>, range: LayerRange) -> Self {
        let wanted = range.iter().filter(|&layer| !is_own_opposite(space, layer)).count();
        Self { wanted, seen: 0, quiet: 0 }
    }

    fn is_over(&mut self, centers: &[Found], tol: f64) -> bool {
        let (error, seen) = worst(centers);
        self.quiet = if seen == self.seen { self.quiet + 1 } else { 0 };
        self.seen = seen;
        let patience = if seen == self.wanted { 1 } else { PATIENCE };
        self.quiet >= patience && error <= tol
    }
}

/// Puts the parts of an outcome together that both methods have.
fn outcome<'p>(
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
    let of = |value: fn(&Center) -> f64| -> Vec<f64> {
        centers.iter().map(|center| center.as_ref().map_or(f64::NAN, value)).collect()
    };
    let (norms, errors) = (of(|center| center.norm), of(|center| center.error));
    let dual = |center: Found| center.map_or_else(|| vec![f64::NAN; m], |center| center.dual);
    OnionOutcome {
        range,
        centers: centers.into_iter().flat_map(dual).collect(),
        norms,
        errors,
        paths,
        log_volumes: Vec::new(),
        log_volume_errors: Vec::new(),
        layers: Vec::new(),
        log_shares: Vec::new(),
        length,
        converged,
    }
}
