//! Kernel values of several models at blocks of points, with their products and quadratic forms, in singles.

use std::array;

use pulp::{Arch, Simd, WithSimd};

use super::entry::Call;

/// Points of a block, one in each lane of a few vectors.
pub const BLOCK: usize = 32;
/// Models whose values share the differences of two points.
pub const GROUP: usize = 4;
/// Columns of a matrix that are multiplied at once with the vectors of a block.
pub const PANEL: usize = 6;
const VECTORS: usize = 2;

/// A number for each point of a block.
pub type Lanes = [f32; BLOCK];
/// Columns of a matrix, row by row.
pub type Panel = [[f32; PANEL]];

/// The kernels of a group of models, as functions of three sums over the features: of the absolute differences, of their
/// squares, and of the products, or of the squares for categories.
#[derive(Clone, Debug)]
pub struct Group {
    /// The weights of each feature in these sums.
    pub weights: Vec<[[f32; GROUP]; 3]>,
    /// What is added to the third sum.
    pub constant: [f32; GROUP],
    /// Of city blocks and of Euclidean distances r: `(a + b r + c r²) exp(-rate r)`.
    pub radial: [[RadialSingles; GROUP]; 2],
}

/// A function of distances in singles.
#[derive(Clone, Copy, Debug, Default)]
pub struct RadialSingles {
    /// At least 0.
    pub rate: f32,
    /// The coefficients a, b and c.
    pub terms: [f32; 3],
}

impl Group {
    /// Writes the kernel values between a block of points and the m others into m rows each. `points` has a row for each
    /// feature, `others` the features of one point after the other; differences of the last ones are at most `limits`.
    pub fn values(
        &self,
        arch: Arch,
        points: &[Lanes],
        others: &[f32],
        limits: &[f32],
        to: [&mut [Lanes]; GROUP],
    ) {
        let (d, m) = (self.weights.len(), others.len() / self.weights.len());
        assert!(points.len() == d && limits.len() <= d && others.len() == m * d);
        assert!(to.iter().all(|to| to.len() == m));
        arch.dispatch(Call::<_>((self, points, others, limits, to)));
    }
}

/// See [`Group::values`].
impl WithSimd for Call<(&Group, &[Lanes], &[f32], &[f32], [&mut [Lanes]; GROUP])> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (group, points, others, limits, mut to) = self.0;
        let d = points.len();
        let numbers = d - limits.len();
        let (of_numbers, of_others) = group.weights.split_at(numbers);
        for (j, other) in others.chunks_exact(d).enumerate() {
            let (numbers, categories) = other.split_at(numbers);
            for first in (0..BLOCK).step_by(S::F32_LANES) {
                let mut sums = [[simd.splat_f32s(0.0); GROUP]; 3];
                sums[2] = group.constant.map(|constant| simd.splat_f32s(constant));
                let (points, rest) = points.split_at(numbers.len());
                for ((x, &y), weights) in points.iter().zip(numbers).zip(of_numbers) {
                    let (x, y) = (load(simd, &x[first..]), simd.splat_f32s(y));
                    let apart = simd.abs_f32s(simd.sub_f32s(x, y));
                    let inputs = [apart, simd.mul_f32s(apart, apart), simd.mul_f32s(x, y)];
                    add(simd, &mut sums, inputs, weights);
                }
                let categories = categories.iter().zip(limits);
                for ((x, (&y, &limit)), weights) in rest.iter().zip(categories).zip(of_others) {
                    let (x, y) = (load(simd, &x[first..]), simd.splat_f32s(y));
                    let apart = simd.abs_f32s(simd.sub_f32s(x, y));
                    let apart = simd.min_f32s(apart, simd.splat_f32s(limit));
                    let square = simd.mul_f32s(apart, apart);
                    add(simd, &mut sums, [apart, square, square], weights);
                }
                let [city_blocks, squares, mut values] = sums;
                let distances = squares.map(|square| simd.sqrt_f32s(square));
                for (radial, distances) in group.radial.iter().zip([city_blocks, distances]) {
                    for ((value, radial), r) in values.iter_mut().zip(radial).zip(distances) {
                        *value = simd.add_f32s(*value, radial.at(simd, r));
                    }
                }
                for (to, value) in to.iter_mut().zip(values) {
                    store(simd, value, &mut to[j][first..]);
                }
            }
        }
    }
}

