//! Plain draws of the fitted law.

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::law::{Inner, Law, Point};
use crate::space::VersionSpace;

/// A draw with both signs, of which the law knows nothing: its statistic, and the one of the two in version space.
pub(super) struct Draw {
    pub x: f64,
    point: Option<Point>,
}

impl Draw {
    pub fn new(space: &VersionSpace<'_>, law: &Law, inner: &Inner, rng: &mut ChaCha8Rng) -> Self {
        let mut point = law.draw(inner, rng);
        let x = law.statistic_of(&point);
        let inside = |point: &Point| space.violations(&point.field) == [0, 0];
        if !inside(&point) {
            for part in [&mut point.dual, &mut point.field] {
                part.iter_mut().for_each(|x| *x = -*x);
            }
        }
        Self { x, point: inside(&point).then_some(point) }
    }
}

/// Statistics of the draws in version space.
pub(super) fn inside(draws: &[Draw]) -> Vec<f64> {
    draws.iter().filter(|draw| draw.point.is_some()).map(|draw| draw.x).collect()
}

/// One of the draws in version space; none where there are none.
pub(super) fn choose(draws: &[Draw], rng: &mut ChaCha8Rng) -> Option<Point> {
    let points: Vec<&Point> = draws.iter().filter_map(|draw| draw.point.as_ref()).collect();
    (!points.is_empty()).then(|| points[rng.random_range(0..points.len())].clone())
}

/// ln of the part of the law that is in version space and its standard error, of `n` draws with both signs of which `inside`
/// had one there. What none of them has seen may be there still: a part of 1/n of them, where all were inside.
pub(super) fn log_part(inside: usize, n: usize) -> (f64, f64) {
    if inside == 0 {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    let (part, n) = (inside as f64 / n as f64, n as f64);
    let error = ((1.0 - part) / part / (n - 1.0)).sqrt();
    ((0.5 * part).ln(), error.hypot(1.0 / n))
}
