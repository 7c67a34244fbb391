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

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use rand_distr::{ChiSquared, Distribution, Exp1, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::ball::Ball;
use crate::base::{Control, Error, Result, RngState, ensure, ensure_finite, ensure_vectors};
use crate::linalg::Inverse;
use crate::simd::dot;
use crate::simd::special::{chi_mean, hazard, normal};
use crate::space::{Mirror, VersionSpace};

/// Least path between two looks at the densities: shorter than half of the shortest piece of path there is.
const CLOSEST_LOOKS: f64 = 1e-7;

/// Moves to the middle at most, and the one short enough to end there, in units of the length.
const MOST_MOVES: usize = 30;
const NEAR: f64 = 0.05;

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
        let walls = densities.iter().zip(dual).zip(self.inverse.diagonal());
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
            let walls = space.labels().iter().zip(&field).zip(&dual).zip(inverse.diagonal());
            let densities: Vec<f64> = walls
                .map(|(((&label, f), c), q)| wall_density(label, [*f, *c, *q], 1.0, mirror))
                .collect();
            let step = self.step(&dual, &densities);
            let mut change = vec![step];
            field.iter_mut().zip(&change[0]).for_each(|(f, x)| *f += x);
            let moved = change[0].clone();
            inverse.solve(&mut change, control)?;
            dual.iter_mut().zip(&change[0]).for_each(|(c, x)| *c += x);
            let square = dot::dot(inverse.arch(), &moved, &change[0]);
            if square <= NEAR * NEAR * dot::dot(inverse.arch(), &field, &dual) {
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
        let walls = space.labels().iter().zip(field).zip(dual).zip(self.inverse.diagonal());
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
    pub looks: Looks,
}

/// What was seen along the path since the last piece.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Looks {
    sum: Vec<f64>,
    count: f64,
    /// Radians from one look to the next.
    pub spacing: f64,
}

impl<'a> Densities<'a> {
    pub(crate) fn new(smoother: Arc<Smoother<'a>>, mirror: Mirror, rng: ChaCha8Rng) -> Self {
        let sum = vec![0.0; smoother.inverse.len()];
        let looks = Looks { sum, count: 0.0, spacing: f64::INFINITY };
        Self { smoother, mirror, rng, looks }
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
        let walls = walls.zip(self.smoother.inverse.diagonal());
        for ((((&label, f), c), q), sum) in walls.zip(&mut self.looks.sum) {
            *sum += wall_density(label, [*f, *c, *q], length, self.mirror);
        }
        self.looks.count += 1.0;
    }

    /// What is to be stored.
    pub(crate) fn state(&self) -> (RngState, Looks) {
        (RngState::of(&self.rng), self.looks.clone())
    }

    /// The densities that were stored.
    pub(crate) fn restored(
        smoother: Arc<Smoother<'a>>,
        mirror: Mirror,
        (rng, looks): (RngState, Looks),
    ) -> Result<Self> {
        ensure_vectors(smoother.inverse.len(), &[&looks.sum])?;
        ensure_finite(&[&[looks.count, looks.spacing]])?;
        ensure(looks.spacing >= CLOSEST_LOOKS, || {
            format!("one with looks {} radians apart", looks.spacing)
        })?;
        Ok(Self { smoother, mirror, rng: rng.restored()?, looks })
    }

    /// Takes out the integral of r along `length` radians, for unit vectors, since the last call.
    pub(crate) fn take(&mut self, length: f64) -> Vec<f64> {
        let m = self.looks.sum.len();
        let mut sum = std::mem::replace(&mut self.looks.sum, vec![0.0; m]);
        let scale = length / (self.looks.count.max(1.0) * chi_mean(m as f64));
        sum.iter_mut().for_each(|x| *x *= scale);
        self.looks.count = 0.0;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::special::hazard_plain;
    use approx::assert_relative_eq;

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
}
