//! Inner products of one or several points with all others.
#![allow(
    clippy::inline_always,
    reason = "vector code must be inlined into the function compiled for the instruction set"
)]

use pulp::{Arch, Simd, WithSimd};

/// Points per panel.
pub(super) const WIDTH: usize = 32;

/// Vectors of partial sums per point.
const SUMS: usize = 4;

/// Points per group; a group shares one pass over the panels.
pub(super) const GROUP: usize = 4;

/// m points of d coordinates, stored in panels of `WIDTH` points, coordinate by coordinate, so that a vector register holds the
/// same coordinate of several points.
///
/// Every inner product is summed in the order of the coordinates. Its bits depend neither on the order of the two points nor on
/// their positions or the number of points in a group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Panels {
    values: Vec<f64>,
    m: usize,
    d: usize,
}

/// Turns inner products into kernel values.
pub(super) trait Transform: Sync {
    /// Transforms the products of point i with the points from `first` on, in place.
    fn apply(&self, i: usize, first: usize, products: &mut [f64; WIDTH]);
}

/// Leaves the inner products unchanged.
struct Identity;

impl Transform for Identity {
    #[inline(always)]
    fn apply(&self, _: usize, _: usize, _: &mut [f64; WIDTH]) {}
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

    /// Kernel values of point i with all points, length m.
    pub(super) fn row(&self, arch: Arch, i: usize, transform: &impl Transform, out: &mut [f64]) {
        let points: Vec<[f64; 1]> = self.point(i).map(|x| [x]).collect();
        let numbers = 0..self.m.div_ceil(WIDTH);
        arch.dispatch(Sweep { panels: self, points: &[(points, [i])], numbers, transform, out });
    }

    /// Kernel values of the chosen points with all points, one row of length m each, in one pass over the panels.
    pub(super) fn rows(
        &self,
        arch: Arch,
        chosen: &[usize],
        transform: &impl Transform,
        out: &mut [f64],
    ) {
        let (groups, single) = chosen.as_chunks::<GROUP>();
        let points: Vec<_> = groups
            .iter()
            .map(|group| {
                let point = |k| group.map(|i| self.coordinate(i, k));
                ((0..self.d).map(point).collect::<Vec<_>>(), *group)
            })
            .collect();
        let (out, rest) = out.split_at_mut(groups.len() * GROUP * self.m);
        let numbers = 0..self.m.div_ceil(WIDTH);
        arch.dispatch(Sweep { panels: self, points: &points, numbers, transform, out });
        for (&i, out) in single.iter().zip(rest.chunks_exact_mut(self.m)) {
            self.row(arch, i, transform, out);
        }
    }

    /// Inner products of N points, given coordinate by coordinate, with all points: N rows of length m.
    pub(crate) fn products<const N: usize>(
        &self,
        arch: Arch,
        points: &[[f64; N]],
        out: &mut [f64],
    ) {
        let points = [(points, [0; N])];
        let numbers = 0..self.m.div_ceil(WIDTH);
        arch.dispatch(Sweep { panels: self, points: &points, numbers, transform: &Identity, out });
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

    /// Squared lengths of all points, with the bits of the inner products.
    pub(super) fn squares(&self, arch: Arch) -> Vec<f64> {
        (0..self.m).map(|i| self.entry(arch, i, i, &Identity)).collect()
    }

    /// Kernel value of points i and j.
    pub(super) fn entry(&self, arch: Arch, i: usize, j: usize, transform: &impl Transform) -> f64 {
        let points: Vec<[f64; 1]> = self.point(i).map(|x| [x]).collect();
        let number = j / WIDTH;
        let mut out = [0.0; WIDTH];
        let out = &mut out[..WIDTH.min(self.m - number * WIDTH)];
        let numbers = number..number + 1;
        arch.dispatch(Sweep { panels: self, points: &[(points, [i])], numbers, transform, out });
        out[j % WIDTH]
    }
}

/// Kernel values of groups of points with the points of some panels, one row of `out` per point.
struct Sweep<'a, F, P, const N: usize> {
    panels: &'a Panels,
    /// Coordinates and indices of the points of each group.
    points: &'a [(P, [usize; N])],
    numbers: std::ops::Range<usize>,
    transform: &'a F,
    out: &'a mut [f64],
}

impl<F: Transform, P: AsRef<[[f64; N]]>, const N: usize> WithSimd for Sweep<'_, F, P, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { panels, points, numbers, transform, out } = self;
        let begin = numbers.start * WIDTH;
        let length = (numbers.end * WIDTH).min(panels.m) - begin;
        for number in numbers {
            let panel = panels.panel(number);
            let first = number * WIDTH;
            let count = WIDTH.min(panels.m - first);
            for (group, (coordinates, indices)) in points.iter().enumerate() {
                let mut tile = [[0.0; WIDTH]; N];
                products(simd, panel, coordinates.as_ref(), &mut tile);
                for (r, products) in tile.iter_mut().enumerate() {
                    transform.apply(indices[r], first, products);
                    let row = (group * N + r) * length + first - begin;
                    out[row..row + count].copy_from_slice(&products[..count]);
                }
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
