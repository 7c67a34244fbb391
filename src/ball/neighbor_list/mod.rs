//! The neighbor list: the planes that the ball may reach soon, out of many with explicit features.
//!
//! As in molecular dynamics (Verlet lists), only planes nearer than some distance are listed. A plane at angular distance
//! `asin(|f_i| / |φ_i|)` from a point does not meet the cap of that radius around the point. While every flight ends in the
//! cap around the place where the list was made, the ball therefore meets the same walls as with all planes. In a small
//! version space one list, a few times as long as the number of walls, is valid forever. Otherwise it is rebuilt from a
//! longer list in whose cap the ball still is, and the longest list from all planes. The length of the shortest list
//! balances the costs of building and of using it, and in a large version space it has all planes. The rows of listed planes
//! are kept while there is room; coordinates for others come from the weight vector, which each kick changes in O(d).

mod list;
mod rows;

use serde::{Deserialize, Serialize};

use super::frame::Frame;
use super::on_side;
use crate::base::{Result, ensure, ensure_finite, ensure_vectors};
use crate::gram::{Gram, Panels};
use crate::simd::{NextWall, dot, pass};
use list::{Cap, List, product, turn};
use rows::RowCache;

pub(super) use rows::KEPT;

/// Initial and smallest target length of the shortest list, and initial ratio between the lengths of consecutive lists.
const FIRST: usize = 128;
const FEWEST: usize = 32;
const RATIO: usize = 8;
/// The shortest list gets longer if its events cost less than this multiple of building it,
const MANY_TIMES: usize = 4;
/// and shorter if they cost more than this multiple.
const TOO_MANY_TIMES: usize = 256;
/// The length of a list may differ from its target by one part in this many.
const TOLERANCE: usize = 8;
/// Factor by which lists get longer if the next wall is beyond all of them.
const WIDER: usize = 4;
/// Squares below this number lose digits.
const SMALL: f64 = 1e-280;
/// Number of events between two positions in the mean around which a list is centered.
const SAMPLED: usize = 16;

/// The lists of a ball, with the plane coordinates of the shortest one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct NeighborList {
    /// From the shortest to the longest.
    lists: Vec<List>,
    /// Place of every plane in the shortest list, or [`NeighborList::NOWHERE`].
    #[serde(skip)]
    places: Vec<u32>,
    /// 1 / |φ| of all planes.
    #[serde(skip)]
    inverse_lengths: Vec<f64>,
    /// Whether an example has softness.
    #[serde(skip)]
    soft: bool,
    /// Plane coordinates of the planes of the shortest list.
    f: Vec<f64>,
    g: Vec<f64>,
    #[serde(skip)]
    rows: RowCache,
    /// `Σ p_j x_j` and `Σ q_j x_j`.
    weights: [Vec<f64>; 2],
    /// `offset Σ p_j` and `offset Σ q_j`.
    lifts: [f64; 2],
    /// A vector in feature space, as [`Panels::products`] takes it.
    #[serde(skip)]
    vector: Vec<[f64; 1]>,
    /// The features of one plane.
    #[serde(skip)]
    point: Vec<f64>,
    /// Whether the shortest list is centered at the mean of the positions, of which the sum is kept.
    centered: bool,
    sum: Vec<f64>,
    sum_of_lifts: f64,
    /// Events since the shortest list was made, and number of planes examined to make it.
    events: usize,
    examined: usize,
    /// Target length of the shortest list.
    aim: usize,
    /// Products of the planes of a list with the ball's position, and the sines of their distances.
    #[serde(skip)]
    products: Vec<f64>,
    #[serde(skip)]
    sines: Vec<f64>,
}

impl NeighborList {
    const NOWHERE: u32 = u32::MAX;

    pub fn new(gram: &Gram<'_>, frame: &Frame) -> Self {
        let points = features(gram);
        let (arch, d) = (gram.arch(), points.dimension());
        let mut column = vec![0.0; gram.len()];
        let mut weights = [vec![0.0; d], vec![0.0; d]];
        for k in 0..d {
            points.column(k, &mut column);
            for (weights, c) in weights.iter_mut().zip([&frame.p, &frame.q]) {
                weights[k] = dot::dot_compensated(arch, &column, c);
            }
        }
        let lifts = [&frame.p, &frame.q].map(|c| gram.offset() * c.iter().sum::<f64>());
        let mut lists = vec![List::new(d)];
        let mut length = FIRST * RATIO * RATIO;
        while length <= gram.len() {
            lists.push(List::new(d));
            length *= RATIO;
        }
        Self {
            lists,
            places: vec![Self::NOWHERE; gram.len()],
            inverse_lengths: (0..gram.len()).map(|i| gram.diagonal(i).sqrt().recip()).collect(),
            soft: gram.softness().iter().any(|&softness| softness > 0.0),
            weights,
            lifts,
            vector: vec![[0.0]; d],
            point: vec![0.0; d],
            sum: vec![0.0; d],
            aim: FIRST,
            ..Self::default()
        }
    }

