//! Special functions of the normal distribution: its density, its hazard function, and the mean of the chi distribution.

use std::sync::LazyLock;

/// Returns the mean length E_n of a standard Gaussian vector in n dimensions, `√2 Γ((n+1)/2) / Γ(n/2)`.
pub fn chi_mean(n: f64) -> f64 {
    // The series is accurate for large n. The recurrence E_n E_{n+1} = n reduces small n to that case.
    if n < 200.0 {
        return n / chi_mean(n + 1.0);
    }
    let y = 0.25 / n;
    n.sqrt() * (1.0 - y * (1.0 - y * (0.5 + y * (2.5 - y * 2.625))))
}

/// Returns the standard normal density N(z).
pub fn normal(z: f64) -> f64 {
    (-0.5 * z * z).exp() * (0.5 * std::f64::consts::FRAC_1_PI).sqrt()
}

/// Returns the whole part of a number that is at least 0 and no larger than a vector is long.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it fits")]
pub fn whole(x: f64) -> usize {
    x as usize
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
pub fn hazard(z: f64) -> f64 {
    let place = (z + TABLE_TO) * PER_UNIT;
    // This is also true of NaN.
    if !(0.0..f64::from(TABLE_STEPS)).contains(&place) {
        return hazard_plain(z);
    }
    let k = whole(place);
    let t = place - k as f64;
    let ([a, slope_a], [b, slope_b]) = (HAZARDS[k], HAZARDS[k + 1]);
    let (rise, u) = (b - a, 1.0 - t);
    a + t * (rise + u * (u * (slope_a - rise) - t * (slope_b - rise)))
}

/// Returns `N(z) / Φ(z)` to full precision.
pub fn hazard_plain(z: f64) -> f64 {
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
pub fn normal_quantile(p: f64) -> f64 {
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
