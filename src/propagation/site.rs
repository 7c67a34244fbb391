//! The update of sites: the normal factors that stand for the likelihoods of examples.

use crate::base::blocks;
use crate::laws::{BLOCK, Largest, Observed};

/// Smallest precision of a cavity, and of a site without label noise.
const FLAT: f64 = 1e-10;
/// Smallest variance: of an example without features it is 0.
const LEAST: f64 = 1e-290;

/// Precision, and precision times mean.
#[derive(Clone, Copy)]
pub struct Site {
    pub precision: f64,
    pub shift: f64,
}

impl Site {
    /// Where the sweeps start: by an interval's middle, or one from its only end.
    pub fn first([a, b]: [f64; 2]) -> Self {
        let near = if a.is_finite() { a + 1.0 } else { b - 1.0 };
        let middle = 0.5 * (a + b);
        Self { precision: 0.3, shift: 0.3 * if middle.is_finite() { middle } else { near } }
    }

    pub fn moved(self, size: f64, to: Self) -> Self {
        Self {
            precision: self.precision + size * (to.precision - self.precision),
            shift: self.shift + size * (to.shift - self.shift),
        }
    }
}

/// An example whose site is replaced by its likelihood.
#[derive(Clone, Copy)]
pub struct Tilted {
    /// Mean and variance of its value t with the site.
    pub mean: f64,
    pub variance: f64,
    /// The example's summand of the evidence.
    pub value: f64,
    /// Logarithm of the probability of the true label.
    log_true: f64,
    /// Sum of the derivatives of `ln p` by logarithms of the ends of the interval.
    pub by_ends: f64,
    /// Logarithm of the label's probability given all others.
    log_p: f64,
    /// The site with the same moments.
    pub site: Site,
}

/// The value of an example without its site, and one over the deviation of this value with noise.
#[derive(Clone, Copy, Default)]
struct Cavity {
    precision: f64,
    mean: f64,
    scale: f64,
}

impl Cavity {
    fn new(site: Site, [mean, variance]: [f64; 2]) -> Self {
        let inverse = 1.0 / at_least(variance, LEAST);
        let precision = at_least(inverse - site.precision, FLAT);
        let cavity = 1.0 / precision;
        let mean = cavity * (mean * inverse - site.shift);
        Self { precision, mean, scale: 1.0 / (1.0 + cavity).sqrt() }
    }
}

/// Returns the larger number, and NaN for NaN.
fn at_least(x: f64, low: f64) -> f64 {
    if x < low { low } else { x }
}

/// Returns the examples whose values t have these means and variances with their sites.
///
/// A value has the sign of its label, or lies in an interval, of which one end may be infinite: of two classes 0 and infinity.
/// Integrated over a normal value, a law is that of contrasts divided by a larger deviation.
pub fn tilt(
    observed: &Observed,
    intervals: &[[f64; 2]],
    sites: &[Site],
    moments: &[[f64; 2]],
) -> Vec<Tilted> {
    let (k, law) = (observed.n_contrasts, observed.law);
    let lowest = if observed.noise[0].is_empty() { FLAT } else { f64::NEG_INFINITY };
    let mut largest = Largest::default();
    let mut lanes = vec![[0.0; BLOCK]; k];
    let mut bends = vec![[0.0; BLOCK]; k * k];
    let mut cavities = [Cavity::default(); BLOCK];
    let [mut log_true, mut log_p] = [[0.0; BLOCK]; 2];
    let mut tilted = Vec::with_capacity(sites.len());
    for block in blocks(sites.len(), BLOCK) {
        let n = block.len();
        for (i, example) in block.clone().enumerate() {
            let cavity = Cavity::new(sites[example], moments[example]);
            let [low, high] = intervals[example];
            let distances = [cavity.mean - low, high - cavity.mean];
            lanes.iter_mut().zip(distances).for_each(|(lane, d)| lane[i] = d * cavity.scale);
            cavities[i] = cavity;
        }
        let mut slopes = lanes.clone();
        law.log_prob(&mut largest, &mut slopes, &mut log_true[..n]);
        law.bends(&lanes, &slopes, n, &mut bends);
        log_p[..n].copy_from_slice(&log_true[..n]);
        let shares = observed.mix(block.clone(), &mut log_p[..n], &mut slopes);
        for (i, example) in block.enumerate() {
            // The derivatives by t: of both distances, the second with the other sign.
            let cavity = cavities[i];
            let heights = [0, 1].map(|j| slopes.get(j).map_or(0.0, |lane| lane[i] * cavity.scale));
            let bend: f64 = (0..k).map(|j| bends[j * k + j][i]).sum();
            let slope = heights[0] - heights[1];
            let curvature = slope * slope + shares[i] * bend * cavity.scale * cavity.scale;
            let by_end =
                |(end, height): (f64, f64)| if end.is_finite() { end * height } else { 0.0 };
            let [low, high] = intervals[example];
            let ([mean, variance], Site { precision, shift }) = (moments[example], sites[example]);
            let total = at_least(cavity.precision + precision, FLAT);
            let square = cavity.mean * cavity.precision * (precision * cavity.mean - 2.0 * shift);
            let rest = 1.0 / at_least(1.0 - curvature / cavity.precision, FLAT);
            tilted.push(Tilted {
                mean,
                variance,
                value: log_p[i]
                    + 0.5 * ((total / cavity.precision).ln() + (square - shift * shift) / total),
                log_true: log_true[i],
                by_ends: by_end((high, heights[1])) - by_end((low, heights[0])),
                log_p: log_p[i],
                site: Site {
                    precision: at_least(curvature * rest, lowest),
                    shift: (slope + cavity.mean * curvature) * rest,
                },
            });
        }
    }
    tilted
}

impl Tilted {
    /// Probability of the label given all others.
    pub fn left_out(self) -> f64 {
        self.log_p.exp()
    }

    /// Derivatives of `ln p` by the probability that the label is wrong if it should be another, and if it should be this.
    pub fn by_noise(self) -> [f64; 2] {
        let log_other = (-self.log_true.exp_m1()).max(0.0).ln();
        [(log_other - self.log_p).exp(), -(self.log_true - self.log_p).exp()]
    }
}
