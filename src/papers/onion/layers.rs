//! Layers: weight vectors grouped by the numbers of examples of each label that they violate.

use crate::simd::NextWall;
use crate::space::{Transparency, VersionSpace};

/// The layers up to given numbers of violated examples of labels -1 and +1, in row-major order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerRange {
    /// Largest numbers of violated examples of labels -1 and +1.
    pub most: [u32; 2],
}

impl LayerRange {
    /// Returns the shape of a table with one entry for each layer.
    pub fn shape(&self) -> (usize, usize) {
        (self.most[0] as usize + 1, self.most[1] as usize + 1)
    }

    /// Returns the number of layers.
    pub fn len(&self) -> usize {
        let (rows, columns) = self.shape();
        rows * columns
    }

    /// Returns the index of a layer, or `None` outside the range.
    #[inline]
    pub fn index(&self, [negative, positive]: [u32; 2]) -> Option<usize> {
        (negative <= self.most[0] && positive <= self.most[1])
            .then(|| negative as usize * (self.most[1] as usize + 1) + positive as usize)
    }

    /// Returns the layers in the order of their indices.
    pub fn iter(self) -> impl Iterator<Item = [u32; 2]> {
        let [negative, positive] = self.most;
        (0..=negative).flat_map(move |a| (0..=positive).map(move |b| [a, b]))
    }

    /// Returns the indices of the layers with one violated example more or less.
    fn neighbors(self, layer: usize) -> impl Iterator<Item = usize> {
        let columns = self.most[1] as usize + 1;
        let (column, len) = (layer % columns, self.len());
        [
            layer.checked_sub(columns),
            Some(layer + columns).filter(|&next| next < len),
            (column > 0).then(|| layer - 1),
            (column + 1 < columns).then_some(layer + 1),
        ]
        .into_iter()
        .flatten()
    }

    /// Fills missing values with the largest value of a neighbor, step by step outwards. At least one must be given. A layer
    /// never visited gets a weight that lets every ball in, but does not hold it for long if the layer is tiny.
    pub(super) fn spread(self, mut values: Vec<Option<f64>>) -> Vec<f64> {
        debug_assert!(values.iter().any(Option::is_some));
        while values.iter().any(Option::is_none) {
            let old = values.clone();
            for (layer, value) in values.iter_mut().enumerate().filter(|(_, v)| v.is_none()) {
                let known = self.neighbors(layer).filter_map(|next| old[next]);
                *value = known.reduce(f64::max);
            }
        }
        values.into_iter().flatten().collect()
    }

    /// Lowers values until none exceeds a neighbor's by more than `step`.
    pub(super) fn flatten(self, values: &mut [f64], step: f64) {
        let mut changed = true;
        while changed {
            changed = false;
            for layer in 0..values.len() {
                let lowest = self.neighbors(layer).map(|next| values[next]);
                let limit = lowest.fold(f64::INFINITY, f64::min) + step;
                if values[layer] > limit {
                    values[layer] = limit;
                    changed = true;
                }
            }
        }
    }
}

/// Walls whose transparency depends on the layers on both sides: a ball passes with probability `min(1, w' / w)`, where w
/// and w' are the weights of its layer and of the layer behind the wall. The invariant density is the weight of the layer.
///
/// Beyond the range all walls have one transparency, so that the ball can get from any layer to any other.
#[derive(Clone, Debug)]
pub(super) struct LayerWalls {
    pub range: LayerRange,
    /// ln of the weights, one for each layer of the range.
    pub log_weights: Vec<f64>,
    /// ln of the weight beyond the range, extrapolated to no violations.
    pub beyond: f64,
    /// -ln of the transparency beyond the range.
    pub slope: f64,
}

impl LayerWalls {
    #[inline]
    fn log_weight(&self, layer: [u32; 2]) -> f64 {
        match self.range.index(layer) {
            Some(index) => self.log_weights[index],
            None => self.log_weight_beyond(f64::from(layer[0] + layer[1])),
        }
    }

    /// Returns ln of the weight beyond the range at a number of violated planes.
    #[inline]
    pub fn log_weight_beyond(&self, violations: f64) -> f64 {
        self.beyond - self.slope * violations
    }
}

impl Transparency for LayerWalls {
    #[inline]
    fn transparency(&self, space: &VersionSpace, plane: usize, f: f64, here: [u32; 2]) -> f64 {
        let there = space.layer_behind(plane, f, here);
        (self.log_weight(there) - self.log_weight(here)).exp().min(1.0)
    }
}

/// The great circle of a ball continued beyond the next wall, through one layer after another.
///
/// A great circle meets each plane once within half a turn. Along a ray from version space the numbers of violated planes only
/// rise, so the first planes suffice to follow the ray to the end of the range (Ruján and Marchand, sec. 18.5.3).
#[derive(Clone, Debug)]
pub(super) struct RaysBeyond {
    range: LayerRange,
    /// Cotangent of the flight time and index of each plane.
    planes: Vec<(f64, usize)>,
    arcs: Vec<(usize, [f64; 2])>,
}

impl RaysBeyond {
    pub fn new(range: LayerRange) -> Self {
        Self { range, planes: Vec::new(), arcs: Vec::new() }
    }

    /// Returns the arcs in the layers of the range, from the first wall to the end of the range or of half a turn, for a
    /// ball with plane coordinates `f` and `g`: the index of each layer, and the angles from the ball, radians, at which the ray
    /// enters and leaves it. The ball must be inside version space.
    pub fn trace(&mut self, (f, g): (&[f64], &[f64]), labels: &[i8]) -> &[(usize, [f64; 2])] {
        let range = self.range;
        self.planes.clear();
        self.planes.extend(f.iter().zip(g).enumerate().map(|(i, (&f, &g))| {
            let wall = NextWall::of(i, f, g);
            let cotangent = wall.n / wall.d;
            // A plane that contains the great circle is never met.
            (if cotangent.is_nan() { f64::NEG_INFINITY } else { cotangent }, i)
        }));
        let earlier = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0);
        // One plane more than the range allows: the one where the ray leaves it.
        let needed = (range.most[0] + range.most[1]) as usize + 2;
        if needed < self.planes.len() {
            self.planes.select_nth_unstable_by(needed - 1, earlier);
            self.planes.truncate(needed);
        }
        self.planes.sort_unstable_by(earlier);
        // The arccotangent; 0 and π at the two infinities.
        let angle = |&(cotangent, _): &(f64, usize)| 1f64.atan2(cotangent);
        self.arcs.clear();
        let mut counts = [0; 2];
        let mut to = self.planes.first().map_or(std::f64::consts::PI, angle);
        for (k, &(_, plane)) in self.planes.iter().enumerate() {
            let from = to;
            counts[usize::from(labels[plane] > 0)] += 1;
            let Some(layer) = range.index(counts) else { break };
            to = self.planes.get(k + 1).map_or(std::f64::consts::PI, angle);
            self.arcs.push((layer, [from, to]));
        }
        &self.arcs
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/papers/onion/layers.rs"]
mod tests;
