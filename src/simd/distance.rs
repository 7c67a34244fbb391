//! Functions of the distances between two sets of points, and the derivatives of their sums by weights of the features.

use std::array;

use pulp::Simd;

use super::entry::{Entry, vector_fn};
pub use super::exponential::Radial;

/// Rows in a block, whose weights for one panel fit into the first cache, and rows and vectors whose sums fit into registers.
pub const ROWS: usize = 64;
const TALL: usize = 4;
const VECTORS: usize = 2;
/// Columns of a panel.
const WIDTH: usize = 16;

/// The points of the columns, feature by feature in panels of 16 points; the last one is filled up with zeros.
pub struct Columns<'a> {
    panels: Vec<[f64; WIDTH]>,
    n: usize,
    d: usize,
    limits: &'a [f64],
}

impl<'a> Columns<'a> {
    /// Takes n points of d features; differences of the last ones count as their limits at most. Panics if lengths do not fit.
    pub fn new(points: &[f64], n: usize, d: usize, limits: &'a [f64]) -> Self {
        assert!(points.len() == n * d && limits.len() <= d);
        let mut panels = vec![[0.0; WIDTH]; n.div_ceil(WIDTH) * d];
        for j in 0..n {
            for k in 0..d {
                panels[j / WIDTH * d + k][j % WIDTH] = points[j * d + k];
            }
        }
        Self { panels, n, d, limits }
    }

    /// Writes functions of the distances, city-block or Euclidean, of at most [`ROWS`] points from those of the columns before
    /// `until`, and maybe of some more. The distances must be finite. Panics if the lengths do not fit.
    pub fn values<const N: usize>(
        &self,
        points: &[f64],
        until: usize,
        city_block: bool,
        of: Radial<N>,
        to: [&mut [f64]; N],
    ) {
        to.iter().for_each(|to| self.check(points, to.len()));
        if city_block {
            write_values::<true, N>(self, points, until, of, to);
        } else {
            write_values::<false, N>(self, points, until, of, to);
        }
    }

    /// Adds `Σ_ij a_ij b_ij |x_ik - y_jk|`, or of squares, to the slope of each feature k, for [`ROWS`] points x or fewer.
    pub fn add_slopes(
        &self,
        points: &[f64],
        city_block: bool,
        weights: [&[f64]; 2],
        slopes: &mut [f64],
    ) {
        weights.iter().for_each(|weights| self.check(points, weights.len()));
        assert_eq!(slopes.len(), self.d);
        if city_block {
            add_slopes::<true>(self, points, weights, slopes);
        } else {
            add_slopes::<false>(self, points, weights, slopes);
        }
    }

    fn check(&self, points: &[f64], values: usize) {
        let rows = points.len().checked_div(self.d).unwrap_or(0);
        assert!(rows <= ROWS && points.len() == rows * self.d && values == rows * self.n);
    }
}

vector_fn! {
    /// See [`Columns::values`].
    fn write_values[const CITY_BLOCK: bool, const N: usize]<CITY_BLOCK>(
        simd: S,
        columns: &Columns<'_>,
        points: &[f64],
        until: usize,
        of: Radial<N>,
        to: [&mut [f64]; N],
    ) {
        let (&Columns { ref panels, n, d, limits, .. }, mut to) = (columns, to);
        let rows = points.len() / d;
        for (p, panel) in panels.chunks_exact(d).take(until.div_ceil(WIDTH)).enumerate() {
            let columns = p * WIDTH..n.min((p + 1) * WIDTH);
            for first in (0..rows).step_by(TALL) {
                // The last row again where there are fewer.
                let four = array::from_fn(|r| &points[(first + r).min(rows - 1) * d..][..d]);
                let sums = sums::<S, CITY_BLOCK>(simd, four, panel, limits);
                let mut found = [[0.0; TALL * WIDTH]; N];
                for (place, &sum) in sums.as_flattened().iter().enumerate() {
                    let values = of.at(if CITY_BLOCK { sum } else { sum.sqrt() });
                    for (found, value) in found.iter_mut().zip(values) {
                        found[place] = value;
                    }
                }
                for (to, found) in to.iter_mut().zip(&found) {
                    for (row, values) in (first..rows).zip(found.chunks_exact(WIDTH)) {
                        to[row * n..][columns.clone()].copy_from_slice(&values[..columns.len()]);
                    }
                }
            }
        }
    }
}

/// Returns the sums over the features of the absolute differences of rows and columns, or of their squares.
#[inline(always)]
fn sums<S: Simd, const CITY_BLOCK: bool>(
    simd: S,
    rows: [&[f64]; TALL],
    panel: &[[f64; WIDTH]],
    limits: &[f64],
) -> [[f64; WIDTH]; TALL] {
    const { assert!(WIDTH.is_multiple_of(VECTORS * S::F64_LANES)) };
    let rows = rows.map(|row| &row[..panel.len()]);
    let numbers = panel.len() - limits.len();
    let mut found = [[0.0; WIDTH]; TALL];
    for first in (0..WIDTH).step_by(VECTORS * S::F64_LANES) {
        let mut sums = [[simd.splat_f64s(0.0); VECTORS]; TALL];
        for (k, column) in panel[..numbers].iter().enumerate() {
            let y = vectors(simd, &column[first..]);
            add::<S, CITY_BLOCK, false>(simd, &mut sums, rows.map(|row| row[k]), y, 0.0);
        }
        for (k, (column, &limit)) in (numbers..).zip(panel[numbers..].iter().zip(limits)) {
            let y = vectors(simd, &column[first..]);
            add::<S, CITY_BLOCK, true>(simd, &mut sums, rows.map(|row| row[k]), y, limit);
        }
        for r in 0..TALL {
            let (to, _) = S::as_mut_simd_f64s(&mut found[r][first..]);
            to[..VECTORS].copy_from_slice(&sums[r]);
        }
    }
    found
}

