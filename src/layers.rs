//! The layers of the onion: weight vectors by how many examples of either label they violate.

use std::cmp::Ordering;

use crate::pass::NextWall;

/// The layers with at most so many violated examples of labels -1 and +1, in row-major order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerRange {
    /// Most violated examples of labels -1 and +1.
    pub most: [u32; 2],
}

impl LayerRange {
    /// Number of layers.
    pub fn len(&self) -> usize {
        (self.most[0] as usize + 1) * (self.most[1] as usize + 1)
    }

    /// False: version space itself is always among the layers.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of a layer; `None` beyond the range.
    #[inline]
    pub fn index(&self, [negative, positive]: [u32; 2]) -> Option<usize> {
        (negative <= self.most[0] && positive <= self.most[1])
            .then(|| negative as usize * (self.most[1] as usize + 1) + positive as usize)
    }

    /// The layers, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = [u32; 2]> {
        let [negative, positive] = self.most;
        (0..=negative).flat_map(move |a| (0..=positive).map(move |b| [a, b]))
    }

    /// Gives the layers without a value the largest of a neighbor, step by step outwards; 0 where no layer has one.
    ///
    /// For the weight of a layer that was never seen that is enough to be let in whenever a ball gets to it, and too little
    /// to be kept in for long, should it turn out to be tiny.
    pub(crate) fn spread(&self, mut values: Vec<Option<f64>>) -> Vec<f64> {
        let columns = self.most[1] as usize + 1;
        while values.iter().any(Option::is_none) && values.iter().any(Option::is_some) {
            let old = values.clone();
            for (layer, value) in values.iter_mut().enumerate().filter(|(_, v)| v.is_none()) {
                let column = layer % columns;
                let neighbors = [
                    layer.checked_sub(columns),
                    Some(layer + columns),
                    (column > 0).then(|| layer - 1),
                    (column + 1 < columns).then_some(layer + 1),
                ];
                let known = neighbors.into_iter().flatten().filter_map(|k| *old.get(k)?);
                *value = known.reduce(f64::max);
            }
        }
        values.into_iter().map(|value| value.unwrap_or(0.0)).collect()
    }

    /// How far a layer is beyond the range, in examples.
    #[inline]
    fn excess(&self, layer: [u32; 2]) -> u32 {
        layer[0].saturating_sub(self.most[0]) + layer[1].saturating_sub(self.most[1])
    }
}

/// Walls that know the layers on both their sides, and make the density of the ball's law the weight of the layer that
/// it is in: a ball passes with probability `min(1, weight there / weight here)`.
///
/// Within a layer the law stays uniform. Beyond the range the weight is zero: what is inside stays inside, and what is
/// outside is let through on its way in.
#[derive(Clone, Debug)]
pub(crate) struct LayerWalls {
    pub range: LayerRange,
    /// ln of the weight of each layer of the range, finite.
    pub log_weights: Vec<f64>,
}

impl LayerWalls {
    /// Probability that a ball passes from one layer to another.
    #[inline]
    pub fn transparency(&self, here: [u32; 2], there: [u32; 2]) -> f64 {
        match (self.range.index(here), self.range.index(there)) {
            (Some(here), Some(there)) => {
                (self.log_weights[there] - self.log_weights[here]).exp().min(1.0)
            }
            (Some(_), None) => 0.0,
            (None, Some(_)) => 1.0,
            (None, None) => f64::from(self.range.excess(there) <= self.range.excess(here)),
        }
    }
}

/// The ray of a ball beyond the wall that it hits, through one layer after another.
///
/// On a great circle every plane is met once within half a turn. From version space the numbers of violated planes only
/// rise, so the planes met first are enough to see the ray out of the range (Ruján and Marchand, sec. 18.5.3).
#[derive(Clone, Debug, Default)]
pub(crate) struct RayBeyond {
    /// Cotangent of the flight time and number of each plane.
    planes: Vec<(f64, usize)>,
    arcs: Vec<BeyondArc>,
}

/// What a ray has in a layer beyond the wall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BeyondArc {
    /// Number of the layer.
    pub layer: usize,
    /// Angles, counted from the ball, at which the ray enters and leaves it.
    pub from: f64,
    pub to: f64,
}

impl RayBeyond {
    /// The arcs, in the layers of the range, of the flight from plane coordinates `f` in direction `g`, from the first wall
    /// to the end of the range or of half a turn. The ball must be inside version space.
    pub fn trace(
        &mut self,
        (f, g): (&[f64], &[f64]),
        labels: &[i8],
        range: LayerRange,
    ) -> &[BeyondArc] {
        self.planes.clear();
        self.planes.extend(f.iter().zip(g).enumerate().map(|(i, (&f, &g))| {
            let wall = NextWall::of(i, f, g);
            let cotangent = wall.n / wall.d;
            // A plane that the ball touches and slides along is never met.
            (if cotangent.is_nan() { f64::NEG_INFINITY } else { cotangent }, i)
        }));
        let earlier = |a: &(f64, usize), b: &(f64, usize)| -> Ordering { b.0.total_cmp(&a.0) };
        // One plane more than the range has room for: the one that leads out of it.
        let needed = (range.most[0] + range.most[1]) as usize + 2;
        if needed < self.planes.len() {
            self.planes.select_nth_unstable_by(needed - 1, earlier);
            self.planes.truncate(needed);
        }
        self.planes.sort_unstable_by(earlier);
        // The arccotangent; it also gives 0 and π for the two infinities.
        let angle = |&(cotangent, _): &(f64, usize)| 1f64.atan2(cotangent);
        self.arcs.clear();
        let mut counts = [0; 2];
        let mut to = self.planes.first().map_or(std::f64::consts::PI, angle);
        for (k, &(_, plane)) in self.planes.iter().enumerate() {
            let from = to;
            counts[usize::from(labels[plane] > 0)] += 1;
            let Some(layer) = range.index(counts) else { break };
            to = self.planes.get(k + 1).map_or(std::f64::consts::PI, angle);
            self.arcs.push(BeyondArc { layer, from, to });
        }
        &self.arcs
    }
}
