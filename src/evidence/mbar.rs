//! The multistate Bennett acceptance ratio (MBAR): Z for every transparency from the samples of all rungs of a ladder.
//!
//! On a rung with weights `W_k(v)` the state v of the ball (its number of violated planes, or its layer) has the
//! distribution `G(v) W_k(v) / Z_k`, where `G(v)` is the share of the sphere in state v. Walls of transparency κ = e^-s
//! have `W(v) = e^(-s v)`. All rungs sample the same `G`, best estimated by (Shirts and Chodera, 2008)
//!
//! ```text
//! G(v) = H(v) / D(v),     D(v) = Σ_k N_k e^θ_k W_k(v),     e^-θ_k = Z_k = Σ_v G(v) W_k(v)
//! ```
//!
//! with H(v) the path in state v on all rungs and N_k that on rung k. Distributions of neighbors must only overlap.

use std::collections::BTreeMap;

use crate::linalg::small;

/// Path in each state that was visited, in rising order.
pub type Histogram = Vec<(usize, f64)>;

pub struct Rung {
    /// ln W(v) for every state; -∞ where the rung has no weight.
    pub log_weights: Vec<f64>,
    /// The trip and the histogram of each piece of path. The pieces have nearly equal lengths.
    pub pieces: Vec<(usize, Histogram)>,
}

impl Rung {
    fn visits(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.pieces.iter().flat_map(|(_, histogram)| histogram.iter().copied())
    }

    fn path(&self) -> f64 {
        self.visits().map(|(_, path)| path).sum()
    }
}

pub fn sum_by_key<K: Ord>(entries: impl Iterator<Item = (K, f64)>) -> BTreeMap<K, f64> {
    let mut sums = BTreeMap::new();
    for (key, value) in entries {
        *sums.entry(key).or_insert(0.0) += value;
    }
    sums
}

/// Combines rungs. The first ones form a ladder along which ln weights change by `-slope(s, state)`, for a first guess of θ.
pub fn combine(ladder: &[f64], rungs: Vec<Rung>, slope: impl Fn(f64, usize) -> f64) -> Shares {
    let mean = |(rung, &s): (&Rung, &f64)| {
        rung.visits().map(|(v, path)| slope(s, v) * path).sum::<f64>() / rung.path()
    };
    let means: Vec<f64> = rungs.iter().zip(ladder).map(mean).collect();
    let mut theta = vec![0.0; rungs.len()];
    for k in 1..ladder.len() {
        let area = 0.5 * (means[k] + means[k - 1]) * (ladder[k] - ladder[k - 1]);
        theta[k] = theta[k - 1] + area;
    }
    Shares::new(rungs, theta)
}

/// Largest change of θ in one step.
const LARGEST_STEP: f64 = 5.0;
/// Maximum number of steps; ten are typical.
const MAX_STEPS: usize = 300;
/// Memberships below this are lost to rounding.
const MIN_MEMBERSHIP: f64 = 1e-20;
/// Halvings of a Newton step before the self-consistent iteration takes its place.
const MAX_HALVINGS: usize = 10;

/// The share of the sphere in each state, with what its error requires.
pub struct Shares {
    rungs: Vec<Rung>,
    /// N_k.
    rung_paths: Vec<f64>,
    /// θ_k; θ_0 = 0.
    theta: Vec<f64>,
    /// H(v) for every state.
    pub paths: Vec<f64>,
    /// ln D(v), also for states that were not visited.
    pub log_exposure: Vec<f64>,
    /// ln G(v); -∞ where v was not visited.
    pub log_share: Vec<f64>,
    /// Membership `p_k(v) = N_k e^θ_k W_k(v) / D(v)` of v in the rungs k ≥ 1, row-major (v, k).
    membership: Vec<f64>,
    /// Cholesky factor of the Hessian over the rungs k ≥ 1.
    hessian: Vec<f64>,
}