    /// Checks stored lists and computes the fields that are not stored.
    pub fn restored(self, gram: &Gram<'_>, frame: &Frame) -> Result<Self> {
        let new = Self::new(gram, frame);
        let (m, d) = (gram.len(), new.vector.len());
        ensure(self.lists.len() == new.lists.len(), "one with other neighbor lists")?;
        let points = features(gram);
        let mut lists: Vec<List> = Vec::with_capacity(self.lists.len());
        for list in self.lists.into_iter().rev() {
            lists.push(list.restored(points, &new.inverse_lengths, lists.last())?);
        }
        lists.reverse();
        let n = lists[0].planes.len();
        ensure_vectors(n, &[&self.f, &self.g])?;
        ensure_vectors(d, &[&self.weights[0], &self.weights[1], &self.sum])?;
        ensure_finite(&[&self.lifts, &[self.sum_of_lifts]])?;
        let counts = self.examined <= m && self.aim <= m && self.events <= usize::MAX >> 32;
        ensure(counts, "one with a neighbor list of more planes than there are")?;
        let mut places = new.places;
        for (at, &plane) in (0..).zip(&lists[0].planes) {
            places[plane] = at;
        }
        let mut rows = new.rows;
        rows.reset(n, d);
        Ok(Self {
            lists,
            places,
            inverse_lengths: new.inverse_lengths,
            soft: new.soft,
            rows,
            vector: new.vector,
            point: new.point,
            ..self
        })
    }

    /// Returns whether no plane outside the list can come before this wall, and a shorter list would not be cheaper.
    #[inline]
    pub fn is_valid_to(&self, wall: NextWall) -> bool {
        self.left(wall).is_none() && self.cost_of_events() <= TOO_MANY_TIMES * self.cost_of_list()
    }

    /// Returns the cost of the events since the shortest list was made, in planes of a pass.
    fn cost_of_events(&self) -> usize {
        self.events * self.f.len()
    }

    /// Returns the cost of making the shortest list: an inner product for each plane examined, two and a copy for each listed.
    fn cost_of_list(&self) -> usize {
        let d = self.vector.len();
        (self.examined + 4 * self.f.len()) * (d + 16) / 16
    }

    /// Returns the longest list whose cap the flight to a wall leaves, if any.
    #[inline]
    fn left(&self, wall: NextWall) -> Option<usize> {
        let square = wall.n * wall.n + wall.d * wall.d;
        let flight = if square > SMALL {
            let scale = square.sqrt().recip();
            turn((wall.n * scale, wall.d * scale))
        } else {
            let (cos, sin, _) = wall.rotation();
            turn((cos, sin))
        };
        self.lists.iter().rposition(|list| !list.cap.holds(flight))
    }

    #[inline]
    fn place(&self, plane: usize) -> Option<usize> {
        let place = self.places[plane];
        (place != Self::NOWHERE).then_some(place as usize)
    }

    /// Returns plane coordinates, given the inner products with the frame's two weight vectors.
    fn unfold(gram: &Gram<'_>, frame: &Frame, i: usize, (p, q): (f64, f64)) -> (f64, f64) {
        let (sin, cos) = frame.sin_cos();
        let softness = gram.softness()[i];
        let (p, q) = (p + softness * frame.p[i], q + softness * frame.q[i]);
        (p * cos + q * sin, q * cos - p * sin)
    }

    /// Returns the coordinates of any plane. The sign of `side` is its side.
    pub fn coordinates(&self, gram: &Gram<'_>, frame: &Frame, i: usize, side: f64) -> (f64, f64) {
        if let Some(at) = self.place(i) {
            return (self.f[at], self.g[at]);
        }
        let [mut p, mut q] = self.lifts;
        let point = features(gram).point(i);
        for ((x, w_p), w_q) in point.zip(&self.weights[0]).zip(&self.weights[1]) {
            p += x * w_p;
            q += x * w_q;
        }
        let (f, g) = Self::unfold(gram, frame, i, (p, q));
        (on_side(side, f), g)
    }

