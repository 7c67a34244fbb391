//! Inner products of one or several points with all others, from points packed for it.
#![allow(
    clippy::inline_always,
    reason = "vector code must end up in the function compiled for its instruction set"
)]

use pulp::{Arch, Simd, WithSimd};

/// Points of a panel.
pub(super) const WIDTH: usize = 32;

/// Vectors of running sums for a point.
const SUMS: usize = 4;

/// Points that share a sweep.
pub(super) const TOGETHER: usize = 4;

/// m points of d coordinates in panels of `WIDTH` points, coordinate by coordinate: a sweep reads them in order, and a vector
/// holds the same coordinate of several points.
///
/// Every inner product is summed coordinate by coordinate, wherever its points lie and however many are taken together: the
/// same two points give the same bits, in either order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Panels {
    values: Vec<f64>,
    m: usize,
    d: usize,
}

/// What becomes of inner products.
pub(super) trait Finish: Sync {
    /// Turns the products of point i and the points from `first` on into kernel values.
    fn finish(&self, i: usize, first: usize, products: &mut [f64; WIDTH]);
}

/// Products as they are.
struct Plain;

impl Finish for Plain {
    #[inline(always)]
    fn finish(&self, _: usize, _: usize, _: &mut [f64; WIDTH]) {}
}

impl Panels {
    /// Packs points; `point(i, x)` writes the i-th.
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

    /// The finished products of point i and all points, length m.
    pub(super) fn row(&self, arch: Arch, i: usize, finish: &impl Finish, out: &mut [f64]) {
        let points: Vec<[f64; 1]> = self.point(i).map(|x| [x]).collect();
        let numbers = 0..self.m.div_ceil(WIDTH);
        arch.dispatch(Sweep { panels: self, points: &[(points, [i])], numbers, finish, out });
    }

    /// The finished products of some points and all points, row after row of length m. One sweep serves them all.
    pub(super) fn rows(&self, arch: Arch, chosen: &[usize], finish: &impl Finish, out: &mut [f64]) {
        let (together, single) = chosen.as_chunks::<TOGETHER>();
        let points: Vec<_> = together
            .iter()
            .map(|group| {
                let point = |k| group.map(|i| self.coordinate(i, k));
                ((0..self.d).map(point).collect::<Vec<_>>(), *group)
            })
            .collect();
        let (out, rest) = out.split_at_mut(together.len() * TOGETHER * self.m);
        let numbers = 0..self.m.div_ceil(WIDTH);
        arch.dispatch(Sweep { panels: self, points: &points, numbers, finish, out });
        for (&i, out) in single.iter().zip(rest.chunks_exact_mut(self.m)) {
            self.row(arch, i, finish, out);
        }
    }

    /// The inner products of N points, given coordinate by coordinate, and all points: N rows of length m.
    pub(crate) fn products<const N: usize>(
        &self,
        arch: Arch,
        points: &[[f64; N]],
        out: &mut [f64],
    ) {
        let points = [(points, [0; N])];
        let numbers = 0..self.m.div_ceil(WIDTH);
        arch.dispatch(Sweep { panels: self, points: &points, numbers, finish: &Plain, out });
    }

    /// Some of the points, by their numbers.
    pub(crate) fn part(&self, chosen: &[usize]) -> Self {
        let mut part = Self { values: Vec::new(), m: 0, d: self.d };
        part.take(self, chosen);
        part
    }

    /// Takes some of the points of others in the place of its own, by their numbers.
    pub(crate) fn take(&mut self, others: &Self, chosen: &[usize]) {
        let size = WIDTH * self.d;
        self.m = chosen.len();
        // Those that fill the last panel up are copies of its first point.
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

    /// The squared lengths of all points, filled up to whole panels, with the bits of the sweeps.
    pub(super) fn squares(&self, arch: Arch) -> Vec<f64> {
        let mut squares = vec![0.0; self.m.div_ceil(WIDTH) * WIDTH];
        arch.dispatch(Squares { panels: self, out: &mut squares });
        squares
    }

    /// The finished product of points i and j.
    pub(super) fn entry(&self, arch: Arch, i: usize, j: usize, finish: &impl Finish) -> f64 {
        let points: Vec<[f64; 1]> = self.point(i).map(|x| [x]).collect();
        let number = j / WIDTH;
        let mut out = [0.0; WIDTH];
        let out = &mut out[..WIDTH.min(self.m - number * WIDTH)];
        let numbers = number..number + 1;
        arch.dispatch(Sweep { panels: self, points: &[(points, [i])], numbers, finish, out });
        out[j % WIDTH]
    }
}

/// Groups of points against some panels: rows of `out`, one for each point.
struct Sweep<'a, F, P, const N: usize> {
    panels: &'a Panels,
    /// Coordinates and numbers of the points of each group.
    points: &'a [(P, [usize; N])],
    numbers: std::ops::Range<usize>,
    finish: &'a F,
    out: &'a mut [f64],
}

impl<F: Finish, P: AsRef<[[f64; N]]>, const N: usize> WithSimd for Sweep<'_, F, P, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { panels, points, numbers, finish, out } = self;
        let begin = numbers.start * WIDTH;
        let length = (numbers.end * WIDTH).min(panels.m) - begin;
        for number in numbers {
            let panel = panels.panel(number);
            let first = number * WIDTH;
            let count = WIDTH.min(panels.m - first);
            for (group, (coordinates, planes)) in points.iter().enumerate() {
                let mut tile = [[0.0; WIDTH]; N];
                products(simd, panel, coordinates.as_ref(), &mut tile);
                for (r, products) in tile.iter_mut().enumerate() {
                    finish.finish(planes[r], first, products);
                    let row = (group * N + r) * length + first - begin;
                    out[row..row + count].copy_from_slice(&products[..count]);
                }
            }
        }
    }
}

/// The product of every point with itself.
struct Squares<'a> {
    panels: &'a Panels,
    out: &'a mut [f64],
}

impl WithSimd for Squares<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (number, squares) in self.out.chunks_exact_mut(WIDTH).enumerate() {
            let sums = S::as_mut_simd_f64s(squares).0;
            for coordinates in self.panels.panel(number).chunks_exact(WIDTH) {
                for (sum, &x) in sums.iter_mut().zip(S::as_simd_f64s(coordinates).0) {
                    *sum = simd.mul_add_e_f64s(x, x, *sum);
                }
            }
        }
    }
}

/// Inner products of N points and those of a panel.
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
