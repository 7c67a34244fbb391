//! From the violations seen on the rungs of a transparency ladder to Z(κ) for every κ.
//!
//! On a rung with transparency κ = e^-s the number of violated planes v has the law `G(v) e^(-s v) / Z(s)`, where
//! `G(v)` is the share of the sphere that violates v planes. All rungs speak of the same `G`, and the statistically
//! best way to combine them is the multi-histogram (or multistate Bennett) estimator (Shirts and Chodera, 2008):
//!
//! ```text
//! G(v) = H(v) / Σ_k N_k e^(θ_k - s_k v),     e^-θ_k = Z(s_k) = Σ_v G(v) e^(-s_k v)
//! ```
//!
//! with H(v) the path spent at v violations on all rungs and N_k the path on rung k. It has no error from the spacing of the
//! rungs, which only has to let neighboring laws overlap.

/// Path at each number of violations that was seen, in rising order.
pub(crate) type Histogram = Vec<(usize, f64)>;

/// A rung of the ladder with what was seen on it.
#[derive(Clone, Debug)]
pub(crate) struct Rung {
    /// s = -ln κ ≥ 0.
    pub s: f64,
    /// One histogram for each piece of path, of nearly equal lengths, with the way down or up the ladder it belongs to.
    pub pieces: Vec<(usize, Histogram)>,
}

impl Rung {
    fn total(&self) -> f64 {
        self.seen().map(|seen| seen.1).sum()
    }

    fn seen(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.pieces.iter().flat_map(|(_, histogram)| histogram.iter().copied())
    }

    fn mean_violations(&self) -> f64 {
        self.seen().map(|(v, path)| v as f64 * path).sum::<f64>() / self.total()
    }
}

/// The shares of the sphere by violations, with what the errors need.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    rungs: Vec<Rung>,
    /// θ_k = -ln Z(s_k); θ_0 = 0.
    theta: Vec<f64>,
    /// H(v), shape (m + 1,).
    all: Vec<f64>,
    /// ln G(v); -∞ where v was never seen.
    pub log_share: Vec<f64>,
    /// Membership p_k(v) of v in the rungs k ≥ 1, row-major (v, k).
    membership: Vec<f64>,
    /// Cholesky factor of the Hessian over the rungs k ≥ 1.
    hessian: Vec<f64>,
}

/// ln Σ e^x.
fn log_sum_exp(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + terms.map(|x| (x - largest).exp()).sum::<f64>().ln()
}

/// Cholesky factor in place of a small positive definite row-major matrix; a ridge of rounding size keeps pivots positive.
fn factor(matrix: &mut [f64], n: usize) {
    let ridge = 1e-14 * (0..n).map(|i| matrix[i * n + i]).fold(f64::MIN_POSITIVE, f64::max);
    for i in 0..n {
        for j in 0..=i {
            let done: f64 = (0..j).map(|k| matrix[i * n + k] * matrix[j * n + k]).sum();
            let rest = matrix[i * n + j] - done;
            matrix[i * n + j] =
                if i == j { rest.max(ridge).sqrt() } else { rest / matrix[j * n + j] };
        }
    }
}

/// Solves `L Lᵀ x = b` in place.
fn solve(factor: &[f64], n: usize, b: &mut [f64]) {
    for i in 0..n {
        let done: f64 = (0..i).map(|k| factor[i * n + k] * b[k]).sum();
        b[i] = (b[i] - done) / factor[i * n + i];
    }
    for i in (0..n).rev() {
        let done: f64 = (i + 1..n).map(|k| factor[k * n + i] * b[k]).sum();
        b[i] = (b[i] - done) / factor[i * n + i];
    }
}

impl Shares {
    /// Combines the rungs; the first must have s = 0. Starts from the thermodynamic integral of the mean violations.
    pub fn new(rungs: Vec<Rung>, m: usize) -> Self {
        let mut all = vec![0.0; m + 1];
        let mut theta = vec![0.0];
        let mut before: Option<(f64, f64)> = None;
        for rung in &rungs {
            let mean = rung.mean_violations();
            for (v, path) in rung.seen() {
                all[v] += path;
            }
            if let Some((s, last)) = before {
                let theta_before = theta.last().copied().unwrap_or(0.0);
                theta.push(theta_before + 0.5 * (mean + last) * (rung.s - s));
            }
            before = Some((rung.s, mean));
        }
        let n = rungs.len() - 1;
        let mut shares = Self {
            rungs,
            theta,
            all,
            log_share: vec![f64::NEG_INFINITY; m + 1],
            membership: vec![0.0; (m + 1) * n],
            hessian: vec![0.0; n * n],
        };
        shares.settle();
        shares
    }

    /// `ln D(v)` and the memberships at the present θ.
    fn memberships(&mut self) -> Vec<f64> {
        let n = self.rungs.len() - 1;
        let mut log_d = vec![0.0; self.all.len()];
        let logs: Vec<f64> = self.rungs.iter().map(|rung| rung.total().ln()).collect();
        for v in 0..self.all.len() {
            let term = |k: usize| logs[k] + self.theta[k] - self.rungs[k].s * v as f64;
            log_d[v] = log_sum_exp((0..=n).map(term));
            for k in 0..n {
                self.membership[v * n + k] = (term(k + 1) - log_d[v]).exp();
            }
        }
        log_d
    }

