//! Averages of conditional means: what all other plane coordinates say of each.
//!
//! A Gaussian vector of the span has plane coordinates h ~ N(0, A). Given all others, h_i is normal around
//! `μ_i = h_i - c_i / Q_ii` with the variance `1 / Q_ii`, where c are its dual coefficients and `Q = A⁻¹`; in version
//! space it is that normal law with its part behind wall i cut off or, of a transparent wall, scaled down. So its mean is
//! known at every point of the path, and moving it there takes the noise of coordinate i out of the average: with
//! hundreds of directions of which each plane knows one, most of the noise (Gelfand and Smith, 1990, Section 2.6). With
//! `z_i = μ_i √Q_ii y_i` the mean is
//!
//! ```text
//! E[h_i | h_-i] = μ_i + r_i / Q_ii,   r_i = y_i √Q_ii (1 - κ_i) N(z_i) / (Φ(z_i) + κ_i Φ(-z_i)),
//! ```
//!
//! and r_i is the density of h_i at its wall: the dual coefficient of the center of mass, by the divergence theorem.

use std::sync::{Arc, LazyLock};

use pulp::Arch;
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt};
use rand_distr::{ChiSquared, Distribution, Exp1, StandardNormal};

use crate::ball::Ball;
use crate::base::checkpoint::{Loader, Saver, foreign};
use crate::base::control::Control;
use crate::base::error::{Error, Result};
use crate::linalg::factor::{Draw, Isotropic};
use crate::simd::dot;
use crate::space::mirror::Mirror;
use crate::space::version_space::VersionSpace;

/// Products with the inverse that find its largest eigenvalue, relative to its diagonal, well enough.
const POWERS: usize = 6;

/// Least path between two looks at the densities: shorter than half of the shortest piece of path there is.
const CLOSEST_LOOKS: f64 = 1e-7;

/// Moves to the middle at most, and the one short enough to end there, in units of the length.
const MOST_MOVES: usize = 30;
const NEAR: f64 = 0.05;

/// The inverse Q of a positive definite Gram matrix A, by a Cholesky factor made elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Inverse<'a> {
    /// Row j holds column j of L in `A = L Lᵀ`, from its diagonal entry on; what is left of that is not looked at.
    columns: &'a [f64],
    /// Q_ii, shape (m,).
    diagonal: &'a [f64],
    arch: Arch,
}

impl<'a> Inverse<'a> {
    /// Borrows the columns of L, row-major (m, m), and the diagonal of A⁻¹, shape (m,).
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when the shapes do not fit or a diagonal entry of either is not positive and finite.
    pub fn new(columns: &'a [f64], diagonal: &'a [f64]) -> Result<Self> {
        let m = diagonal.len();
        if columns.len() != m * m {
            let got = format!("{} entries", columns.len());
            return Err(Error::invalid("factor", got, "as many as m x m"));
        }
        let own = columns.iter().step_by(m + 1).chain(diagonal);
        if let Some(&bad) = own.clone().find(|x| !(**x > 0.0 && x.is_finite())) {
            return Err(Error::invalid("factor", bad, "positive and finite on its diagonal"));
        }
        Ok(Self { columns, diagonal, arch: Arch::new() })
    }

    /// Number of examples m.
    pub(crate) fn len(&self) -> usize {
        self.diagonal.len()
    }

