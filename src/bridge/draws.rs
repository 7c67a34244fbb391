//! Plain draws of the fitted law, weighed by the walls.

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use crate::mirror::Mirror;
use crate::reweight::log_sum_exp;
use crate::version_space::VersionSpace;

use super::law::{Inner, Law, Point};

/// A draw with both signs, of which the law knows nothing: its statistic, ln of the mean weight of the two, and one of them by
/// its weight.
pub(super) struct Draw {
    pub x: f64,
    pub log_weight: f64,
    point: Point,
}

impl Draw {
    pub fn new(
        space: &VersionSpace<'_>,
        mirror: Mirror,
        law: &Law,
        inner: &Inner,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let mut point = law.draw(inner, rng);
        let x = law.statistic_of(&point);
        let plus = mirror.log_weight(space.violations(&point.field));
        let opposite: Vec<f64> = point.field.iter().map(|f| -f).collect();
        let minus = mirror.log_weight(space.violations(&opposite));
        let both = log_sum_exp([plus, minus].into_iter());
        if rng.random::<f64>().ln() + both >= plus {
            point.field = opposite;
            point.dual.iter_mut().for_each(|c| *c = -*c);
        }
        Self { x, log_weight: both - 2f64.ln(), point }
    }
}

fn largest(draws: &[Draw]) -> f64 {
    draws.iter().map(|draw| draw.log_weight).fold(f64::NEG_INFINITY, f64::max)
}

/// Statistics with weights of which the largest is 1; empty where all weights are 0.
pub(super) fn weighted(draws: &[Draw]) -> Vec<(f64, f64)> {
    let largest = largest(draws);
    draws
        .iter()
        .filter(|draw| draw.log_weight > f64::NEG_INFINITY)
        .map(|draw| (draw.x, (draw.log_weight - largest).exp()))
        .collect()
}

/// (Σ weight)² / Σ weight², over their number.
pub(super) fn share(draws: &[Draw]) -> f64 {
    let seen = weighted(draws);
    let (sum, squares) = seen.iter().fold((0.0, 0.0), |(s, q), (_, w)| (s + w, q + w * w));
    if sum > 0.0 { sum * sum / squares / draws.len() as f64 } else { 0.0 }
}

/// One of the draws, each taken with a probability in proportion to its weight; none where all weights are 0.
pub(super) fn choose(draws: &[Draw], rng: &mut ChaCha8Rng) -> Option<Point> {
    let largest = largest(draws);
    let mut open = draws.iter().filter(|draw| draw.log_weight > f64::NEG_INFINITY);
    let weight = |draw: &Draw| (draw.log_weight - largest).exp();
    let mut left = rng.random::<f64>() * open.clone().map(weight).sum::<f64>();
    let chosen = open.clone().find(|draw| {
        left -= weight(draw);
        left < 0.0
    });
    // Rounding may leave a trace of the sum to the last one.
    chosen.or_else(|| open.next_back()).map(|draw| draw.point.clone())
}

/// ln of the mean weight and its standard error, of draws given by ln weight. What none of n draws has seen may be there
/// still: a part of 1/n of them that weighs nothing, where all that were seen weigh alike.
pub(super) fn log_mean(logs: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let largest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return (largest, f64::INFINITY);
    }
    let weights = logs.map(|log| (log - largest).exp());
    let n = weights.clone().count() as f64;
    let mean = weights.clone().sum::<f64>() / n;
    let square = weights.map(|w| (w - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (largest + mean.ln(), (square / n).sqrt().hypot(mean / n) / mean)
}
