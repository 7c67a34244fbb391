//! Independent draws from the fitted distribution.

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::law::{Inner, Law, Point};
use crate::space::VersionSpace;

/// A draw and its opposite, which have the same density: their statistic, and the one in version space if any.
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

/// Returns the statistics of the draws in version space.
pub(super) fn inside(draws: &[Draw]) -> Vec<f64> {
    draws.iter().filter(|draw| draw.point.is_some()).map(|draw| draw.x).collect()
}

/// Returns one of the draws in version space, if there are any.
pub(super) fn choose(draws: &[Draw], rng: &mut ChaCha8Rng) -> Option<Point> {
    let points: Vec<&Point> = draws.iter().filter_map(|draw| draw.point.as_ref()).collect();
    (!points.is_empty()).then(|| points[rng.random_range(0..points.len())].clone())
}

/// Returns ln of the share of the distribution in version space and its standard error, from `n` draws with opposites of which
/// `inside` had one there. The error allows for a share of 1/n that no draw has found, even if all were inside.
pub(super) fn log_share(inside: usize, n: usize) -> (f64, f64) {
    if inside == 0 {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    let (share, n) = (inside as f64 / n as f64, n as f64);
    let error = ((1.0 - share) / share / (n - 1.0)).sqrt();
    ((0.5 * share).ln(), error.hypot(1.0 / n))
}