    /// Column j of L from its diagonal entry on.
    fn column(&self, j: usize) -> &'a [f64] {
        let m = self.len();
        &self.columns[j * m + j..(j + 1) * m]
    }

    /// `x ← A⁻¹ x` for several vectors in two sweeps through the factor.
    fn solve(&self, vectors: &mut [Vec<f64>], control: &Control) -> Result<()> {
        for j in 0..self.len() {
            if j % 64 == 0 {
                control.check()?;
            }
            let column = self.column(j);
            for x in &mut *vectors {
                let (head, tail) = x[j..].split_at_mut(1);
                head[0] /= column[0];
                dot::axpy(self.arch, -head[0], &column[1..], tail);
            }
        }
        for j in (0..self.len()).rev() {
            if j % 64 == 0 {
                control.check()?;
            }
            for x in &mut *vectors {
                self.back_step(j, x);
            }
        }
        Ok(())
    }

    /// Entry j of `L⁻ᵀ x` in the place of x_j, those after it being done.
    fn back_step(&self, j: usize, x: &mut [f64]) {
        let column = self.column(j);
        let (head, tail) = x[j..].split_at_mut(1);
        head[0] = (head[0] - dot::dot(self.arch, &column[1..], tail)) / column[0];
    }

    /// The share s of the way to the conditional means that all coordinates can be moved at once without going too far in
    /// any direction: one over the largest eigenvalue of `D^-½ Q D^-½`, where D holds the diagonal of Q.
    fn share(&self, control: &Control) -> Result<f64> {
        let scale: Vec<f64> = self.diagonal.iter().map(|q| q.sqrt().recip()).collect();
        // Any vector that is not special: the fractional parts of multiples of the golden ratio.
        let mut x: Vec<f64> =
            (0..self.len()).map(|i| (i as f64 * 0.618_033_988_749_895).fract() - 0.4).collect();
        let mut largest = 1.0_f64;
        for _ in 0..POWERS {
            let norm = dot::dot(self.arch, &x, &x).sqrt();
            let mut next: Vec<f64> = x.iter().zip(&scale).map(|(x, d)| x / norm * d).collect();
            self.solve(std::slice::from_mut(&mut next), control)?;
            for (x, d) in next.iter_mut().zip(&scale) {
                *x *= d;
            }
            largest = largest.max(dot::dot(self.arch, &next, &next).sqrt());
            x = next;
        }
        Ok(largest.recip())
    }
}

impl Isotropic for Inverse<'_> {
    fn draw(&self, mut rng: &mut dyn Rng) -> Draw {
        let m = self.len();
        let mut dual: Vec<f64> = StandardNormal.sample_iter(&mut rng).take(m).collect();
        let square = dot::dot(self.arch, &dual, &dual);
        let mut field = vec![0.0; m];
        for j in 0..m {
            dot::axpy(self.arch, dual[j], self.column(j), &mut field[j..]);
        }
        for j in (0..m).rev() {
            self.back_step(j, &mut dual);
        }
        Draw { dual, field, square }
    }
}

/// The inverse, and how far it lets averages be moved; shared by the trajectories.
#[derive(Debug)]
pub(crate) struct Smoother<'a> {
    inverse: Inverse<'a>,
    share: f64,
    length: ChiSquared<f64>,
}

impl<'a> Smoother<'a> {
    pub(crate) fn new(inverse: Inverse<'a>, control: &Control) -> Result<Self> {
        Self::with_share(inverse, inverse.share(control)?)
    }

    /// The same where the share is known.
    pub(crate) fn with_share(inverse: Inverse<'a>, share: f64) -> Result<Self> {
        let length = ChiSquared::new(inverse.len() as f64)
            .map_err(|_| Error::invalid("factor", "no rows", "one row or more"))?;
        Ok(Self { inverse, share, length })
    }

    pub(crate) fn share(&self) -> f64 {
        self.share
    }

    /// What the plane coordinates of the integral of the position with dual coefficients c change by when it is moved to
    /// that of its conditional means, given the integral of r: `s D⁻¹ (r - c)`.
    pub(crate) fn step(&self, dual: &[f64], densities: &[f64]) -> Vec<f64> {
        let walls = densities.iter().zip(dual).zip(self.inverse.diagonal);
        walls.map(|((r, c), q)| self.share * (r - c) / q).collect()
    }

