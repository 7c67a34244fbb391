//! From what was seen on the rungs of a transparency ladder to Z for every transparency.
//!
//! On a rung with weights `W_k(v)` the state v of the ball (how many planes it violates, or which layer it is in) has the
//! law `G(v) W_k(v) / Z_k`, where `G(v)` is the share of the sphere in state v. A transparency κ = e^-s of all walls gives
//! `W(v) = e^(-s v)`. All rungs speak of the same `G`, and the statistically best way to combine them is the
//! multi-histogram (or multistate Bennett) estimator (Shirts and Chodera, 2008):
//!
//! ```text
//! G(v) = H(v) / D(v),     D(v) = Σ_k N_k e^θ_k W_k(v),     e^-θ_k = Z_k = Σ_v G(v) W_k(v)
//! ```
//!
//! with H(v) the path spent in state v on all rungs and N_k the path on rung k. It has no error from the spacing of the
//! rungs, which only has to let neighboring laws overlap.

use crate::linalg::small;

/// Path in each state that was seen, in rising order.
pub(crate) type Histogram = Vec<(usize, f64)>;

/// A rung of the ladder with what was seen on it.
#[derive(Clone, Debug)]
pub(crate) struct Rung {
    /// ln W(v) for every state; -∞ where the rung does not go.
    pub log_weights: Vec<f64>,
    /// A first guess of θ = -ln Z.
    pub theta: f64,
    /// One histogram for each piece of path, of nearly equal lengths, with the trip down or up the ladder it belongs to.
    pub pieces: Vec<(usize, Histogram)>,
}

impl Rung {
    fn total(&self) -> f64 {
        self.seen().map(|seen| seen.1).sum()
    }

    fn seen(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.pieces.iter().flat_map(|(_, histogram)| histogram.iter().copied())
    }

    /// Time average of a quantity that depends on the state.
    pub fn mean(&self, value: impl Fn(usize) -> f64) -> f64 {
        self.seen().map(|(v, path)| value(v) * path).sum::<f64>() / self.total()
    }
}

/// First guesses of θ for a ladder of transparencies e^-s with the given mean violations, by thermodynamic integration.
fn integrate(ladder: &[f64], means: &[f64]) -> Vec<f64> {
    let mut theta = vec![0.0];
    for k in 1..ladder.len() {
        let area = 0.5 * (means[k] + means[k - 1]) * (ladder[k] - ladder[k - 1]);
        theta.push(theta[k - 1] + area);
    }
    theta
}

/// Combines rungs of which the first belong to a ladder, whose ln weights have the slope `-slope(s, state)` along it. Their θ is
/// guessed by integration, that of others is 0.
pub(crate) fn combine(
    ladder: &[f64],
    rungs: impl Iterator<Item = (Vec<f64>, Vec<(usize, Histogram)>)>,
    slope: impl Fn(f64, usize) -> f64,
) -> Shares {
    let rung = |(log_weights, pieces)| Rung { log_weights, theta: 0.0, pieces };
    let mut rungs: Vec<Rung> = rungs.map(rung).collect();
    let means: Vec<f64> =
        rungs.iter().zip(ladder).map(|(rung, &s)| rung.mean(|v| slope(s, v))).collect();
    for (rung, theta) in rungs.iter_mut().zip(integrate(ladder, &means)) {
        rung.theta = theta;
    }
    Shares::new(rungs)
}

/// Largest change of θ in one step of the search.
const LARGEST_STEP: f64 = 5.0;
/// Steps of the search; ten are the rule.
const MOST_STEPS: usize = 300;
/// Membership of a state in a rung that is lost against the others in double precision.
const LEAST_MEMBERSHIP: f64 = 1e-20;
/// Halvings of a step of Newton's method before it is given up.
const MOST_HALVINGS: usize = 10;

/// The shares of the sphere by state, with what the errors need.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    rungs: Vec<Rung>,
    /// θ_k; θ_0 = 0.
    theta: Vec<f64>,
    /// H(v) for every state.
    pub all: Vec<f64>,
    /// ln D(v): path per share of the sphere that the rungs gave to v, seen or not.
    pub log_exposure: Vec<f64>,
    /// ln G(v); -∞ where v was never seen.
    pub log_share: Vec<f64>,
    /// Membership p_k(v) of v in the rungs k ≥ 1, row-major (v, k).
    membership: Vec<f64>,
    /// Cholesky factor of the Hessian over the rungs k ≥ 1.
    hessian: Vec<f64>,
}

/// ln Σ e^x.
pub(crate) fn log_sum_exp(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + terms.map(|x| (x - largest).exp()).sum::<f64>().ln()
}

