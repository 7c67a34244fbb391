//! The update of one site: the normal factor that stands for the likelihood of an example.

use crate::simd::log_normal::ln_normal_cdf;

/// Smallest precision of a cavity, and of a site without label noise.
const FLAT: f64 = 1e-10;
/// Smallest variance: of an example without features it is 0.
const LEAST: f64 = 1e-290;

/// Precision, and precision times mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Site {
    pub precision: f64,
    pub shift: f64,
}

impl Site {
    /// Where the sweeps start.
    pub const FIRST: Self = Self { precision: 0.3, shift: 0.3 };

    pub fn moved(self, size: f64, to: Self) -> Self {
        Self {
            precision: self.precision + size * (to.precision - self.precision),
            shift: self.shift + size * (to.shift - self.shift),
        }
    }
}

/// Probability ε + s Φ(t) of a label, as ln ε and ln s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Likelihood {
    pub log_floor: f64,
    pub log_span: f64,
}

/// An example whose site is replaced by its likelihood.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tilted {
    /// Mean and variance of its value t with the site.
    pub mean: f64,
    pub variance: f64,
    /// The example's summand of the evidence.
    pub value: f64,
    /// Mean of the cavity, in units of its spread with the label's.
    z: f64,
    /// Logarithm of the label's probability given all others.
    log_p: f64,
    /// The site with the same moments.
    pub site: Site,
}

/// Returns the larger number, and NaN for NaN.
fn at_least(x: f64, low: f64) -> f64 {
    if x < low { low } else { x }
}

/// `ln(exp(a) + exp(b))`.
fn ln_add_exp(a: f64, b: f64) -> f64 {
    let high = if a > b { a } else { b };
    high + (-(a - b).abs()).exp().ln_1p()
}

impl Likelihood {
    /// Returns the example whose value t has the mean and variance under the posterior with its site.
    pub fn tilted(self, site: Site, mean: f64, variance: f64) -> Tilted {
        let Self { log_floor, log_span } = self;
        let Site { precision, shift } = site;
        let is_noisy = log_span < 0.0;
        let inverse = 1.0 / at_least(variance, LEAST);
        let cavity_precision = at_least(inverse - precision, FLAT);
        let cavity = 1.0 / cavity_precision;
        let cavity_mean = cavity * (mean * inverse - shift);
        let scale = 1.0 / (1.0 + cavity).sqrt();
        let z = cavity_mean * scale;
        let log_normal = ln_normal_cdf(z);
        let log_p =
            if is_noisy { ln_add_exp(log_floor, log_span + log_normal) } else { log_normal };
        let log_density = -0.5 * (z * z + std::f64::consts::TAU.ln());
        let slope = (log_span + log_density - log_p).exp() * scale;
        let curvature = slope * slope + slope * z * scale;
        let total = at_least(cavity_precision + precision, FLAT);
        let square = cavity_mean * cavity_precision * (precision * cavity_mean - 2.0 * shift);
        let rest = 1.0 / at_least(1.0 - cavity * curvature, FLAT);
        let lowest = if is_noisy { f64::NEG_INFINITY } else { FLAT };
        Tilted {
            mean,
            variance,
            value: log_p + 0.5 * ((total * cavity).ln() + (square - shift * shift) / total),
            z,
            log_p,
            site: Site {
                precision: at_least(curvature * rest, lowest),
                shift: (slope + cavity_mean * curvature) * rest,
            },
        }
    }
}

impl Tilted {
    /// Probability of the label given all others.
    pub fn left_out(self) -> f64 {
        self.log_p.exp()
    }

    /// Derivatives of `ln p` by the probability that the label is wrong if it should be another, and if it should be this.
    pub fn by_noise(self) -> [f64; 2] {
        [(ln_normal_cdf(-self.z) - self.log_p).exp(), -(ln_normal_cdf(self.z) - self.log_p).exp()]
    }
}
