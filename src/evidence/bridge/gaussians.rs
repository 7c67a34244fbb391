//! Gaussian distributions of the weight vector, from one fitted to version space (t = 1) to the prior (t = 0).

use std::sync::Arc;

use rand::{Rng, RngExt};

use crate::base::{Control, Result, Stream, memory, random};
use crate::ensemble::WorkerPool;
use crate::gram::Gram;
use crate::linalg::{Cholesky, Draw, Factor, Isotropic};
use crate::simd::{Precision, dot};
use crate::space::VersionSpace;
use crate::trajectory::{Geodesic, Goal, Trajectory};

/// Path that finds the center: in paths between two samples, and at most in radians.
const CENTER_SAMPLES: f64 = 80.0;
const CENTER_PATH: f64 = 20.0;
/// Samples of the variances on each trajectory.
const SAMPLES: usize = 60;
/// Standard errors, of at most a nat each, by which ln of a share may exceed 0.
const ABOVE: f64 = 5.0;
/// Steps of the iteration for the precisions τ.
const STEPS: usize = 4;

/// The distributions with inverse covariance `Q_t(w) = |w|² + t (Σ_i τ_i e_i² - γ b²)`; see [`super`] for b and e.
pub struct Gaussians {
    factor: Arc<Factor>,
    /// Dual coefficients of the center c, of unit length, shape (m,).
    center: Vec<f64>,
    /// <c, φ_i>, shape (m,).
    height: Vec<f64>,
    /// `K'_ij = K_ij - h_i h_j`, the inner products of the feature vectors orthogonal to c; row-major.
    across: Vec<f64>,
    /// τ_i, shape (m,).
    precision: Vec<f64>,
    /// γ, in [0, 1).
    pull: f64,
}

/// A weight vector: its dual coefficients for the Gram matrix at t = 0, and its plane coordinates.
pub type Point = (Vec<f64>, Vec<f64>);

/// `I + t D K' D` over the planes with a positive precision, with D² = τ.
pub struct Inner {
    t: f64,
    /// These planes i, and √(t τ_i).
    active: Vec<(usize, f64)>,
    factor: Cholesky,
}

impl Gaussians {
    /// Fits the distribution at t = 1 to samples `spacing` radians apart: center, variance along it, and of every coordinate.
    pub fn fit(
        gram: &Gram,
        factor: &Arc<Factor>,
        homes: &mut [Trajectory<Geodesic>],
        spacing: f64,
        pool: &WorkerPool,
    ) -> Result<Self> {
        let (m, control) = (gram.len(), pool.control);
        let goal = Goal::path((CENTER_SAMPLES * spacing).min(CENTER_PATH));
        let integrals = pool.each(homes, |_, home| {
            home.reset();
            home.run(goal, control)?;
            Ok(home.ball_mut().take_arc_integral())
        })?;
        let mut center = vec![0.0; m];
        for integral in &integrals {
            dot::add(&mut center, integral);
        }
        let mut height = gram.product(&center, Precision::Compensated, control)?;
        let norm = dot::dot(&center, &height).sqrt();
        for x in center.iter_mut().chain(&mut height) {
            *x /= norm;
        }
        let sums = pool.each(homes, |_, home| {
            let mut squares = vec![0.0; m];
            let mut along = 0.0;
            home.reset();
            for k in 1..=SAMPLES {
                home.run(Goal::path(k as f64 * spacing), control)?;
                let field = home.ball().f();
                let b = dot::dot(&center, field);
                along += b * b;
                for ((square, f), h) in squares.iter_mut().zip(field).zip(&height) {
                    *square += (f - b * h).powi(2);
                }
            }
            Ok((squares, along))
        })?;
        let count = (SAMPLES * homes.len()) as f64;
        let scale = factor.rank() as f64 / count;
        let along = scale * sums.iter().map(|sum| sum.1).sum::<f64>();
        let variances: Vec<f64> =
            (0..m).map(|i| scale * sums.iter().map(|sum| sum.0[i]).sum::<f64>()).collect();
        memory::check_vectors(m, m)?;
        let mut across = Vec::with_capacity(m * m);
        for i in 0..m {
            let row = gram.shifted_row(i);
            across.extend(row.iter().zip(&height).map(|(k, h)| k - height[i] * h));
        }
        let mut gaussians = Self {
            factor: Arc::clone(factor),
            center,
            height,
            across,
            precision: vec![0.0; m],
            pull: 1.0 - 1.0 / along.max(1.0),
        };
        gaussians.fit_precisions(&variances, pool)?;
        Ok(gaussians)
    }

