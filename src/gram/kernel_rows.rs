//! Rows of kernel values, computed from the inputs when they are asked for.

use std::sync::Arc;

use pulp::Arch;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::cache::RowCache;
use super::exponential::exp_of_negative;
use super::features::Features;
use super::panels::{Finish, Panels, TOGETHER, WIDTH};
use super::source::{Row, Source};
use crate::base::{Control, Error, Result, memory};
use crate::simd::{Precision, Product, dot};

/// Rows that a sweep computes at a time.
const SWEEP: usize = 4 * TOGETHER;

/// A kernel of two inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    /// `x · x'`.
    Linear,
    /// `exp(-|x - x'|² / (2 σ²))`.
    Rbf {
        /// σ, positive.
        sigma: f64,
    },
    /// `(x · x' + coef0)^degree`.
    Polynomial {
        /// At least 1.
        degree: u32,
        /// At least 0.
        coef0: f64,
    },
}

/// The rows of a kernel matrix, computed from the inputs when they are asked for. The m x m matrix is never made.
///
/// The rows used last are kept, up to a number, and shared by all trajectories. Explicit features of few dimensions (a
/// linear kernel of features that stand for another kernel's, as Nyström's do) need the features alone for `K c`, at O(m d);
/// other kernels need all rows for it, in blocks.
#[derive(Debug)]
pub struct KernelRows {
    panels: Panels,
    values: KernelValues,
    /// Entries (i, i).
    diagonal: Vec<f64>,
    cache: RowCache,
    arch: Arch,
}

/// Kernel values from inner products.
#[derive(Clone, Debug)]
struct KernelValues {
    kernel: Kernel,
    factor: f64,
    /// Half of the squared length of each point, filled up to whole panels; empty where the kernel does not ask for it.
    half: Vec<f64>,
}

impl Finish for KernelValues {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a part of the sweep")]
    fn finish(&self, i: usize, first: usize, products: &mut [f64; WIDTH]) {
        match self.kernel {
            Kernel::Linear => {}
            Kernel::Rbf { .. } => {
                let own = self.half[i];
                let others = &self.half[first..first + WIDTH];
                for (x, other) in products.iter_mut().zip(others) {
                    *x = exp_of_negative((*x - (own + other)).min(0.0));
                }
            }
            Kernel::Polynomial { degree, coef0 } => {
                let base = products.map(|x| x + coef0);
                *products = base;
                for _ in 1..degree {
                    for (x, base) in products.iter_mut().zip(&base) {
                        *x *= base;
                    }
                }
            }
        }
        for x in products {
            *x *= self.factor;
        }
    }
}

impl KernelRows {
    /// The rows of `factor · kernel` of m inputs, row-major (m, d), with room for `cached` of them.
    ///
    /// The inputs are copied into an order of their own.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when there is no input or no coordinate, one is NaN or infinite or so large that a squared length
    /// overflows, the number of values is no multiple of m, or a parameter of the kernel or `cached` is out of range.
    pub fn new(
        inputs: &[f64],
        m: usize,
        kernel: Kernel,
        factor: f64,
        cached: usize,
    ) -> Result<Self> {
        if m == 0 || inputs.is_empty() || !inputs.len().is_multiple_of(m) {
            let got = format!("{} values for {m} examples", inputs.len());
            return Err(Error::invalid("inputs", got, "as many coordinates for each example"));
        }
        let d = inputs.len() / m;
        // The inputs in panels, features and their sums; the rows of the cache, and those of a sweep.
        memory::check_vectors(2 * d + 8 + cached.min(m) + SWEEP.min(m), m)?;
        if let Some(at) = inputs.iter().position(|x| !x.is_finite()) {
            let got = format!("{} at example {}, coordinate {}", inputs[at], at / d, at % d);
            return Err(Error::invalid("inputs", got, "finite"));
        }
        if !(factor > 0.0 && factor.is_finite()) {
            return Err(Error::invalid("factor", factor, "positive and finite"));
        }
        if cached == 0 {
            return Err(Error::invalid("cached", cached, "at least 1"));
        }
        let (origin, scale) = match kernel {
            Kernel::Rbf { sigma } if !(sigma > 0.0 && sigma.is_finite()) => {
                return Err(Error::invalid("sigma", sigma, "positive and finite"));
            }
            Kernel::Polynomial { degree: 0, .. } => {
                return Err(Error::invalid("degree", 0, "at least 1"));
            }
            Kernel::Polynomial { coef0, .. } if !(coef0 >= 0.0 && coef0.is_finite()) => {
                return Err(Error::invalid("coef0", coef0, "finite and >= 0"));
            }
            // Distances do not depend on the origin, their rounding does: it is put inside the data.
            Kernel::Rbf { sigma } => (mean(inputs, d), sigma),
            Kernel::Linear | Kernel::Polynomial { .. } => (vec![0.0; d], 1.0),
        };
        let panels = Panels::new(m, d, |i, point| {
            for ((x, input), origin) in point.iter_mut().zip(&inputs[i * d..]).zip(&origin) {
                *x = (input - origin) / scale;
            }
        });
        Self::over(panels, kernel, factor, cached)
    }

