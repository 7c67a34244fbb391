//! Lists of near planes, and the spherical caps in which they are valid.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ball::frame::Frame;
use crate::base::{Result, ensure, ensure_finite, ensure_vectors};
use crate::gram::{Gram, Panels};
use crate::simd::dot;

/// Relative and absolute reduction of the depth of a cap, for the rounding of coordinates and of `|b|²`.
const SLACK: f64 = 1e-9;
const ABSOLUTE_SLACK: f64 = 1e-13;

/// The flight to an event: cosine, sine and versed sine of its angle.
type Turn = (f64, f64, f64);

pub(super) fn turn((cos, sin): (f64, f64)) -> Turn {
    (cos, sin, if cos > 0.0 { sin * sin / (1.0 + cos) } else { 1.0 - cos })
}

/// The spherical cap in which a list is valid, and the ball relative to its middle b₀.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Cap {
    /// `1 - cos ρ`, with the radius ρ; infinite if all planes are listed.
    pub depth: f64,
    /// `1 - <b, b₀>`, which for small angles is more accurate than the cosine.
    pub below: f64,
    /// `<v, b₀>`.
    pub along: f64,
}

impl Cap {
    /// Returns the cap that no plane meets whose distance from the middle has sine `sine` or more. The ball is in the middle.
    pub fn within(sine: f64) -> Self {
        let depth = if sine < 1.0 {
            (1.0 - SLACK) * sine * sine / (1.0 + (1.0 - sine * sine).sqrt()) - ABSOLUTE_SLACK
        } else {
            f64::INFINITY
        };
        Self { depth, ..Self::default() }
    }

    pub fn below_after(&self, (cos, sin, versed): Turn) -> f64 {
        self.below * cos + versed - self.along * sin
    }

    pub fn turn(&mut self, turn: Turn) {
        let along = self.along * turn.0 - (1.0 - self.below) * turn.1;
        (self.below, self.along) = (self.below_after(turn), along);
    }

    /// Returns whether a flight starts and ends in the cap, which is convex. The ball may be outside a cap around a mean.
    pub fn holds(&self, turn: Turn) -> bool {
        self.depth.is_infinite()
            || (self.below <= self.depth && self.below_after(turn) <= self.depth)
    }
}

/// All planes within some distance of the place where the list was made.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct List {
    /// Indices in rising order.
    #[serde(skip)]
    pub planes: Vec<usize>,
    /// Their places in the next longer list, or their indices for the longest list.
    pub above: Vec<usize>,
    /// Their features.
    #[serde(skip)]
    pub points: Panels,
    /// 1 / |φ|.
    #[serde(skip)]
    pub inverse_lengths: Vec<f64>,
    pub cap: Cap,
    /// `<φ, b₀>` of the planes.
    pub heights: Vec<f64>,
    /// b₀ as [`super::NeighborList::weights`] and [`super::NeighborList::lifts`], and `(sin θ, cos θ)` of the frame there.
    pub middle: Vec<f64>,
    pub lift: f64,
    pub angle: (f64, f64),
    /// Dual coefficients of b₀ for planes not listed along which the direction was kicked since.
    pub kicked: BTreeMap<usize, f64>,
    /// Sine of the distance up to which planes are listed, and the intended number of planes.
    pub sine: f64,
    pub aim: usize,
}

impl List {
    /// Returns an empty list, of a cap without a ball.
    pub fn new(d: usize) -> Self {
        Self {
            points: Panels::new(0, d, |_, _| {}),
            cap: Cap { depth: -1.0, ..Cap::default() },
            middle: vec![0.0; d],
            angle: (0.0, 1.0),
            ..Self::default()
        }
    }

    /// Checks a stored list and computes the fields that are not stored. `longer` is the next longer list, if any.
    pub fn restored(
        mut self,
        points: &Panels,
        inverse_lengths: &[f64],
        longer: Option<&Self>,
    ) -> Result<Self> {
        let (m, d) = (inverse_lengths.len(), points.dimension());
        let all = longer.map_or(m, |longer| longer.planes.len());
        let rises = self.above.windows(2).all(|pair| pair[0] < pair[1])
            && self.above.last().is_none_or(|&last| last < all);
        ensure(rises, "one with a list out of order")?;
        ensure_vectors(self.above.len(), &[&self.heights])?;
        ensure_vectors(d, &[&self.middle])?;
        let Cap { depth, below, along } = self.cap;
        ensure(!depth.is_nan(), "one with a list that has no cap")?;
        ensure_finite(&[&[below, along, self.lift, self.angle.0, self.angle.1, self.sine]])?;
        let fit = self.kicked.iter().all(|(&plane, dual)| plane < m && dual.is_finite());
        ensure(fit, "one with a kick along no plane")?;
        ensure(self.aim <= m.saturating_mul(16), "one with a list that is too long")?;
        self.planes =
            self.above.iter().map(|&at| longer.map_or(at, |longer| longer.planes[at])).collect();
        self.inverse_lengths = self.planes.iter().map(|&plane| inverse_lengths[plane]).collect();
        self.points = longer.map_or(points, |longer| &longer.points).subset(&self.above);
        Ok(self)
    }

    /// Returns `<φ_i, b₀>` for a kick along any plane, given its features.
    pub fn height(&mut self, gram: &Gram<'_>, frame: &Frame, i: usize, point: &[f64]) -> f64 {
        let inner = dot::dot(gram.arch(), point, &self.middle);
        let softness = gram.softness()[i];
        if softness == 0.0 {
            return inner + self.lift;
        }
        if let Ok(at) = self.planes.binary_search(&i) {
            return self.heights[at];
        }
        // The ball has not hit a plane that is not listed, so only refreshes kicked along it. The first stored the coefficient.
        let (sin, cos) = self.angle;
        let dual = self.kicked.entry(i).or_insert_with(|| frame.p[i] * cos + frame.q[i] * sin);
        inner + self.lift + softness * *dual
    }

    /// Sets [`Cap::below`] for a position of unit length, without softness.
    pub fn set_position(&mut self, gram: &Gram<'_>, position: &[[f64; 1]], lift: f64) {
        let step: Vec<f64> =
            position.iter().zip(&self.middle).map(|(x, middle)| x[0] - middle).collect();
        let step = (step.as_slice(), lift - self.lift);
        self.cap.below = 0.5 * product(gram, step, step);
    }
}

/// Returns the inner product of two weight vectors, each with its lift.
pub fn product(gram: &Gram<'_>, (v, lift_v): (&[f64], f64), (w, lift_w): (&[f64], f64)) -> f64 {
    let lifts = if gram.offset() > 0.0 { lift_v * lift_w / gram.offset() } else { 0.0 };
    dot::dot(gram.arch(), v, w) + lifts
}
