//! Averages of the mean of each plane coordinate given all others (Rao-Blackwellization; Gelfand and Smith, 1990, Sec. 2.6).
//!
//! A Gaussian vector of the span has plane coordinates h ~ N(0, A). Given all others, h_i is normal with the mean
//! `μ_i = h_i - c_i / Q_ii` and the variance `1 / Q_ii`, where c are the dual coefficients and `Q = A⁻¹`. In version space
//! this normal distribution is truncated at wall i, or scaled down behind it if the wall is transparent. Its mean is therefore
//! known at every point of the path. Averaging these means instead of the coordinates removes most of the noise if there are
//! hundreds of directions. With `z_i = μ_i √Q_ii y_i` the mean is
//!
//! ```text
//! E[h_i | h_-i] = μ_i + r_i / Q_ii,   r_i = y_i √Q_ii (1 - κ_i) N(z_i) / (Φ(z_i) + κ_i Φ(-z_i)),
//! ```
//!
//! and r_i is the density of h_i at its wall, which is the dual coefficient of the center of mass by the divergence theorem.
//!
//! With several classes h_i is the coordinate of a wall, and κ_i = 1 unless all other walls of its example are satisfied.
//!
//! Of walls in general h are the coordinates. Given all others, a coordinate is truncated on both sides, by the nearest of its
//! walls, and r_i is the difference of the densities there. This is for hard walls alone.

use std::sync::Arc;

use rand::RngExt;
use rand_distr::{ChiSquared, Distribution, Exp1};

use crate::ball::Ball;
use crate::base::{Control, Error, Result, Stream, ensure, ensure_finite, ensure_vectors, random};
use crate::gram::Walls;
use crate::linalg::Inverse;
use crate::simd::dot;
use crate::simd::special::{chi_mean, hazard, hazard_plain, normal};
use crate::space::{Mirror, VersionSpace};

/// Least path between two evaluations of the densities: less than half of the shortest piece of path.
const SMALLEST_SPACING: f64 = 1e-7;

/// Largest number of moves to the middle, and the length of a move, relative to that of the point, that ends them.
const MOST_MOVES: usize = 30;
const NEAR: f64 = 0.05;

/// The inverse and the step size s = `share` towards conditional means; shared by the trajectories.
pub struct Smoother<'a> {
    pub inverse: Inverse<'a>,
    pub share: f64,
    /// √Q_ii and its reciprocal, for each plane, or coordinate of walls.
    roots: Vec<[f64; 2]>,
    walls: Option<&'a Walls>,
    /// Distribution of the squared length of a Gaussian vector.
    square: ChiSquared<f64>,
}

impl<'a> Smoother<'a> {
    pub fn new(inverse: Inverse<'a>, space: &'a VersionSpace, control: &Control) -> Result<Self> {
        let (inverse, walls) = (inverse.of_coordinates(), space.walls());
        let share = inverse.share(control)?;
        let square = ChiSquared::new(inverse.len() as f64)
            .map_err(|_| Error::invalid("factor", "no rows", "one row or more"))?;
        let roots = inverse.diagonal().map(|q| [q.sqrt(), q.sqrt().recip()]).collect();
        Ok(Self { inverse, share, roots, walls, square })
    }

    /// Returns the changes of the dual coefficients of integrals of positions when they are replaced by those of their conditional
    /// means: those of the changes `s D⁻¹ (r - c)` of the plane coordinates, given dual coefficients c and integrals of r.
    pub fn moves(
        &self,
        integrals: &[(&[f64], &[f64])],
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        let mut moves: Vec<Vec<f64>> = integrals
            .iter()
            .map(|(dual, densities)| match self.walls {
                None => self.step(dual, densities),
                Some(walls) => self.step(&walls.duals(dual), densities),
            })
            .collect();
        self.inverse.solve(&mut moves, control)?;
        if let Some(walls) = self.walls {
            moves.iter_mut().for_each(|one| *one = walls.plane_duals(one));
        }
        Ok(moves)
    }

