//! A flight on a circle: where the ascents of a potential sum up to an energy.
//!
//! The potential is interpolated between nodes, which lie on dyadic fractions of a step: those of the same path flown backwards.
//! An interval is halved by what is known of its two nodes alone, until it is fine; so the interpolation backwards is the same,
//! and what it misses is left to the acceptance of the step, [`super`].

use std::f64::consts::FRAC_PI_2;

/// Radians of a step.
const QUARTER: f64 = FRAC_PI_2;

/// Radians between the first nodes. All are tried at once: on other machines a round takes longer than some trials.
const APART: f64 = QUARTER / INTERVALS as f64;
const INTERVALS: usize = 4;

/// Change of the potential between two nodes, by its slopes there, above which there is one between them if they are not as close
/// as [`CLOSEST`].
const STEEP: f64 = 3.0;
const CLOSEST: f64 = QUARTER / 6.0;

/// By how much the change of the potential between two nodes may differ from that by the mean of the slopes, times two.
const BENT: f64 = 0.3;

/// Radians between two nodes that are close enough whatever the potential does between them. As [`CLOSEST`] it is no dyadic
/// fraction: rounding must not decide, which differs on the path backwards.
const NARROWEST: f64 = QUARTER / 1e6;

/// Where a flight ends before a hard wall, relative to the angle there.
const BEFORE: f64 = 1.0 - 1e-9;

/// Halvings of an interval that find an angle to rounding.
const HALVINGS: usize = 52;

/// The potential at an angle, and its derivative.
#[derive(Clone, Copy)]
pub struct Node {
    pub angle: f64,
    pub potential: f64,
    pub slope: f64,
}

/// Where a flight ends, by the interpolated potential.
#[derive(Clone, Copy)]
pub struct End {
    pub angle: f64,
    pub reason: Reason,
    /// The slopes of the potential at the start and here.
    pub slopes: [f64; 2],
    /// By how much the potential is higher than at the start.
    pub climb: f64,
}

/// Why a flight ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The ascents sum up to the energy: the ball bounces.
    Energy,
    /// There is a hard wall.
    Wall,
    /// The ball has flown the radians of a step.
    Done,
}

pub struct Flight {
    energy: f64,
    /// Radians of the step that were flown before.
    before: f64,
    /// The angles of hard walls behind and ahead.
    walls: [f64; 2],
    /// In the order of the angles.
    nodes: Vec<Node>,
    pub end: Option<End>,
}

impl Flight {
    /// Starts a flight after some radians of the step.
    pub fn new(energy: f64, before: f64) -> Self {
        Self { energy, before, walls: [f64::NEG_INFINITY, f64::INFINITY], nodes: vec![], end: None }
    }

    /// Starts the next flight of the step at the end of this one, which is a hard wall itself or not.
    pub fn next(&self, energy: f64, end: &End) -> Self {
        let mut next = Self::new(energy, self.before + end.angle);
        if end.reason == Reason::Wall {
            next.walls[0] = 0.0;
        }
        next
    }

    /// Puts hard walls at angles behind and ahead of a flight that has not begun.
    pub fn keep_within(&mut self, [behind, ahead]: [f64; 2]) {
        self.walls = [self.walls[0].max(BEFORE * behind), BEFORE * ahead];
    }

    /// Whether this is the first flight of a step.
    pub fn begins_step(&self) -> bool {
        self.before == 0.0
    }