    fn over(panels: Panels, kernel: Kernel, factor: f64, cached: usize) -> Result<Self> {
        let (arch, m) = (Arch::new(), panels.len());
        // By the sweeps' own sums, so that a point is at distance zero from itself to the last bit.
        let mut diagonal = panels.squares(arch);
        let mut half = Vec::new();
        if let Kernel::Rbf { .. } = kernel {
            half = diagonal.iter().map(|square| 0.5 * square).collect();
            if let Some(i) = half.iter().position(|x| !x.is_finite()) {
                let got = format!("example {i}, whose distance overflows");
                return Err(Error::invalid("inputs", got, "at distances in the range of doubles"));
            }
        }
        let values = KernelValues { kernel, factor, half };
        for i in 0..m {
            let mut panel = [0.0; WIDTH];
            panel[i % WIDTH] = diagonal[i];
            values.finish(i, i / WIDTH * WIDTH, &mut panel);
            diagonal[i] = panel[i % WIDTH];
        }
        diagonal.truncate(m);
        Ok(Self { panels, values, diagonal, cache: RowCache::new(m, cached), arch })
    }

    /// Number of examples m.
    pub fn len(&self) -> usize {
        self.panels.len()
    }

    /// False: there is at least one example.
    pub fn is_empty(&self) -> bool {
        self.panels.len() == 0
    }

    /// Rows computed for the cache so far.
    pub fn computed(&self) -> u64 {
        self.cache.computed()
    }

    /// Computes row i, length m.
    ///
    /// # Panics
    ///
    /// When there is no such row, or its length is not m.
    pub fn compute(&self, i: usize, row: &mut [f64]) {
        assert_eq!(row.len(), self.len());
        self.panels.row(self.arch, i, &self.values, row);
    }

    /// `K c` of a linear kernel, by way of the weight vector in the space of the inputs: O(m d).
    fn multiply_linear(
        &self,
        duals: &[&[f64]],
        out: &mut [&mut [f64]],
        precision: Precision,
        control: &Control,
    ) -> Result<()> {
        let product: Product<f64> = precision.product();
        let (m, d) = (self.len(), self.panels.dimension());
        let mut weights = vec![vec![0.0; d]; duals.len()];
        let mut column = vec![0.0; m];
        for k in 0..d {
            control.check()?;
            self.panels.column(k, &mut column);
            for (c, w) in duals.iter().zip(&mut weights) {
                w[k] = self.values.factor * product(self.arch, &column, c);
            }
        }
        let mut point = Vec::with_capacity(d);
        for i in 0..m {
            if i % 256 == 0 {
                control.check()?;
            }
            point.clear();
            point.extend(self.panels.point(i));
            for (w, f) in weights.iter().zip(out.iter_mut()) {
                f[i] = product(self.arch, &point, w);
            }
        }
        Ok(())
    }
}

