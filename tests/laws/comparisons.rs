//! Comparisons of estimates with exact values, each with its p-value, and Holm's correction over all of them.

use crate::common::{mean, mean_and_error, normal};
use crate::special::{kolmogorov_tail, student_tails};
use crate::targets::{Law, Sample, Target};

/// Probability of a false alarm in all comparisons of a test.
pub const ALPHA: f64 = 1e-3;

pub struct Row {
    case: String,
    what: String,
    /// A mean and its exact value, or a Kolmogorov-Smirnov distance and 0.
    found: f64,
    exact: f64,
    /// Probability of a difference at least as large.
    p: f64,
}

#[derive(Default)]
pub struct Comparisons {
    rows: Vec<Row>,
}

/// Returns the effective sample size of several chains, at most the number of values. It is the smaller of two estimates: from the
/// sum of autocorrelations (Geyer's initial positive sequence, over all chains), and from the spread of the means of the chains.
pub fn effective_size(chains: &[Vec<f64>]) -> f64 {
    let n = chains.iter().map(Vec::len).min().expect("there are chains");
    let all: Vec<f64> = chains.iter().flatten().copied().collect();
    let center = mean(&all);
    let covariance = |lag: usize| {
        let products = chains.iter().map(|chain| {
            let pairs = chain.iter().zip(&chain[lag..]);
            pairs.map(|(a, b)| (a - center) * (b - center)).sum::<f64>()
        });
        products.sum::<f64>() / (chains.len() * n) as f64
    };
    let variance = covariance(0);
    let mut time = -1.0;
    for lag in (0..n - 1).step_by(2) {
        let pair = (covariance(lag) + covariance(lag + 1)) / variance;
        if pair <= 0.0 {
            break;
        }
        time += 2.0 * pair;
    }
    let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
    let between = variance / mean_and_error(&means).1.powi(2);
    let count = all.len() as f64;
    (count / time.max(1.0)).min(between).min(count)
}

impl Comparisons {
    fn add(&mut self, case: &str, what: &str, (found, exact): (f64, f64), p: f64) {
        let (case, what) = (case.to_string(), what.to_string());
        self.rows.push(Row { case, what, found, exact, p });
    }

    /// Compares the means of independent runs with the exact mean by Student's t test. Correlations within runs do not matter.
    pub fn check_means(&mut self, case: &str, what: &str, means: &[f64], exact: f64) {
        let (found, error) = mean_and_error(means);
        let p = student_tails((found - exact) / error, means.len() as f64 - 1.0);
        self.add(case, what, (found, exact), p);
    }

    /// Compares two means that differ by z standard errors.
    pub fn check_score(&mut self, case: &str, what: &str, means: (f64, f64), z: f64) {
        self.add(case, what, means, 2.0 * normal(-z.abs()));
    }

    /// Compares chains of a sampler with all closed forms of a target.
    pub fn check(&mut self, case: &str, target: &Target, chains: &[Vec<Sample>]) {
        for quantity in &target.quantities {
            let values: Vec<Vec<f64>> =
                chains.iter().map(|chain| chain.iter().map(&quantity.of).collect()).collect();
            let mut compare = |what: &str, values: &[Vec<f64>], exact: f64| {
                let means: Vec<f64> = values.iter().map(|chain| mean(chain)).collect();
                let what = format!("{}: {what}", quantity.name);
                self.check_means(case, &what, &means, exact);
            };
            match &quantity.law {
                Law::Mean(exact) => compare("mean", &values, *exact),
                Law::Distribution(function) => {
                    let map = |f: &dyn Fn(f64) -> f64| -> Vec<Vec<f64>> {
                        values.iter().map(|chain| chain.iter().map(|&x| f(x)).collect()).collect()
                    };
                    let ranks = map(&|x| function(x));
                    compare("first moment of ranks", &ranks, 0.5);
                    compare("second moment of ranks", &map(&|x| function(x).powi(2)), 1.0 / 3.0);
                    // In an antithetic chain the mean is more precise than the distribution: include an even function.
                    let even = map(&|x| (function(x) - 0.5).abs());
                    let size = effective_size(&ranks).min(effective_size(&even));
                    self.check_distance(case, &quantity.name, ranks.concat(), size);
                }
            }
        }
    }

    fn check_distance(&mut self, case: &str, name: &str, mut ranks: Vec<f64>, size: f64) {
        ranks.sort_by(f64::total_cmp);
        let count = ranks.len() as f64;
        let distance = ranks
            .iter()
            .enumerate()
            .map(|(k, u)| (u - k as f64 / count).max((k + 1) as f64 / count - u))
            .fold(0.0, f64::max);
        let what = format!("{name}: Kolmogorov-Smirnov");
        self.add(case, &what, (distance, 0.0), kolmogorov_tail(distance, size));
    }

    /// Returns the comparisons that Holm's step-down procedure rejects at [`ALPHA`], the worst first.
    fn rejected(&self) -> Vec<&Row> {
        let mut sorted: Vec<&Row> = self.rows.iter().collect();
        // NaN is the worst.
        let p = |row: &Row| if row.p.is_nan() { -1.0 } else { row.p };
        sorted.sort_by(|a, b| p(a).total_cmp(&p(b)));
        let count = sorted.len();
        let keep = sorted
            .iter()
            .enumerate()
            .take_while(|(k, row)| p(row) * ((count - k) as f64) < ALPHA)
            .count();
        sorted.truncate(keep);
        sorted
    }

    /// Prints the worst comparison of every case.
    fn report(&self) {
        let mut cases: Vec<&str> = self.rows.iter().map(|row| &row.case[..]).collect();
        cases.dedup();
        for case in cases {
            let rows: Vec<&Row> = self.rows.iter().filter(|row| row.case == case).collect();
            let worst = rows.iter().min_by(|a, b| a.p.total_cmp(&b.p)).expect("not empty");
            println!("{case:48} {:3} comparisons, worst {}", rows.len(), describe(worst));
        }
        println!("{} comparisons in all", self.rows.len());
    }

    /// Checks that no comparison is rejected.
    pub fn assert_right(&self) {
        self.report();
        let rejected: Vec<String> =
            self.rejected().iter().map(|row| format!("{}: {}", row.case, describe(row))).collect();
        assert!(rejected.is_empty(), "wrong laws:\n{}", rejected.join("\n"));
        assert!(!self.rows.is_empty());
    }

    /// Prints the number of rejected comparisons, and the worst.
    pub fn print_worst(&self, name: &str) {
        let worst = self.rows.iter().min_by(|a, b| a.p.total_cmp(&b.p)).expect("not empty");
        let rejected = self.rejected().len();
        println!("{name}: {rejected} of {} rejected, worst {}", self.rows.len(), describe(worst));
    }

    /// Checks that a comparison is rejected.
    pub fn assert_wrong(&self, name: &str) {
        self.print_worst(name);
        assert!(!self.rejected().is_empty(), "{name} passes all {} comparisons", self.rows.len());
    }
}

fn describe(row: &Row) -> String {
    format!("p = {:.1e} ({}, {:.4} for {:.4})", row.p, row.what, row.found, row.exact)
}