impl Shares {
    /// Combines the rungs; the first must have weight 1 in every state.
    pub fn new(rungs: Vec<Rung>) -> Self {
        let states = rungs[0].log_weights.len();
        let mut all = vec![0.0; states];
        for (v, path) in rungs.iter().flat_map(Rung::seen) {
            all[v] += path;
        }
        let theta = rungs.iter().map(|rung| rung.theta).collect();
        let n = rungs.len() - 1;
        let mut shares = Self {
            rungs,
            theta,
            all,
            log_exposure: vec![0.0; states],
            log_share: vec![f64::NEG_INFINITY; states],
            membership: vec![0.0; states * n],
            hessian: vec![0.0; n * n],
        };
        shares.find_theta();
        shares
    }

    /// Sets `ln D(v)` and the memberships at the present θ.
    fn set_memberships(&mut self) {
        let n = self.rungs.len() - 1;
        let logs: Vec<f64> = self.rungs.iter().map(|rung| rung.total().ln()).collect();
        for v in 0..self.all.len() {
            let term = |k: usize| logs[k] + self.theta[k] + self.rungs[k].log_weights[v];
            let log_d = log_sum_exp((0..=n).map(term));
            for k in 0..n {
                self.membership[v * n + k] = (term(k + 1) - log_d).exp();
            }
            self.log_exposure[v] = log_d;
        }
    }

    /// The convex function whose minimum is sought, `Σ_v H(v) ln D(v) - Σ_k N_k θ_k`.
    fn potential(&self) -> f64 {
        let states = self.all.iter().zip(&self.log_exposure);
        let seen: f64 = states.map(|(h, d)| if *h > 0.0 { h * d } else { 0.0 }).sum();
        let linear: f64 = self.rungs.iter().zip(&self.theta).map(|(r, t)| r.total() * t).sum();
        seen - linear
    }