#[inline(always)]
fn add<S: Simd>(
    simd: S,
    sums: &mut [[S::f32s; GROUP]; 3],
    inputs: [S::f32s; 3],
    weights: &[[f32; GROUP]; 3],
) {
    for ((sums, input), weights) in sums.iter_mut().zip(inputs).zip(weights) {
        for (sum, &weight) in sums.iter_mut().zip(weights) {
            *sum = simd.mul_add_e_f32s(simd.splat_f32s(weight), input, *sum);
        }
    }
}

impl RadialSingles {
    #[inline(always)]
    fn at<S: Simd>(self, simd: S, r: S::f32s) -> S::f32s {
        let [a, b, c] = self.terms.map(|term| simd.splat_f32s(term));
        let factor = simd.mul_add_e_f32s(r, simd.mul_add_e_f32s(r, c, b), a);
        let decay = exponential(simd, simd.mul_f32s(simd.splat_f32s(-self.rate), r));
        simd.mul_f32s(factor, decay)
    }
}

#[inline(always)]
fn load<S: Simd>(_: S, values: &[f32]) -> S::f32s {
    S::as_simd_f32s(&values[..S::F32_LANES]).0[0]
}

#[inline(always)]
fn store<S: Simd>(_: S, value: S::f32s, to: &mut [f32]) {
    S::as_mut_simd_f32s(&mut to[..S::F32_LANES]).0[0] = value;
}

/// Returns the exponentials of numbers of at most 0; 0 below the smallest normal number.
#[inline(always)]
fn exponential<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    /// Argument below which an exponential is below the smallest normal number.
    const LEAST: f32 = -87.0;
    /// The lowest bits of a sum with it are those of the integer added.
    const SHIFT: f32 = 12_582_912.0;
    /// -ln(2) with few bits, and the rest.
    const LN_2: [f32; 2] = [-0.693_359_4, 2.121_944_4e-4];
    /// The coefficients `1 / (n + 1)!`. The first omitted term is below 1e-8 for arguments up to ln(2) / 2.
    const TAYLOR: [f32; 6] = [1.0, 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0];
    let least = simd.splat_f32s(LEAST);
    let inside = simd.max_f32s(x, least);
    let shift = simd.splat_f32s(SHIFT);
    let mut scale = simd.mul_add_e_f32s(inside, simd.splat_f32s(std::f32::consts::LOG2_E), shift);
    let n = simd.sub_f32s(scale, shift);
    let r = LN_2.iter().fold(inside, |r, &part| simd.mul_add_e_f32s(n, simd.splat_f32s(part), r));
    let (&last, terms) = TAYLOR.split_last().expect("terms");
    let mut power = simd.splat_f32s(last);
    for &term in terms.iter().rev() {
        power = simd.mul_add_e_f32s(power, r, simd.splat_f32s(term));
    }
    for bits in pulp::bytemuck::cast_slice_mut::<_, u32>(std::slice::from_mut(&mut scale)) {
        *bits = (*bits << 23).wrapping_add(1f32.to_bits());
    }
    let found = simd.mul_add_e_f32s(simd.mul_f32s(scale, r), power, scale);
    simd.select_f32s(simd.less_than_f32s(x, least), simd.splat_f32s(0.0), found)
}

/// Returns the nearest single.
#[allow(clippy::cast_possible_truncation, reason = "it is what is asked for")]
pub const fn single(x: f64) -> f32 {
    x as f32
}

/// Returns the panels of the upper triangle of an (n, n) matrix, or of all n rows of one with other columns.
pub fn panels(
    at: impl Fn(usize, usize) -> f32,
    n: usize,
    columns: usize,
) -> Vec<Vec<[f32; PANEL]>> {
    let panel = |first: usize| {
        let rows = if n == columns { n.min(first + PANEL) } else { n };
        let entry = |i, j| if j < columns && (n != columns || i <= j) { at(i, j) } else { 0.0 };
        (0..rows).map(|i| array::from_fn(|c| entry(i, first + c))).collect()
    };
    (0..columns).step_by(PANEL).map(panel).collect()
}