impl Source for KernelRows {
    fn row(&self, i: usize) -> Row<'_> {
        Row::Shared(self.cache.get(i, |row| self.compute(i, row)))
    }

    fn entry(&self, i: usize, j: usize) -> f64 {
        if i == j {
            return self.diagonal[i];
        }
        self.panels.entry(self.arch, i, j, &self.values)
    }

    fn multiply(
        &self,
        arch: Arch,
        duals: &[&[f64]],
        out: &mut [&mut [f64]],
        precision: Precision,
        control: &Control,
    ) -> Result<()> {
        if self.values.kernel == Kernel::Linear {
            return self.multiply_linear(duals, out, precision, control);
        }
        let product: Product<f64> = precision.product();
        let m = self.len();
        let mut missing = Vec::with_capacity(SWEEP);
        let mut rows = vec![0.0; SWEEP.min(m) * m];
        for first in (0..m).step_by(SWEEP) {
            control.check()?;
            missing.clear();
            for i in first..(first + SWEEP).min(m) {
                match self.cache.peek(i) {
                    Some(row) => {
                        for (c, f) in duals.iter().zip(out.iter_mut()) {
                            f[i] = product(arch, &row, c);
                        }
                    }
                    None => missing.push(i),
                }
            }
            self.panels.rows(self.arch, &missing, &self.values, &mut rows[..missing.len() * m]);
            for (&i, row) in missing.iter().zip(rows.chunks_exact(m)) {
                for (c, f) in duals.iter().zip(out.iter_mut()) {
                    f[i] = product(arch, row, c);
                }
            }
        }
        Ok(())
    }

    fn part(&self, chosen: &[usize]) -> Arc<dyn Source> {
        let panels = self.panels.part(chosen);
        let KernelValues { kernel, factor, .. } = self.values;
        let rows = Self::over(panels, kernel, factor, self.cache.capacity());
        Arc::new(rows.expect("a part of what has been checked"))
    }

    fn is_in_memory(&self) -> bool {
        false
    }

    fn features(&self) -> Option<Features<'_>> {
        let is_linear = self.values.kernel == Kernel::Linear;
        is_linear.then(|| Features::new(&self.panels, self.values.factor))
    }

    fn keys(&self, offset: f64) -> Option<Vec<f64>> {
        let (arch, d) = (self.arch, self.panels.dimension());
        let offset = offset / self.values.factor;
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut direction: Vec<f64> = StandardNormal.sample_iter(&mut rng).take(d + 1).collect();
        let length = dot::dot(arch, &direction, &direction).sqrt();
        direction.iter_mut().for_each(|x| *x /= length);
        if let Kernel::Rbf { .. } = self.values.kernel {
            // 1 - k = |x - x'|² / 2 of parallel ones is a few roundings of 1 + offset, and of the products that make it.
            let longest = self.values.half.iter().copied().fold(0.0, f64::max);
            let scale = (1.0 + offset + d as f64 * longest).sqrt().recip();
            let key =
                |i| scale * self.panels.point(i).zip(&direction).map(|(x, u)| x * u).sum::<f64>();
            return Some((0..self.len()).map(key).collect());
        }
        // The part along the direction of the unit vectors whose powers are the feature vectors, but for the offset; that
        // of a linear kernel is one more coordinate.
        let (degree, constant) = match self.values.kernel {
            Kernel::Polynomial { degree, coef0 } => (degree, coef0.sqrt()),
            _ => (1, offset.sqrt()),
        };
        let mut point = Vec::with_capacity(d + 1);
        let mut share = 1f64;
        let mut keys: Vec<f64> = (0..self.len())
            .map(|i| {
                point.clear();
                point.extend(self.panels.point(i).chain([constant]));
                let square = dot::dot(arch, &point, &point);
                if square == 0.0 {
                    return 0.0;
                }
                if let Kernel::Polynomial { .. } = self.values.kernel {
                    // Of the squared length, without the offset.
                    share = share.min(1.0 / (1.0 + offset / square.powf(f64::from(degree))));
                }
                (dot::dot(arch, &direction, &point) / square.sqrt()).abs()
            })
            .collect();
        // What is a small angle of the whole vectors is a larger one of their parts.
        keys.iter_mut().for_each(|key| *key *= share.sqrt());
        Some(keys)
    }
}

/// The mean of row-major points of d coordinates.
fn mean(points: &[f64], d: usize) -> Vec<f64> {
    let share = d as f64 / points.len() as f64;
    let mut mean = vec![0.0; d];
    for point in points.chunks_exact(d) {
        for (mean, x) in mean.iter_mut().zip(point) {
            // Not the sum first: it may overflow.
            *mean += share * x;
        }
    }
    mean
}