pub fn log_sum_exp(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + terms.map(|x| (x - largest).exp()).sum::<f64>().ln()
}

impl Shares {
    /// Combines the rungs, with a first guess of θ. The first rung must have weight 1 in every state.
    fn new(rungs: Vec<Rung>, theta: Vec<f64>) -> Self {
        let states = rungs[0].log_weights.len();
        let mut paths = vec![0.0; states];
        for (v, path) in rungs.iter().flat_map(Rung::visits) {
            paths[v] += path;
        }
        let n = rungs.len() - 1;
        let mut shares = Self {
            rung_paths: rungs.iter().map(Rung::path).collect(),
            rungs,
            theta,
            paths,
            log_exposure: vec![0.0; states],
            log_share: vec![f64::NEG_INFINITY; states],
            membership: vec![0.0; states * n],
            hessian: vec![0.0; n * n],
        };
        shares.find_theta();
        shares
    }

    fn set_memberships(&mut self) {
        let n = self.rungs.len() - 1;
        let logs: Vec<f64> = self.rung_paths.iter().map(|path| path.ln()).collect();
        for v in 0..self.paths.len() {
            let term = |k: usize| logs[k] + self.theta[k] + self.rungs[k].log_weights[v];
            let log_d = log_sum_exp((0..=n).map(term));
            for k in 0..n {
                self.membership[v * n + k] = (term(k + 1) - log_d).exp();
            }
            self.log_exposure[v] = log_d;
        }
    }

    /// The convex function to be minimized, `Σ_v H(v) ln D(v) - Σ_k N_k θ_k`.
    fn potential(&self) -> f64 {
        let states = self.paths.iter().zip(&self.log_exposure);
        let visited: f64 = states.map(|(h, d)| if *h > 0.0 { h * d } else { 0.0 }).sum();
        let linear: f64 = self.rung_paths.iter().zip(&self.theta).map(|(n, t)| n * t).sum();
        visited - linear
    }

    /// Minimizes the potential by Newton's method, halving steps that do not decrease it. Where the distributions hardly
    /// overlap, no halved step may decrease the potential: a self-consistent step `θ_k ← -ln Z_k(θ)` always does.
    fn find_theta(&mut self) {
        let n = self.rungs.len() - 1;
        let all: f64 = self.rung_paths.iter().sum();
        self.set_memberships();
        let mut value = self.potential();
        for _ in 0..MAX_STEPS {
            let mut expected = vec![0.0; n];
            self.hessian.fill(0.0);
            for (v, h) in self.paths.iter().enumerate().filter(|(_, h)| **h > 0.0) {
                let p = &self.membership[v * n..(v + 1) * n];
                // Most states belong to a few rungs.
                let members: Vec<usize> = (0..n).filter(|&k| p[k] > MIN_MEMBERSHIP).collect();
                for &k in &members {
                    expected[k] += h * p[k];
                    self.hessian[k * n + k] += h * p[k];
                    for &l in &members {
                        self.hessian[k * n + l] -= h * p[k] * p[l];
                    }
                }
            }
            // The entries are paths: rounding errors are relative to the whole path.
            small::factor(&mut self.hessian, n, 1e-14 * all);
            let mut step: Vec<f64> = (0..n).map(|k| expected[k] - self.rung_paths[k + 1]).collect();
            small::solve(&self.hessian, n, &mut step);
            let size = step.iter().fold(0.0, |s: f64, x| s.max(x.abs()));
            let old = self.theta.clone();
            let mut length = (LARGEST_STEP / size).min(1.0);
            let mut halvings = 0;
            loop {
                for k in 0..n {
                    self.theta[k + 1] = if halvings < MAX_HALVINGS {
                        old[k + 1] - length * step[k]
                    } else {
                        old[k + 1] - (expected[k] / self.rung_paths[k + 1]).ln().max(-LARGEST_STEP)
                    };
                }
                self.set_memberships();
                let new = self.potential();
                if new <= value + 1e-12 * value.abs() || halvings == MAX_HALVINGS {
                    value = new;
                    break;
                }
                length *= 0.5;
                halvings += 1;
            }
            if size < 1e-10 {
                break;
            }
        }
        for v in 0..self.paths.len() {
            self.log_share[v] = self.paths[v].ln() - self.log_exposure[v];
        }
    }