    #[inline]
    pub fn set(&mut self, plane: usize, f: f64, g: f64) {
        if let Some(at) = self.place(plane) {
            (self.f[at], self.g[at]) = (f, g);
        }
    }

    /// Adds a kick along `φ_plane` to the weight vectors, given the changes of `p_plane` and `q_plane`.
    #[inline]
    pub fn kick(&mut self, gram: &Gram<'_>, plane: usize, jump: [f64; 2]) {
        let kept = self.place(plane).and_then(|at| self.rows.point(at));
        let point = kept.unwrap_or_else(|| {
            for (x, own) in self.point.iter_mut().zip(features(gram).point(plane)) {
                *x = own;
            }
            &self.point
        });
        for k in 0..2 {
            dot::axpy(gram.arch(), jump[k], point, &mut self.weights[k]);
            self.lifts[k] += gram.offset() * jump[k];
        }
    }

    /// Returns `<φ_i, φ_j>` of two different planes.
    pub fn inner(gram: &Gram<'_>, i: usize, j: usize) -> f64 {
        let points = features(gram);
        let inner: f64 = points.point(i).zip(points.point(j)).map(|(x, y)| x * y).sum();
        inner + gram.offset()
    }

    /// Runs [`pass::advance`] on the listed planes.
    pub fn pass(
        &mut self,
        gram: &Gram<'_>,
        frame: &Frame,
        rotation: (f64, f64),
        kicks: &[(usize, f64)],
    ) -> NextWall {
        self.events += 1;
        if self.events.is_multiple_of(SAMPLED) && !self.soft {
            let (sin, cos) = frame.sin_cos();
            for ((sum, p), q) in self.sum.iter_mut().zip(&self.weights[0]).zip(&self.weights[1]) {
                *sum += cos * p + sin * q;
            }
            self.sum_of_lifts += cos * self.lifts[0] + sin * self.lifts[1];
        }
        let arch = gram.arch();
        let flight = turn(rotation);
        for list in &mut self.lists {
            list.cap.turn(flight);
        }
        let lift = gram.offset() * kicks.iter().map(|kick| kick.1).sum::<f64>();
        let wall = match *kicks {
            [] => pass::advance::<f64>(arch, &mut self.f, &mut self.g, rotation, &[], 0.0),
            [(plane, scale)] if self.places[plane] != Self::NOWHERE => {
                let at = self.places[plane] as usize;
                let mut place = at;
                for list in &mut self.lists {
                    list.cap.along += scale * list.heights[place];
                    place = list.above[place];
                }
                let (points, vector, n) = (&self.lists[0].points, &mut self.vector, self.f.len());
                let kept = self.rows.get(at, |kept| {
                    let (row, point) = kept.split_at_mut(n);
                    for ((x, own), kept) in vector.iter_mut().zip(points.point(at)).zip(point) {
                        (*kept, x[0]) = (own, own);
                    }
                    points.products(arch, vector, row);
                });
                let kick = (scale, &kept[..n]);
                pass::advance(arch, &mut self.f, &mut self.g, rotation, &[kick], lift)
            }
            _ => {
                self.vector.fill([0.0]);
                for &(plane, scale) in kicks {
                    let point = features(gram).point(plane);
                    for ((x, own), sum) in self.point.iter_mut().zip(point).zip(&mut self.vector) {
                        *x = own;
                        sum[0] += scale * own;
                    }
                    for list in &mut self.lists {
                        list.cap.along += scale * list.height(gram, frame, plane, &self.point);
                    }
                }
                let row = &mut self.rows.scratch[..self.f.len()];
                self.lists[0].points.products(arch, &self.vector, row);
                pass::advance(arch, &mut self.f, &mut self.g, rotation, &[(1.0, row)], lift)
            }
        };
        self.global(wall)
    }

    /// Converts the place of a wall in the shortest list into the index of its plane.
    #[inline]
    fn global(&self, wall: NextWall) -> NextWall {
        match self.lists[0].planes.get(wall.plane) {
            Some(&plane) => NextWall { plane, ..wall },
            None => wall,
        }
    }

    /// Writes the weight vector of the position (0) or of the direction (1) into [`NeighborList::vector`] and returns its lift.
    fn unfold_weights(&mut self, frame: &Frame, which: usize) -> f64 {
        let (sin, cos) = frame.sin_cos();
        let (of_p, of_q) = [(cos, sin), (-sin, cos)][which];
        for ((x, p), q) in self.vector.iter_mut().zip(&self.weights[0]).zip(&self.weights[1]) {
            x[0] = of_p * p + of_q * q;
        }
        of_p * self.lifts[0] + of_q * self.lifts[1]
    }

