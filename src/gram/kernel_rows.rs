//! Rows of kernel values, computed from the inputs on demand.

use std::sync::Arc;

use pulp::Arch;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::cache::RowCache;
use super::exponential::exp_of_negative;
use super::panels::{GROUP, Panels, Transform, WIDTH};
use super::source::{Features, Row, Source};
use crate::base::{Control, Error, Result, memory};
use crate::simd::{Precision, Product, dot};

/// Rows that a product with the whole matrix computes at a time.
const BLOCK: usize = 4 * GROUP;

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

/// The rows of a kernel matrix, computed from the inputs on demand. The m x m matrix is never stored.
///
/// The most recently used rows are cached and shared by all trajectories. With a linear kernel `K c` takes O(m d) operations
/// and no rows; this suits explicit features in few dimensions, such as Nyström features. Other kernels compute all rows
/// for it, block by block.
#[derive(Debug)]
pub struct KernelRows {
    panels: Panels,
    values: KernelValues,
    /// Entries (i, i).
    diagonal: Vec<f64>,
    cache: RowCache,
    arch: Arch,
}

/// Computes kernel values from inner products.
#[derive(Clone, Debug)]
struct KernelValues {
    kernel: Kernel,
    factor: f64,
    /// RBF only: half the squared length of each point, padded to whole panels.
    half: Vec<f64>,
}

impl Transform for KernelValues {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "inlined into the loop over the panels")]
    fn apply(&self, i: usize, first: usize, products: &mut [f64; WIDTH]) {
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
    /// Prepares the rows of `factor · kernel` for a copy of m inputs, row-major (m, d), with a cache of `cached` rows.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when there are no inputs or no coordinates, a coordinate is not finite or a squared distance
    /// overflows, the number of values is not a multiple of m, or `factor`, `cached` or a kernel parameter is out of range;
    /// [`Error::Memory`].
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
        // The inputs in panels and some vectors; the rows of the cache and of a block.
        memory::check_vectors(2 * d + 8 + cached.min(m) + BLOCK.min(m), m)?;
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
            // Distances do not depend on the origin, but their rounding does: center the data.
            Kernel::Rbf { sigma } => (mean(inputs, d), sigma),
            Kernel::Linear | Kernel::Polynomial { .. } => (vec![0.0; d], 1.0),
        };
        let panels = Panels::new(m, d, |i, point| {
            for ((x, input), origin) in point.iter_mut().zip(&inputs[i * d..]).zip(&origin) {
                *x = (input - origin) / scale;
            }
        });
        Self::from_panels(panels, kernel, factor, cached)
    }

    fn from_panels(panels: Panels, kernel: Kernel, factor: f64, cached: usize) -> Result<Self> {
        let (arch, m) = (Arch::new(), panels.len());
        let mut half = Vec::new();
        if let Kernel::Rbf { .. } = kernel {
            // Summed as the inner products are, so that the distance of a point from itself is exactly zero.
            half = panels.squares(arch).iter().map(|square| 0.5 * square).collect();
            if let Some(i) = half.iter().position(|x| !x.is_finite()) {
                let got = format!("example {i}, whose distance overflows");
                return Err(Error::invalid("inputs", got, "at distances in the range of doubles"));
            }
            half.resize(m.next_multiple_of(WIDTH), 0.0);
        }
        let values = KernelValues { kernel, factor, half };
        let diagonal = (0..m).map(|i| panels.entry(arch, i, i, &values)).collect();
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
    /// If i is out of bounds or the length of `row` is not m.
    pub fn compute(&self, i: usize, row: &mut [f64]) {
        assert_eq!(row.len(), self.len());
        self.panels.row(self.arch, i, &self.values, row);
    }

    /// `K c` of a linear kernel in O(m d), through the weight vector in input space.
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
        let mut multiply_row = |i: usize, row: &[f64]| {
            for (c, f) in duals.iter().zip(out.iter_mut()) {
                f[i] = product(arch, row, c);
            }
        };
        let mut missing = Vec::with_capacity(BLOCK);
        let mut rows = vec![0.0; BLOCK.min(m) * m];
        for first in (0..m).step_by(BLOCK) {
            control.check()?;
            missing.clear();
            for i in first..(first + BLOCK).min(m) {
                match self.cache.peek(i) {
                    Some(row) => multiply_row(i, &row),
                    None => missing.push(i),
                }
            }
            self.panels.rows(self.arch, &missing, &self.values, &mut rows[..missing.len() * m]);
            for (&i, row) in missing.iter().zip(rows.chunks_exact(m)) {
                multiply_row(i, row);
            }
        }
        Ok(())
    }

    fn submatrix(&self, chosen: &[usize]) -> Arc<dyn Source> {
        let panels = self.panels.subset(chosen);
        let KernelValues { kernel, factor, .. } = self.values;
        let rows = Self::from_panels(panels, kernel, factor, self.cache.capacity());
        Arc::new(rows.expect("the inputs have been checked"))
    }

    fn is_in_memory(&self) -> bool {
        false
    }

    fn features(&self) -> Option<Features<'_>> {
        let is_linear = self.values.kernel == Kernel::Linear;
        is_linear.then_some(Features { points: &self.panels, factor: self.values.factor })
    }

    fn keys(&self, offset: f64) -> Option<Vec<f64>> {
        let (arch, d) = (self.arch, self.panels.dimension());
        let offset = offset / self.values.factor;
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut direction: Vec<f64> = StandardNormal.sample_iter(&mut rng).take(d + 1).collect();
        let length = dot::dot(arch, &direction, &direction).sqrt();
        direction.iter_mut().for_each(|x| *x /= length);
        if let Kernel::Rbf { .. } = self.values.kernel {
            // For parallel vectors 1 - k = |x - x'|² / 2 is a few rounding errors of 1 + offset and of the inner products.
            let longest = self.values.half.iter().copied().fold(0.0, f64::max);
            let scale = (1.0 + offset + d as f64 * longest).sqrt().recip();
            let key =
                |i| scale * self.panels.point(i).zip(&direction).map(|(x, u)| x * u).sum::<f64>();
            return Some((0..self.len()).map(key).collect());
        }
        // The component along `direction` of the normalized inputs with a constant coordinate: √coef0, or √offset for a linear
        // kernel.
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
                    // The smallest share of a squared length that is not due to the offset.
                    share = share.min(1.0 / (1.0 + offset / square.powf(f64::from(degree))));
                }
                (dot::dot(arch, &direction, &point) / square.sqrt()).abs()
            })
            .collect();
        // The offset makes the angle between feature vectors smaller than the angle without it.
        keys.iter_mut().for_each(|key| *key *= share.sqrt());
        Some(keys)
    }
}

/// The mean of row-major points of d coordinates.
fn mean(points: &[f64], d: usize) -> Vec<f64> {
    let weight = d as f64 / points.len() as f64;
    let mut mean = vec![0.0; d];
    for point in points.chunks_exact(d) {
        for (mean, x) in mean.iter_mut().zip(point) {
            // Scale before adding: the sum may overflow.
            *mean += weight * x;
        }
    }
    mean
}
