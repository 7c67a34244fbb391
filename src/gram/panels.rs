//! Points, and inner products with all of them: explicit features, of whose matrix of inner products no entry is stored.
//!
//! A row takes O(m d), and so does `K c`, by the weight vector: for many examples in few dimensions, with neighbor lists.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::base::{Control, Error, Result, memory, require};
use crate::simd::dot::{self, dots};
use crate::simd::{Call, Precision};

/// Points per panel.
const WIDTH: usize = 32;

/// Vectors of partial sums per point.
const SUMS: usize = 4;

/// Vectors of length m that are allocated with the features.
const VECTORS: usize = 8;

/// Largest difference of the keys of parallel vectors: twice the distance of unit vectors of squared cosine 1 - 8 ε.
pub(crate) const KEY_WINDOW: f64 = 1e-7;

/// m points of d coordinates, coordinate by coordinate in panels of `WIDTH`: a register holds the same one of several.
///
/// Inner products are summed in the order of the coordinates: their bits do not depend on the points' order or number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Panels {
    values: Vec<f64>,
    m: usize,
    d: usize,
}

impl Panels {
    /// Packs m points; `point(i, x)` writes the i-th into x.
    pub(crate) fn new(m: usize, d: usize, mut point: impl FnMut(usize, &mut [f64])) -> Self {
        let mut values = vec![0.0; m.div_ceil(WIDTH) * WIDTH * d];
        let mut x = vec![0.0; d];
        for i in 0..m {
            point(i, &mut x);
            let panel = &mut values[i / WIDTH * WIDTH * d..];
            for (k, &x) in x.iter().enumerate() {
                panel[k * WIDTH + i % WIDTH] = x;
            }
        }
        Self { values, m, d }
    }

    pub(crate) fn len(&self) -> usize {
        self.m
    }

    pub(crate) fn dimension(&self) -> usize {
        self.d
    }

    fn panel(&self, number: usize) -> &[f64] {
        let size = WIDTH * self.d;
        &self.values[number * size..(number + 1) * size]
    }

    fn coordinate(&self, i: usize, k: usize) -> f64 {
        self.panel(i / WIDTH)[k * WIDTH + i % WIDTH]
    }

