//! Kernel values of several models at blocks of points, with their products and quadratic forms, in singles.

use std::array;

use pulp::Simd;

use super::entry::{vector_fn, vectorized};
use super::exponential::Radial;

/// Points of a block, one in each lane of a few vectors.
pub const BLOCK: usize = 32;
/// Models whose values share the differences of two points.
pub const GROUP: usize = 4;
/// Columns of a matrix that are multiplied at once with the vectors of a block.
pub const PANEL: usize = 6;
const VECTORS: usize = 2;

/// A number for each point of a block. Vectors that are not in one line of the cache would take longer to read.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct PointBlock(pub [f32; BLOCK]);
/// Columns of a matrix, row by row, of an upper triangle as many rows as are not zero.
pub type Panel = Vec<[f32; PANEL]>;

/// The kernels of a group of models, as functions of three sums over the features: of the absolute differences, of their
/// squares, and of the products, or of the squares for categories.
#[derive(Clone)]
pub struct Group {
    /// The weights of each feature in these sums.
    pub weights: Vec<[[f32; GROUP]; 3]>,
    /// What is added to the third sum.
    pub constant: [f32; GROUP],
    /// Of city blocks and of Euclidean distances r: `(a + b r + c r²) exp(-rate r)`.
    pub radial: [[Radial<1, f32>; GROUP]; 2],
}

vector_fn! {
    /// Writes the kernel values between a block of points and the m others into m rows each. `points` has a row for each
    /// feature, `others` the features of one point after the other; differences of the last ones are at most `limits`.
    pub fn write_values(
        simd: S,
        group: &Group,
        points: &[PointBlock],
        others: &[f32],
        limits: &[f32],
        to: [&mut [PointBlock]; GROUP],
    ) {
        let (mut to, d, m) = (to, points.len(), others.len() / points.len());
        assert!(group.weights.len() == d && limits.len() <= d && others.len() == m * d);
        assert!(to.iter().all(|to| to.len() == m));
        let numbers = d - limits.len();
        for (j, other) in others.chunks_exact(d).enumerate() {
            // City blocks, squares of distances, and values so far.
            let mut found = [[[0f32; BLOCK]; GROUP]; 3];
            for first in (0..BLOCK).step_by(S::F32_LANES) {
                let mut sums = [[simd.splat_f32s(0.0); GROUP]; 3];
                sums[2] = group.constant.map(|constant| simd.splat_f32s(constant));
                let features = points.iter().zip(other).zip(&group.weights);
                for (k, ((x, &y), weights)) in features.enumerate() {
                    let (x, y) = (load(simd, &x.0[first..]), simd.splat_f32s(y));
                    let mut apart = simd.abs_f32s(simd.sub_f32s(x, y));
                    let mut product = simd.mul_f32s(x, y);
                    if k >= numbers {
                        apart = simd.min_f32s(apart, simd.splat_f32s(limits[k - numbers]));
                        product = simd.mul_f32s(apart, apart);
                    }
                    let inputs = [apart, simd.mul_f32s(apart, apart), product];
                    for ((sums, input), weights) in sums.iter_mut().zip(inputs).zip(weights) {
                        for (sum, &weight) in sums.iter_mut().zip(weights) {
                            *sum = simd.mul_add_e_f32s(simd.splat_f32s(weight), input, *sum);
                        }
                    }
                }
                let to = found.as_flattened_mut().iter_mut();
                for (to, &sum) in to.zip(sums.as_flattened()) {
                    S::as_mut_simd_f32s(&mut to[first..]).0[0] = sum;
                }
            }
            let [city_blocks, squares, values] = found;
            for (g, to) in to.iter_mut().enumerate() {
                let [of_city_blocks, of_distances] = group.radial.map(|of| of[g]);
                for (i, to) in to[j].0.iter_mut().enumerate() {
                    let [one] = of_city_blocks.at(city_blocks[g][i]);
                    let [other] = of_distances.at(squares[g][i].sqrt());
                    *to = values[g][i] + one + other;
                }
            }
        }
    }
}

