//! The neighbor list: of many planes with explicit features those that the ball may reach soon.
//!
//! A plane at angular distance `asin(|f_i| / |φ_i|)` from a point does not meet the cap of that radius around it. So the planes
//! nearer than some distance are listed, and while no flight ends outside of the cap around the place where the list was made
//! they alone are looked at: the ball meets the same walls as if it looked at all. In a small version space one list, of a
//! few times the planes that bound it, is good for good. Otherwise it is made anew from a longer one whose cap the ball is still
//! in, and that from all planes. How long the shortest is follows from what it costs to make and to look at; where that is a
//! good part of all planes the ball looks at all of them. What it needs to know of a plane that is not listed it computes from its
//! weight vector in the space of the features, which every jump of the direction changes in O(r).

mod list;
mod rows;

use serde::{Deserialize, Serialize};

use super::frame::Frame;
use crate::base::{Result, ensure, ensure_finite, ensure_vectors};
use crate::gram::{Features, Gram};
use crate::simd::{Kick, NextWall, dot, pass};
use list::{Cap, List, Turn, product};
use rows::Rows;

/// Planes that the shortest list aims at at first and at least, and how many times longer each next one is then.
const FIRST: usize = 128;
const FEWEST: usize = 32;
const LONGER: usize = 8;
/// The shortest list gets longer where the events that it was good for cost less than so many times what it cost to make,
/// and shorter where they cost more than so many.
const MANY_TIMES: usize = 4;
const FAR_TOO_MANY: usize = 256;
/// How far from its aim the length of a list may be.
const TOLERANCE: usize = 8;
/// How much wider lists get where the next wall is beyond all of them.
const WIDER: usize = 4;
/// Share of the planes, one in so many, that the shortest list may aim at.
const SHARE: usize = 4;
/// Squares below which digits get lost.
const SMALL: f64 = 1e-280;
/// Events between two positions that the middle of a cap is the mean of.
const SAMPLED: usize = 16;

/// What a ball keeps that looks at its neighbor list alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct NeighborList {
    /// From the shortest to the longest.
    lists: Vec<List>,
    /// The place of every plane in the shortest list, or [`NeighborList::NOWHERE`].
    #[serde(skip)]
    places: Vec<u32>,
    /// 1 / |φ| of all planes.
    #[serde(skip)]
    inverse_lengths: Vec<f64>,
    #[serde(skip)]
    soft: bool,
    /// Plane coordinates of the planes of the shortest list.
    f: Vec<f64>,
    g: Vec<f64>,
    #[serde(skip)]
    rows: Rows,
    /// `Σ p_j x_j` and `Σ q_j x_j`, times the factor of the kernel.
    weights: [Vec<f64>; 2],
    /// `offset Σ p_j` and `offset Σ q_j`.
    lifts: [f64; 2],
    /// A vector in the space of the features, for the products with it.
    #[serde(skip)]
    vector: Vec<[f64; 1]>,
    /// The features of a plane.
    #[serde(skip)]
    point: Vec<f64>,
    /// Whether the shortest list is made around the mean of the positions, whose sum and count follow.
    centered: bool,
    sum: Vec<f64>,
    sum_of_lifts: f64,
    /// Events since the shortest list was made, and planes that were looked at to make it.
    events: usize,
    looked_at: usize,
    /// Planes that the shortest list aims at.
    aim: usize,
    /// Products of the planes of a list with the ball's position, and the sines of their distances.
    #[serde(skip)]
    products: Vec<f64>,
    #[serde(skip)]
    sines: Vec<f64>,
}

impl NeighborList {
    const NOWHERE: u32 = u32::MAX;