/// Adds the absolute differences of one feature to sums, or their squares.
#[inline(always)]
fn add<S: Simd, const CITY_BLOCK: bool, const LIMITED: bool>(
    simd: S,
    sums: &mut [[S::f64s; VECTORS]; TALL],
    x: [f64; TALL],
    y: [S::f64s; VECTORS],
    limit: f64,
) {
    let limit = simd.splat_f64s(limit);
    for r in 0..TALL {
        let x = simd.splat_f64s(x[r]);
        for v in 0..VECTORS {
            let apart = difference::<S, CITY_BLOCK, LIMITED>(simd, x, y[v], limit);
            sums[r][v] = if CITY_BLOCK {
                simd.add_f64s(sums[r][v], apart)
            } else {
                simd.mul_add_e_f64s(apart, apart, sums[r][v])
            };
        }
    }
}

/// Returns absolute differences, or with a sign where their squares are the same.
#[inline(always)]
fn difference<S: Simd, const CITY_BLOCK: bool, const LIMITED: bool>(
    simd: S,
    x: S::f64s,
    y: S::f64s,
    limit: S::f64s,
) -> S::f64s {
    let apart = simd.sub_f64s(x, y);
    if LIMITED {
        simd.min_f64s(simd.abs_f64s(apart), limit)
    } else if CITY_BLOCK {
        simd.abs_f64s(apart)
    } else {
        apart
    }
}

#[inline(always)]
fn vectors<S: Simd>(simd: S, values: &[f64]) -> [S::f64s; VECTORS] {
    array::from_fn(|v| <f64 as Entry>::load(simd, &values[v * S::F64_LANES..]))
}

vector_fn! {
    /// See [`Columns::add_slopes`].
    fn add_slopes[const CITY_BLOCK: bool]<CITY_BLOCK>(
        simd: S,
        columns: &Columns<'_>,
        points: &[f64],
        factors: [&[f64]; 2],
        slopes: &mut [f64],
    ) {
        let (&Columns { ref panels, n, d, limits, .. }, [a, b]) = (columns, factors);
        let (rows, numbers) = (points.len() / d, d - limits.len());
        let mut weights = [[0.0; WIDTH]; ROWS];
        for (p, panel) in panels.chunks_exact(d).enumerate() {
            let columns = p * WIDTH..n.min((p + 1) * WIDTH);
            for (row, weights) in weights[..rows].iter_mut().enumerate() {
                let (a, b) = (&a[row * n..][columns.clone()], &b[row * n..][columns.clone()]);
                *weights = [0.0; WIDTH];
                weights.iter_mut().zip(a).zip(b).for_each(|((w, a), b)| *w = a * b);
            }
            let (points, weights) = ((points, d), &weights[..rows]);
            let (of_numbers, of_others) = slopes.split_at_mut(numbers);
            add_sums::<S, CITY_BLOCK, false>(simd, points, 0, &[], panel, weights, of_numbers);
            add_sums::<S, CITY_BLOCK, true>(
                simd, points, numbers, limits, panel, weights, of_others,
            );
        }
    }
}

/// Adds to the slopes of features the weighted sums over rows and columns of their absolute differences, or of the squares.
#[inline(always)]
fn add_sums<S: Simd, const CITY_BLOCK: bool, const LIMITED: bool>(
    simd: S,
    (points, d): (&[f64], usize),
    start: usize,
    limits: &[f64],
    panel: &[[f64; WIDTH]],
    weights: &[[f64; WIDTH]],
    slopes: &mut [f64],
) {
    for four in (0..slopes.len()).step_by(TALL) {
        // The last feature again where there are fewer.
        let features: [usize; TALL] = array::from_fn(|k| (four + k).min(slopes.len() - 1));
        let limits = features.map(|k| if LIMITED { limits[k] } else { 0.0 });
        let features = features.map(|k| start + k);
        let mut found = [0.0; TALL];
        for first in (0..WIDTH).step_by(VECTORS * S::F64_LANES) {
            let y = features.map(|k| vectors(simd, &panel[k][first..]));
            let mut sums = [[simd.splat_f64s(0.0); VECTORS]; TALL];
            for (row, weights) in points.chunks_exact(d).zip(weights) {
                let w = vectors(simd, &weights[first..]);
                for k in 0..TALL {
                    let x = simd.splat_f64s(row[features[k]]);
                    let limit = simd.splat_f64s(limits[k]);
                    for v in 0..VECTORS {
                        let apart = difference::<S, CITY_BLOCK, LIMITED>(simd, x, y[k][v], limit);
                        let (one, other) = if CITY_BLOCK {
                            (w[v], apart)
                        } else {
                            (simd.mul_f64s(w[v], apart), apart)
                        };
                        sums[k][v] = simd.mul_add_e_f64s(one, other, sums[k][v]);
                    }
                }
            }
            for (found, [one, other]) in found.iter_mut().zip(sums) {
                *found += simd.reduce_sum_f64s(simd.add_f64s(one, other));
            }
        }
        slopes[four..].iter_mut().zip(found).for_each(|(slope, sum)| *slope += sum);
    }
}