    /// Whether no angle has been tried.
    pub fn is_fresh(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The potential at the first and at the last node.
    pub fn potentials(&self) -> [f64; 2] {
        [self.nodes.first(), self.nodes.last()].map(|node| node.map_or(f64::NAN, |n| n.potential))
    }

    /// Returns the angles that are to be tried; none if the end is known.
    pub fn wanted(&mut self) -> Vec<f64> {
        if self.end.is_some() {
            return Vec::new();
        }
        if self.nodes.is_empty() {
            return self.first_angles();
        }
        let (mut energy, mut wanted, mut start) = (self.energy, Vec::new(), None);
        for (first, second) in self.nodes.iter().zip(&self.nodes[1..]) {
            if second.angle <= 0.0 {
                continue;
            }
            let width = second.angle - first.angle;
            if is_coarse(first, second, width) {
                wanted.push(first.angle + 0.5 * width);
            }
            let cubic = Cubic::between(first, second, width);
            let low = (-first.angle / width).max(0.0);
            let [height, slope] = *start.get_or_insert([cubic.at(low), cubic.slope(low) / width]);
            let bounce = cubic.bounce(low, &mut energy);
            if wanted.is_empty() && (bounce.is_some() || second.angle >= self.last()) {
                let place = bounce.unwrap_or(1.0);
                let reason = match bounce {
                    Some(_) => Reason::Energy,
                    None if second.angle < QUARTER - self.before => Reason::Wall,
                    None => Reason::Done,
                };
                self.end = Some(End {
                    angle: first.angle + width * place,
                    reason,
                    slopes: [slope, cubic.slope(place) / width],
                    climb: cubic.at(place) - height,
                });
            }
            if bounce.is_some() {
                break;
            }
        }
        wanted
    }

    /// Takes the potential at an angle that was wanted.
    pub fn take(&mut self, node: Node) {
        let place = self.nodes.partition_point(|other| other.angle < node.angle);
        self.nodes.insert(place, node);
    }

    /// Returns the angles of the first nodes, of which the last is the end of the step or a hard wall.
    fn first_angles(&self) -> Vec<f64> {
        let [behind, ahead] = self.walls;
        let all = (0..=INTERVALS).map(|k| k as f64 * APART - self.before);
        let mut angles: Vec<f64> = all.map(|angle| angle.clamp(behind, ahead)).collect();
        angles.dedup();
        // The last at or behind the start is the first.
        let n_behind = angles.partition_point(|&angle| angle <= 0.0).max(1);
        angles.split_off(n_behind - 1)
    }

    fn last(&self) -> f64 {
        self.nodes.last().map_or(0.0, |node| node.angle)
    }
}

/// Whether there is to be a node between two.
fn is_coarse(first: &Node, second: &Node, width: f64) -> bool {
    let change = second.potential - first.potential;
    let by_slopes = [first, second].map(|node| node.slope * width);
    let steep = by_slopes[0].abs() + by_slopes[1].abs() > STEEP && width > CLOSEST;
    let bent = (by_slopes[0] + by_slopes[1] - 2.0 * change).abs();
    // The potential may be infinite at a hard wall.
    width > NARROWEST && (steep || bent > BENT || bent.is_nan())
}

/// A cubic polynomial on the unit interval, by powers.
struct Cubic([f64; 4]);

impl Cubic {
    fn between(first: &Node, second: &Node, width: f64) -> Self {
        let (a, b) = (first.potential, first.slope * width);
        let (c, d) = (second.potential, second.slope * width);
        match (a.is_finite(), c.is_finite()) {
            (true, true) => Self([a, b, 3.0 * (c - a) - 2.0 * b - d, 2.0 * (a - c) + b + d]),
            (true, false) => Self([a, b, 0.0, 0.0]),
            (false, _) => Self([c - d, d, 0.0, 0.0]),
        }
    }

    fn at(&self, x: f64) -> f64 {
        let [a, b, c, d] = self.0;
        a + x * (b + x * (c + x * d))
    }

    fn slope(&self, x: f64) -> f64 {
        let [_, b, c, d] = self.0;
        b + x * (2.0 * c + x * 3.0 * d)
    }

    /// Returns where the ascents from `low` on sum up to an energy, from which they are subtracted.
    fn bounce(&self, mut low: f64, energy: &mut f64) -> Option<f64> {
        let turns = self.turns().into_iter().filter(move |x| low < *x && *x < 1.0);
        for high in turns.chain([1.0]) {
            let ascent = self.at(high) - self.at(low);
            if ascent > *energy {
                return Some(self.ascent_to(self.at(low) + *energy, low, high));
            }
            *energy -= ascent.max(0.0);
            low = high;
        }
        None
    }

    /// Returns where the derivative is 0, in order.
    fn turns(&self) -> Vec<f64> {
        let [_, b, c, d] = self.0;
        let (c, d) = (2.0 * c, 3.0 * d);
        let inner = c * c - 4.0 * d * b;
        if inner < 0.0 {
            return Vec::new();
        }
        let q = -0.5 * (c + inner.sqrt().copysign(c));
        let mut found: Vec<f64> = [(q, d), (b, q)]
            .iter()
            .filter(|pair| pair.1 != 0.0)
            .map(|pair| pair.0 / pair.1)
            .collect();
        found.sort_by(f64::total_cmp);
        found
    }

    /// Returns where the polynomial, which ascends from `low` to `high`, has a value.
    fn ascent_to(&self, value: f64, mut low: f64, mut high: f64) -> f64 {
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if self.at(middle) < value {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/soft/flight.rs"]
mod tests;
