//! Near walls: of many planes with explicit features only those that the ball may reach soon.
//!
//! A plane at angular distance `asin(|f_i| / |φ_i|)` cannot be reached on a shorter path. So the planes that are nearest are
//! listed, and until a path as long as the distance of the nearest plane that is not among them is flown, they alone are
//! looked at: the ball meets the same walls as if it looked at all. The list is made anew from a longer one, and that from
//! all planes when its own distance is used up. What the ball needs to know of a plane out of the list it computes from its
//! weight vector in the space of the features, which all jumps of the direction change in O(r).

use super::frame::Frame;
use crate::dot;
use crate::gram::{Gram, KernelRows, Panels};
use crate::pass::{self, Kick, NextWall};

/// Planes in the list that is looked at at every event, and their least share of the longer one.
const SHORT: usize = 64;
/// Planes for one in the longer list, and the fewest in it.
const LONG_SHARE: usize = 16;
const LONG: usize = 512;
/// How much longer a list gets that has no wall within its distance.
const GROWTH: usize = 4;

/// Planes that are all there is within a distance.
#[derive(Clone, Debug)]
struct Shell {
    /// In rising order.
    planes: Vec<usize>,
    /// Their features.
    points: Panels,
    /// Path on which no other plane can be reached, radians.
    reach: f64,
}

/// What a ball keeps that minds near walls alone.
#[derive(Clone, Debug)]
pub(super) struct Near {
    long: Shell,
    short: Shell,
    /// Plane coordinates of the planes of the short list.
    f: Vec<f64>,
    g: Vec<f64>,
    /// `Σ p_j x_j` and `Σ q_j x_j`, coordinate by coordinate, times the factor of the kernel.
    weights: Vec<[f64; 2]>,
    /// `offset Σ p_j` and `offset Σ q_j`.
    lifts: [f64; 2],
    rows: Vec<f64>,
    points: Vec<[f64; 2]>,
}