    /// Rebuilds a list from the next longer one, or all planes, centered at the ball or, with a `lift`, at the vector.
    fn make(&mut self, gram: &Gram<'_>, frame: &Frame, level: usize, lift: Option<f64>) {
        let (sin, cos) = frame.sin_cos();
        let lift = lift.unwrap_or_else(|| self.unfold_weights(frame, 0));
        let (shorter, longer) = self.lists.split_at_mut(level + 1);
        let (list, longer) = (&mut shorter[level], longer.first());
        let (points, inverse_lengths) = match longer {
            Some(longer) => (&longer.points, &longer.inverse_lengths),
            None => (features(gram), &self.inverse_lengths),
        };
        let plane = |place: usize| longer.map_or(place, |longer| longer.planes[place]);
        let n = points.len();
        self.products.resize(n, 0.0);
        self.sines.resize(n, 0.0);
        points.products(gram.arch(), &self.vector, &mut self.products);
        let (f, sines) = (&mut self.products, &mut self.sines);
        if self.soft {
            for (place, f) in f.iter_mut().enumerate() {
                let i = plane(place);
                *f += gram.softness()[i] * (frame.p[i] * cos + frame.q[i] * sin);
            }
        }
        gram.arch().dispatch(
            #[inline(always)]
            || {
                for ((sine, inverse), f) in sines.iter_mut().zip(inverse_lengths).zip(f) {
                    *f += lift;
                    *sine = f.abs() * inverse;
                }
            },
        );
        let within = |sine: f64| sines.iter().filter(|&&own| own < sine).count();
        let (aim, found) = (list.aim, within(list.sine));
        if aim >= n {
            // All planes.
            list.sine = 2.0;
        } else if found.abs_diff(aim) > aim / TOLERANCE {
            list.sine = *sines.clone().select_nth_unstable_by(aim, f64::total_cmp).1;
        }
        list.cap = Cap::within(list.sine);
        list.above.clear();
        list.above.extend((0..n).filter(|&place| sines[place] < list.sine));
        let near = &list.above;
        list.planes.clear();
        list.planes.extend(near.iter().map(|&place| plane(place)));
        list.inverse_lengths.clear();
        list.inverse_lengths.extend(near.iter().map(|&place| inverse_lengths[place]));
        list.heights.clear();
        list.heights.extend(near.iter().map(|&place| self.products[place]));
        list.points.take(points, near);
        for (x, own) in list.middle.iter_mut().zip(&self.vector) {
            *x = own[0];
        }
        (list.lift, list.angle) = (lift, (sin, cos));
        list.kicked.clear();
    }

    fn make_shortest(&mut self, gram: &Gram<'_>, frame: &Frame, sides: &[f64]) {
        for &plane in &self.lists[0].planes {
            self.places[plane] = Self::NOWHERE;
        }
        let middle = if self.centered { self.mean(gram) } else { None };
        self.make(gram, frame, 0, middle);
        let (sin, cos) = frame.sin_cos();
        if middle.is_some() {
            let lift = self.unfold_weights(frame, 0);
            self.lists[0].set_position(gram, &self.vector, lift);
            let n = self.lists[0].planes.len();
            self.f.resize(n, 0.0);
            self.lists[0].points.products(gram.arch(), &self.vector, &mut self.f);
            self.f.iter_mut().for_each(|f| *f += lift);
        } else {
            self.f.clone_from(&self.lists[0].heights);
        }
        let lift = self.unfold_weights(frame, 1);
        if middle.is_some() {
            let list = &mut self.lists[0];
            let middle = (&*list.middle, list.lift);
            list.cap.along = product(gram, (self.vector.as_flattened(), lift), middle);
        }
        let list = &self.lists[0];
        for (at, &plane) in (0..).zip(&list.planes) {
            self.places[plane] = at;
        }
        let n = list.planes.len();
        self.rows.reset(n, self.vector.len());
        self.examined = self.products.len();
        self.g.resize(n, 0.0);
        list.points.products(gram.arch(), &self.vector, &mut self.g);
        for (g, &i) in self.g.iter_mut().zip(&list.planes) {
            *g += lift + gram.softness()[i] * (frame.q[i] * cos - frame.p[i] * sin);
        }
        for (f, &plane) in self.f.iter_mut().zip(&self.lists[0].planes) {
            *f = on_side(sides[plane], *f);
        }
    }

