//! Log likelihoods of labels for several functions, each a combination of the same few functions, and their derivatives.
//!
//! The values of the k given functions at all examples are in memory, and a likelihood needs one pass over them.

use std::ops::Range;

use pulp::Arch;

use super::dot::{axpy_all, dot};
use super::entry::Entry;
use super::largest::Largest;
use super::log_normal::ln_normal_cdf_and_slope;

/// Examples in a block, whose values fit into the first cache.
const BLOCK: usize = 512;

/// Labels of two classes: an example with the value t has the probability `floor + span Φ(t)`, or `Φ(t)` without floors.
#[derive(Clone, Copy, Debug)]
pub struct Signs<'a> {
    /// A number for each example, or none.
    pub floors: &'a [f64],
    /// One minus the probabilities of wrong labels.
    pub span: f64,
}

/// Labels of several classes: that of the largest value, each with independent noise of variance 1, and then changed with the
/// probability `noise`.
#[derive(Clone, Copy, Debug)]
pub struct Classes<'a> {
    /// The class of each example.
    pub labels: &'a [u32],
    /// Probability of a wrong label.
    pub noise: f64,
}

impl Signs<'_> {
    /// Returns for each row of `coefs` the log likelihood of the combination of the values and its derivatives by the
    /// coefficients. `values` holds k rows with a value for each example.
    pub fn sums<E: Entry>(&self, values: &[&[E]], coefs: &[&[f64]]) -> Vec<Vec<f64>> {
        let mut sums = vec![vec![0.0; values.len() + 1]; coefs.len()];
        self.each(values, coefs, |block, row, log_p, slopes| {
            sums[row][0] += log_p;
            for (sum, values) in sums[row][1..].iter_mut().zip(values) {
                *sum += dot(Arch::new(), &values[block.clone()], slopes);
            }
        });
        sums
    }

    /// Returns for each row of `coefs` the derivatives of the log likelihood by the value of each example.
    pub fn slopes<E: Entry>(&self, values: &[&[E]], coefs: &[&[f64]]) -> Vec<Vec<f64>> {
        let mut found = vec![Vec::new(); coefs.len()];
        self.each(values, coefs, |_, row, _, slopes| found[row].extend_from_slice(slopes));
        found
    }

    /// Calls `take` with examples, a row of `coefs`, their log likelihood and slopes.
    fn each<E: Entry>(
        &self,
        values: &[&[E]],
        coefs: &[&[f64]],
        mut take: impl FnMut(Range<usize>, usize, f64, &[f64]),
    ) {
        let arch = Arch::new();
        let n = values.first().map_or(0, |row| row.len());
        let mut t = [0.0; BLOCK];
        for first in (0..n).step_by(BLOCK) {
            let block = first..n.min(first + BLOCK);
            let t = &mut t[..block.len()];
            for (row, coefs) in coefs.iter().enumerate() {
                combine(arch, values, coefs, block.clone(), t);
                let mut sum = 0.0;
                for (i, t) in t.iter_mut().enumerate() {
                    let [log_p, slope] = ln_normal_cdf_and_slope(*t);
                    let (log_p, share) = match self.floors.get(first + i) {
                        None => (log_p, 1.0),
                        Some(floor) => with_noise(log_p, *floor, self.span),
                    };
                    sum += log_p;
                    *t = share * slope;
                }
                take(block.clone(), row, sum, t);
            }
        }
    }
}

