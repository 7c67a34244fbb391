//! Whether the draws of several trajectories agree with one another and are worth enough independent ones.
//!
//! R-hat and the bulk effective sample size in their rank-normalized forms (Vehtari et al., "Rank-normalization, folding, and
//! localization", 2021), also for `bayespoint.results.diagnostics`.

use crate::simd::special::normal_quantile;
use crate::trajectory::Recorder;

/// Coordinates of each trajectory without which nothing can be said, and of all below which the estimates are too noisy to decide.
pub const LEAST_DRAWS: usize = 4;
const LEAST_IN_ALL: usize = 80;
/// Largest number of draws of each trajectory from which R-hat is computed.
const R_HAT_DRAWS: usize = 1_000;
/// Largest R-hat of trajectories that agree, if the draws are many.
const MAX_R_HAT: f64 = 1.05;
/// Independent draws that the draws must be worth: this many or half of them, and this share of many of them.
const MIN_SIZE: f64 = 100.0;
const MIN_SHARE: f64 = 0.25;
/// Normal quantile of the chance, 1e-3, that R-hat of independent draws exceeds its limit.
const RARE: f64 = 3.09;

/// Returns the effective size of the first quantity in which the last `n` draws of every trajectory disagree, or are worth too
/// few independent ones, of every coordinate recorded, and the square of each that changes its sign; none if all suffice. Too
/// few draws to tell are enough.
pub fn shortfall(records: &[&Recorder], n: usize) -> Option<f64> {
    let n = records.iter().map(|record| record.kept()).min().unwrap_or(0).min(n);
    if n < LEAST_DRAWS || n * records.len() < LEAST_IN_ALL {
        return None;
    }
    let (t, all) = (records.len(), (records.len() * n) as f64);
    let least = MIN_SIZE.min(0.5 * all).max(MIN_SHARE * all);
    let step = n.div_ceil(R_HAT_DRAWS);
    let most = r_hat_limit(t, least);
    let scores_of = |n: usize| normal_scores(2 * t * (n / 2));
    let scores = scores_of(n);
    let of_thinned = (step > 1).then(|| scores_of(n.div_ceil(step)));
    let thin_scores = of_thinned.as_ref().unwrap_or(&scores);
    let functionals: Vec<&[f64]> = records.iter().map(|record| record.last(n).1).collect();
    let q = functionals[0].len() / n;
    let quantities = (0..q).flat_map(|k| {
        let values = Coordinates::new(&functionals, q, k);
        let (low, high) = values.range();
        let square = (low < 0.0 && high > 0.0).then(|| values.map(|x| x * x));
        [Some(values), square].into_iter().flatten()
    });
    let mut short = quantities.filter_map(|draws| {
        let (low, high) = draws.range();
        // Nothing can be said about a constant.
        let size = (low < high).then(|| draws.ess(&scores))?;
        let suffices = size >= least && draws.thinned(step).r_hat(thin_scores) <= most;
        (!suffices).then_some(size)
    });
    short.next()
}

/// Returns the limit of R-hat for draws of t trajectories that are worth n independent ones in all: [`MAX_R_HAT`], or what these
/// exceed by chance alone. The ratio of the variance between half trajectories to that within them is approximately chi-square
/// over its degrees of freedom, whose quantile is that of Wilson and Hilferty.
fn r_hat_limit(t: usize, n: f64) -> f64 {
    let halves = (2 * t) as f64;
    let spread = 2.0 / (9.0 * (halves - 1.0));
    let ratio = (1.0 - spread + RARE * spread.sqrt()).powi(3);
    MAX_R_HAT.max((1.0 + (ratio - 1.0) * halves / n).sqrt())
}

fn normal_score(rank: f64, n: usize) -> f64 {
    normal_quantile((rank - 0.375) / (n as f64 + 0.25))
}

/// Returns the normal scores of the ranks 1 to n. They are the same for all quantities, and take longer than the ranks.
pub fn normal_scores(n: usize) -> Vec<f64> {
    let mut scores: Vec<f64> =
        (1..=n.div_ceil(2)).map(|rank| normal_score(rank as f64, n)).collect();
    let upper: Vec<f64> = scores[..n / 2].iter().rev().map(|score| -score).collect();
    scores.extend(upper);
    scores
}

/// Coordinates of one quantity, a list for each trajectory or half of one.
pub struct Coordinates(pub(crate) Vec<Vec<f64>>);

impl Coordinates {
    /// Collects quantity k of q from row-major records.
    fn new(records: &[&[f64]], q: usize, k: usize) -> Self {
        Self(
            records
                .iter()
                .map(|record| record.iter().skip(k).step_by(q).copied().collect())
                .collect(),
        )
    }