/// Adds `Σ_j c_j k_j` to a number for each point.
pub fn add_product(arch: Arch, values: &[Lanes], coefficients: &[f32], to: &mut [f64; BLOCK]) {
    arch.dispatch(|| {
        // In few singles at a time.
        for (values, coefficients) in values.chunks(PANEL).zip(coefficients.chunks(PANEL)) {
            let mut sum = [0f32; BLOCK];
            for (values, &c) in values.iter().zip(coefficients) {
                sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += c * value);
            }
            to.iter_mut().zip(&sum).for_each(|(to, &sum)| *to += f64::from(sum));
        }
    });
}

/// Appends the products `a = Pᵀ k` to the values k, and takes `P a` from these.
pub fn deflate(arch: Arch, values: &mut [Lanes], panels: &[Vec<[f32; PANEL]>]) {
    let (values, products) = values.split_at_mut(values.len() - PANEL * panels.len());
    assert!(panels.iter().all(|panel| panel.len() == values.len()));
    arch.dispatch(Call::<_>((values, products, panels)));
}

/// See [`deflate`].
impl WithSimd for Call<(&mut [Lanes], &mut [Lanes], &[Vec<[f32; PANEL]>])> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (values, products, panels) = self.0;
        let width = VECTORS * S::F32_LANES;
        for first in (0..BLOCK).step_by(width) {
            for (panel, to) in panels.iter().zip(products.chunks_exact_mut(PANEL)) {
                for (to, sums) in to.iter_mut().zip(product(simd, values, panel, first)) {
                    let (to, _) = S::as_mut_simd_f32s(&mut to[first..]);
                    to[..VECTORS].copy_from_slice(&sums);
                }
            }
            for (panel, products) in panels.iter().zip(products.chunks_exact(PANEL)) {
                let factors: [_; PANEL] = array::from_fn(|c| vectors(simd, &products[c][first..]));
                for (value, row) in values.iter_mut().zip(panel) {
                    let mut sums = vectors(simd, &value[first..]);
                    for (factor, &entry) in factors.iter().zip(row) {
                        let entry = simd.splat_f32s(-entry);
                        for v in 0..VECTORS {
                            sums[v] = simd.mul_add_e_f32s(entry, factor[v], sums[v]);
                        }
                    }
                    let (to, _) = S::as_mut_simd_f32s(&mut value[first..]);
                    to[..VECTORS].copy_from_slice(&sums);
                }
            }
        }
    }
}

/// Adds the part of `kᵀ U k` by the columns from `column` on, which `panel` has, to a number for each point.
pub fn add_form(arch: Arch, values: &[Lanes], panel: &Panel, column: usize, to: &mut [f64; BLOCK]) {
    arch.dispatch(Call::<_>((values, panel, column, to)));
}

/// See [`add_form`].
impl WithSimd for Call<(&[Lanes], &Panel, usize, &mut [f64; BLOCK])> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (values, panel, column, to) = self.0;
        let mut found = [0f32; BLOCK];
        for first in (0..BLOCK).step_by(VECTORS * S::F32_LANES) {
            let products = product(simd, values, panel, first);
            let mut sums = [simd.splat_f32s(0.0); VECTORS];
            for (value, product) in values[column..].iter().zip(products) {
                let value = vectors(simd, &value[first..]);
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
    values: &[Lanes],
    panel: &Panel,
    first: usize,
) -> [[S::f32s; VECTORS]; PANEL] {
    const { assert!(BLOCK.is_multiple_of(VECTORS * S::F32_LANES)) };
    let mut sums = [[simd.splat_f32s(0.0); VECTORS]; PANEL];
    for (value, row) in values.iter().zip(panel) {
        let value = vectors(simd, &value[first..]);
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
