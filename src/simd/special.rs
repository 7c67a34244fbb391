//! Special functions of the normal distribution: its density, its hazard function, and the mean of the chi distribution.

use std::sync::LazyLock;

/// Returns the mean length E_n of a standard Gaussian vector in n dimensions, `√2 Γ((n+1)/2) / Γ(n/2)`.
pub(crate) fn chi_mean(n: f64) -> f64 {
    // The series is accurate for large n. The recurrence E_n E_{n+1} = n reduces small n to that case.
    if n < 200.0 {
        return n / chi_mean(n + 1.0);
    }
    let y = 0.25 / n;
    n.sqrt() * (1.0 - y * (1.0 - y * (0.5 + y * (2.5 - y * 2.625))))
}

/// Returns the standard normal density N(z).
pub(crate) fn normal(z: f64) -> f64 {
    (-0.5 * z * z).exp() * (0.5 * std::f64::consts::FRAC_1_PI).sqrt()
}

/// Largest argument of the table, beyond which Φ(z) rounds to 1, and its number of entries per unit.
const TABLE_TO: f64 = 8.0;
const PER_UNIT: f64 = 64.0;
const TABLE_STEPS: u32 = 1_024;

/// The hazard function and its derivative times the step.
static HAZARDS: LazyLock<Vec<[f64; 2]>> = LazyLock::new(|| {
    let entry = |k| {
        let z = f64::from(k) / PER_UNIT - TABLE_TO;
        let hazard = hazard_plain(z);
        [hazard, -hazard * (z + hazard) / PER_UNIT]
    };
    (0..=TABLE_STEPS).map(entry).collect()
});

/// Returns `h(z) = N(z) / Φ(z)` to at least six digits: cubic Hermite interpolation in a table, with the derivative `-h (z + h)`.
pub(crate) fn hazard(z: f64) -> f64 {
    let place = (z + TABLE_TO) * PER_UNIT;
    // This is also true of NaN.
    if !(0.0..f64::from(TABLE_STEPS)).contains(&place) {
        return hazard_plain(z);
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the table")]
    let k = place as usize;
    let t = place - k as f64;
    let ([a, slope_a], [b, slope_b]) = (HAZARDS[k], HAZARDS[k + 1]);
    let (rise, u) = (b - a, 1.0 - t);
    a + t * (rise + u * (u * (slope_a - rise) - t * (slope_b - rise)))
}

/// Returns `N(z) / Φ(z)` to full precision.
pub(crate) fn hazard_plain(z: f64) -> f64 {
    if z > TABLE_TO {
        return normal(z);
    }
    if z > -3.0 {
        // Φ(z) = 1/2 + N(z) (z + z³/3 + z⁵/15 + ...)
        let (mut term, mut sum, mut n) = (z, z, 1.0);
        while term.abs() > 1e-17 * sum.abs() && n < 400.0 {
            n += 2.0;
            term *= z * z / n;
            sum += term;
        }
        let height = normal(z);
        return height / (0.5 + height * sum);
    }
    // The continued fraction of the tail.
    (1..80).rev().fold(-z, |tail, k| -z + f64::from(k) / tail)
}

/// Returns the z with Φ(z) = p, for p in (0, 1).
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    // ln Φ is concave, with the derivative h: Newton's method converges from the left.
    let mut z = 0.0;
    for _ in 0..60 {
        let hazard = hazard_plain(z);
        let log_normal = -0.5 * (z * z + std::f64::consts::TAU.ln());
        let step = ((p * hazard).ln() - log_normal) / hazard;
        z += step;
        if step.abs() < 1e-14 * (1.0 - z) {
            break;
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn quantiles_are_those_of_the_distribution() {
        for z in [-8.0, -3.5, -3.0, -1.2, -1e-3, 0.0, 0.7, 2.5, 5.0] {
            let p = normal(z) / hazard_plain(z);
            assert_relative_eq!(normal_quantile(p), z, max_relative = 1e-9, epsilon = 1e-15);
        }
        assert_relative_eq!(normal_quantile(0.975), 1.959_963_984_540_054, max_relative = 1e-12);
    }

    #[test]
    fn hazards_agree_with_known_tails() {
        // Φ from tables with 15 digits.
        for (z, phi) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_543),
            (-1.0, 0.158_655_253_931_457),
            (-2.5, 6.209_665_325_776_132e-3),
            (-3.5, 2.326_290_790_355_25e-4),
            (-6.0, 9.865_876_450_376_98e-10),
            (-10.0, 7.619_853_024_160_52e-24),
            (4.2, 0.999_986_654_250_984),
        ] {
            assert_relative_eq!(hazard_plain(z), normal(z) / phi, max_relative = 1e-12);
        }
    }

    #[test]
    fn table_agrees_with_series() {
        for k in -1_000..1_000 {
            let z = 0.0113 * f64::from(k);
            assert_relative_eq!(hazard(z), hazard_plain(z), max_relative = 1e-6, epsilon = 1e-12);
        }
        assert!(hazard(f64::NAN).is_nan());
    }

    #[test]
    fn chi_means() {
        // √(2/π), 2√(2/π), and large n.
        let one = (2.0 / std::f64::consts::PI).sqrt();
        assert_relative_eq!(chi_mean(1.0), one, max_relative = 1e-10);
        assert_relative_eq!(chi_mean(3.0), 2.0 * one, max_relative = 1e-10);
        assert_relative_eq!(chi_mean(1e6), 1e3 * (1.0 - 0.25e-6), max_relative = 1e-12);
    }
}