    /// Plane coordinates and dual coefficients of a point where every coordinate is near its own conditional mean, of a
    /// length as Gaussian vectors have: about the center of mass, by as many solutions as it takes to be near.
    pub(crate) fn middle(
        &self,
        space: &VersionSpace<'_>,
        mirror: Mirror,
        control: &Control,
    ) -> Result<[Vec<f64>; 2]> {
        let inverse = &self.inverse;
        let mut field = vec![0.0; inverse.len()];
        let mut dual = field.clone();
        for _ in 0..MOST_MOVES {
            let walls = space.labels().iter().zip(&field).zip(&dual).zip(inverse.diagonal);
            let densities: Vec<f64> = walls
                .map(|(((&label, f), c), q)| wall_density(label, [*f, *c, *q], 1.0, mirror))
                .collect();
            let step = self.step(&dual, &densities);
            let mut change = vec![step];
            field.iter_mut().zip(&change[0]).for_each(|(f, x)| *f += x);
            let moved = change[0].clone();
            inverse.solve(&mut change, control)?;
            dual.iter_mut().zip(&change[0]).for_each(|(c, x)| *c += x);
            let square = dot::dot(inverse.arch, &moved, &change[0]);
            if square <= NEAR * NEAR * dot::dot(inverse.arch, &field, &dual) {
                break;
            }
        }
        Ok([field, dual])
    }

    /// Dual coefficients of a point inside all walls: every coordinate drawn given the others in the middle.
    pub(crate) fn typical(
        &self,
        space: &VersionSpace<'_>,
        [field, dual]: &[Vec<f64>; 2],
        rng: &mut ChaCha8Rng,
        control: &Control,
    ) -> Result<Vec<f64>> {
        let walls = space.labels().iter().zip(field).zip(dual).zip(self.inverse.diagonal);
        let drawn = walls.map(|(((&label, f), c), q)| {
            let (y, root) = (f64::from(label), q.sqrt());
            y * above_zero(y * (f * root - c / root), rng) / root
        });
        let mut dual = vec![drawn.collect()];
        self.inverse.solve(&mut dual, control)?;
        Ok(dual.swap_remove(0))
    }

    /// From changes of plane coordinates to those of dual coefficients.
    pub(crate) fn solve(&self, changes: &mut [Vec<f64>], control: &Control) -> Result<()> {
        self.inverse.solve(changes, control)
    }
}

/// The densities r at the walls, summed along the path of one trajectory.
#[derive(Debug)]
pub(crate) struct Densities<'a> {
    smoother: Arc<Smoother<'a>>,
    mirror: Mirror,
    rng: ChaCha8Rng,
    sum: Vec<f64>,
    looks: f64,
    /// Radians from one look to the next.
    pub spacing: f64,
}

impl<'a> Densities<'a> {
    pub(crate) fn new(smoother: Arc<Smoother<'a>>, mirror: Mirror, rng: ChaCha8Rng) -> Self {
        let sum = vec![0.0; smoother.inverse.len()];
        Self { smoother, mirror, rng, sum, looks: 0.0, spacing: f64::INFINITY }
    }

    pub(crate) fn shared(&self) -> Arc<Smoother<'a>> {
        Arc::clone(&self.smoother)
    }

    pub(crate) fn smoother(&self) -> &Smoother<'a> {
        &self.smoother
    }

    /// Adds the densities where the ball is, for a vector of its direction and of random length.
    ///
    /// The length of a Gaussian vector has the chi law and knows nothing of the direction, in a cone too.
    pub(crate) fn look(&mut self, ball: &Ball, space: &VersionSpace<'_>) {
        let length = self.smoother.length.sample(&mut self.rng).sqrt();
        let dual = ball.position(0.0);
        let walls = space.labels().iter().zip(ball.f()).zip(&dual);
        let walls = walls.zip(self.smoother.inverse.diagonal);
        for ((((&label, f), c), q), sum) in walls.zip(&mut self.sum) {
            *sum += wall_density(label, [*f, *c, *q], length, self.mirror);
        }
        self.looks += 1.0;
    }

    pub(crate) fn save(&self, saver: &mut Saver) {
        saver.rng(&self.rng);
        saver.all(&self.sum);
        saver.all(&[self.looks, self.spacing]);
    }

    pub(crate) fn load(
        smoother: Arc<Smoother<'a>>,
        mirror: Mirror,
        loader: &mut Loader<'_>,
    ) -> Result<Self> {
        let mut densities = Self::new(smoother, mirror, loader.rng()?);
        densities.sum = loader.finite(densities.sum.len())?;
        let rest = loader.finite(2)?;
        (densities.looks, densities.spacing) = (rest[0], rest[1]);
        if densities.spacing.is_nan() || densities.spacing < CLOSEST_LOOKS {
            return Err(foreign(format!("one with looks {} radians apart", densities.spacing)));
        }
        Ok(densities)
    }

    /// Takes out the integral of r along `length` radians, for unit vectors, since the last call.
    pub(crate) fn take(&mut self, length: f64) -> Vec<f64> {
        let m = self.sum.len();
        let mut sum = std::mem::replace(&mut self.sum, vec![0.0; m]);
        let scale = length / (self.looks.max(1.0) * chi_mean(m as f64));
        sum.iter_mut().for_each(|x| *x *= scale);
        self.looks = 0.0;
        sum
    }
}

