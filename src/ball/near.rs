//! Near walls: of many planes with explicit features only those that the ball may reach soon.
//!
//! A plane at angular distance `asin(|f_i| / |φ_i|)` cannot be reached on a shorter path. So the planes nearer than some
//! distance are listed, and until a path as long as that is flown they alone are looked at: the ball meets the same walls as
//! if it looked at all. The list is made anew from a longer one, that from one longer still, and the longest from all planes,
//! each when its own distance is used up. What the ball needs to know of a plane that is not listed it computes from its
//! weight vector in the space of the features, which every jump of the direction changes in O(r).

use super::frame::Frame;
use crate::dot;
use crate::gram::{Gram, KernelRows, Panels};
use crate::pass::{self, Kick, NextWall};

/// Planes that the shortest list aims at, and how many times longer each next one is.
const SHORTEST: usize = 128;
const LONGER: usize = 5;
/// How far from its aim the length of a list may be.
const TOLERANCE: usize = 2;
/// How much wider lists get where the next wall is beyond all of them.
const WIDER: usize = 4;

/// Planes that are all there is within a distance.
#[derive(Clone, Debug)]
struct List {
    /// In rising order.
    planes: Vec<usize>,
    /// Their features.
    points: Panels,
    /// 1 / |φ|.
    inverse_lengths: Vec<f64>,
    /// Path on which no other plane can be reached, radians.
    reach: f64,
    /// Sine of the distance up to which planes were taken, and their number aimed at.
    sine: f64,
    aim: usize,
}

/// What a ball keeps that minds near walls alone.
#[derive(Clone, Debug)]
pub(super) struct Near {
    /// From the shortest to the longest.
    lists: Vec<List>,
    /// 1 / |φ| of all planes.
    inverse_lengths: Vec<f64>,
    soft: bool,
    /// Plane coordinates of the planes of the shortest list.
    f: Vec<f64>,
    g: Vec<f64>,
    /// `Σ p_j x_j` and `Σ q_j x_j`, coordinate by coordinate, times the factor of the kernel.
    weights: Vec<[f64; 2]>,
    /// `offset Σ p_j` and `offset Σ q_j`.
    lifts: [f64; 2],
    /// What a jump adds to the weight vector, and to the coordinates of the listed planes.
    jump: Vec<[f64; 1]>,
    row: Vec<f64>,
    /// Coordinates in the frame of the planes of a list, and the sines of their distances.
    products: Vec<f64>,
    sines: Vec<f64>,
}

impl Near {
    /// Starts from the dual coefficients; nothing is listed yet.
    pub fn new(gram: &Gram<'_>, features: &KernelRows, frame: &Frame) -> Self {
        let (arch, d) = (gram.arch(), features.points().dimension());
        let mut column = vec![0.0; gram.len()];
        let weights = (0..d)
            .map(|k| {
                features.points().column(k, &mut column);
                [&frame.p, &frame.q]
                    .map(|c| features.factor() * dot::dot_compensated(arch, &column, c))
            })
            .collect();
        let lifts = [&frame.p, &frame.q].map(|c| gram.offset() * c.iter().sum::<f64>());
        let mut lists = Vec::new();
        let mut aim = SHORTEST;
        while aim * LONGER <= gram.len() {
            lists.push(List {
                planes: Vec::new(),
                points: Panels::new(0, d, |_, _| {}),
                inverse_lengths: Vec::new(),
                reach: 0.0,
                sine: 0.0,
                aim,
            });
            aim *= LONGER;
        }
        Self {
            lists,
            inverse_lengths: (0..gram.len()).map(|i| gram.diagonal(i).sqrt().recip()).collect(),
            soft: gram.softness().iter().any(|&softness| softness > 0.0),
            f: Vec::new(),
            g: Vec::new(),
            weights,
            lifts,
            jump: vec![[0.0]; d],
            row: Vec::new(),
            products: Vec::new(),
            sines: Vec::new(),
        }
    }

