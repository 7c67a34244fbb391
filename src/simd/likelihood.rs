//! Log likelihoods of labels for functions on the paths of balls, and their derivatives.
//!
//! A ball has a place and a direction. The values at all examples of both, and those of a mean, are in memory, and a function is
//! the mean and a combination of the two: a likelihood needs one pass over the values.

use std::ops::Range;

use pulp::Arch;

use super::dot::dot;
use super::entry::Entry;
use super::largest::Largest;
use super::log_normal::{ln_interval_all, ln_noisy_cdf_all, ln_normal_cdf_all};

/// Examples in a block, whose values fit into the first cache.
const BLOCK: usize = 512;

/// Values of the examples in a block.
type Lane = [f64; BLOCK];

static ONES: Lane = [1.0; BLOCK];
static ZEROS: Lane = [0.0; BLOCK];

/// Values of the mean, and of the place and the direction of each ball: of each class, one after the other, at each example.
#[derive(Clone, Debug)]
pub struct Paths<'a, E> {
    /// Of the mean.
    pub mean: &'a [E],
    /// Of the place and the direction of each ball.
    pub balls: Vec<[&'a [E]; 2]>,
}

/// A function: the mean, and multiples of the place and the direction of a ball.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The number of the ball.
    pub ball: usize,
    /// The factors of place and direction.
    pub along: [f64; 2],
}

/// The likelihood of labels.
pub trait LabelLaw {
    /// Number of functions.
    fn n_functions(&self) -> usize;

    /// Returns the sum of the log likelihoods of some examples, and replaces the values of the functions by derivatives.
    fn differentiate(&mut self, examples: Range<usize>, values: &mut [Lane]) -> f64;

    /// Returns for each trial the log likelihood, and its derivatives by the two factors.
    fn sums<E: Entry>(&mut self, paths: &Paths<'_, E>, trials: &[Trial]) -> Vec<[f64; 3]> {
        let mut sums = vec![[0.0; 3]; trials.len()];
        self.each(paths, trials, |row, n, block, log_p, slopes| {
            sums[row][0] += log_p;
            for (sum, values) in sums[row][1..].iter_mut().zip(paths.balls[trials[row].ball]) {
                for (c, slopes) in slopes.iter().enumerate() {
                    let values = &values[c * n..][block.clone()];
                    *sum += dot(Arch::new(), values, &slopes[..values.len()]);
                }
            }
        });
        sums
    }

    /// Returns for each trial the derivatives of the log likelihood by the values of each class at each example.
    fn slopes<E: Entry>(&mut self, paths: &Paths<'_, E>, trials: &[Trial]) -> Vec<Vec<f64>> {
        let mut found = vec![vec![0.0; paths.mean.len()]; trials.len()];
        self.each(paths, trials, |row, n, block, _, slopes| {
            for (c, slopes) in slopes.iter().enumerate() {
                found[row][c * n..][block.clone()].copy_from_slice(&slopes[..block.len()]);
            }
        });
        found
    }

    /// Calls `take` with the number of a trial and of all examples, a block of these, their log likelihood and derivatives.
    fn each<E: Entry>(
        &mut self,
        paths: &Paths<'_, E>,
        trials: &[Trial],
        mut take: impl FnMut(usize, usize, Range<usize>, f64, &[Lane]),
    ) {
        let (arch, n) = (Arch::new(), paths.mean.len() / self.n_functions());
        let mut values = vec![[0.0; BLOCK]; self.n_functions()];
        for first in (0..n).step_by(BLOCK) {
            let block = first..n.min(first + BLOCK);
            for (row, trial) in trials.iter().enumerate() {
                let [place, direction] = paths.balls[trial.ball];
                for (c, values) in values.iter_mut().enumerate() {
                    let rows =
                        [paths.mean, place, direction].map(|row| &row[c * n..][block.clone()]);
                    combine(arch, rows, trial.along, values);
                }
                let log_p = self.differentiate(block.clone(), &mut values);
                take(row, n, block.clone(), log_p, &values);
            }
        }
    }
}