/// The density r at the wall of a plane with coordinate f, dual coefficient c and Q_ii = q, for a vector `length` times as long.
fn wall_density(label: i8, [f, c, q]: [f64; 3], length: f64, mirror: Mirror) -> f64 {
    let (y, root) = (f64::from(label), q.sqrt());
    let z = y * length * (f * root - c / root);
    y * root * density(z, mirror.of(label))
}

/// Draws from the normal law of mean z and unit variance given that it is positive.
fn above_zero(z: f64, rng: &mut ChaCha8Rng) -> f64 {
    // So far out the tail is an exponential law to the last digit; and nothing is positive given NaN.
    if z.is_nan() || z < -1e8 {
        let step: f64 = Exp1.sample(rng);
        return step / -z;
    }
    if z > -0.5 {
        loop {
            let x: f64 = StandardNormal.sample(rng);
            if x + z > 0.0 {
                return x + z;
            }
        }
    }
    // The tail beyond -z, under an exponential law (Robert, "Simulation of truncated normal variables", 1995).
    let rate = 0.5 * (-z + (z * z + 4.0).sqrt());
    loop {
        let step: f64 = Exp1.sample(rng);
        let x = step / rate;
        let miss = x - z - rate;
        if rng.random::<f64>() <= (-0.5 * miss * miss).exp() {
            return x;
        }
    }
}

/// Mean length of a standard Gaussian vector in n dimensions, `√2 Γ((n+1)/2) / Γ(n/2)`.
fn chi_mean(n: f64) -> f64 {
    // The series is good from some dimensions on; E_n E_{n+1} = n leads down from there.
    if n < 200.0 {
        return n / chi_mean(n + 1.0);
    }
    let y = 0.25 / n;
    n.sqrt() * (1.0 - y * (1.0 - y * (0.5 + y * (2.5 - y * 2.625))))
}

/// `(1 - κ) N(z) / (Φ(z) + κ Φ(-z))`: the density at a wall of a normal law of unit variance that has its mean z before the
/// wall and is scaled by κ behind it.
fn density(z: f64, transparency: f64) -> f64 {
    let hazard = hazard(z);
    if transparency == 0.0 {
        return hazard;
    }
    // Where Φ(z) is 1 to rounding; further on N(z) is zero.
    if z > 9.0 {
        return (1.0 - transparency) * hazard;
    }
    // 1 / Φ(z), infinite where Φ is too small for a number.
    let inverse = hazard / normal(z);
    let below = if inverse.is_finite() { 1.0 + transparency * (inverse - 1.0) } else { inverse };
    if below.is_finite() {
        (1.0 - transparency) * hazard / below
    } else {
        // Φ(z) and κ may both be as small as numbers get.
        (1.0 - transparency) * normal(z) / (normal(z) / hazard + transparency)
    }
}

fn normal(z: f64) -> f64 {
    (-0.5 * z * z).exp() * (0.5 * std::f64::consts::FRAC_1_PI).sqrt()
}

/// Largest argument of the table, beyond which Φ(z) is 1 in doubles, and its entries per unit.
const TABLE_TO: f64 = 8.0;
const PER_UNIT: f64 = 64.0;
const TABLE_STEPS: u32 = 1_024;

static HAZARDS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    (0..=TABLE_STEPS).map(|k| hazard_plain(f64::from(k) / PER_UNIT - TABLE_TO)).collect()
});