    /// Starts from the dual coefficients; nothing is listed yet.
    pub fn new(gram: &Gram<'_>, features: Features<'_>, frame: &Frame) -> Self {
        let (arch, d) = (gram.arch(), features.points().dimension());
        let mut column = vec![0.0; gram.len()];
        let mut weights = [vec![0.0; d], vec![0.0; d]];
        for k in 0..d {
            features.points().column(k, &mut column);
            for (weights, c) in weights.iter_mut().zip([&frame.p, &frame.q]) {
                weights[k] = features.factor() * dot::dot_compensated(arch, &column, c);
            }
        }
        let lifts = [&frame.p, &frame.q].map(|c| gram.offset() * c.iter().sum::<f64>());
        let mut lists = vec![List::new(d)];
        let mut length = FIRST * LONGER * LONGER;
        while length <= gram.len() {
            lists.push(List::new(d));
            length *= LONGER;
        }
        Self {
            lists,
            places: vec![Self::NOWHERE; gram.len()],
            inverse_lengths: (0..gram.len()).map(|i| gram.diagonal(i).sqrt().recip()).collect(),
            soft: gram.softness().iter().any(|&softness| softness > 0.0),
            f: Vec::new(),
            g: Vec::new(),
            rows: Rows::default(),
            weights,
            lifts,
            vector: vec![[0.0]; d],
            point: vec![0.0; d],
            centered: false,
            sum: vec![0.0; d],
            sum_of_lifts: 0.0,
            events: 0,
            looked_at: 0,
            aim: FIRST,
            products: Vec::new(),
            sines: Vec::new(),
        }
    }

