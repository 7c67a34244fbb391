//! The ratio of the normalizations at both ends of the bridge, from the samples on its rungs.

use std::collections::BTreeMap;

use crate::evidence::mbar::{self, Rung, sum_by_key};

/// Width of the bins of -ln p_1, nats. Each is represented by its mean: the error is at most half the variance in a bin.
const BIN: f64 = 0.05;

/// The trip of a piece of path, and the statistics x of its samples.
pub(super) type Piece = (usize, Vec<f64>);

/// Returns ln of the mean of `(1 + x)^(-r/2)` in version space, and its standard error, from samples at every t.
pub(super) fn log_ratio(ladder: &[f64], pieces: &[Vec<Piece>], dimension: f64) -> (f64, f64) {
    let half = 0.5 * dimension;
    let height = |x: f64| half * x.ln_1p();
    #[allow(clippy::cast_possible_truncation, reason = "nats over a twentieth")]
    let bin = |x: f64| (height(x) / BIN).floor() as i64;
    // For each bin its number, and the count and the sum of the heights in it.
    let mut states: BTreeMap<i64, (usize, f64, f64)> = BTreeMap::new();
    for &x in pieces.iter().flatten().flat_map(|(_, piece)| piece) {
        let state = states.entry(bin(x)).or_default();
        state.1 += 1.0;
        state.2 += height(x);
    }
    for (number, state) in states.values_mut().enumerate() {
        state.0 = number;
    }
    let centers: Vec<f64> =
        states.values().map(|&(_, count, sum)| (sum / count / half).exp_m1()).collect();
    let log_weights =
        |t: f64| -> Vec<f64> { centers.iter().map(|&x| -half * (t * x).ln_1p()).collect() };
    let histogram = |(trip, piece): &Piece| {
        let histogram = sum_by_key(piece.iter().map(|&x| (states[&bin(x)].0, 1.0)));
        (*trip, histogram.into_iter().collect())
    };
    let rung = |(&t, pieces): (&f64, &Vec<Piece>)| Rung {
        log_weights: log_weights(t),
        pieces: pieces.iter().map(histogram).collect(),
    };
    let rungs = ladder.iter().zip(pieces).map(rung).collect();
    let shares = mbar::combine(ladder, rungs, |t, v| half * centers[v] / (1.0 + t * centers[v]));
    let last = log_weights(1.0);
    shares.log_z(|v| last[v])
}

#[cfg(test)]
#[path = "../../../tests/unit/evidence/bridge/ratio.rs"]
mod tests;