    /// Writes the mean of the sampled positions, of unit length, into [`NeighborList::vector`] and returns its lift, if any.
    fn mean(&mut self, gram: &Gram<'_>) -> Option<f64> {
        let sum = (self.sum.as_slice(), self.sum_of_lifts);
        let square = product(gram, sum, sum);
        if square.is_nan() || square <= 0.0 {
            return None;
        }
        let scale = square.sqrt().recip();
        for (x, sum) in self.vector.iter_mut().zip(&self.sum) {
            x[0] = scale * sum;
        }
        Some(scale * self.sum_of_lifts)
    }

    /// Rebuilds the lists until the shortest one has the next wall, which it returns. `sides` have the signs of all planes.
    pub fn renew(&mut self, gram: &Gram<'_>, frame: &Frame, sides: &[f64]) -> NextWall {
        let (levels, m) = (self.lists.len(), gram.len());
        let (cost, own) = (self.cost_of_events(), self.cost_of_list());
        if cost < MANY_TIMES * own {
            self.aim = (3 * self.aim / 2).min(m);
        } else if cost > TOO_MANY_TIMES * own {
            self.aim = (5 * self.aim / 6).max(FEWEST);
            self.centered = !self.soft;
        }
        // The target lengths form a geometric sequence up to m.
        let ratio = (m as f64 / self.aim as f64).powf((levels as f64).recip()).max(1.0);
        for (level, list) in (0..).zip(&mut self.lists) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "up to m")]
            let aim = (self.aim as f64 * ratio.powi(level)) as usize;
            list.aim = aim;
        }
        let most = (2 * self.aim).min(m);
        self.events = 0;
        // The ball has left the cap of the last list to be rebuilt, or that list was never made and has no cap.
        let left = self.lists.iter().rposition(|list| list.cap.below > list.cap.depth);
        let mut from = left.map_or(1, |level| level + 1);
        loop {
            for level in (1..from).rev() {
                self.make(gram, frame, level, None);
            }
            self.make_shortest(gram, frame, sides);
            let still = (1.0, 0.0);
            let wall = pass::advance::<f64>(gram.arch(), &mut self.f, &mut self.g, still, &[], 0.0);
            match self.left(wall) {
                None if wall.plane != usize::MAX => return self.global(wall),
                None => {
                    // All planes have just been left. Each is met again after half a turn.
                    let plane = self.lists[0].planes.first().copied().unwrap_or(0);
                    let speed = self.g.first().map_or(0.0, |g| g.abs());
                    return NextWall { plane, n: -speed.max(f64::MIN_POSITIVE), d: 0.0 };
                }
                Some(0) if self.centered && self.aim < most => {
                    self.aim = 3 * self.aim / 2;
                    self.lists[0].aim = self.aim;
                }
                Some(0) if self.centered => {
                    // The ball has moved away from the mean.
                    self.centered = false;
                    self.sum.fill(0.0);
                    self.sum_of_lifts = 0.0;
                }
                Some(level) if level < from => {
                    for list in &mut self.lists[..=level] {
                        list.aim = (list.aim * WIDER).min(m);
                    }
                }
                Some(level) => from = level + 1,
            }
            debug_assert!(from <= levels);
        }
    }

    /// Writes the coordinates of all planes. The signs of `f` must be the sides.
    pub fn write_all(&self, gram: &Gram<'_>, frame: &Frame, f: &mut [f64], g: &mut [f64]) {
        let m = f.len();
        let mut products = vec![0.0; 2 * m];
        let weights: Vec<[f64; 2]> =
            self.weights[0].iter().zip(&self.weights[1]).map(|(&p, &q)| [p, q]).collect();
        features(gram).products(gram.arch(), &weights, &mut products);
        for i in 0..m {
            let own = (products[i] + self.lifts[0], products[m + i] + self.lifts[1]);
            let (own_f, own_g) = Self::unfold(gram, frame, i, own);
            (f[i], g[i]) = (on_side(f[i], own_f), own_g);
        }
        // Listed planes include the exact zero of a wall just hit.
        for ((&plane, own_f), own_g) in self.lists[0].planes.iter().zip(&self.f).zip(&self.g) {
            (f[plane], g[plane]) = (*own_f, *own_g);
        }
    }
}

/// Returns the features of the examples, without which a ball has no neighbor list.
fn features<'a>(gram: &'a Gram<'_>) -> &'a Panels {
    gram.features().expect("a neighbor list needs explicit features")
}
