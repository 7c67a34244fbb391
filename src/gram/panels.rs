//! Points, and inner products with all of them.
#![allow(
    clippy::inline_always,
    reason = "vector code must be inlined into the function compiled for the instruction set"
)]

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

/// Points per panel.
const WIDTH: usize = 32;

/// Vectors of partial sums per point.
const SUMS: usize = 4;

/// m points of d coordinates, stored in panels of `WIDTH` points, coordinate by coordinate, so that a vector register holds the
/// same coordinate of several points.
///
/// Every inner product is summed in the order of the coordinates. Its bits depend neither on the order of the two points nor on
/// their positions or the number of points that share a pass.
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

    /// Coordinate k of point i.
    fn coordinate(&self, i: usize, k: usize) -> f64 {
        self.panel(i / WIDTH)[k * WIDTH + i % WIDTH]
    }

    /// The i-th point.
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
    pub(super) fn row(&self, arch: Arch, i: usize, out: &mut [f64]) {
        self.products(arch, &self.single(i), out);
    }

    /// Inner product of points i and j, with the bits of row i and of row j.
    pub(super) fn entry(&self, arch: Arch, i: usize, j: usize) -> f64 {
        let number = j / WIDTH;
        let mut out = [0.0; WIDTH];
        let out = &mut out[..WIDTH.min(self.m - number * WIDTH)];
        let points = &self.single(i);
        arch.dispatch(Sweep { panels: self, points, numbers: number..number + 1, out });
        out[j % WIDTH]
    }

    /// Inner products of N points, given coordinate by coordinate, with all points: N rows of length m, in one pass.
    pub(crate) fn products<const N: usize>(
        &self,
        arch: Arch,
        points: &[[f64; N]],
        out: &mut [f64],
    ) {
        let numbers = 0..self.m.div_ceil(WIDTH);
        arch.dispatch(Sweep { panels: self, points, numbers, out });
    }

    /// Copies the chosen points.
    pub(super) fn subset(&self, chosen: &[usize]) -> Self {
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

/// Inner products of N points with the points of some panels, one row of `out` per point.
struct Sweep<'a, const N: usize> {
    panels: &'a Panels,
    points: &'a [[f64; N]],
    numbers: Range<usize>,
    out: &'a mut [f64],
}

impl<const N: usize> WithSimd for Sweep<'_, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { panels, points, numbers, out } = self;
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