    /// Newton's method on a convex function, with halved steps where a full one goes too far. Where the laws of the
    /// rungs hardly overlap at the first guess of θ, the function is close to linear and none of them may lead down; a step of
    /// the self-consistent iteration `θ_k ← -ln Z_k(θ)` always does.
    fn find_theta(&mut self) {
        let n = self.rungs.len() - 1;
        let totals: Vec<f64> = self.rungs.iter().map(Rung::total).collect();
        let all: f64 = totals.iter().sum();
        let mut members: Vec<usize> = Vec::with_capacity(n);
        self.set_memberships();
        let mut value = self.potential();
        for _ in 0..MOST_STEPS {
            let mut seen = vec![0.0; n];
            self.hessian.fill(0.0);
            for (v, h) in self.all.iter().enumerate().filter(|(_, h)| **h > 0.0) {
                let p = &self.membership[v * n..(v + 1) * n];
                // Most states belong to a few rungs.
                members.clear();
                members.extend((0..n).filter(|&k| p[k] > LEAST_MEMBERSHIP));
                for &k in &members {
                    seen[k] += h * p[k];
                    self.hessian[k * n + k] += h * p[k];
                    for &l in &members {
                        self.hessian[k * n + l] -= h * p[k] * p[l];
                    }
                }
            }
            // The entries are paths; what is lost to rounding is lost against all of it.
            small::factor(&mut self.hessian, n, 1e-14 * all);
            let mut step: Vec<f64> = (0..n).map(|k| seen[k] - totals[k + 1]).collect();
            small::solve(&self.hessian, n, &mut step);
            let size = step.iter().fold(0.0, |s: f64, x| s.max(x.abs()));
            let old = self.theta.clone();
            let mut length = (LARGEST_STEP / size).min(1.0);
            let mut halvings = 0;
            loop {
                for k in 0..n {
                    self.theta[k + 1] = if halvings < MOST_HALVINGS {
                        old[k + 1] - length * step[k]
                    } else {
                        old[k + 1] - (seen[k] / totals[k + 1]).ln().max(-LARGEST_STEP)
                    };
                }
                self.set_memberships();
                let new = self.potential();
                if new <= value + 1e-12 * value.abs() || halvings == MOST_HALVINGS {
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
        for v in 0..self.all.len() {
            self.log_share[v] = self.all[v].ln() - self.log_exposure[v];
        }
    }

    /// ln Z for weights given by their logarithm at each state, and its standard error: see [`error`].
    pub fn log_z(&self, log_weight: impl Fn(usize) -> f64) -> (f64, f64) {
        let (value, offsets) = self.offsets(log_weight);
        (value, error(&offsets))
    }

    /// ln Z for weights given by their logarithm at each state, and how far each piece of each rung pulls it from the others of
    /// its rung, with the number of its trip; no pieces where Z is 0.
    pub fn offsets(&self, log_weight: impl Fn(usize) -> f64) -> (f64, Vec<Offsets>) {
        let n = self.rungs.len() - 1;
        let states = self.all.len();
        let value = log_sum_exp((0..states).map(|v| self.log_share[v] + log_weight(v)));
        if value == f64::NEG_INFINITY {
            return (value, vec![Vec::new(); n + 1]);
        }
        // Direct influence of path at v, and through θ: ω(v) + aᵀ Hess⁻¹ p(v).
        let omega: Vec<f64> = (0..states)
            .map(|v| {
                if self.all[v] > 0.0 {
                    (self.log_share[v] + log_weight(v) - value).exp() / self.all[v]
                } else {
                    0.0
                }
            })
            .collect();
        let mut a = vec![0.0; n];
        for v in 0..states {
            for k in 0..n {
                a[k] += self.all[v] * omega[v] * self.membership[v * n + k];
            }
        }
        small::solve(&self.hessian, n, &mut a);
        let influence: Vec<f64> = (0..states)
            .map(|v| omega[v] + (0..n).map(|k| a[k] * self.membership[v * n + k]).sum::<f64>())
            .collect();
        let of_rung = |rung: &Rung| {
            let parts: Vec<(usize, f64, f64)> = rung
                .pieces
                .iter()
                .map(|(trip, piece)| {
                    let sum = piece.iter().map(|&(v, path)| path * influence[v]).sum();
                    (*trip, sum, piece.iter().map(|seen| seen.1).sum())
                })
                .collect();
            let mean = parts.iter().map(|part| part.1).sum::<f64>() / rung.total();
            parts.into_iter().map(|(trip, sum, path)| (trip, sum - mean * path)).collect()
        };
        (value, self.rungs.iter().map(of_rung).collect())
    }
}

/// For each piece of a rung its trip, and how far it pulls an estimate from the others.
pub(crate) type Offsets = Vec<(usize, f64)>;

/// The standard error of an estimate, from the offsets of its pieces on each rung.
///
/// It is the larger of two: from the spread of the pieces on each rung, and from the spread of whole trips along the ladder.
/// Where trajectories lag behind the ladder, all rungs of a trip are off to the same side, and the trips down and up to opposite
/// ones: that is seen by the second alone.
pub(crate) fn error(rungs: &[Offsets]) -> f64 {
    let mut by_rung = 0.0;
    let mut by_trip = std::collections::BTreeMap::new();
    for pieces in rungs {
        let count = pieces.len() as f64;
        let mut squares = 0.0;
        for &(trip, off) in pieces {
            squares += off * off;
            *by_trip.entry(trip).or_insert(0.0) += off;
        }
        by_rung += if count > 1.0 { count / (count - 1.0) * squares } else { f64::INFINITY };
    }
    let trips = by_trip.len() as f64;
    let squares: f64 = by_trip.into_values().map(|off: f64| off * off).sum();
    let by_trip = if trips > 1.0 { trips / (trips - 1.0) * squares } else { f64::INFINITY };
    by_rung.max(by_trip).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights that rise steeply, exact histograms and a first guess of θ that is far off: the search finds its way.
    #[test]
    fn the_search_survives_a_bad_guess() {
        let states = 8usize;
        let share = |v: usize| f64::exp(-6.0 * v as f64);
        let all: f64 = (0..states).map(share).sum();
        let level: Vec<f64> = (0..states).map(|v| 6.0 * v as f64).collect();
        for theta in [0.0, 60.0, -60.0, 500.0] {
            let rung = |log_weights: &[f64], theta| {
                let law: Vec<f64> = (0..states).map(|v| share(v) * log_weights[v].exp()).collect();
                let total: f64 = law.iter().sum();
                let piece = || (0..states).map(|v| (v, 50.0 * law[v] / total)).collect();
                Rung {
                    log_weights: log_weights.to_vec(),
                    theta,
                    pieces: vec![(0, piece()), (1, piece())],
                }
            };
            let shares = Shares::new(vec![rung(&vec![0.0; states], 0.0), rung(&level, theta)]);
            for v in 0..states {
                let exact = (share(v) / all).ln();
                let found = shares.log_share[v];
                assert!(
                    (found - exact).abs() < 1e-6,
                    "θ = {theta}, state {v}: {found}, exact {exact}"
                );
                let (value, error) = shares.log_z(|u| if u == v { 0.0 } else { f64::NEG_INFINITY });
                assert!((value - exact).abs() < 1e-6 && error < 1e-6);
            }
        }
    }
}
