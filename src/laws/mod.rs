//! Laws of labels: the probability that all contrasts of an observation are positive, with noise on the latent values.
//!
//! A label says of latent values, each with independent noise of variance 1, that some contrasts of them are positive. There are
//! three laws. A contrast that an observation lacks is infinite.
//!
//! | law | contrasts | probability |
//! |---|---|---|
//! | one wall | the value u, or minus it | `Φ(u)` |
//! | interval | the distances a and b of a value from both ends, from inside | `Φ(a) - Φ(-b)` |
//! | largest of k | by how much the largest value is above each other one, `d_j` | `∫ φ(v) Π_j Φ(v + d_j) dv` |
//!
//! Label noise is a mixture around any law: an observed label has the probability `floor + span p`.

mod largest;
mod paths;

use std::ops::Range;

use crate::base::blocks;
use crate::simd::log_normal::{ln_interval_all, ln_normal_cdf_all, ln_with_noise_all};
pub use largest::Largest;
use largest::about_mode;
pub use paths::{Paths, Trial};

/// Observations in a block, whose contrasts fit into the first cache.
pub const BLOCK: usize = 512;

/// One contrast of the observations in a block.
pub type Lane = [f64; BLOCK];

/// The law of a label given the contrasts of its observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// One contrast is positive.
    OneWall,
    /// A value lies between two ends.
    Interval,
    /// One value is the largest.
    LargestOf,
}

impl Law {
    /// Returns whether observations may have so many contrasts.
    pub fn takes(self, n_contrasts: usize) -> bool {
        match self {
            Self::OneWall => n_contrasts == 1,
            Self::Interval => n_contrasts == 2,
            Self::LargestOf => n_contrasts > 0,
        }
    }

    /// Writes the log probabilities of observations, and their derivatives in place of the contrasts.
    pub(crate) fn log_prob(self, largest: &mut Largest, contrasts: &mut [Lane], log_p: &mut [f64]) {
        let n = log_p.len();
        match (self, contrasts) {
            (Self::OneWall, [u]) => ln_normal_cdf_all(&mut u[..n], log_p),
            (Self::Interval, [a, b]) => ln_interval_all([&mut a[..n], &mut b[..n]], log_p),
            (_, contrasts) => {
                let mut of_one = vec![0.0; contrasts.len()];
                for (i, log_p) in log_p.iter_mut().enumerate() {
                    of_one.iter_mut().zip(&*contrasts).for_each(|(d, lane)| *d = lane[i]);
                    *log_p = largest.ln_probability(&mut of_one);
                    contrasts.iter_mut().zip(&of_one).for_each(|(lane, d)| lane[i] = *d);
                }
            }
        }
    }

    /// Writes minus the second derivatives of the probabilities by each two contrasts, relative to the probabilities.
    ///
    /// `slopes` are the derivatives of the log probabilities. With these the negative second derivatives of the log
    /// probabilities are the results plus products of two slopes.
    pub(crate) fn bends(self, contrasts: &[Lane], slopes: &[Lane], n: usize, bends: &mut [Lane]) {
        let k = contrasts.len();
        if self != Self::LargestOf {
            // N'(u) = -u N(u), and the ends of an interval are apart.
            bends.iter_mut().for_each(|lane| lane[..n].fill(0.0));
            for (j, (u, slope)) in contrasts.iter().zip(slopes).enumerate() {
                for ((bend, u), slope) in bends[j * k + j].iter_mut().zip(&u[..n]).zip(slope) {
                    *bend = if u.is_finite() { u * slope } else { 0.0 };
                }
            }
            return;
        }
        let (mut of_one, mut found) = (vec![0.0; k], vec![0.0; k * k]);
        for i in 0..n {
            of_one.iter_mut().zip(contrasts).for_each(|(d, lane)| *d = lane[i]);
            about_mode(&mut of_one, Some(&mut found));
            bends.iter_mut().zip(&found).for_each(|(lane, bend)| lane[i] = *bend);
        }
    }
}

/// Observed labels: their law with label noise.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// The law of the true labels.
    pub law: Law,
    /// Number of contrasts of an observation.
    pub n_contrasts: usize,
    /// The probability of each label where another is the true one, and what its own adds; none without label noise.
    pub noise: [&'a [f64]; 2],
}

impl Observed<'_> {
    /// Adds label noise to log probabilities and their derivatives. Returns by what these are multiplied.
    pub(crate) fn mix(
        &self,
        observations: Range<usize>,
        log_p: &mut [f64],
        slopes: &mut [Lane],
    ) -> Lane {
        let (mut shares, [floors, spans]) = ([1.0; BLOCK], self.noise);
        if !floors.is_empty() {
            let noise = [&floors[observations.clone()], &spans[observations]];
            ln_with_noise_all(log_p, &mut shares, noise);
            for lane in slopes {
                lane.iter_mut().zip(&shares).for_each(|(slope, share)| *slope *= share);
            }
        }
        shares
    }

    /// Returns for each observation the log probability, its derivatives by the contrasts, and the negative second ones.
    ///
    /// A contrast of all observations comes after another; so do derivatives, the second ones by each two contrasts.
    pub fn derivatives(&self, contrasts: &[f64]) -> [Vec<f64>; 3] {
        let (k, mut largest) = (self.n_contrasts, Largest::new());
        let n = contrasts.len() / k;
        let mut found = [1, k, k * k].map(|width| vec![0.0; width * n]);
        let [mut lanes, mut slopes] = [(); 2].map(|()| vec![[0.0; BLOCK]; k]);
        let mut bends = vec![[0.0; BLOCK]; k * k];
        for block in blocks(n, BLOCK) {
            for (j, lane) in lanes.iter_mut().enumerate() {
                lane[..block.len()].copy_from_slice(&contrasts[j * n..][block.clone()]);
            }
            slopes.copy_from_slice(&lanes);
            let [log_p, by_contrast, by_two] = &mut found;
            let log_p = &mut log_p[block.clone()];
            self.law.log_prob(&mut largest, &mut slopes, log_p);
            self.law.bends(&lanes, &slopes, block.len(), &mut bends);
            let shares = self.mix(block.clone(), log_p, &mut slopes);
            for (j, of_j) in slopes.iter().enumerate() {
                by_contrast[j * n..][block.clone()].copy_from_slice(&of_j[..block.len()]);
                for (l, of_l) in slopes.iter().enumerate() {
                    let to = &mut by_two[(j * k + l) * n..][block.clone()];
                    for (i, to) in to.iter_mut().enumerate() {
                        *to = shares[i] * bends[j * k + l][i] + of_j[i] * of_l[i];
                    }
                }
            }
        }
        found
    }
}