/// Two classes: an example with the value t has the probability `floor + span Φ(t)`, or `Φ(t)` without floors.
///
/// Ordered classes are `bounded` or not, with half the width h and the distance t inside: `Φ(t + h) - Φ(t - h)` for `Φ(t)`.
#[derive(Clone, Copy, Debug)]
pub struct Signs<'a> {
    /// A number for each example, or none.
    pub floors: &'a [f64],
    /// One minus the probabilities of wrong labels.
    pub span: f64,
    /// The number of times that each example counts, or none for once.
    pub counts: &'a [f64],
    /// Whether each example of ordered classes is bounded; none for two classes.
    pub bounded: &'a [bool],
}

impl LabelLaw for Signs<'_> {
    fn n_functions(&self) -> usize {
        if self.bounded.is_empty() { 1 } else { 2 }
    }

    fn differentiate(&mut self, examples: Range<usize>, values: &mut [Lane]) -> f64 {
        let (arch, mut log_p, n) = (Arch::new(), [0.0; BLOCK], examples.len());
        let log_p = &mut log_p[..n];
        let floors =
            if self.floors.is_empty() { &ZEROS[..n] } else { &self.floors[examples.clone()] };
        if let [c, h] = values {
            let bounded = &self.bounded[examples.clone()];
            ln_interval_all(arch, [&mut c[..n], &mut h[..n]], log_p, floors, self.span, bounded);
        } else if self.floors.is_empty() {
            ln_normal_cdf_all(arch, &mut values[0][..n], log_p);
        } else {
            ln_noisy_cdf_all(arch, &mut values[0][..n], log_p, floors, self.span);
        }
        if self.counts.is_empty() {
            return dot(arch, &ONES[..n], log_p);
        }
        let counts = &self.counts[examples];
        for slopes in values {
            slopes.iter_mut().zip(counts).for_each(|(slope, count)| *slope *= count);
        }
        dot(arch, counts, log_p)
    }
}

/// Several classes: the label is that of the largest value, with noise of variance 1, changed with the probability `noise`.
#[derive(Clone, Debug)]
pub struct ClassLabels<'a> {
    labels: &'a [u32],
    noise: f64,
    counts: &'a [f64],
    largest: Largest,
    behind: Vec<f64>,
    slopes: Vec<f64>,
}

impl<'a> ClassLabels<'a> {
    /// Takes the class of each example, the probability of a wrong label, and how often each example counts, or nothing for once.
    pub fn new(labels: &'a [u32], noise: f64, counts: &'a [f64], n_classes: usize) -> Self {
        let [behind, slopes] = [(); 2].map(|()| vec![0.0; n_classes]);
        Self { labels, noise, counts, largest: Largest::new(), behind, slopes }
    }
}

impl LabelLaw for ClassLabels<'_> {
    fn n_functions(&self) -> usize {
        self.behind.len()
    }

    fn differentiate(&mut self, examples: Range<usize>, values: &mut [Lane]) -> f64 {
        let Self { labels, noise, counts, largest, behind, slopes } = self;
        let other = *noise / (behind.len().max(2) - 1) as f64;
        let mut sum = 0.0;
        let first = examples.start;
        for (i, &label) in labels[examples].iter().enumerate() {
            let most = values.iter().map(|f| f[i]).fold(f64::NEG_INFINITY, f64::max);
            behind.iter_mut().zip(&*values).for_each(|(behind, f)| *behind = most - f[i]);
            let log_p = largest.ln_probability(behind, label as usize, slopes);
            let (log_p, share) = if *noise == 0.0 {
                (log_p, 1.0)
            } else {
                with_noise(log_p, other, 1.0 - *noise - other)
            };
            let count = counts.get(first + i).copied().unwrap_or(1.0);
            sum += count * log_p;
            values.iter_mut().zip(&*slopes).for_each(|(f, slope)| f[i] = count * share * slope);
        }
        sum
    }
}

/// Returns `ln(floor + span p)` and its derivative by `ln p`.
fn with_noise(log_p: f64, floor: f64, span: f64) -> (f64, f64) {
    let part = span * log_p.exp();
    ((floor + part).ln(), part / (floor + part))
}

/// Writes the first row and multiples of the two others.
fn combine<E: Entry>(arch: Arch, rows: [&[E]; 3], along: [f64; 2], out: &mut [f64]) {
    let ([mean, place, direction], [a, b]) = (rows, along);
    arch.dispatch(
        #[inline(always)]
        || {
            for (((out, &mean), &place), &direction) in
                out.iter_mut().zip(mean).zip(place).zip(direction)
            {
                *out = mean.into() + (a * place.into() + b * direction.into());
            }
        },
    );
}