/// What a list is made of.
struct Seen {
    /// |f| / |φ|.
    sine: f64,
    plane: usize,
    /// Its number in the list before.
    place: usize,
    f: f64,
    g: f64,
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
        let nothing =
            Shell { planes: Vec::new(), points: Panels::new(0, d, |_, _| {}), reach: 0.0 };
        Self {
            long: nothing.clone(),
            short: nothing,
            f: Vec::new(),
            g: Vec::new(),
            weights,
            lifts,
            rows: Vec::new(),
            points: vec![[0.0; 2]; d],
        }
    }

    /// Path that is left until the lists have to be made anew.
    pub fn reach(&self) -> f64 {
        self.short.reach
    }

    /// The number of a plane in the short list.
    fn place(&self, plane: usize) -> Option<usize> {
        self.short.planes.binary_search(&plane).ok()
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

    /// Sets the coordinates of a plane, if it is in the short list.
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

    /// One event: as [`pass::advance`] for the planes of the short list. Planes whose direction is not a number are left out.
    pub fn pass(
        &mut self,
        gram: &Gram<'_>,
        features: &KernelRows,
        (angle, rotation): (f64, (f64, f64)),
        kicks: &[(usize, f64)],
    ) -> NextWall {
        let (arch, n) = (gram.arch(), self.f.len());
        self.long.reach -= angle;
        self.short.reach -= angle;
        self.rows.resize(2 * n, 0.0);
        let lift = gram.offset() * kicks.iter().map(|kick| kick.1).sum::<f64>();
        let (f, g) = (&mut self.f, &mut self.g);
        // The multiples are in the points, so that one row does.
        let wall = if kicks.is_empty() {
            pass::advance::<f64>(arch, f, g, rotation, &[], lift)
        } else {
            self.points.fill([0.0; 2]);
            for &(plane, scale) in kicks {
                for (sum, x) in self.points.iter_mut().zip(features.points().point(plane)) {
                    sum[0] += features.factor() * scale * x;
                }
            }
            let points = &mut self.points;
            self.short.points.products(arch, points, &mut self.rows);
            pass::advance(arch, f, g, rotation, &[Kick { scale: 1.0, row: &self.rows[..n] }], lift)
        };
        self.global(wall)
    }

    fn global(&self, wall: NextWall) -> NextWall {
        match self.short.planes.get(wall.plane) {
            Some(&plane) => NextWall { plane, ..wall },
            None => wall,
        }
    }

    /// The coordinates of all planes of a list, whose features are `points`.
    fn look(
        &self,
        gram: &Gram<'_>,
        frame: &Frame,
        points: &Panels,
        plane: impl Fn(usize) -> usize,
        sides: &[f64],
    ) -> Vec<Seen> {
        let n = points.len();
        let mut products = vec![0.0; 2 * n];
        points.products(gram.arch(), &self.weights, &mut products);
        let (p, q) = products.split_at(n);
        (0..n)
            .map(|place| {
                let i = plane(place);
                let own = (p[place] + self.lifts[0], q[place] + self.lifts[1]);
                let (f, g) = Self::unfold(gram, frame, i, own);
                let size = (1f64.copysign(sides[i]) * f).max(0.0);
                let sine = size / gram.diagonal(i).sqrt();
                Seen { sine, plane: i, place, f: size.copysign(sides[i]), g }
            })
            .collect()
    }

    /// The `count` nearest of a list, in rising order, and the path on which no other one can be reached.
    fn nearest(mut seen: Vec<Seen>, count: usize, reach: f64) -> (Vec<Seen>, f64) {
        if count >= seen.len() {
            return (seen, reach);
        }
        let (_, next, _) = seen.select_nth_unstable_by(count, |a, b| a.sine.total_cmp(&b.sine));
        // A little less, for the rounding of the coordinates.
        let own = (1.0 - 1e-9) * next.sine.min(1.0).asin();
        seen.truncate(count);
        seen.sort_unstable_by_key(|seen| seen.plane);
        (seen, own.min(reach))
    }

    fn shell(seen: &[Seen], reach: f64, points: &Panels) -> Shell {
        Shell {
            planes: seen.iter().map(|seen| seen.plane).collect(),
            points: points.part(seen.iter().map(|seen| seen.place)),
            reach,
        }
    }

    /// Makes the lists anew, as long as it takes for the next wall to be on them, and returns it. `sides` has the side of
    /// every plane in its sign.
    pub fn renew(
        &mut self,
        gram: &Gram<'_>,
        features: &KernelRows,
        frame: &Frame,
        sides: &[f64],
    ) -> NextWall {
        let m = gram.len();
        let mut long = (m / LONG_SHARE).max(LONG);
        let mut short = SHORT;
        let mut fresh = false;
        loop {
            if self.long.reach <= 0.0 {
                let seen = self.look(gram, frame, features.points(), |place| place, sides);
                let (seen, reach) = Self::nearest(seen, long, f64::INFINITY);
                self.long = Self::shell(&seen, reach, features.points());
                fresh = true;
            }
            let Shell { planes, points, reach } = &self.long;
            let seen = self.look(gram, frame, points, |place| planes[place], sides);
            let (seen, reach) = Self::nearest(seen, short, *reach);
            self.short = Self::shell(&seen, reach, points);
            self.f = seen.iter().map(|seen| seen.f).collect();
            self.g = seen.iter().map(|seen| seen.g).collect();
            let still = (1.0, 0.0);
            let wall = pass::advance::<f64>(gram.arch(), &mut self.f, &mut self.g, still, &[], 0.0);
            if reach.is_infinite() {
                return match self.global(wall) {
                    // All planes have just been left: each comes again after half a turn.
                    NextWall { plane: usize::MAX, .. } => {
                        let n = -self.g[0].abs().max(f64::MIN_POSITIVE);
                        NextWall { plane: self.short.planes[0], n, d: 0.0 }
                    }
                    wall => wall,
                };
            }
            if wall.plane != usize::MAX && wall.angle() <= reach {
                return self.global(wall);
            }
            if short < self.long.planes.len() {
                short *= GROWTH;
            } else {
                if fresh {
                    long *= GROWTH;
                }
                self.long.reach = 0.0;
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
        for seen in self.look(gram, frame, features.points(), |place| place, f) {
            (f[seen.plane], g[seen.plane]) = (seen.f, seen.g);
        }
        // Those at hand carry the exact zero of a wall just hit.
        for ((&plane, own_f), own_g) in self.short.planes.iter().zip(&self.f).zip(&self.g) {
            (f[plane], g[plane]) = (*own_f, *own_g);
        }
    }
}