    /// Returns ln Z for weights given by their logarithm at each state, and its standard error: see [`error`].
    pub fn log_z(&self, log_weight: impl Fn(usize) -> f64) -> (f64, f64) {
        let (value, influences) = self.influences(log_weight);
        (value, error(&influences))
    }

    /// Returns ln Z for weights given by their logarithm at each state, and the influences of each rung, empty where Z is 0.
    pub fn influences(&self, log_weight: impl Fn(usize) -> f64) -> (f64, Vec<Influences>) {
        let n = self.rungs.len() - 1;
        let states = self.paths.len();
        let value = log_sum_exp((0..states).map(|v| self.log_share[v] + log_weight(v)));
        if value == f64::NEG_INFINITY {
            return (value, vec![Vec::new(); n + 1]);
        }
        // Path at v has an influence of its own, ω(v), and one through θ, aᵀ Hess⁻¹ p(v).
        let omega: Vec<f64> = (0..states)
            .map(|v| {
                if self.paths[v] > 0.0 {
                    (self.log_share[v] + log_weight(v) - value).exp() / self.paths[v]
                } else {
                    0.0
                }
            })
            .collect();
        let mut a = vec![0.0; n];
        for v in 0..states {
            for k in 0..n {
                a[k] += self.paths[v] * omega[v] * self.membership[v * n + k];
            }
        }
        small::solve(&self.hessian, n, &mut a);
        let influence: Vec<f64> = (0..states)
            .map(|v| omega[v] + (0..n).map(|k| a[k] * self.membership[v * n + k]).sum::<f64>())
            .collect();
        let of_rung = |(rung, rung_path): (&Rung, &f64)| {
            let parts: Vec<(usize, f64, f64)> = rung
                .pieces
                .iter()
                .map(|(trip, piece)| {
                    let sum = piece.iter().map(|&(v, path)| path * influence[v]).sum();
                    (*trip, sum, piece.iter().map(|visit| visit.1).sum())
                })
                .collect();
            let mean = parts.iter().map(|part| part.1).sum::<f64>() / rung_path;
            parts.into_iter().map(|(trip, sum, path)| (trip, sum - mean * path)).collect()
        };
        (value, self.rungs.iter().zip(&self.rung_paths).map(of_rung).collect())
    }
}

/// The trip of each piece of a rung, and the influence of the piece on an estimate, relative to the mean of the rung.
pub type Influences = Vec<(usize, f64)>;

/// Returns the standard error of an estimate from the influences on each rung.
///
/// It is the larger of two, from the spread of the pieces on each rung and from the spread of whole trips. Where
/// trajectories lag behind the ladder, all rungs of a trip are off alike, down and up oppositely: only the second shows that.
pub fn error(rungs: &[Influences]) -> f64 {
    let variance = |count: usize, squares: f64| {
        let n = count as f64;
        if n > 1.0 { n / (n - 1.0) * squares } else { f64::INFINITY }
    };
    let of_rung =
        |pieces: &Influences| variance(pieces.len(), pieces.iter().map(|(_, off)| off * off).sum());
    let by_rung: f64 = rungs.iter().map(of_rung).sum();
    let trips = sum_by_key(rungs.iter().flatten().copied());
    let by_trip = variance(trips.len(), trips.values().map(|off| off * off).sum());
    by_rung.max(by_trip).sqrt()
}

#[cfg(test)]
#[path = "../../tests/unit/evidence/mbar.rs"]
mod tests;