    /// Path that is left until the lists have to be made anew.
    pub fn reach(&self) -> f64 {
        self.lists[0].reach
    }

    /// The number of a plane in the shortest list.
    fn place(&self, plane: usize) -> Option<usize> {
        self.lists[0].planes.binary_search(&plane).ok()
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
        features: &KernelRows,
        frame: &Frame,
        i: usize,
        side: f64,
    ) -> (f64, f64) {
        if let Some(at) = self.place(i) {
            return (self.f[at], self.g[at]);
        }
        let [mut p, mut q] = self.lifts;
        for (x, [w_p, w_q]) in features.points().point(i).zip(&self.weights) {
            p += x * w_p;
            q += x * w_q;
        }
        let (f, g) = Self::unfold(gram, frame, i, (p, q));
        ((side * f).max(0.0).copysign(side), g)
    }

    /// Sets the coordinates of a plane, if it is listed.
    pub fn set(&mut self, plane: usize, f: f64, g: f64) {
        if let Some(at) = self.place(plane) {
            (self.f[at], self.g[at]) = (f, g);
        }
    }

    /// Adds what a jump of the direction along `φ_plane` adds to the frame.
    pub fn kick(&mut self, gram: &Gram<'_>, features: &KernelRows, plane: usize, jump: (f64, f64)) {
        let jump = [jump.0, jump.1];
        for (weight, x) in self.weights.iter_mut().zip(features.points().point(plane)) {
            for k in 0..2 {
                weight[k] += features.factor() * jump[k] * x;
            }
        }
        for k in 0..2 {
            self.lifts[k] += gram.offset() * jump[k];
        }
    }

    /// One event: as [`pass::advance`] for the listed planes. Planes whose direction is not a number are left out.
    pub fn pass(
        &mut self,
        gram: &Gram<'_>,
        features: &KernelRows,
        (angle, rotation): (f64, (f64, f64)),
        kicks: &[(usize, f64)],
    ) -> NextWall {
        let arch = gram.arch();
        self.lists.iter_mut().for_each(|list| list.reach -= angle);
        let (f, g) = (&mut self.f, &mut self.g);
        let wall = if kicks.is_empty() {
            pass::advance::<f64>(arch, f, g, rotation, &[], 0.0)
        } else {
            self.jump.fill([0.0]);
            for &(plane, scale) in kicks {
                for (jump, x) in self.jump.iter_mut().zip(features.points().point(plane)) {
                    jump[0] += features.factor() * scale * x;
                }
            }
            let lift = gram.offset() * kicks.iter().map(|kick| kick.1).sum::<f64>();
            self.row.resize(f.len(), 0.0);
            self.lists[0].points.products(arch, &self.jump, &mut self.row);
            pass::advance(arch, f, g, rotation, &[Kick { scale: 1.0, row: &self.row }], lift)
        };
        self.global(wall)
    }

    /// The number of the plane among all.
    fn global(&self, wall: NextWall) -> NextWall {
        match self.lists[0].planes.get(wall.plane) {
            Some(&plane) => NextWall { plane, ..wall },
            None => wall,
        }
    }

