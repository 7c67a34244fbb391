//! Lists of near planes, and the caps of the sphere that they are good for.

use std::collections::BTreeMap;

use crate::ball::frame::Frame;
use crate::base::{Loader, Result, Saver, incompatible};
use crate::gram::{Features, Gram, Panels};
use crate::simd::dot;

/// Share of a cap that is left out, and a little more, for the rounding of coordinates and of `|b|²`.
const SLACK: f64 = 1e-9;
const LITTLE: f64 = 1e-13;

/// The flight of the ball over one event: cosine, sine and versed sine of its angle.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub cos: f64,
    pub sin: f64,
    pub versed: f64,
}

impl Turn {
    pub fn new((cos, sin): (f64, f64)) -> Self {
        let versed = if cos > 0.0 { sin * sin / (1.0 + cos) } else { 1.0 - cos };
        Self { cos, sin, versed }
    }
}

/// The part of the sphere that a list is good for, and the ball as seen from its middle b₀.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cap {
    /// `1 - cos ρ` of its radius ρ; infinite where all planes are listed.
    pub depth: f64,
    /// `1 - <b, b₀>`: of a small angle it keeps the digits that its cosine has lost.
    pub below: f64,
    /// `<v, b₀>`.
    pub along: f64,
}

impl Cap {
    /// A cap that no plane meets at sine `sine` or farther, with the ball in its middle.
    pub fn within(sine: f64) -> Self {
        let depth = if sine < 1.0 {
            (1.0 - SLACK) * sine * sine / (1.0 + (1.0 - sine * sine).sqrt()) - LITTLE
        } else {
            f64::INFINITY
        };
        Self { depth, below: 0.0, along: 0.0 }
    }

    /// [`Self::below`] after a flight.
    pub fn below_after(&self, turn: Turn) -> f64 {
        self.below * turn.cos + turn.versed - self.along * turn.sin
    }

    pub fn turn(&mut self, turn: Turn) {
        let along = self.along * turn.cos - (1.0 - self.below) * turn.sin;
        (self.below, self.along) = (self.below_after(turn), along);
    }

    /// True when a flight starts in the cap and ends there: caps are convex. One around the mean of positions need not have
    /// the ball in it.
    pub fn holds(&self, turn: Turn) -> bool {
        self.depth.is_infinite()
            || (self.below <= self.depth && self.below_after(turn) <= self.depth)
    }
}

/// Planes that are all there is within a distance of where the list was made.
#[derive(Clone, Debug)]
pub(super) struct List {
    /// In rising order.
    pub planes: Vec<usize>,
    /// Their places in the next longer list.
    pub above: Vec<usize>,
    /// Their features.
    pub points: Panels,
    /// 1 / |φ|.
    pub inverse_lengths: Vec<f64>,
    pub cap: Cap,
    /// `<φ, b₀>` of the planes, with the middle b₀ of the cap.
    pub heights: Vec<f64>,
    /// b₀ as [`super::NeighborList::weights`] and [`super::NeighborList::lifts`] have it, and the angle of the frame there.
    pub middle: Vec<f64>,
    pub lift: f64,
    pub angle: (f64, f64),
    /// Dual coefficients of b₀ of planes not listed that were kicked since.
    pub kicked: BTreeMap<usize, f64>,
    /// Sine of the distance up to which planes were taken, and their number aimed at.
    pub sine: f64,
    pub aim: usize,
}

impl List {
    pub fn new(d: usize) -> Self {
        Self {
            planes: Vec::new(),
            above: Vec::new(),
            points: Panels::new(0, d, |_, _| {}),
            inverse_lengths: Vec::new(),
            cap: Cap { depth: -1.0, below: 0.0, along: 0.0 },
            heights: Vec::new(),
            middle: vec![0.0; d],
            lift: 0.0,
            angle: (0.0, 1.0),
            kicked: BTreeMap::new(),
            sine: 0.0,
            aim: 0,
        }
    }

