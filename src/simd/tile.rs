//! Inner products and sums of multiples of several vectors at once, so that each number read counts in several of them.

use std::array;

use pulp::{Arch, Simd, WithSimd};

use crate::simd::entry::{Call, Entry};

/// Vectors that share what is read. With two rows of products this fills the registers of every instruction set.
pub(crate) const SHARING: usize = 4;

/// The inner products of R rows and V vectors.
impl<const R: usize, const V: usize> WithSimd for Call<([&[f64]; R], [&[f64]; V])> {
    type Output = [[f64; V]; R];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let (rows, vectors) = self.0;
        let n = vectors[0].len();
        let (rows, vectors) = (rows.map(|row| &row[..n]), vectors.map(|x| &x[..n]));
        let mut sums = [[simd.splat_f64s(0.0); V]; R];
        let whole = n - n % S::F64_LANES;
        for at in (0..whole).step_by(S::F64_LANES) {
            let x: [S::f64s; V] =
                array::from_fn(|v| <f64 as Entry>::load(simd, &vectors[v][at..whole]));
            for r in 0..R {
                let a = <f64 as Entry>::load(simd, &rows[r][at..whole]);
                for v in 0..V {
                    sums[r][v] = simd.mul_add_e_f64s(a, x[v], sums[r][v]);
                }
            }
        }
        if whole < n {
            for r in 0..R {
                let a = simd.partial_load_f64s(&rows[r][whole..]);
                for v in 0..V {
                    let x = simd.partial_load_f64s(&vectors[v][whole..]);
                    sums[r][v] = simd.mul_add_e_f64s(a, x, sums[r][v]);
                }
            }
        }
        sums.map(|row| row.map(|sum| simd.reduce_sum_f64s(sum)))
    }
}

/// `y_v ← y_v + Σ_r factors[v][r] columns[r]`, for columns, factors and vectors y.
impl<const R: usize, const V: usize> WithSimd
    for Call<([&[f64]; R], [[f64; R]; V], [&mut [f64]; V])>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (columns, multiples, sums) = self.0;
        let n = columns[0].len();
        let columns = columns.map(|column| S::as_simd_f64s(&column[..n]));
        let factors = multiples.map(|row| row.map(|a| simd.splat_f64s(a)));
        let sums = sums.map(|y| S::as_mut_simd_f64s(&mut y[..n]));
        let blocks = n / S::F64_LANES;
        for k in 0..blocks {
            let column: [S::f64s; R] = array::from_fn(|r| columns[r].0[k]);
            for v in 0..V {
                let y = &mut sums[v].0[k];
                for r in 0..R {
                    *y = simd.mul_add_e_f64s(factors[v][r], column[r], *y);
                }
            }
        }
        for v in 0..V {
            for (k, y) in sums[v].1.iter_mut().enumerate() {
                for r in 0..R {
                    *y = multiples[v][r].mul_add(columns[r].1[k], *y);
                }
            }
        }
    }
}

/// Returns the inner products of R rows and V vectors of the same length.
pub(crate) fn products<const R: usize, const V: usize>(
    arch: Arch,
    rows: [&[f64]; R],
    vectors: [&[f64]; V],
) -> [[f64; V]; R] {
    arch.dispatch(Call((rows, vectors)))
}

/// `y_v ← y_v + Σ_r factors[v][r] columns[r]` for V vectors and R columns of the same length.
pub(crate) fn add_multiples<const R: usize, const V: usize>(
    arch: Arch,
    columns: [&[f64]; R],
    factors: [[f64; R]; V],
    sums: [&mut [f64]; V],
) {
    arch.dispatch(Call((columns, factors, sums)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agree_with_plain_sums(
            values in prop::collection::vec([-1.0..1.0f64, -1.0..1.0, -1.0..1.0, -1.0..1.0], 0..70),
        ) {
            let n = values.len();
            let rows: [Vec<f64>; 4] = array::from_fn(|r| values.iter().map(|x| x[r]).collect());
            let vectors: [Vec<f64>; 4] =
                array::from_fn(|v| rows[v].iter().enumerate().map(|(i, x)| x + i as f64).collect());
            let dots = products(
                Arch::new(),
                [rows[0].as_slice(), &rows[1]],
                vectors.each_ref().map(Vec::as_slice),
            );
            for r in 0..2 {
                for v in 0..4 {
                    let plain: f64 = rows[r].iter().zip(&vectors[v]).map(|(a, b)| a * b).sum();
                    prop_assert!((dots[r][v] - plain).abs() < 1e-10);
                }
            }
            let mut sums = vectors.clone();
            let factors: [[f64; 4]; 4] = array::from_fn(|v| array::from_fn(|r| (v * 4 + r) as f64 - 7.0));
            let columns = rows.each_ref().map(Vec::as_slice);
            add_multiples(Arch::new(), columns, factors, sums.each_mut().map(Vec::as_mut_slice));
            for v in 0..4 {
                for i in 0..n {
                    let plain: f64 = (0..4).map(|r| factors[v][r] * rows[r][i]).sum();
                    prop_assert!((sums[v][i] - vectors[v][i] - plain).abs() < 1e-10);
                }
            }
        }
    }
}
