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

/// Probability ε + s (Φ(b - t) - Φ(a - t)) of a label, as ln ε and ln s: of two classes the interval is above 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Likelihood {
    pub log_floor: f64,
    pub log_span: f64,
    /// a and b, of which one may be infinite.
    pub interval: [f64; 2],
}

/// An example whose site is replaced by its likelihood.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tilted {
    /// Mean and variance of its value t with the site.
    pub mean: f64,
    pub variance: f64,
    /// The example's summand of the evidence.
    pub value: f64,
    /// Logarithm of the probability that noise leaves the value in the interval.
    log_normal: f64,
    /// Sum of the derivatives of `ln p` by logarithms of the ends of the interval.
    pub by_ends: f64,
    /// Logarithm of the label's probability given all others.
    log_p: f64,
    /// The site with the same moments.
    pub site: Site,
}

/// Returns the larger number, and NaN for NaN.
fn at_least(x: f64, low: f64) -> f64 {
    if x < low { low } else { x }
}

fn ln_add_exp(a: f64, b: f64) -> f64 {
    let high = if a > b { a } else { b };
    high + (-(a - b).abs()).exp().ln_1p()
}

/// `ln(Φ(b) - Φ(a))`, for a < b.
fn ln_between(a: f64, b: f64) -> f64 {
    // Where tails are small, not near 1.
    let (a, b) = if a > 0.0 || b == f64::INFINITY { (-b, -a) } else { (a, b) };
    if a == f64::NEG_INFINITY {
        return ln_normal_cdf(b);
    }
    let (low, high) = (ln_normal_cdf(a), ln_normal_cdf(b));
    high + (-(low - high).exp_m1()).ln()
}

impl Likelihood {
    /// Returns the example whose value t has the mean and variance under the posterior with its site.
    pub fn tilted(self, site: Site, mean: f64, variance: f64) -> Tilted {
        let Self { log_floor, log_span, interval } = self;
        let Site { precision, shift } = site;
        let is_noisy = log_span < 0.0;
        let inverse = 1.0 / at_least(variance, LEAST);
        let cavity_precision = at_least(inverse - precision, FLAT);
        let cavity = 1.0 / cavity_precision;
        let cavity_mean = cavity * (mean * inverse - shift);
        let scale = 1.0 / (1.0 + cavity).sqrt();
        let [a, b] = interval.map(|end| (end - cavity_mean) * scale);
        let log_normal = ln_between(a, b);
        let log_p =
            if is_noisy { ln_add_exp(log_floor, log_span + log_normal) } else { log_normal };
        // Densities at the ends relative to the probability; an end at infinity has none.
        let height = |end: f64| {
            let log_density = -0.5 * (end * end + std::f64::consts::TAU.ln());
            if end.is_finite() { (log_span + log_density - log_p).exp() * scale } else { 0.0 }
        };
        let times = |x: f64, height: f64| if x.is_finite() { x * height } else { 0.0 };
        let [low, high] = [height(a), height(b)];
        let slope = low - high;
        let curvature = slope * slope - (times(a, low) - times(b, high)) * scale;
        let by_ends = times(interval[1], high) - times(interval[0], low);
        let total = at_least(cavity_precision + precision, FLAT);
        let square = cavity_mean * cavity_precision * (precision * cavity_mean - 2.0 * shift);
        let rest = 1.0 / at_least(1.0 - cavity * curvature, FLAT);
        let lowest = if is_noisy { f64::NEG_INFINITY } else { FLAT };
        Tilted {
            mean,
            variance,
            value: log_p + 0.5 * ((total * cavity).ln() + (square - shift * shift) / total),
            log_normal,
            by_ends,
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
        let log_other = (-self.log_normal.exp_m1()).max(0.0).ln();
        [(log_other - self.log_p).exp(), -(self.log_normal - self.log_p).exp()]
    }
}