    /// What was stored, with what follows from it and the features.
    pub fn restored(self, gram: &Gram<'_>, features: Features<'_>, frame: &Frame) -> Result<Self> {
        let new = Self::new(gram, features, frame);
        let (m, d) = (gram.len(), new.vector.len());
        ensure(self.lists.len() == new.lists.len(), || "one with other lists of near walls")?;
        let mut lists: Vec<List> = Vec::with_capacity(self.lists.len());
        for list in self.lists.into_iter().rev() {
            lists.push(list.restored(features, &new.inverse_lengths, lists.last())?);
        }
        lists.reverse();
        let n = lists[0].planes.len();
        ensure_vectors(n, &[&self.f, &self.g])?;
        ensure_vectors(d, &[&self.weights[0], &self.weights[1], &self.sum])?;
        ensure_finite(&[&self.lifts, &[self.sum_of_lifts]])?;
        let counts = self.looked_at <= m && self.aim <= m && self.events <= usize::MAX >> 32;
        ensure(counts, || "one with more near walls than there are")?;
        let mut places = new.places;
        for (at, &plane) in (0..).zip(&lists[0].planes) {
            places[plane] = at;
        }
        let mut rows = new.rows;
        rows.forget(n, d);
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

    /// True when the list has grown so long that to look at all planes costs hardly more.
    pub fn is_too_long(&self) -> bool {
        self.aim > self.places.len() / SHARE
    }

    /// True when no wall may come before the one in sight, and the list is not too long.
    #[inline]
    pub fn is_valid_to(&self, wall: NextWall) -> bool {
        self.left(wall).is_none() && self.cost_of_events() <= FAR_TOO_MANY * self.cost_of_list()
    }

    /// What the events since the shortest list was made cost: its planes, in vectors.
    fn cost_of_events(&self) -> usize {
        self.events * self.f.len()
    }

    /// What it cost to make it: of the planes looked at one inner product, of its own two and their features put in order.
    fn cost_of_list(&self) -> usize {
        let d = self.vector.len();
        (self.looked_at + 4 * self.f.len()) * (d + 16) / 16
    }

    /// The longest list whose cap the flight to a wall leaves.
    #[inline]
    fn left(&self, wall: NextWall) -> Option<usize> {
        let square = wall.n * wall.n + wall.d * wall.d;
        let turn = if square > SMALL {
            let scale = square.sqrt().recip();
            Turn::new((wall.n * scale, wall.d * scale))
        } else {
            let (cos, sin, _) = wall.rotation();
            Turn::new((cos, sin))
        };
        self.lists.iter().rposition(|list| !list.cap.holds(turn))
    }

    /// The number of a plane in the shortest list.
    #[inline]
    fn place(&self, plane: usize) -> Option<usize> {
        let place = self.places[plane];
        (place != Self::NOWHERE).then_some(place as usize)
    }

    /// Plane coordinates from those of the frame.
    fn unfold(gram: &Gram<'_>, frame: &Frame, i: usize, (p, q): (f64, f64)) -> (f64, f64) {
        let (sin, cos) = frame.sin_cos();
        let softness = gram.softness()[i];
        let (p, q) = (p + softness * frame.p(i), q + softness * frame.q(i));
        (p * cos + q * sin, q * cos - p * sin)
    }

    /// Plane coordinates of any plane, the first held on its side.
    pub fn coordinates(
        &self,
        gram: &Gram<'_>,
        features: Features<'_>,
        frame: &Frame,
        i: usize,
        side: f64,
    ) -> (f64, f64) {
        if let Some(at) = self.place(i) {
            return (self.f[at], self.g[at]);
        }
        let [mut p, mut q] = self.lifts;
        for ((x, w_p), w_q) in
            features.points().point(i).zip(&self.weights[0]).zip(&self.weights[1])
        {
            p += x * w_p;
            q += x * w_q;
        }
        let (f, g) = Self::unfold(gram, frame, i, (p, q));
        ((side * f).max(0.0).copysign(side), g)
    }

    /// Sets the coordinates of a plane, if it is listed.
    #[inline]
    pub fn set(&mut self, plane: usize, f: f64, g: f64) {
        if let Some(at) = self.place(plane) {
            (self.f[at], self.g[at]) = (f, g);
        }
    }

    /// Adds what a jump of the direction along `φ_plane` adds to the frame.
    #[inline]
    pub fn kick(
        &mut self,
        gram: &Gram<'_>,
        features: Features<'_>,
        plane: usize,
        jump: (f64, f64),
    ) {
        let jump = [jump.0, jump.1];
        let kept = self.place(plane).and_then(|at| self.rows.point(at));
        let point = kept.unwrap_or_else(|| {
            for (x, own) in self.point.iter_mut().zip(features.points().point(plane)) {
                *x = features.factor() * own;
            }
            &self.point
        });
        for k in 0..2 {
            dot::axpy(gram.arch(), jump[k], point, &mut self.weights[k]);
            self.lifts[k] += gram.offset() * jump[k];
        }
    }

    /// `<φ_i, φ_j>` of two planes.
    pub fn inner(gram: &Gram<'_>, features: Features<'_>, i: usize, j: usize) -> f64 {
        let points = features.points();
        let inner: f64 = points.point(i).zip(points.point(j)).map(|(x, y)| x * y).sum();
        features.factor() * inner + gram.offset()
    }

    /// One event: as [`pass::advance`] for the listed planes. Planes whose direction is not a number are left out.
    pub fn pass(
        &mut self,
        gram: &Gram<'_>,
        features: Features<'_>,
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
        let turn = Turn::new(rotation);
        for list in &mut self.lists {
            list.cap.turn(turn);
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
                        *kept = features.factor() * own;
                        x[0] = *kept;
                    }
                    points.products(arch, vector, row);
                });
                let kick = [Kick { scale, row: &kept[..n] }];
                pass::advance(arch, &mut self.f, &mut self.g, rotation, &kick, lift)
            }
            _ => {
                self.vector.fill([0.0]);
                for &(plane, scale) in kicks {
                    for ((x, own), sum) in self
                        .point
                        .iter_mut()
                        .zip(features.points().point(plane))
                        .zip(&mut self.vector)
                    {
                        *x = own;
                        sum[0] += features.factor() * scale * own;
                    }
                    for list in &mut self.lists {
                        list.cap.along += scale * list.height(gram, frame, plane, &self.point);
                    }
                }
                let row = &mut self.rows.scratch[..self.f.len()];
                self.lists[0].points.products(arch, &self.vector, row);
                let kick = [Kick { scale: 1.0, row }];
                pass::advance(arch, &mut self.f, &mut self.g, rotation, &kick, lift)
            }
        };
        self.global(wall)
    }

    /// The number of the plane among all.
    #[inline]
    fn global(&self, wall: NextWall) -> NextWall {
        match self.lists[0].planes.get(wall.plane) {
            Some(&plane) => NextWall { plane, ..wall },
            None => wall,
        }
    }

    /// The weight vector of the position (0) or of the direction (1), into [`NeighborList::vector`], and its lift.
    fn unfold_weights(&mut self, frame: &Frame, which: usize) -> f64 {
        let (sin, cos) = frame.sin_cos();
        let (of_p, of_q) = [(cos, sin), (-sin, cos)][which];
        for ((x, p), q) in self.vector.iter_mut().zip(&self.weights[0]).zip(&self.weights[1]) {
            x[0] = of_p * p + of_q * q;
        }
        of_p * self.lifts[0] + of_q * self.lifts[1]
    }

    /// Makes a list anew from the next longer one, or the longest from all planes, around the ball or, where `lift` is given,
    /// around the point in [`NeighborList::vector`].
    fn make(
        &mut self,
        gram: &Gram<'_>,
        features: Features<'_>,
        frame: &Frame,
        level: usize,
        lift: Option<f64>,
    ) {
        let (sin, cos) = frame.sin_cos();
        let lift = lift.unwrap_or_else(|| self.unfold_weights(frame, 0));
        let (shorter, longer) = self.lists.split_at_mut(level + 1);
        let (list, longer) = (&mut shorter[level], longer.first());
        let (points, inverse_lengths) = match longer {
            Some(longer) => (&longer.points, &longer.inverse_lengths),
            None => (features.points(), &self.inverse_lengths),
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
                *f += gram.softness()[i] * (frame.p(i) * cos + frame.q(i) * sin);
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
            // All of them.
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

    /// Makes the shortest list anew, with the coordinates of its planes.
    fn make_shortest(
        &mut self,
        gram: &Gram<'_>,
        features: Features<'_>,
        frame: &Frame,
        sides: &[f64],
    ) {
        for &plane in &self.lists[0].planes {
            self.places[plane] = Self::NOWHERE;
        }
        let middle = if self.centered { self.mean(gram, features) } else { None };
        self.make(gram, features, frame, 0, middle);
        let (sin, cos) = frame.sin_cos();
        if middle.is_some() {
            let lift = self.unfold_weights(frame, 0);
            self.lists[0].see(gram, features, &self.vector, lift);
            let n = self.lists[0].planes.len();
            self.f.resize(n, 0.0);
            self.lists[0].points.products(gram.arch(), &self.vector, &mut self.f);
            self.f.iter_mut().for_each(|f| *f += lift);
        } else {
            self.f.clone_from(&self.lists[0].heights);
        }
        let lift = self.unfold_weights(frame, 1);
        if middle.is_some() {
            self.lists[0].cap.along = self.lists[0].product(gram, features, &self.vector, lift);
        }
        let list = &self.lists[0];
        for (at, &plane) in (0..).zip(&list.planes) {
            self.places[plane] = at;
        }
        let n = list.planes.len();
        self.rows.forget(n, self.vector.len());
        self.looked_at = self.products.len();
        self.g.resize(n, 0.0);
        list.points.products(gram.arch(), &self.vector, &mut self.g);
        for (g, &i) in self.g.iter_mut().zip(&list.planes) {
            *g += lift + gram.softness()[i] * (frame.q(i) * cos - frame.p(i) * sin);
        }
        for (f, &plane) in self.f.iter_mut().zip(&self.lists[0].planes) {
            let side = 1f64.copysign(sides[plane]);
            *f = (side * *f).max(0.0).copysign(side);
        }
    }

    /// Puts the mean of the positions on the way of the ball into [`NeighborList::vector`], scaled to unit length, and returns its lift.
    fn mean(&mut self, gram: &Gram<'_>, features: Features<'_>) -> Option<f64> {
        let square =
            product(gram, features, (&self.sum, self.sum_of_lifts), (&self.sum, self.sum_of_lifts));
        if square.is_nan() || square <= 0.0 {
            return None;
        }
        let scale = square.sqrt().recip();
        for (x, sum) in self.vector.iter_mut().zip(&self.sum) {
            x[0] = scale * sum;
        }
        Some(scale * self.sum_of_lifts)
    }

    /// Makes the lists anew, as long as it takes for the next wall to be on the shortest, and returns it. `sides` has the side
    /// of every plane in its sign.
    pub fn renew(
        &mut self,
        gram: &Gram<'_>,
        features: Features<'_>,
        frame: &Frame,
        sides: &[f64],
    ) -> NextWall {
        let (all, m) = (self.lists.len(), gram.len());
        let (cost, own) = (self.cost_of_events(), self.cost_of_list());
        if cost < MANY_TIMES * own {
            self.aim = (3 * self.aim / 2).min(m);
        } else if cost > FAR_TOO_MANY * own {
            self.aim = (5 * self.aim / 6).max(FEWEST);
            self.centered = !self.soft;
        }
        // From there to all planes in equal steps.
        let longer = (m as f64 / self.aim as f64).powf((all as f64).recip()).max(1.0);
        for (level, list) in (0..).zip(&mut self.lists) {
            let aim = self.aim as f64 * longer.powi(level);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "up to m")]
            let aim = aim as usize;
            list.aim = aim;
        }
        let most = (2 * self.aim).min(m);
        self.events = 0;
        // Lists that were never made have no cap.
        let mut from = 1.max(
            self.lists
                .iter()
                .rposition(|list| list.cap.below > list.cap.depth)
                .map_or(0, |level| level + 1),
        );
        loop {
            for level in (1..from).rev() {
                self.make(gram, features, frame, level, None);
            }
            self.make_shortest(gram, features, frame, sides);
            let still = (1.0, 0.0);
            let wall = pass::advance::<f64>(gram.arch(), &mut self.f, &mut self.g, still, &[], 0.0);
            match self.left(wall) {
                None if wall.plane != usize::MAX => return self.global(wall),
                None => {
                    // All planes have just been left: each comes again after half a turn.
                    let plane = self.lists[0].planes.first().copied().unwrap_or(0);
                    let speed = self.g.first().map_or(0.0, |g| g.abs());
                    return NextWall { plane, n: -speed.max(f64::MIN_POSITIVE), d: 0.0 };
                }
                Some(0) if self.centered && self.aim < most => {
                    self.aim = 3 * self.aim / 2;
                    self.lists[0].aim = self.aim;
                }
                Some(0) if self.centered => {
                    // It has moved away from there.
                    self.centered = false;
                    self.sum.fill(0.0);
                    self.sum_of_lifts = 0.0;
                }
                Some(level) if level < from => {
                    for list in &mut self.lists[..=level] {
                        list.aim = (list.aim * WIDER).min(gram.len());
                    }
                }
                Some(level) => from = level + 1,
            }
            debug_assert!(from <= all);
        }
    }

    /// Writes the coordinates of all planes; `f` comes with the sides in its signs.
    pub fn write_all(
        &self,
        gram: &Gram<'_>,
        features: Features<'_>,
        frame: &Frame,
        f: &mut [f64],
        g: &mut [f64],
    ) {
        let m = f.len();
        let mut products = vec![0.0; 2 * m];
        let weights: Vec<[f64; 2]> =
            self.weights[0].iter().zip(&self.weights[1]).map(|(&p, &q)| [p, q]).collect();
        features.points().products(gram.arch(), &weights, &mut products);
        for i in 0..m {
            let own = (products[i] + self.lifts[0], products[m + i] + self.lifts[1]);
            let side = 1f64.copysign(f[i]);
            let (own_f, own_g) = Self::unfold(gram, frame, i, own);
            (f[i], g[i]) = ((side * own_f).max(0.0).copysign(side), own_g);
        }
        // Those at hand carry the exact zero of a wall just hit.
        for ((&plane, own_f), own_g) in self.lists[0].planes.iter().zip(&self.f).zip(&self.g) {
            (f[plane], g[plane]) = (*own_f, *own_g);
        }
    }
}