#[inline(always)]
fn load<S: Simd>(_: S, values: &[f32]) -> S::f32s {
    S::as_simd_f32s(&values[..S::F32_LANES]).0[0]
}

/// Returns the nearest single.
#[allow(clippy::cast_possible_truncation, reason = "it is what is asked for")]
pub const fn single(x: f64) -> f32 {
    x as f32
}

/// Adds `Σ_j c_j k_j` to a number for each point.
pub fn add_product(values: &[PointBlock], coefficients: &[f32], to: &mut [f64; BLOCK]) {
    vectorized!({
        // In few singles at a time.
        for (values, coefficients) in values.chunks(PANEL).zip(coefficients.chunks(PANEL)) {
            let mut sum = [0f32; BLOCK];
            for (values, &c) in values.iter().zip(coefficients) {
                sum.iter_mut().zip(&values.0).for_each(|(sum, value)| *sum += c * value);
            }
            to.iter_mut().zip(&sum).for_each(|(to, &sum)| *to += f64::from(sum));
        }
    });
}

vector_fn! {
    /// Adds the products of each column of the panels with the values to a row of numbers.
    pub fn add_products(simd: S, values: &[PointBlock], panels: &[Panel], to: &mut [PointBlock]) {
        for first in (0..BLOCK).step_by(VECTORS * S::F32_LANES) {
            for (panel, to) in panels.iter().zip(to.chunks_mut(PANEL)) {
                for (to, sums) in to.iter_mut().zip(product(simd, values, panel, first)) {
                    let to = S::as_mut_simd_f32s(&mut to.0[first..]).0.iter_mut();
                    to.zip(sums).for_each(|(to, sum)| *to = simd.add_f32s(*to, sum));
                }
            }
        }
    }
}

vector_fn! {
    /// Adds the part of `kᵀ U k` by the columns from `column` on, which `panel` has, to a number for each point.
    pub fn add_form(
        simd: S,
        values: &[PointBlock],
        panel: &[[f32; PANEL]],
        column: usize,
        to: &mut [f64; BLOCK],
    ) {
        let mut found = [0f32; BLOCK];
        for first in (0..BLOCK).step_by(VECTORS * S::F32_LANES) {
            let products = product(simd, values, panel, first);
            let mut sums = [simd.splat_f32s(0.0); VECTORS];
            for (value, product) in values[column..].iter().zip(products) {
                let value = vectors(simd, &value.0[first..]);
                for v in 0..VECTORS {
                    sums[v] = simd.mul_add_e_f32s(value[v], product[v], sums[v]);
                }
            }
            let (found, _) = S::as_mut_simd_f32s(&mut found[first..]);
            found[..VECTORS].copy_from_slice(&sums);
        }
        to.iter_mut().zip(&found).for_each(|(to, &found)| *to += f64::from(found));
    }
}

/// Returns the products of the columns of a panel with the values of some points.
#[inline(always)]
fn product<S: Simd>(
    simd: S,
    values: &[PointBlock],
    panel: &[[f32; PANEL]],
    first: usize,
) -> [[S::f32s; VECTORS]; PANEL] {
    const { assert!(BLOCK.is_multiple_of(VECTORS * S::F32_LANES)) };
    let mut sums = [[simd.splat_f32s(0.0); VECTORS]; PANEL];
    for (value, row) in values.iter().zip(panel) {
        let value = vectors(simd, &value.0[first..]);
        for (sums, &entry) in sums.iter_mut().zip(row) {
            let entry = simd.splat_f32s(entry);
            for v in 0..VECTORS {
                sums[v] = simd.mul_add_e_f32s(entry, value[v], sums[v]);
            }
        }
    }
    sums
}

#[inline(always)]
fn vectors<S: Simd>(simd: S, values: &[f32]) -> [S::f32s; VECTORS] {
    array::from_fn(|v| load(simd, &values[v * S::F32_LANES..]))
}
