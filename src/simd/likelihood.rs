//! Log likelihoods of labels for several functions, each a combination of the same few functions.
//!
//! The values of the k given functions at all examples are in memory, and a likelihood needs one pass over them.

use pulp::Arch;

use super::dot::axpy_all;
use super::entry::Entry;
use super::largest::Largest;
use super::log_normal::ln_normal_cdf;

/// Examples in a block, whose values fit into the first cache.
const BLOCK: usize = 512;

/// Returns for each row of `coefs` the sum over the examples of `ln(floor + span Φ(t))`, or of `ln Φ(t)` without floors.
///
/// `values` holds k rows with a value for each example, `coefs` rows of k coefficients, and t is the combination of the values.
/// `floors` has a number for each example, or none.
pub fn two_classes<E: Entry>(
    values: &[&[E]],
    coefs: &[&[f64]],
    floors: &[f64],
    span: f64,
) -> Vec<f64> {
    let arch = Arch::new();
    let n = values.first().map_or(0, |row| row.len());
    let mut sums = vec![0.0; coefs.len()];
    let mut t = [0.0; BLOCK];
    for first in (0..n).step_by(BLOCK) {
        let block = first..n.min(first + BLOCK);
        let t = &mut t[..block.len()];
        for (sum, coefs) in sums.iter_mut().zip(coefs) {
            combine(arch, values, coefs, block.clone(), t);
            *sum += if floors.is_empty() {
                t.iter().copied().map(ln_normal_cdf).sum::<f64>()
            } else {
                let pairs = t.iter().zip(&floors[block.clone()]);
                pairs.map(|(&t, floor)| (floor + span * ln_normal_cdf(t).exp()).ln()).sum()
            };
        }
    }
    sums
}

/// Returns for each row of `coefs` the sum over the examples of the log probability that the class of the label has the largest
/// value, each with independent noise of variance 1, and then was changed with the probability `noise`.
///
/// `values` holds k times a row for each class, and `labels` the class of each example.
pub fn several_classes<E: Entry>(
    values: &[Vec<&[E]>],
    coefs: &[&[f64]],
    labels: &[u32],
    noise: f64,
) -> Vec<f64> {
    let (arch, mut largest) = (Arch::new(), Largest::new());
    let n_classes = values.first().map_or(0, Vec::len);
    let by_class: Vec<Vec<&[E]>> =
        (0..n_classes).map(|c| values.iter().map(|rows| rows[c]).collect()).collect();
    let other = noise / (n_classes.max(2) - 1) as f64;
    let mut sums = vec![0.0; coefs.len()];
    let mut f = vec![[0.0; BLOCK]; n_classes];
    let (mut behind, mut p) = (vec![0.0; n_classes], vec![0.0; n_classes]);
    for first in (0..labels.len()).step_by(BLOCK) {
        let block = first..labels.len().min(first + BLOCK);
        for (sum, coefs) in sums.iter_mut().zip(coefs) {
            for (f, rows) in f.iter_mut().zip(&by_class) {
                combine(arch, rows, coefs, block.clone(), &mut f[..block.len()]);
            }
            for (i, &label) in labels[block.clone()].iter().enumerate() {
                let most = f.iter().map(|f| f[i]).fold(f64::NEG_INFINITY, f64::max);
                behind.iter_mut().zip(&f).for_each(|(behind, f)| *behind = most - f[i]);
                let own = label as usize;
                *sum += if noise == 0.0 {
                    largest.ln_probability(&behind, own, &mut p)
                } else {
                    (other
                        + (1.0 - noise - other)
                            * largest.ln_probability(&behind, own, &mut p).exp())
                    .ln()
                };
            }
        }
    }
    sums
}

/// Writes the combination of the rows to `t`, for a block of examples.
fn combine<E: Entry>(
    arch: Arch,
    values: &[&[E]],
    coefs: &[f64],
    block: std::ops::Range<usize>,
    t: &mut [f64],
) {
    let terms: Vec<(f64, &[E])> = coefs
        .iter()
        .zip(values)
        .filter(|(a, _)| **a != 0.0)
        .map(|(a, row)| (*a, &row[block.clone()]))
        .collect();
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

    #[test]
    fn two_classes_agree_with_the_plain_sum() {
        let n = 2 * BLOCK + 37;
        let rows: Vec<Vec<f64>> = (0..3).map(|k| numbers(n, k)).collect();
        let values: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let coefs = [[1.0, 0.5, -0.25], [0.0, 2.0, 1.0]];
        let coefs: Vec<&[f64]> = coefs.iter().map(<[f64; 3]>::as_slice).collect();
        let floors: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 0.1 } else { 0.02 }).collect();
        for floors in [&[][..], &floors] {
            let found = two_classes(&values, &coefs, floors, 0.88);
            for (found, coefs) in found.iter().zip(&coefs) {
                let plain: f64 = (0..n)
                    .map(|i| {
                        let t: f64 = coefs.iter().zip(&values).map(|(a, row)| a * row[i]).sum();
                        let log_p = ln_normal_cdf_plain(t);
                        floors.get(i).map_or(log_p, |floor| (floor + 0.88 * log_p.exp()).ln())
                    })
                    .sum();
                assert_relative_eq!(*found, plain, max_relative = 1e-12);
            }
        }
        let singles: Vec<Vec<f32>> =
            rows.iter().map(|row| row.iter().map(|&x| x as f32).collect()).collect();
        let singles: Vec<&[f32]> = singles.iter().map(Vec::as_slice).collect();
        let of_singles = two_classes(&singles, &coefs, &[], 1.0);
        for (found, exact) in of_singles.iter().zip(two_classes(&values, &coefs, &[], 1.0)) {
            assert_relative_eq!(*found, exact, max_relative = 1e-6);
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
            let found = several_classes(&values, &coefs, &labels, noise);
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
