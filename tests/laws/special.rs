//! Distribution functions for the closed forms and the comparisons, to about twelve digits.

use std::f64::consts::PI;

use crate::common::normal;

/// ln Γ(x), x > 0 (Lanczos, g = 7).
pub fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let base = x + 7.5;
    let sum = TERMS
        .iter()
        .enumerate()
        .fold(0.999_999_999_999_809_9, |sum, (k, term)| sum + term / (x + k as f64 + 1.0));
    0.5 * (2.0 * PI).ln() + (x + 0.5) * base.ln() - base + sum.ln()
}

/// The regularized incomplete beta function I_x(a, b): the distribution function of Beta(a, b).
pub fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return f64::from(u8::from(x > 0.0));
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(b, a, 1.0 - x);
    }
    // The continued fraction by Lentz's method.
    let (mut c, mut d) = (1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0)));
    let mut product = d;
    for k in 1..500 {
        let k = f64::from(k);
        let even = k * (b - k) * x / ((a + 2.0 * k - 1.0) * (a + 2.0 * k));
        let odd = -(a + k) * (a + b + k) * x / ((a + 2.0 * k) * (a + 2.0 * k + 1.0));
        for step in [even, odd] {
            d = 1.0 / (1.0 + step * d);
            c = 1.0 + step / c;
            product *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    let front = a * x.ln() + b * (1.0 - x).ln() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    front.exp() * product / a
}

/// Probability that a value of Student's t distribution is at least as far from 0.
pub fn student_tails(t: f64, degrees: f64) -> f64 {
    beta(0.5 * degrees, 0.5, degrees / (degrees + t * t))
}

/// Upper tail of the chi-square distribution by the Wilson-Hilferty cube root, good to a few percent.
pub fn chi_square_tail(value: f64, degrees: f64) -> f64 {
    let scale = 2.0 / (9.0 * degrees);
    normal((1.0 - scale - (value / degrees).cbrt()) / scale.sqrt())
}

/// Probability that the Kolmogorov-Smirnov distance of n independent values is at least as large.
pub fn kolmogorov_tail(distance: f64, n: f64) -> f64 {
    let scaled = (n.sqrt() + 0.12 + 0.11 / n.sqrt()) * distance;
    if scaled < 0.2 {
        return 1.0;
    }
    let sum: f64 = (1..100)
        .map(|k| {
            let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
            sign * (-2.0 * (f64::from(k) * scaled).powi(2)).exp()
        })
        .sum();
    sum.clamp(0.0, 1.0)
}

/// Returns a function that interpolates another linearly on a grid.
pub fn tabulated(
    (low, high): (f64, f64),
    steps: usize,
    function: impl Fn(f64) -> f64,
) -> Box<dyn Fn(f64) -> f64> {
    let width = (high - low) / steps as f64;
    let values: Vec<f64> = (0..=steps).map(|k| function(low + width * k as f64)).collect();
    Box::new(move |x| {
        let at = ((x - low) / width).clamp(0.0, steps as f64);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
        let k = (at.floor() as usize).min(steps - 1);
        values[k] + (at - k as f64) * (values[k + 1] - values[k])
    })
}

#[test]
fn known_values() {
    for (got, exact) in [
        (normal(-1.0), 0.158_655_253_931_457_05),
        (normal(2.5), 0.993_790_334_674_224),
        (normal(-6.0), 9.865_876_450_377e-10),
        (beta(0.5, 0.5, 0.25), 1.0 / 3.0),
        (beta(2.0, 3.0, 0.4), 0.5248),
        (beta(0.5, 24.5, 0.01), 0.514_942_568_724_564_8),
        (student_tails(2.0, 10.0), 0.073_388_034_770_740_32),
        (student_tails(1.0, 1.0), 0.5),
        (ln_gamma(0.5), PI.sqrt().ln()),
        (ln_gamma(30.0), 71.257_038_967_168_01),
    ] {
        assert!((got - exact).abs() < 1e-7 * exact.abs(), "{got} {exact}");
    }
    // The 5 % point of the limit.
    assert!((kolmogorov_tail(1.358_1 / 1e4, 1e8) - 0.05).abs() < 1e-4);
}
