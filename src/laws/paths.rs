//! Log likelihoods of labels for functions on the paths of balls, and their derivatives.
//!
//! A ball has a place and a direction. The contrasts of all observations for both, and those for a mean, are in memory, and a
//! function is the mean and a combination of the two: a likelihood needs one pass over the contrasts.

use std::ops::Range;

use super::{BLOCK, Lane, Largest, Observed};
use crate::base::blocks;
use crate::simd::dot::dot;
use crate::simd::{Entry, vectorized};

static ONES: Lane = [1.0; BLOCK];

/// Contrasts for the mean, and for the place and the direction of each ball: of all observations, one contrast after another.
#[derive(Clone, Debug)]
pub struct Paths<'a, E> {
    /// For the mean.
    pub mean: &'a [E],
    /// For the place and the direction of each ball.
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

impl Observed<'_> {
    /// Returns for each trial the log likelihood, and its derivatives by the two factors.
    pub fn sums<E: Entry>(&self, paths: &Paths<E>, trials: &[Trial]) -> Vec<[f64; 3]> {
        let mut sums = vec![[0.0; 3]; trials.len()];
        self.each(paths, trials, |row, n, block, log_p, slopes| {
            sums[row][0] += log_p;
            for (sum, contrasts) in sums[row][1..].iter_mut().zip(paths.balls[trials[row].ball]) {
                for (j, slopes) in slopes.iter().enumerate() {
                    let contrasts = &contrasts[j * n..][block.clone()];
                    *sum += dot(contrasts, &slopes[..contrasts.len()]);
                }
            }
        });
        sums
    }

    /// Returns for each trial the derivatives of the log likelihood by the contrasts, one contrast after another.
    pub fn slopes<E: Entry>(&self, paths: &Paths<E>, trials: &[Trial]) -> Vec<Vec<f64>> {
        let mut found = vec![vec![0.0; paths.mean.len()]; trials.len()];
        self.each(paths, trials, |row, n, block, _, slopes| {
            for (j, slopes) in slopes.iter().enumerate() {
                found[row][j * n..][block.clone()].copy_from_slice(&slopes[..block.len()]);
            }
        });
        found
    }

    /// Calls `take` with the number of a trial and of all observations, a block of these, their log likelihood and derivatives.
    fn each<E: Entry>(
        &self,
        paths: &Paths<E>,
        trials: &[Trial],
        mut take: impl FnMut(usize, usize, Range<usize>, f64, &[Lane]),
    ) {
        let n = paths.mean.len() / self.n_contrasts;
        let (mut contrasts, mut log_p) = (vec![[0.0; BLOCK]; self.n_contrasts], [0.0; BLOCK]);
        let mut largest = Largest::new();
        for block in blocks(n, BLOCK) {
            for (row, trial) in trials.iter().enumerate() {
                let [place, direction] = paths.balls[trial.ball];
                for (j, contrasts) in contrasts.iter_mut().enumerate() {
                    let rows =
                        [paths.mean, place, direction].map(|row| &row[j * n..][block.clone()]);
                    combine(rows, trial.along, contrasts);
                }
                let log_p = &mut log_p[..block.len()];
                self.law.log_prob(&mut largest, &mut contrasts, log_p);
                self.mix(block.clone(), log_p, &mut contrasts);
                let sum = dot(&ONES[..log_p.len()], log_p);
                take(row, n, block.clone(), sum, &contrasts);
            }
        }
    }
}

/// Writes the first row and multiples of the two others.
fn combine<E: Entry>(rows: [&[E]; 3], along: [f64; 2], out: &mut [f64]) {
    let ([mean, place, direction], [a, b]) = (rows, along);
    vectorized!({
        for (((out, &mean), &place), &direction) in
            out.iter_mut().zip(mean).zip(place).zip(direction)
        {
            *out = mean.into() + (a * place.into() + b * direction.into());
        }
    });
}