/// `N(z) / Φ(z)`, to six digits and more: between the entries of a table by its derivative, `-h (z + h)`.
fn hazard(z: f64) -> f64 {
    let place = (z + TABLE_TO) * PER_UNIT;
    // Not for NaN either.
    if !(0.0..f64::from(TABLE_STEPS)).contains(&place) {
        return hazard_plain(z);
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the table")]
    let k = place as usize;
    let t = place - k as f64;
    let left = z - t / PER_UNIT;
    let (a, b) = (HAZARDS[k], HAZARDS[k + 1]);
    let slope_a = -a * (left + a) / PER_UNIT;
    let slope_b = -b * (left + 1.0 / PER_UNIT + b) / PER_UNIT;
    let (rise, u) = (b - a, 1.0 - t);
    a + t * (rise + u * (u * (slope_a - rise) - t * (slope_b - rise)))
}

/// The same from series.
fn hazard_plain(z: f64) -> f64 {
    if z > TABLE_TO {
        return normal(z); // Φ(z) is 1 to the last digit
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
    // A continued fraction of the tail.
    (1..80).rev().fold(-z, |tail, k| -z + f64::from(k) / tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn hazards_are_those_of_known_tails() {
        // N(z) / Φ(z) with Φ from tables of 15 digits.
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
    fn the_table_follows_the_series() {
        for k in -1_000..1_000 {
            let z = 0.0113 * f64::from(k);
            assert_relative_eq!(hazard(z), hazard_plain(z), max_relative = 1e-6, epsilon = 1e-12);
        }
        assert!(hazard(f64::NAN).is_nan());
    }

    #[test]
    fn densities_behind_transparent_walls() {
        let phi = |z: f64| normal(z) / hazard_plain(z);
        for z in [-7.0, -1.0, 0.0, 2.0] {
            for k in [1e-3, 0.3, 1.0] {
                let direct = (1.0 - k) * normal(z) / (phi(z) + k * phi(-z));
                assert_relative_eq!(density(z, k), direct, max_relative = 1e-8);
            }
        }
        assert_relative_eq!(density(-60.0, 0.5), normal(60.0), max_relative = 1e-8);
        for z in [9.0, 9.1, 37.0, 38.5, 39.0, 60.0, 1e200] {
            for k in [0.0, 1e-300, 0.1, 1.0] {
                assert_relative_eq!(density(z, k), (1.0 - k) * normal(z), max_relative = 1e-12);
            }
        }
        // Where one over either is infinite.
        for k in [5e-324, 4e-312, 1e-300] {
            for z in [-37.0, -37.6, -38.0, -60.0] {
                assert!((0.0..=-z + 1.0).contains(&density(z, k)), "{z} {k}");
            }
        }
    }

    #[test]
    fn tails_are_drawn_wherever_they_begin() {
        use rand::SeedableRng;
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for z in [3.0, 0.0, -2.0, -1e3, -0.9e8, -1.1e8, -1e200, f64::MIN, f64::INFINITY] {
            let n = 2_000;
            let mean = (0..n).map(|_| above_zero(z, &mut rng)).sum::<f64>() / f64::from(n);
            let exact = z + hazard_plain(z.max(-1e3));
            let exact = if z < -1e3 { -z.recip() } else { exact };
            assert_relative_eq!(mean, exact, max_relative = 0.12);
        }
        assert!(above_zero(f64::NAN, &mut rng).is_nan());
        assert!(above_zero(f64::NEG_INFINITY, &mut rng) == 0.0);
    }

    #[test]
    fn mean_lengths() {
        // √(2/π), 2√(2/π), and large n.
        let one = (2.0 / std::f64::consts::PI).sqrt();
        assert_relative_eq!(chi_mean(1.0), one, max_relative = 1e-10);
        assert_relative_eq!(chi_mean(3.0), 2.0 * one, max_relative = 1e-10);
        assert_relative_eq!(chi_mean(1e6), 1e3 * (1.0 - 0.25e-6), max_relative = 1e-12);
    }
}