impl Classes<'_> {
    /// Returns the same as [`Signs::sums`]; `values` holds k times a row for each class.
    pub fn sums<E: Entry>(&self, values: &[Vec<&[E]>], coefs: &[&[f64]]) -> Vec<Vec<f64>> {
        let mut sums = vec![vec![0.0; values.len() + 1]; coefs.len()];
        self.each(values, coefs, |block, row, log_p, slopes| {
            sums[row][0] += log_p;
            for (sum, values) in sums[row][1..].iter_mut().zip(values) {
                for (values, slopes) in values.iter().zip(slopes) {
                    *sum += dot(Arch::new(), &values[block.clone()], &slopes[..block.len()]);
                }
            }
        });
        sums
    }

    /// Returns the same as [`Signs::slopes`], those by the values of a class one after the other.
    pub fn slopes<E: Entry>(&self, values: &[Vec<&[E]>], coefs: &[&[f64]]) -> Vec<Vec<f64>> {
        let (n, n_classes) = (self.labels.len(), values.first().map_or(0, Vec::len));
        let mut found = vec![vec![0.0; n_classes * n]; coefs.len()];
        self.each(values, coefs, |block, row, _, slopes| {
            for (c, slopes) in slopes.iter().enumerate() {
                found[row][c * n..][block.clone()].copy_from_slice(&slopes[..block.len()]);
            }
        });
        found
    }

    fn each<E: Entry>(
        &self,
        values: &[Vec<&[E]>],
        coefs: &[&[f64]],
        mut take: impl FnMut(Range<usize>, usize, f64, &[[f64; BLOCK]]),
    ) {
        let (arch, mut largest) = (Arch::new(), Largest::new());
        let n_classes = values.first().map_or(0, Vec::len);
        let by_class: Vec<Vec<&[E]>> =
            (0..n_classes).map(|c| values.iter().map(|rows| rows[c]).collect()).collect();
        let other = self.noise / (n_classes.max(2) - 1) as f64;
        let mut f = vec![[0.0; BLOCK]; n_classes];
        let (mut behind, mut slopes) = (vec![0.0; n_classes], vec![0.0; n_classes]);
        for first in (0..self.labels.len()).step_by(BLOCK) {
            let block = first..self.labels.len().min(first + BLOCK);
            for (row, coefs) in coefs.iter().enumerate() {
                for (f, rows) in f.iter_mut().zip(&by_class) {
                    combine(arch, rows, coefs, block.clone(), &mut f[..block.len()]);
                }
                let mut sum = 0.0;
                for (i, &label) in self.labels[block.clone()].iter().enumerate() {
                    let most = f.iter().map(|f| f[i]).fold(f64::NEG_INFINITY, f64::max);
                    behind.iter_mut().zip(&f).for_each(|(behind, f)| *behind = most - f[i]);
                    let log_p = largest.ln_probability(&behind, label as usize, &mut slopes);
                    let (log_p, share) = if self.noise == 0.0 {
                        (log_p, 1.0)
                    } else {
                        with_noise(log_p, other, 1.0 - self.noise - other)
                    };
                    sum += log_p;
                    f.iter_mut().zip(&slopes).for_each(|(f, slope)| f[i] = share * slope);
                }
                take(block.clone(), row, sum, &f);
            }
        }
    }
}

/// Returns `ln(floor + span p)` and its derivative by `ln p`.
fn with_noise(log_p: f64, floor: f64, span: f64) -> (f64, f64) {
    let part = span * log_p.exp();
    ((floor + part).ln(), part / (floor + part))
}

/// Writes the combination of the rows to `t`, for a block of examples.
fn combine<E: Entry>(
    arch: Arch,
    values: &[&[E]],
    coefs: &[f64],
    block: Range<usize>,
    t: &mut [f64],
) {
    let mut terms: Vec<(f64, &[E])> = coefs
        .iter()
        .zip(values)
        .filter(|(a, _)| **a != 0.0)
        .map(|(a, row)| (*a, &row[block.clone()]))
        .collect();
    // Four at a time: zeros are added in place of those that lack.
    while let (Some(&(_, row)), false) = (terms.last(), terms.len().is_multiple_of(4)) {
        terms.push((0.0, row));
    }
    t.fill(0.0);
    axpy_all(arch, &terms, t);
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "singles")]
mod tests {
    use super::*;
    use crate::simd::log_normal::ln_normal_cdf_plain;
    use approx::assert_relative_eq;

    /// Deterministic numbers between -3 and 3.
    fn numbers(n: usize, seed: usize) -> Vec<f64> {
        (0..n)
            .map(|i| 6.0 * ((i * 7_919 + seed * 104_729) % 10_007) as f64 / 10_007.0 - 3.0)
            .collect()
    }