    fn map(&self, change: impl Fn(f64) -> f64) -> Self {
        Self(self.0.iter().map(|chain| chain.iter().map(|&x| change(x)).collect()).collect())
    }

    fn thinned(&self, step: usize) -> Self {
        Self(self.0.iter().map(|chain| chain.iter().step_by(step).copied().collect()).collect())
    }

    fn all(&self) -> impl Iterator<Item = f64> {
        self.0.iter().flatten().copied()
    }

    fn range(&self) -> (f64, f64) {
        self.all().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)))
    }

    /// Returns the halves of all trajectories; a middle draw is left out.
    fn halves(&self) -> Self {
        let half = self.0[0].len() / 2;
        let parts = self.0.iter().flat_map(|chain| [&chain[..half], &chain[chain.len() - half..]]);
        Self(parts.map(<[f64]>::to_vec).collect())
    }

    fn median(&self) -> f64 {
        let mut sorted: Vec<f64> = self.all().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len();
        f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2])
    }

    /// Replaces n values by the normal scores of their ranks, [`normal_scores`] of n, equal ones by that of their mean rank.
    fn scores(&self, of_ranks: &[f64]) -> Self {
        let width = self.0[0].len();
        let values: Vec<f64> = self.all().collect();
        let n = values.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_unstable_by(|&i, &j| values[i].total_cmp(&values[j]));
        let mut scores = vec![0.0; n];
        let mut first = 0;
        while first < n {
            let same = order[first..].iter().take_while(|&&i| values[i] <= values[order[first]]);
            let end = first + same.count().max(1);
            let score = match end - first {
                1 => of_ranks[first],
                _ => normal_score(0.5 * (first + end + 1) as f64, n),
            };
            order[first..end].iter().for_each(|&i| scores[i] = score);
            first = end;
        }
        Self(scores.chunks(width).map(<[f64]>::to_vec).collect())
    }

    /// Returns the rank-normalized split R-hat, also of the distances from the median.
    pub fn r_hat(&self, of_ranks: &[f64]) -> f64 {
        let halves = self.halves();
        let median = halves.median();
        let distances = halves.map(|x| (x - median).abs());
        let [location, spread] =
            [halves, distances].map(|draws| draws.scores(of_ranks).plain_r_hat());
        location.max(spread)
    }

    fn plain_r_hat(&self) -> f64 {
        let n = self.0[0].len() as f64;
        let means: Vec<f64> = self.0.iter().map(|chain| mean(chain)).collect();
        let within: Vec<f64> = self.0.iter().map(|chain| variance(chain)).collect();
        ((n * variance(&means) / mean(&within) + n - 1.0) / n).sqrt()
    }

    /// Returns the bulk effective sample size, by the initial monotone sequence (Geyer, 1992) of the autocovariances.
    pub fn ess(&self, of_ranks: &[f64]) -> f64 {
        let mut chains = self.halves().scores(of_ranks).0;
        let n = chains[0].len();
        let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
        for (chain, mean) in chains.iter_mut().zip(&means) {
            chain.iter_mut().for_each(|x| *x -= mean);
        }
        let total = (chains.len() * n) as f64;
        let covariance = |lag: usize| {
            let products = |chain: &Vec<f64>| -> f64 {
                chain.iter().zip(&chain[lag..]).map(|(a, b)| a * b).sum()
            };
            chains.iter().map(products).sum::<f64>() / total
        };
        let zero = covariance(0);
        let within = zero * n as f64 / (n as f64 - 1.0);
        let all = zero + variance(&means);
        let rho = |lag| if lag == 0 { 1.0 } else { 1.0 - (within - covariance(lag)) / all };
        let n_pairs = ((n - 1) / 2).max(1);
        let (mut k, mut smallest, mut sum) = (0, f64::INFINITY, 0.0);
        let last = loop {
            let even = rho(2 * k);
            let pair = even + rho(2 * k + 1);
            if pair <= 0.0 || k + 1 == n_pairs {
                break if pair >= 0.0 { even } else { even.max(0.0) };
            }
            smallest = pair.min(smallest);
            sum += smallest;
            k += 1;
        };
        let time = 2.0 * sum + last - 1.0;
        total / time.max(total.log10().recip())
    }
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn variance(x: &[f64]) -> f64 {
    let center = mean(x);
    x.iter().map(|x| (x - center) * (x - center)).sum::<f64>() / (x.len() as f64 - 1.0)
}

#[cfg(test)]
#[path = "../../tests/unit/ensemble/mixing.rs"]
mod tests;
