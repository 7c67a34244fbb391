//! Inner products and sums of multiples of several vectors at once, so that each number read counts in several of them.

use std::array;

use super::entry::{Entry, vector_fn};

/// Vectors that share what is read. With two rows of products this fills the registers of every instruction set.
pub const SHARING: usize = 4;

vector_fn! {
    /// Returns the inner products of R rows and V vectors of the same length.
    pub fn products[const R: usize, const V: usize](
        simd: S,
        rows: [&[f64]; R],
        vectors: [&[f64]; V],
    ) -> [[f64; V]; R] {
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

vector_fn! {
    /// `y_v ← y_v + Σ_r factors[v][r] columns[r]` for V vectors and R columns of the same length.
    pub fn add_multiples[const R: usize, const V: usize](
        simd: S,
        columns: [&[f64]; R],
        factors: [[f64; R]; V],
        sums: [&mut [f64]; V],
    ) {
        let n = columns[0].len();
        let columns = columns.map(|column| S::as_simd_f64s(&column[..n]));
        let splat = factors.map(|row| row.map(|a| simd.splat_f64s(a)));
        let sums = sums.map(|y| S::as_mut_simd_f64s(&mut y[..n]));
        let blocks = n / S::F64_LANES;
        for k in 0..blocks {
            let column: [S::f64s; R] = array::from_fn(|r| columns[r].0[k]);
            for v in 0..V {
                let y = &mut sums[v].0[k];
                for r in 0..R {
                    *y = simd.mul_add_e_f64s(splat[v][r], column[r], *y);
                }
            }
        }
        for v in 0..V {
            for (k, y) in sums[v].1.iter_mut().enumerate() {
                for r in 0..R {
                    *y = factors[v][r].mul_add(columns[r].1[k], *y);
                }
            }
        }
    }
}