    /// The convex function whose minimum is sought, `Σ_v H(v) ln D(v) - Σ_k N_k θ_k`.
    fn potential(&self, log_d: &[f64]) -> f64 {
        let seen: f64 =
            self.all.iter().zip(log_d).map(|(h, d)| if *h > 0.0 { h * d } else { 0.0 }).sum();
        let linear: f64 = self.rungs.iter().zip(&self.theta).map(|(r, t)| r.total() * t).sum();
        seen - linear
    }

    /// Newton's method on a convex function, with halved steps where a full one goes too far.
    fn settle(&mut self) {
        let n = self.rungs.len() - 1;
        let totals: Vec<f64> = self.rungs.iter().map(Rung::total).collect();
        let mut log_d = self.memberships();
        let mut value = self.potential(&log_d);
        for _ in 0..100 {
            let mut gradient: Vec<f64> = totals[1..].iter().map(|x| -x).collect();
            self.hessian.fill(0.0);
            for (v, h) in self.all.iter().enumerate().filter(|(_, h)| **h > 0.0) {
                let p = &self.membership[v * n..(v + 1) * n];
                for k in 0..n {
                    gradient[k] += h * p[k];
                    self.hessian[k * n + k] += h * p[k];
                    for l in 0..n {
                        self.hessian[k * n + l] -= h * p[k] * p[l];
                    }
                }
            }
            factor(&mut self.hessian, n);
            let mut step = gradient;
            solve(&self.hessian, n, &mut step);
            let size = step.iter().fold(0.0, |s: f64, x| s.max(x.abs()));
            let old = self.theta.clone();
            let mut length = 1.0;
            loop {
                for k in 0..n {
                    self.theta[k + 1] = old[k + 1] - length * step[k];
                }
                log_d = self.memberships();
                let new = self.potential(&log_d);
                if new <= value + 1e-12 * value.abs() || length < 1e-6 {
                    value = new;
                    break;
                }
                length *= 0.5;
            }
            if size < 1e-10 {
                break;
            }
        }
        for v in 0..self.all.len() {
            self.log_share[v] = self.all[v].ln() - log_d[v];
        }
    }

    /// ln Z at κ = e^-s (s = ∞ for hard walls), and its standard error.
    ///
    /// The error is the larger of two: from the spread of the pieces on each rung, and from the spread of whole ways
    /// along the ladder. Where trajectories lag behind the ladder, all rungs of a way are off to the same side, and the ways
    /// down and up to opposite ones: that is seen by the second alone.
    pub fn log_z(&self, s: f64) -> (f64, f64) {
        let n = self.rungs.len() - 1;
        let m = self.all.len() - 1;
        let log_weight = |v: usize| if v == 0 { 0.0 } else { -s * v as f64 };
        let value = log_sum_exp((0..=m).map(|v| self.log_share[v] + log_weight(v)));
        if value == f64::NEG_INFINITY {
            return (value, f64::INFINITY);
        }
        // Direct influence of path at v, and through θ: ω(v) + aᵀ Hess⁻¹ p(v).
        let omega: Vec<f64> = (0..=m)
            .map(|v| {
                if self.all[v] > 0.0 {
                    (self.log_share[v] + log_weight(v) - value).exp() / self.all[v]
                } else {
                    0.0
                }
            })
            .collect();
        let mut a = vec![0.0; n];
        for v in 0..=m {
            for k in 0..n {
                a[k] += self.all[v] * omega[v] * self.membership[v * n + k];
            }
        }
        solve(&self.hessian, n, &mut a);
        let influence: Vec<f64> = (0..=m)
            .map(|v| omega[v] + (0..n).map(|k| a[k] * self.membership[v * n + k]).sum::<f64>())
            .collect();
        let mut by_rung = 0.0;
        let mut by_way = std::collections::BTreeMap::new();
        for rung in &self.rungs {
            let parts: Vec<(usize, f64, f64)> = rung
                .pieces
                .iter()
                .map(|(way, piece)| {
                    let sum = piece.iter().map(|&(v, path)| path * influence[v]).sum();
                    (*way, sum, piece.iter().map(|seen| seen.1).sum())
                })
                .collect();
            let count = parts.len() as f64;
            let mean = parts.iter().map(|part| part.1).sum::<f64>() / rung.total();
            let mut squares = 0.0;
            for (way, sum, path) in parts {
                let off = sum - mean * path;
                squares += off * off;
                *by_way.entry(way).or_insert(0.0) += off;
            }
            by_rung += if count > 1.0 { count / (count - 1.0) * squares } else { f64::INFINITY };
        }
        let ways = by_way.len() as f64;
        let squares: f64 = by_way.into_values().map(|off: f64| off * off).sum();
        let by_way = if ways > 1.0 { ways / (ways - 1.0) * squares } else { f64::INFINITY };
        (value, by_rung.max(by_way).sqrt())
    }

    /// Mean violations on each rung.
    pub fn mean_violations(&self) -> Vec<f64> {
        self.rungs.iter().map(Rung::mean_violations).collect()
    }
}
