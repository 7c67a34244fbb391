//! Upper triangles of small matrices, by blocks of rows and columns: symmetric products, Cholesky factors and inverses.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayBase, ArrayView2, ArrayViewMut2, Axis, Ix2, RawData, Slice};

use crate::base::{Result, blocks, require_sound};
use crate::simd::dot::{axpy, scale};

/// Rows of a block of a product, and of a factor.
const WIDE: usize = 48;
const BLOCK: usize = 16;

/// Returns some rows and columns of a matrix.
pub fn part<S: RawData<Elem = f64>>(
    mut of: ArrayBase<S, Ix2>,
    rows: impl Into<Slice>,
    columns: impl Into<Slice>,
) -> ArrayBase<S, Ix2> {
    of.slice_axis_inplace(Axis(0), rows.into());
    of.slice_axis_inplace(Axis(1), columns.into());
    of
}

/// Writes `aᵀ b`, which is symmetric, into an upper triangle.
pub fn product(a: &ArrayView2<f64>, b: &ArrayView2<f64>, to: &mut Array2<f64>) {
    for block in blocks(to.nrows(), WIDE) {
        let rows = part(a.t(), block.clone(), ..);
        let mut to = part(to.view_mut(), block.clone(), block.start..);
        general_mat_mul(1.0, &rows, &part(b.view(), .., block.start..), 0.0, &mut to);
    }
}

pub fn times_upper(rows: &ArrayView2<f64>, upper: &Array2<f64>, to: &mut ArrayViewMut2<f64>) {
    for block in blocks(upper.nrows(), WIDE) {
        let (rows, upper) = (part(rows.view(), .., ..block.end), upper.view());
        let mut to = part(to.view_mut(), .., block.clone());
        general_mat_mul(1.0, &rows, &part(upper, ..block.end, block), 0.0, &mut to);
    }
}

/// Adds `rows Uᵀ` for an upper triangle U.
pub fn add_times_transpose(
    rows: &ArrayView2<f64>,
    upper: &ArrayView2<f64>,
    to: &mut ArrayViewMut2<f64>,
) {
    for block in blocks(upper.nrows(), WIDE) {
        let rows = part(rows.view(), .., block.start..);
        let upper = part(upper.view(), block.clone(), block.start..);
        general_mat_mul(1.0, &rows, &upper.t(), 1.0, &mut part(to.view_mut(), .., block));
    }
}

pub fn times_own_transpose(upper: &Array2<f64>) -> Array2<f64> {
    let mut product = Array2::zeros(upper.raw_dim());
    for block in blocks(upper.nrows(), WIDE) {
        let right = part(upper.view(), .., block.start..);
        let left = part(right.view(), block.clone(), ..);
        general_mat_mul(1.0, &left, &right.t(), 0.0, &mut part(product.view_mut(), block, ..));
    }
    product
}

/// Replaces the upper triangle of a matrix by that of U with `A = Uᵀ U`.
pub fn factor(matrix: &mut Array2<f64>) -> Result<()> {
    let n = matrix.nrows();
    for block in blocks(n, BLOCK) {
        let values = matrix.as_slice_mut().expect("row-major");
        for k in block.clone() {
            let (above, below) = values.split_at_mut((k + 1) * n);
            let row = &mut above[k * n + k..];
            let pivot = row[0];
            require_sound(pivot > 0.0, "pivot", pivot)?;
            scale(row, pivot.sqrt().recip());
            for (i, to) in (k + 1..block.end).zip(below.chunks_exact_mut(n)) {
                axpy(-row[i - k], &row[i - k..], &mut to[i..]);
            }
        }
        let (done, rest) = matrix.view_mut().split_at(Axis(0), block.end);
        let done = part(done, block.start.., block.end..);
        general_mat_mul(-1.0, &done.t(), &done, 1.0, &mut part(rest, .., block.end..));
    }
    Ok(())
}

/// Writes the inverse of an upper triangle U, with zeros below it: the rows R of the inverse have `U R = I`.
pub fn invert(upper: &Array2<f64>, inverse: &mut Array2<f64>) {
    let n = upper.nrows();
    inverse.fill(0.0);
    for block in blocks(n, BLOCK).rev() {
        let (rows, below) = inverse.view_mut().split_at(Axis(0), block.end);
        let mut right = part(rows, block.start.., block.end..);
        let upper_right = part(upper.view(), block.clone(), block.end..);
        general_mat_mul(-1.0, &upper_right, &part(below, .., block.end..), 0.0, &mut right);
        let values = inverse.as_slice_mut().expect("row-major");
        for k in block.clone().rev() {
            let (above, below) = values.split_at_mut((k + 1) * n);
            let row = &mut above[k * n..];
            row[k] = 1.0;
            for (i, from) in (k + 1..block.end).zip(below.chunks_exact(n)) {
                axpy(-upper[[k, i]], &from[i..], &mut row[i..]);
            }
            row[k..].iter_mut().for_each(|x| *x /= upper[[k, k]]);
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/propagation/triangle.rs"]
mod tests;