    /// Sets precisions for which e has nearly the given variances. The solution need not be unique.
    fn fit_precisions(&mut self, variances: &[f64], pool: &WorkerPool) -> Result<()> {
        for (i, &v) in variances.iter().enumerate() {
            let own = self.row(i)[i];
            self.precision[i] = if v > 0.0 { (1.0 / v - 1.0 / own).max(0.0) } else { 0.0 };
        }
        for _ in 0..STEPS {
            let inner = self.inner(1.0, pool.control)?;
            let columns = self.columns(&inner, pool)?;
            for (i, column) in columns.iter().enumerate() {
                let left = self.row(i)[i] - column.iter().map(|x| x * x).sum::<f64>();
                if variances[i] > 0.0 {
                    self.precision[i] *= (left / variances[i]).clamp(0.01, 100.0);
                }
            }
        }
        Ok(())
    }

    fn row(&self, i: usize) -> &[f64] {
        let m = self.height.len();
        &self.across[i * m..][..m]
    }

    /// Narrows the distribution at t = 1 across the center.
    pub fn tighten(&mut self, factor: f64) {
        dot::scale(&mut self.precision, factor);
    }

    /// The dimension r of the span.
    pub fn dimension(&self) -> f64 {
        self.factor.rank() as f64
    }

    pub fn inner(&self, t: f64, control: &Control) -> Result<Inner> {
        let roots = self.precision.iter().map(|precision| (t * precision).sqrt()).enumerate();
        let active: Vec<(usize, f64)> = roots.filter(|(_, root)| *root > 0.0).collect();
        memory::check_vectors(active.len().div_ceil(2), active.len())?;
        let mut factor = Cholesky::default();
        for (k, &(i, root)) in active.iter().enumerate() {
            if k % 16 == 0 {
                control.check()?;
            }
            let row = self.row(i);
            let mut column: Vec<f64> =
                active[..k].iter().map(|&(j, other)| root * row[j] * other).collect();
            factor.forward(&mut column);
            let square: f64 = column.iter().map(|x| x * x).sum();
            // At least 1 but for rounding.
            factor.push(column, (1.0 + root * root * row[i] - square).max(0.5));
        }
        Ok(Inner { t, active, factor })
    }

    /// `L⁻¹ D K' e_i` for every plane i, with L the inner factor.
    fn columns(&self, inner: &Inner, pool: &WorkerPool) -> Result<Vec<Vec<f64>>> {
        let m = self.height.len();
        pool.check_memory(1, m, m)?;
        pool.each(&mut vec![(); m], |i, ()| {
            pool.control.check()?;
            let row = self.row(i);
            let mut column: Vec<f64> =
                inner.active.iter().map(|&(j, root)| root * row[j]).collect();
            inner.factor.forward(&mut column);
            Ok(column)
        })
    }

    /// Returns ln of the normalization of the distribution at t, `-½ ln det Q_t`.
    pub fn log_scale(&self, inner: &Inner) -> f64 {
        -0.5 * ((1.0 - inner.t * self.pull).ln() + inner.factor.log_determinant())
    }

    /// Returns the Gram matrix `Φ Σ_t Φᵀ`, row-major.
    pub fn matrix(&self, inner: &Inner, pool: &WorkerPool) -> Result<Vec<f64>> {
        let m = self.height.len();
        let columns = self.columns(inner, pool)?;
        // The rows, and their concatenation.
        pool.check_memory(2, m, m)?;
        let mut rows: Vec<Vec<f64>> = pool.each(&mut vec![(); m], |i, ()| {
            pool.control.check()?;
            let along = self.height[i] / (1.0 - inner.t * self.pull);
            Ok((0..=i)
                .map(|j| {
                    let done = dot::dot(&columns[i], &columns[j]);
                    self.row(i)[j] - done + along * self.height[j]
                })
                .collect())
        })?;
        for i in 0..m {
            let (done, rest) = rows.split_at_mut(i + 1);
            let below = rest.iter().map(|row| row[i]);
            done[i].extend(below);
        }
        Ok(rows.concat())
    }

    /// Returns the parts of a weight vector: b, the vector `g = τ e`, and `Σ τ e²`.
    fn parts(&self, field: &[f64]) -> (f64, Vec<f64>, f64) {
        let b = dot::dot(&self.center, field);
        let mut square = 0.0;
        let g = field
            .iter()
            .zip(&self.height)
            .zip(&self.precision)
            .map(|((f, h), tau)| {
                let e = f - b * h;
                square += tau * e * e;
                tau * e
            })
            .collect();
        (b, g, square)
    }