    pub(crate) fn point(&self, i: usize) -> impl Iterator<Item = f64> + '_ {
        (0..self.d).map(move |k| self.coordinate(i, k))
    }

    /// Coordinate k of all points.
    pub(crate) fn column(&self, k: usize, out: &mut [f64]) {
        for (number, out) in out.chunks_mut(WIDTH).enumerate() {
            out.copy_from_slice(&self.panel(number)[k * WIDTH..][..out.len()]);
        }
    }

    /// The i-th point, as [`Panels::products`] takes it.
    fn single(&self, i: usize) -> Vec<[f64; 1]> {
        self.point(i).map(|x| [x]).collect()
    }

    /// Inner products of point i with all points, length m.
    pub(super) fn row(&self, i: usize) -> Vec<f64> {
        let mut row = vec![0.0; self.m];
        self.products(Arch::new(), &self.single(i), &mut row);
        row
    }

    /// Inner product of points i and j, with the bits of row i and of row j.
    pub(super) fn entry(&self, i: usize, j: usize) -> f64 {
        let number = j / WIDTH;
        let mut out = [0.0; WIDTH];
        let out = &mut out[..WIDTH.min(self.m - number * WIDTH)];
        let points = &self.single(i);
        Arch::new().dispatch(Call((self, &**points, number..number + 1, &mut *out)));
        out[j % WIDTH]
    }

    /// Inner products of N points, given coordinate by coordinate, with all points: N rows of length m, in one pass.
    pub fn products<const N: usize>(&self, arch: Arch, points: &[[f64; N]], out: &mut [f64]) {
        arch.dispatch(Call((self, points, 0..self.m.div_ceil(WIDTH), out)));
    }

    /// Copies the features of m examples, row-major (m, d), which must be finite and as many for each.
    pub(super) fn of_features(values: &[f64], m: usize, d: usize) -> Result<Self> {
        let fits = !values.is_empty() && Some(values.len()) == m.checked_mul(d);
        let got = format_args!("{} values for {m} examples with {d} features", values.len());
        require(fits, "features", got, "as many values for each example")?;
        memory::check_vectors(d + VECTORS, m)?;
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            let got = format!("{} at example {}, feature {}", values[at], at / d, at % d);
            return Err(Error::invalid("features", got, "finite"));
        }
        Ok(Self::new(m, d, |i, point| point.copy_from_slice(&values[i * d..][..d])))
    }

    /// One key per example. Keys differ by at most [`KEY_WINDOW`] if the feature vectors, with `offset` added to their inner
    /// products, are parallel up to rounding, so parallel ones are found without computing all rows.
    pub(super) fn keys(&self, arch: Arch, offset: f64) -> Vec<f64> {
        let d = self.dimension();
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut direction: Vec<f64> = StandardNormal.sample_iter(&mut rng).take(d + 1).collect();
        let length = dot::dot(arch, &direction, &direction).sqrt();
        direction.iter_mut().for_each(|x| *x /= length);
        // The component along `direction` of the normalized features with a constant coordinate √offset.
        let mut point = Vec::with_capacity(d + 1);
        let key = |i| {
            point.clear();
            point.extend(self.point(i).chain([offset.sqrt()]));
            let square = dot::dot(arch, &point, &point);
            if square == 0.0 {
                return 0.0;
            }
            (dot::dot(arch, &direction, &point) / square.sqrt()).abs()
        };
        (0..self.len()).map(key).collect()
    }

    pub(super) fn multiply(
        &self,
        duals: &[&[f64]],
        out: &mut [&mut [f64]],
        precision: Precision,
        control: &Control,
    ) -> Result<()> {
        let product = |a: &[f64], b: &[f64]| dots(Arch::new(), a, [b], precision)[0];
        let (m, d) = (self.len(), self.dimension());
        let mut weights = vec![vec![0.0; d]; duals.len()];
        let mut column = vec![0.0; m];
        for k in 0..d {
            control.check()?;
            self.column(k, &mut column);
            for (c, w) in duals.iter().zip(&mut weights) {
                w[k] = product(&column, c);
            }
        }
        let mut point = Vec::with_capacity(d);
        for i in 0..m {
            if i % 256 == 0 {
                control.check()?;
            }
            point.clear();
            point.extend(self.point(i));
            for (w, f) in weights.iter().zip(out.iter_mut()) {
                f[i] = product(&point, w);
            }
        }
        Ok(())
    }

    pub(crate) fn subset(&self, chosen: &[usize]) -> Self {
        let mut subset = Self { d: self.d, ..Self::default() };
        subset.take(self, chosen);
        subset
    }

    /// Replaces the points by the chosen points of `others`.
    pub(crate) fn take(&mut self, others: &Self, chosen: &[usize]) {
        let size = WIDTH * self.d;
        self.m = chosen.len();
        // The last panel is padded with copies of its first point.
        self.values.resize(self.m.div_ceil(WIDTH) * size, 0.0);
        for (chosen, panel) in chosen.chunks(WIDTH).zip(self.values.chunks_exact_mut(size)) {
            let mut begins = [0; WIDTH];
            for (lane, begin) in begins.iter_mut().enumerate() {
                let i = chosen.get(lane).unwrap_or(&chosen[0]);
                *begin = i / WIDTH * size + i % WIDTH;
            }
            for (k, coordinates) in panel.chunks_exact_mut(WIDTH).enumerate() {
                for (x, begin) in coordinates.iter_mut().zip(begins) {
                    *x = others.values[begin + k * WIDTH];
                }
            }
        }
    }
}

/// Inner products of N points with the points of some panels, one row of the last slice per point.
impl<const N: usize> WithSimd for Call<(&Panels, &[[f64; N]], Range<usize>, &mut [f64])> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (panels, points, numbers, out) = self.0;
        let begin = numbers.start * WIDTH;
        let length = (numbers.end * WIDTH).min(panels.m) - begin;
        for number in numbers {
            let first = number * WIDTH;
            let count = WIDTH.min(panels.m - first);
            let mut tile = [[0.0; WIDTH]; N];
            products(simd, panels.panel(number), points, &mut tile);
            for (r, products) in tile.iter().enumerate() {
                let row = r * length + first - begin;
                out[row..row + count].copy_from_slice(&products[..count]);
            }
        }
    }
}

/// Inner products of N points with the points of a panel.
#[inline(always)]
fn products<S: Simd, const N: usize>(
    simd: S,
    panel: &[f64],
    points: &[[f64; N]],
    tile: &mut [[f64; WIDTH]; N],
) {
    let step = SUMS * S::F64_LANES;
    for part in (0..WIDTH).step_by(step) {
        let mut sums = [[simd.splat_f64s(0.0); SUMS]; N];
        for (coordinates, panel) in points.iter().zip(panel.chunks_exact(WIDTH)) {
            let others = S::as_simd_f64s(&panel[part..part + step]).0;
            for r in 0..N {
                let x = simd.splat_f64s(coordinates[r]);
                for k in 0..SUMS {
                    sums[r][k] = simd.mul_add_e_f64s(x, others[k], sums[r][k]);
                }
            }
        }
        for r in 0..N {
            S::as_mut_simd_f64s(&mut tile[r][part..part + step]).0.copy_from_slice(&sums[r]);
        }
    }
}