    /// Makes a list anew from the next longer one, or the longest from all planes.
    fn make(&mut self, gram: &Gram<'_>, features: &KernelRows, frame: &Frame, level: usize) {
        let (shorter, longer) = self.lists.split_at_mut(level + 1);
        let list = &mut shorter[level];
        let (points, inverse_lengths, reach) = match longer.first() {
            Some(longer) => (&longer.points, &longer.inverse_lengths, longer.reach),
            None => (features.points(), &self.inverse_lengths, f64::INFINITY),
        };
        let plane = |place: usize| longer.first().map_or(place, |longer| longer.planes[place]);
        let n = points.len();
        self.products.resize(2 * n, 0.0);
        self.sines.resize(n, 0.0);
        points.products(gram.arch(), &self.weights, &mut self.products);
        let (p, q) = self.products.split_at_mut(n);
        if self.soft {
            for place in 0..n {
                let i = plane(place);
                p[place] += gram.softness()[i] * frame.p(i);
                q[place] += gram.softness()[i] * frame.q(i);
            }
        }
        let ((sin, cos), [lift_p, lift_q], sines) = (frame.sin_cos(), self.lifts, &mut self.sines);
        gram.arch().dispatch(
            #[inline(always)]
            || {
                let each = sines.iter_mut().zip(inverse_lengths).zip(p.iter().zip(q.iter()));
                for ((sine, inverse), (p, q)) in each {
                    *sine = ((p + lift_p) * cos + (q + lift_q) * sin).abs() * inverse;
                }
            },
        );
        let within = |sine: f64| sines.iter().filter(|&&own| own < sine).count();
        let (aim, found) = (list.aim, within(list.sine));
        if aim >= n {
            // All of them.
            list.sine = 2.0;
        } else if found > TOLERANCE * aim || found * TOLERANCE < aim {
            list.sine = *sines.clone().select_nth_unstable_by(aim, f64::total_cmp).1;
        }
        let near: Vec<usize> = (0..n).filter(|&place| sines[place] < list.sine).collect();
        // A little less, for the rounding of the coordinates.
        let own = if list.sine < 1.0 { (1.0 - 1e-9) * list.sine.asin() } else { f64::INFINITY };
        list.reach = own.min(reach);
        list.planes = near.iter().map(|&place| plane(place)).collect();
        list.inverse_lengths = near.iter().map(|&place| inverse_lengths[place]).collect();
        list.points = points.part(near.iter().copied());
        if level == 0 {
            let unfold = |place: usize| (p[place] + lift_p, q[place] + lift_q);
            self.f = near.iter().map(|&k| unfold(k)).map(|(p, q)| p * cos + q * sin).collect();
            self.g = near.iter().map(|&k| unfold(k)).map(|(p, q)| q * cos - p * sin).collect();
        }
    }

    /// Makes the lists anew, as long as it takes for the next wall to be on the shortest, and returns it. `sides` has the side
    /// of every plane in its sign.
    pub fn renew(
        &mut self,
        gram: &Gram<'_>,
        features: &KernelRows,
        frame: &Frame,
        sides: &[f64],
    ) -> NextWall {
        let all = self.lists.len();
        let mut aim = SHORTEST;
        for list in &mut self.lists {
            list.aim = aim;
            aim *= LONGER;
        }
        let mut from = (1..all).find(|&level| self.lists[level].reach > 0.0).unwrap_or(all);
        loop {
            for level in (0..from).rev() {
                self.make(gram, features, frame, level);
            }
            for (f, &plane) in self.f.iter_mut().zip(&self.lists[0].planes) {
                let side = 1f64.copysign(sides[plane]);
                *f = (side * *f).max(0.0).copysign(side);
            }
            let still = (1.0, 0.0);
            let wall = pass::advance::<f64>(gram.arch(), &mut self.f, &mut self.g, still, &[], 0.0);
            let reach = self.lists[0].reach;
            if wall.plane != usize::MAX && wall.angle() <= reach {
                return self.global(wall);
            }
            if reach.is_infinite() {
                // All planes have just been left: each comes again after half a turn.
                let plane = self.lists[0].planes.first().copied().unwrap_or(0);
                let speed = self.g.first().map_or(0.0, |g| g.abs());
                return NextWall { plane, n: -speed.max(f64::MIN_POSITIVE), d: 0.0 };
            }
            if from < all {
                from += 1;
            } else {
                for list in &mut self.lists {
                    list.aim = (list.aim * WIDER).min(gram.len());
                }
            }
        }
    }

    /// Writes the coordinates of all planes; `f` comes with the sides in its signs.
    pub fn unlist(
        &self,
        gram: &Gram<'_>,
        features: &KernelRows,
        frame: &Frame,
        f: &mut [f64],
        g: &mut [f64],
    ) {
        let m = f.len();
        let mut products = vec![0.0; 2 * m];
        features.points().products(gram.arch(), &self.weights, &mut products);
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
