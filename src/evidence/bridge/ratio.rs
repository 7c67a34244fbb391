//! From what was seen on the rungs to the ratio of the normalizations at both ends.

use std::collections::BTreeMap;

use crate::evidence::mbar;

/// Width of the bins of -ln p_1, nats. Each stands for the mean in it, so that what is lost is of second order, half its
/// variance at most.
const BIN: f64 = 0.05;

/// Statistics x of a stretch of path, and the trip it belongs to.
pub(super) type Piece = (usize, Vec<f64>);

/// ln of the normalization of `(1 + x)^(-r/2)` over that of 1 in the walled-in isotropic law, and its standard error, from
/// pieces sampled at every t of a ladder from 0 to 1.
pub(super) fn log_ratio(ladder: &[f64], pieces: &[Vec<Piece>], dimension: f64) -> (f64, f64) {
    let half = 0.5 * dimension;
    let height = |x: f64| half * x.ln_1p();
    #[allow(clippy::cast_possible_truncation, reason = "nats over a twentieth")]
    let bin = |x: f64| (height(x) / BIN).floor() as i64;
    // For each bin its number, and how many heights are in it with their sum.
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
        let mut histogram = BTreeMap::new();
        for &x in piece {
            *histogram.entry(states[&bin(x)].0).or_insert(0.0) += 1.0;
        }
        (*trip, histogram.into_iter().collect())
    };
    let rungs = ladder
        .iter()
        .zip(pieces)
        .map(|(&t, pieces)| (log_weights(t), pieces.iter().map(histogram).collect()));
    let shares = mbar::combine(ladder, rungs, |t, v| half * centers[v] / (1.0 + t * centers[v]));
    let last = log_weights(1.0);
    shares.log_z(|v| last[v])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;
    use rand_distr::{ChiSquared, Distribution};

    /// Of Gaussian vectors in r dimensions of which the first k are drawn together by 1 + t a: the ratio is the root of a
    /// determinant.
    #[test]
    fn determinants() {
        let (r, k, a) = (20.0, 8.0, 6.0f64);
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let ladder = [0.0, 0.3, 1.0];
        let pieces: Vec<Vec<Piece>> = ladder
            .iter()
            .map(|t| {
                (0..40)
                    .map(|way| {
                        let piece = (0..200)
                            .map(|_| {
                                let within: f64 =
                                    ChiSquared::new(k).expect("k > 0").sample(&mut rng);
                                let rest: f64 =
                                    ChiSquared::new(r - k).expect("r > k").sample(&mut rng);
                                let within = within / (1.0 + t * a);
                                a * within / (within + rest)
                            })
                            .collect();
                        (way, piece)
                    })
                    .collect()
            })
            .collect();
        let (found, error) = log_ratio(&ladder, &pieces, r);
        let exact = -0.5 * k * (1.0 + a).ln();
        assert!((found - exact).abs() < 4.0 * error && error < 0.05, "{found} ± {error}, {exact}");
    }
}