    pub fn save(&self, saver: &mut Saver) {
        saver.count(self.above.len());
        for &place in &self.above {
            saver.count(place);
        }
        saver.all(&[self.cap.depth, self.cap.below, self.cap.along]);
        saver.all(&self.heights);
        saver.all(&self.middle);
        saver.all(&[self.lift, self.angle.0, self.angle.1, self.sine]);
        saver.count(self.kicked.len());
        for (&plane, &dual) in &self.kicked {
            saver.count(plane);
            saver.number(dual);
        }
        saver.count(self.aim);
    }

    /// A list whose planes have their places in `longer`, or are numbered among all, of which there are the features and
    /// the inverse lengths.
    pub fn load(
        features: Features<'_>,
        inverse_lengths: &[f64],
        longer: Option<&Self>,
        loader: &mut Loader<'_>,
    ) -> Result<Self> {
        let (m, d) = (inverse_lengths.len(), features.points().dimension());
        let mut list = Self::new(d);
        let all = longer.map_or(m, |longer| longer.planes.len());
        let n = loader.count(all)?;
        for _ in 0..n {
            let place = loader.index(all)?;
            if list.above.last().is_some_and(|&last| last >= place) {
                return Err(incompatible("one with a list out of order"));
            }
            list.above.push(place);
            let plane = longer.map_or(place, |longer| longer.planes[place]);
            list.planes.push(plane);
            list.inverse_lengths.push(inverse_lengths[plane]);
        }
        list.points.take(longer.map_or(features.points(), |longer| &longer.points), &list.above);
        let cap = loader.all(3)?;
        list.cap = Cap { depth: cap[0], below: cap[1], along: cap[2] };
        list.heights = loader.finite(n)?;
        list.middle = loader.finite(d)?;
        let rest = loader.finite(4)?;
        (list.lift, list.angle, list.sine) = (rest[0], (rest[1], rest[2]), rest[3]);
        for _ in 0..loader.count(m)? {
            let plane = loader.index(m)?;
            list.kicked.insert(plane, loader.number()?);
        }
        list.aim = loader.count(m.saturating_mul(16))?;
        Ok(list)
    }

    /// `<φ_i, b₀>` of any plane that is about to be kicked, of which the features are given.
    pub fn height(&mut self, gram: &Gram<'_>, frame: &Frame, i: usize, point: &[f64]) -> f64 {
        let inner = dot::dot(gram.arch(), point, &self.middle);
        let softness = gram.softness()[i];
        if softness == 0.0 {
            return inner + self.lift;
        }
        if let Ok(at) = self.planes.binary_search(&i) {
            return self.heights[at];
        }
        // Of a plane not listed the ball has not been at the wall, and a kick in mid-air has been noted.
        let (sin, cos) = self.angle;
        let dual = self.kicked.entry(i).or_insert_with(|| frame.p(i) * cos + frame.q(i) * sin);
        inner + self.lift + softness * *dual
    }

    /// `<w, b₀>` of a weight vector; without softness.
    pub fn product(
        &self,
        gram: &Gram<'_>,
        features: Features<'_>,
        w: &[[f64; 1]],
        lift: f64,
    ) -> f64 {
        product(gram, features, (w.as_flattened(), lift), (&self.middle, self.lift))
    }

    /// Sees the ball at a position of unit length from the middle of the cap; without softness.
    pub fn see(
        &mut self,
        gram: &Gram<'_>,
        features: Features<'_>,
        position: &[[f64; 1]],
        lift: f64,
    ) {
        let step: Vec<f64> =
            position.iter().zip(&self.middle).map(|(x, middle)| x[0] - middle).collect();
        let step = (step.as_slice(), lift - self.lift);
        self.cap.below = 0.5 * product(gram, features, step, step);
    }
}

/// The inner product of two weight vectors, each with its lift.
pub(super) fn product(
    gram: &Gram<'_>,
    features: Features<'_>,
    (v, lift_v): (&[f64], f64),
    (w, lift_w): (&[f64], f64),
) -> f64 {
    let lifts = if gram.offset() > 0.0 { lift_v * lift_w / gram.offset() } else { 0.0 };
    dot::dot(gram.arch(), v, w) / features.factor() + lifts
}