    fn step(&self, dual: &[f64], densities: &[f64]) -> Vec<f64> {
        let walls = densities.iter().zip(dual).zip(self.inverse.diagonal());
        walls.map(|((r, c), q)| self.share * (r - c) / q).collect()
    }

    /// Returns plane coordinates and dual coefficients of a point near the center of mass: every coordinate is close to its own
    /// conditional mean, for a vector of the typical length of a Gaussian one. Solved by iteration.
    pub fn middle(
        &self,
        space: &VersionSpace,
        mirror: Mirror,
        control: &Control,
    ) -> Result<[Vec<f64>; 2]> {
        let inverse = &self.inverse;
        let mut field = vec![0.0; inverse.len()];
        let mut dual = field.clone();
        for _ in 0..MOST_MOVES {
            let walls = space.labels().iter().zip(&field).zip(&dual).zip(&self.roots);
            let densities: Vec<f64> = walls
                .map(|(((&label, f), c), root)| {
                    wall_density(label, [*f, *c], *root, 1.0, mirror.of(label))
                })
                .collect();
            let moved = self.step(&dual, &densities);
            dot::add(&mut field, &moved);
            let mut change = [moved.clone()];
            inverse.solve(&mut change, control)?;
            dot::add(&mut dual, &change[0]);
            let square = dot::dot(&moved, &change[0]);
            if square <= NEAR * NEAR * dot::dot(&field, &dual) {
                break;
            }
        }
        Ok([field, dual])
    }

    /// Returns a random point inside all walls: every coordinate is drawn given that the others are those of the middle.
    pub fn typical(
        &self,
        space: &VersionSpace,
        [field, dual]: &[Vec<f64>; 2],
        rng: &mut Stream,
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
}

/// The densities r at the walls, summed along the path of one trajectory since the last piece.
pub struct Densities<'a> {
    smoother: Arc<Smoother<'a>>,
    mirror: Mirror,
    rng: Stream,
    sum: Vec<f64>,
    count: f64,
    /// Radians between two evaluations.
    pub spacing: f64,
}

/// The stored form: random stream, sum, count and spacing.
pub type Sums = (Vec<u8>, Vec<f64>, f64, f64);

impl<'a> Densities<'a> {
    pub fn new(smoother: Arc<Smoother<'a>>, mirror: Mirror, rng: Stream) -> Self {
        let sum = vec![0.0; smoother.inverse.len()];
        Self { smoother, mirror, rng, sum, count: 0.0, spacing: f64::INFINITY }
    }

    /// Adds the densities at the ball for a vector in its direction, of a length with the chi distribution.
    pub fn add(&mut self, ball: &Ball, space: &VersionSpace) {
        let length = self.smoother.square.sample(&mut self.rng).sqrt();
        let dual = ball.position(0.0);
        self.count += 1.0;
        if let Some(walls) = self.smoother.walls {
            let (duals, room) = (walls.duals(&dual), walls.room(ball.f(), space.labels()));
            let each = duals.iter().zip(room).zip(&self.smoother.roots).zip(&mut self.sum);
            for (((c, [below, above]), [root, reciprocal]), sum) in each {
                let (ahead, scale) = (length * c * reciprocal, length * root);
                let ends = [below * scale - ahead, above * scale + ahead];
                *sum += root * between(ends, (below + above) * scale);
            }
            return;
        }
        let violated = space.violated_walls(ball.f());
        let walls = space.labels().iter().zip(ball.f()).zip(&dual);
        let walls = walls.zip(&self.smoother.roots).zip(&mut self.sum);
        for (i, ((((&label, f), c), root), sum)) in walls.enumerate() {
            let transparency = space.own_transparency(i, *f, &violated, self.mirror);
            *sum += wall_density(label, [*f, *c], *root, length, transparency);
        }
    }

    pub fn state(&self) -> Sums {
        (random::state(&self.rng), self.sum.clone(), self.count, self.spacing)
    }