    /// The sums after the first are differences of log likelihoods.
    fn assert_slopes(found: &[f64], coefs: &[f64], value: impl Fn(&[f64]) -> f64) {
        for k in 0..coefs.len() {
            let beside = |by: f64| {
                let mut moved = coefs.to_vec();
                moved[k] += by;
                value(&moved)
            };
            let difference = (beside(1e-5) - beside(-1e-5)) / 2e-5;
            assert_relative_eq!(found[k + 1], difference, max_relative = 1e-6, epsilon = 1e-4);
        }
    }

    #[test]
    fn two_classes_agree_with_the_plain_sum() {
        let n = 2 * BLOCK + 37;
        let rows: Vec<Vec<f64>> = (0..3).map(|k| numbers(n, k)).collect();
        let values: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let coefs = [[1.0, 0.5, -0.25], [0.0, 2.0, 1.0]];
        let coefs: Vec<&[f64]> = coefs.iter().map(<[f64; 3]>::as_slice).collect();
        let floors: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 0.1 } else { 0.02 }).collect();
        for floors in [&[][..], &floors] {
            let signs = Signs { floors, span: 0.88 };
            let found = signs.sums(&values, &coefs);
            for (found, coefs) in found.iter().zip(&coefs) {
                assert_slopes(found, coefs, |coefs| signs.sums(&values, &[coefs])[0][0]);
                let by_value = &signs.slopes(&values, &[coefs])[0];
                let second: f64 = by_value.iter().zip(values[1]).map(|(a, b)| a * b).sum();
                assert_relative_eq!(found[2], second, max_relative = 1e-10);
                let plain: f64 = (0..n)
                    .map(|i| {
                        let t: f64 = coefs.iter().zip(&values).map(|(a, row)| a * row[i]).sum();
                        let log_p = ln_normal_cdf_plain(t);
                        floors.get(i).map_or(log_p, |floor| (floor + 0.88 * log_p.exp()).ln())
                    })
                    .sum();
                assert_relative_eq!(found[0], plain, max_relative = 1e-12);
            }
        }
        let singles: Vec<Vec<f32>> =
            rows.iter().map(|row| row.iter().map(|&x| x as f32).collect()).collect();
        let singles: Vec<&[f32]> = singles.iter().map(Vec::as_slice).collect();
        let signs = Signs { floors: &[], span: 1.0 };
        for (found, exact) in signs
            .sums(&singles, &coefs)
            .iter()
            .flatten()
            .zip(signs.sums(&values, &coefs).iter().flatten())
        {
            assert_relative_eq!(*found, exact, max_relative = 1e-5, epsilon = 1e-3);
        }
    }

    #[test]
    fn classes_of_two_functions_are_two_classes() {
        let n = BLOCK + 11;
        let rows: Vec<Vec<f64>> = (0..4).map(|k| numbers(n, k)).collect();
        let labels: Vec<u32> = (0..n).map(|i| u32::from(i % 3 == 0)).collect();
        let values: Vec<Vec<&[f64]>> = vec![vec![&rows[0], &rows[1]], vec![&rows[2], &rows[3]]];
        let coefs: Vec<&[f64]> = vec![&[1.0, 0.7]];
        // Far values too: the coefficients make them up to 8 apart.
        for noise in [0.0, 0.1] {
            let classes = Classes { labels: &labels, noise };
            let found = &classes.sums(&values, &coefs)[0];
            assert_slopes(found, coefs[0], |coefs| classes.sums(&values, &[coefs])[0][0]);
            let by_value = &classes.slopes(&values, &coefs)[0];
            let first: f64 =
                by_value.iter().zip(rows[0].iter().chain(&rows[1])).map(|(a, b)| a * b).sum();
            assert_relative_eq!(found[1], first, max_relative = 1e-10);
            let plain: f64 = (0..n)
                .map(|i| {
                    let f = |c: usize| rows[c][i] + 0.7 * rows[2 + c][i];
                    let own = labels[i] as usize;
                    let p = ln_normal_cdf_plain((f(own) - f(1 - own)) / 2f64.sqrt()).exp();
                    (noise + (1.0 - 2.0 * noise) * p).ln()
                })
                .sum();
            assert_relative_eq!(found[0], plain, max_relative = 1e-9);
        }
    }
}
