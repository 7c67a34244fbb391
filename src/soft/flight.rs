//! A flight on a circle: where the ascents of a potential sum up to an energy.

use std::f64::consts::FRAC_PI_2;

/// Radians of a step.
pub const QUARTER: f64 = FRAC_PI_2;

/// Radians between trial angles, at most. All are tried at once: on other machines a round takes longer than some trials.
const APART: f64 = QUARTER / INTERVALS as f64;
const INTERVALS: usize = 4;

/// Change of the potential between two trial angles, by its slopes there, above which there is one between them if they are not
/// as close as [`CLOSEST`]: the potential is smooth, since it is a sum over the examples.
const STEEP: f64 = 3.0;
const CLOSEST: f64 = QUARTER / 8.0;

/// Product of the distances to trial angles on both sides at which cubic interpolation is as good: its error is of the square.
const NEAR: f64 = 0.008;

/// Change of the slope between two trial angles, times their distance, above which there is one between them where walls make the
/// potential steep: the error of cubic interpolation of a logarithm is then below 0.01.
const CURVED: f64 = 1.0;

/// Where a flight ends before a hard wall, relative to the angle there.
const BEFORE: f64 = 1.0 - 1e-9;

/// Most trial angles of a flight.
const TRIALS: usize = 40;

/// Halvings of an interval that find an angle to rounding.
const HALVINGS: usize = 52;

/// The potential at an angle, and its derivative.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub angle: f64,
    pub potential: f64,
    pub slope: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct End {
    pub angle: f64,
    pub potential: f64,
    /// Whether the ball bounces, rather than has flown all radians.
    pub bounces: bool,
    /// Whether it does so off a hard wall.
    pub hits: bool,
}

#[derive(Debug)]
pub struct Flight {
    energy: f64,
    left: f64,
    /// Whether there are hard walls, ahead or not.
    walled: bool,
    /// In the order of the angles.
    nodes: Vec<Node>,
    ahead: Vec<f64>,
    pub end: Option<End>,
}

impl Flight {
    /// Starts a flight of at most `left` radians, with the first node if it is known.
    pub fn new(energy: f64, left: f64, start: Option<Node>) -> Self {
        let nodes: Vec<Node> = start.into_iter().collect();
        let ahead = first_angles(left, nodes.len());
        Self { energy, left, walled: false, nodes, ahead, end: None }
    }

    /// Ends a flight that has not begun before a hard wall at an angle, infinite for none ahead.
    pub fn stop_before(&mut self, wall: f64) {
        self.walled = true;
        self.ahead = first_angles(self.left.min(BEFORE * wall), self.nodes.len());
    }

    /// Returns the flight after a bounce at an angle, where the potential and its new slope are known.
    pub fn rest(&self, energy: f64, angle: f64, start: Node) -> Self {
        Self::new(energy, self.left - angle, Some(start))
    }

    /// Whether no angle has been tried, not even the first.
    pub fn is_fresh(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the angles that are to be tried; none if the end is known.
    pub fn wanted(&mut self) -> Vec<f64> {
        if self.end.is_some() {
            return Vec::new();
        }
        if !self.ahead.is_empty() {
            return std::mem::take(&mut self.ahead);
        }
        let (event, mut near, curved) = first_event(&self.nodes, self.energy);
        near.retain(|&x| !self.is_near(x));
        if self.walled {
            near.extend(curved);
        }
        if !near.is_empty() && self.nodes.len() <= TRIALS {
            return near;
        }
        // Rounding may put the last angle beyond the wall.
        let last = self.nodes.iter().rfind(|node| !self.walled || node.potential < f64::INFINITY);
        let (angle, potential) =
            last.map_or((self.left, f64::NAN), |node| (node.angle, node.potential));
        let hits = angle < self.left;
        self.end = event.or(Some(End { angle, potential, bounces: hits, hits }));
        Vec::new()
    }

    /// Takes the potential at an angle that was wanted.
    pub fn take(&mut self, node: Node) {
        let place = self.nodes.partition_point(|other| other.angle < node.angle);
        self.nodes.insert(place, node);
    }

    fn is_near(&self, angle: f64) -> bool {
        let after = self.nodes.partition_point(|node| node.angle < angle);
        let [before, after] = [after.saturating_sub(1), after].map(|k| self.nodes[k].angle);
        (angle - before) * (after - angle) <= NEAR
    }
}

/// Returns the bounce, where the ascents of the potential sum up to the energy, if they do.
///
/// Between nodes the potential is interpolated by cubic polynomials. The second value are the angles that should be near nodes:
/// this one, and before it the turning points and the middle of steep parts. The third are those where the slope changes.
fn first_event(nodes: &[Node], mut energy: f64) -> (Option<End>, Vec<f64>, Vec<f64>) {
    let (mut near, mut curved) = (Vec::new(), Vec::new());
    for (first, second) in nodes.iter().zip(&nodes[1..]) {
        let width = second.angle - first.angle;
        if second.potential == f64::INFINITY || (second.slope - first.slope).abs() * width > CURVED
        {
            curved.push(first.angle + 0.5 * width);
        }
        if second.potential == f64::INFINITY {
            break;
        }
        let cubic = Cubic::between(first, second, width);
        if (first.slope.abs() + second.slope.abs()) * width > STEEP && width > CLOSEST {
            near.push(first.angle + 0.5 * width);
        }
        let mut low = 0.0;
        for high in cubic.turns().into_iter().filter(|x| 0.0 < *x && *x < 1.0).chain([1.0]) {
            let ascent = cubic.at(high) - cubic.at(low);
            if ascent > energy {
                let potential = cubic.at(low) + energy;
                let angle = first.angle + width * cubic.ascent_to(potential, low, high);
                near.push(angle);
                return (Some(End { angle, potential, bounces: true, hits: false }), near, curved);
            }
            energy -= ascent.max(0.0);
            if high < 1.0 {
                near.push(first.angle + width * high);
            }
            low = high;
        }
    }
    (None, near, curved)
}

/// Returns the angles at which a potential is tried first, on a path of some length that has a node at the start or not.
fn first_angles(length: f64, n_known: usize) -> Vec<f64> {
    let n = (1..INTERVALS).find(|&n| length <= n as f64 * APART).unwrap_or(INTERVALS);
    let between = (n_known..n).map(|k| length * k as f64 / n as f64);
    between.chain([length]).collect()
}

/// A cubic polynomial on the unit interval, by powers.
struct Cubic([f64; 4]);

impl Cubic {
    fn between(first: &Node, second: &Node, width: f64) -> Self {
        let (a, b) = (first.potential, first.slope * width);
        let (c, d) = (second.potential, second.slope * width);
        Self([a, b, 3.0 * (c - a) - 2.0 * b - d, 2.0 * (a - c) + b + d])
    }

    fn at(&self, x: f64) -> f64 {
        let [a, b, c, d] = self.0;
        a + x * (b + x * (c + x * d))
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