    pub fn restored(
        smoother: Arc<Smoother<'a>>,
        mirror: Mirror,
        (rng, sum, count, spacing): Sums,
    ) -> Result<Self> {
        ensure_vectors(smoother.inverse.len(), &[&sum])?;
        ensure_finite(&[&[count, spacing]])?;
        ensure(spacing >= SMALLEST_SPACING, "one with too many densities")?;
        Ok(Self { smoother, mirror, rng: random::restored(&rng)?, sum, count, spacing })
    }

    /// Returns the integral of r, for unit vectors, over the `length` radians since the last call.
    pub fn take(&mut self, length: f64) -> Vec<f64> {
        let m = self.sum.len();
        let mut sum = std::mem::replace(&mut self.sum, vec![0.0; m]);
        let scale = length / (self.count.max(1.0) * chi_mean(m as f64));
        dot::scale(&mut sum, scale);
        self.count = 0.0;
        sum
    }
}

/// Returns the density r at the wall of a plane, for f and c of a unit vector times `length`; `root`: √Q_ii, and inverse.
#[inline]
fn wall_density(
    label: i8,
    [f, c]: [f64; 2],
    [root, reciprocal]: [f64; 2],
    length: f64,
    transparency: f64,
) -> f64 {
    let y = f64::from(label);
    let z = y * length * (f * root - c * reciprocal);
    y * root * density(z, transparency)
}

/// Returns the mean of a standard normal variate between -a and b, an interval of the given width.
fn between([a, b]: [f64; 2], width: f64) -> f64 {
    /// Product of width and distance up to which the density is nearly linear.
    const NARROW: f64 = 1e-2;
    let (near, far, sign) = if a <= b { (a, b, 1.0) } else { (b, a, -1.0) };
    if near == f64::INFINITY {
        return 0.0;
    }
    let middle = 0.5 * (far - near);
    if width * (1.0 + middle.abs()) < NARROW {
        return sign * middle * (1.0 - width * width / 12.0);
    }
    // The density at the far end, and the probability beyond it, relative to those at the near end.
    let fall = -middle * width;
    let (height, tail) = (hazard_plain(near), fall.exp() / hazard_plain(-far));
    sign * height * -fall.exp_m1() / (1.0 - tail * height)
}

/// Draws from the normal distribution of mean z and unit variance, truncated to positive numbers.
fn above_zero(z: f64, rng: &mut Stream) -> f64 {
    // So far out the tail is exponential to rounding. NaN stays NaN.
    if z.is_nan() || z < -1e8 {
        let step: f64 = Exp1.sample(rng);
        return step / -z;
    }
    if z > -0.5 {
        loop {
            let x = random::normal(rng);
            if x + z > 0.0 {
                return x + z;
            }
        }
    }
    // Rejection from an exponential distribution (Robert, "Simulation of truncated normal variables", 1995).
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

/// Returns `(1 - κ) N(z) / (Φ(z) + κ Φ(-z))`: the jump of density at a wall of a normal distribution of unit variance, whose
/// mean is z in front of the wall and whose density is multiplied by κ behind it.
fn density(z: f64, transparency: f64) -> f64 {
    let hazard = hazard(z);
    if transparency == 0.0 {
        return hazard;
    }
    // Φ(z) is 1 to rounding, and N(z) underflows for larger z.
    if z > 9.0 {
        return (1.0 - transparency) * hazard;
    }
    // 1 / Φ(z), infinite if Φ underflows.
    let inverse = hazard / normal(z);
    let below = if inverse.is_finite() { 1.0 + transparency * (inverse - 1.0) } else { inverse };
    if below.is_finite() {
        (1.0 - transparency) * hazard / below
    } else {
        // Both Φ(z) and κ may be close to the smallest number.
        (1.0 - transparency) * normal(z) / (normal(z) / hazard + transparency)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/ensemble/conditional_means.rs"]
mod tests;