    /// Returns `x = (Q_1 - Q_0) / Q_0` of a weight vector with `Q_t = 1`.
    pub fn statistic(&self, t: f64, field: &[f64]) -> f64 {
        let (b, _, square) = self.parts(field);
        let y = square - self.pull * b * b;
        y / (1.0 - t * y)
    }

    /// Returns x of a point of any length.
    fn statistic_of(&self, (dual, field): &Point) -> f64 {
        let (b, _, square) = self.parts(field);
        (square - self.pull * b * b) / dot::dot(dual, field)
    }

    /// Turns dual coefficients for the Gram matrix at t = `from` into those at t = `to`.
    pub fn carry(&self, dual: &mut [f64], field: &[f64], from: f64, to: f64) {
        let (b, g, _) = self.parts(field);
        let along = dot::dot(&self.height, &g) + self.pull * b;
        for ((a, g), c) in dual.iter_mut().zip(&g).zip(&self.center) {
            *a += (to - from) * (g - along * c);
        }
    }

    /// Draws a vector at t: an isotropic one, given noisy observations of its e by Matheron's rule, and independent along c.
    pub fn draw(&self, inner: &Inner, rng: &mut dyn Rng) -> Point {
        let Draw { mut dual, mut field, .. } = self.factor.draw(rng);
        let before = dot::dot(&self.center, &field);
        dot::axpy(-before, &self.height, &mut field);
        let observe = |&(i, root): &(usize, f64)| root * field[i] + random::normal(rng);
        let mut observed: Vec<f64> = inner.active.iter().map(observe).collect();
        inner.factor.solve(&mut observed);
        let mut toward = 0.0;
        for (&(i, root), z) in inner.active.iter().zip(&observed) {
            let q = root * z;
            dot::axpy(-q, self.row(i), &mut field);
            dual[i] -= q;
            toward += self.height[i] * q;
        }
        let along = random::normal(rng) / (1.0 - inner.t * self.pull).sqrt();
        dot::axpy(along, &self.height, &mut field);
        dot::axpy(toward - before + along, &self.center, &mut dual);
        (dual, field)
    }
}

/// Draws directions for the billiard with the Gram matrix at t.
impl Isotropic for (Arc<Gaussians>, Inner) {
    fn draw(&self, rng: &mut dyn Rng) -> Draw {
        let (gaussians, inner) = self;
        let (mut dual, field) = gaussians.draw(inner, rng);
        gaussians.carry(&mut dual, &field, 0.0, inner.t);
        let square = dot::dot(&dual, &field);
        Draw { dual, field, square }
    }
}

/// A draw and its opposite, which have the same density: their statistic, and the one in version space if any.
pub type Drawn = (f64, Option<Point>);

pub fn draw(
    n: usize,
    space: &VersionSpace,
    gaussians: &Gaussians,
    inner: &Inner,
    rng: &mut Stream,
) -> Vec<Drawn> {
    let is_inside = |point: &Point| space.violations(&point.1) == [0, 0];
    let pair = |_| {
        let mut point = gaussians.draw(inner, rng);
        let x = gaussians.statistic_of(&point);
        if !is_inside(&point) {
            dot::scale(&mut point.0, -1.0);
            dot::scale(&mut point.1, -1.0);
        }
        (x, is_inside(&point).then_some(point))
    };
    (0..n).map(pair).collect()
}

pub fn inside(draws: &[Drawn]) -> Vec<f64> {
    draws.iter().filter(|(_, point)| point.is_some()).map(|(x, _)| *x).collect()
}

pub fn choose(draws: &[Drawn], rng: &mut Stream) -> Option<Point> {
    let points: Vec<&Point> = draws.iter().filter_map(|(_, point)| point.as_ref()).collect();
    (!points.is_empty()).then(|| points[rng.random_range(0..points.len())].clone())
}

/// Returns ln of the share of the distribution in version space and its standard error, from `n` draws with opposites of which
/// `inside` had one there. The error allows for a share of 1/n that no draw has found, even if all were inside.
pub fn log_share(inside: usize, n: usize) -> (f64, f64) {
    if inside == 0 {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    let (share, n) = (inside as f64 / n as f64, n as f64);
    let error = ((1.0 - share) / share / (n - 1.0)).sqrt();
    ((0.5 * share).ln(), error.hypot(1.0 / n))
}

/// Returns whether a value with its error may be ln of a share: none exceeds 1, and a large error does not excuse one that does.
pub fn may_be_log_share(value: f64, error: f64) -> bool {
    value <= ABOVE * error.min(1.0)
}
