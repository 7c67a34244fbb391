//! Blocked linear algebra on row-major matrices: what costs O(m³) runs through matrix products.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder};

use crate::control::Control;
use crate::error::Result;

/// Rows and columns of a block: a few of them fit into the second cache.
const BLOCK: usize = 64;

/// The block of `rows` x `columns` numbers that begins at `values[0]`, in rows of length `stride`.
pub(crate) fn block(
    values: &[f64],
    (rows, columns): (usize, usize),
    stride: usize,
) -> ArrayView2<'_, f64> {
    let shape = (rows, columns).strides((stride, 1));
    // Without numbers there is no place for a stride.
    let view = if rows == 0 {
        ArrayView2::from_shape((rows, columns), &[])
    } else {
        ArrayView2::from_shape(shape, values)
    };
    view.expect("a block inside")
}

/// The same, to be written.
pub(crate) fn block_mut(
    values: &mut [f64],
    (rows, columns): (usize, usize),
    stride: usize,
) -> ArrayViewMut2<'_, f64> {
    ArrayViewMut2::from_shape((rows, columns).strides((stride, 1)), values).expect("a block inside")
}

/// `C ← C - A B`.
pub(crate) fn subtract_product(
    a: &ArrayView2<'_, f64>,
    b: &ArrayView2<'_, f64>,
    c: &mut ArrayViewMut2<'_, f64>,
) {
    general_mat_mul(-1.0, a, b, 1.0, c);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A Cholesky factor `A = L Lᵀ`.
#[derive(Debug)]
pub(crate) struct Lower {
    n: usize,
    /// L in the lower triangle, row-major.
    values: Vec<f64>,
}

impl Lower {
    /// Factors the lower triangle of a positive definite row-major matrix in its place, panel by panel. No pivot is smaller than
    /// `floor`, where rounding would make it so.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Interrupted`].
    pub fn new(mut values: Vec<f64>, n: usize, floor: f64, control: &Control) -> Result<Self> {
        for start in (0..n).step_by(BLOCK) {
            control.check()?;
            let stop = (start + BLOCK).min(n);
            for i in start..n {
                let (above, row) = values.split_at_mut(i * n);
                for j in start..stop.min(i) {
                    let other = &above[j * n + start..=j * n + j];
                    let done = dot(&row[start..j], &other[..j - start]);
                    row[j] = (row[j] - done) / other[j - start];
                }
                if i < stop {
                    let done = dot(&row[start..i], &row[start..i]);
                    row[i] = (row[i] - done).max(floor).sqrt();
                }
            }
            // The panel below the diagonal block, out of the way of what it is subtracted from.
            let width = stop - start;
            let panel: Vec<f64> =
                (stop..n).flat_map(|i| &values[i * n + start..i * n + stop]).copied().collect();
            for first in (stop..n).step_by(BLOCK) {
                let last = (first + BLOCK).min(n);
                let left = block(&panel[(first - stop) * width..], (last - first, width), width);
                let right = block(&panel, (last - stop, width), width);
                let below = &mut values[first * n + stop..];
                let mut rest = block_mut(below, (last - first, last - stop), n);
                subtract_product(&left, &right.t(), &mut rest);
            }
        }
        Ok(Self { n, values })
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.n..=i * self.n + i]
    }

    /// ln det A.
    pub fn log_determinant(&self) -> f64 {
        2.0 * (0..self.n).map(|i| self.row(i)[i].ln()).sum::<f64>()
    }

    /// `x ← A⁻¹ x`.
    pub fn solve(&self, x: &mut [f64]) {
        for i in 0..self.n {
            let row = self.row(i);
            x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
        }
        for i in (0..self.n).rev() {
            let row = self.row(i);
            x[i] /= row[i];
            let done = x[i];
            x[..i].iter_mut().zip(row).for_each(|(x, l)| *x -= done * l);
        }
    }

    /// `X ← L⁻¹ X` for a row-major X of `columns` columns.
    pub fn forward(&self, x: &mut [f64], columns: usize) {
        let n = self.n;
        for start in (0..n).step_by(BLOCK) {
            let stop = (start + BLOCK).min(n);
            let (done, rest) = x.split_at_mut(start * columns);
            if start > 0 {
                let left = block(&self.values[start * n..], (stop - start, start), n);
                let mut rest = block_mut(rest, (stop - start, columns), columns);
                subtract_product(&left, &block(done, (start, columns), columns), &mut rest);
            }
            for i in start..stop {
                let (above, row) = rest.split_at_mut((i - start) * columns);
                let row = &mut row[..columns];
                let factors = &self.row(i)[start..];
                for (j, above) in above.chunks_exact(columns).enumerate() {
                    row.iter_mut().zip(above).for_each(|(x, y)| *x -= factors[j] * y);
                }
                row.iter_mut().for_each(|x| *x /= factors[i - start]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    /// A matrix without rows has no numbers, and the product over them is nothing.
    #[test]
    fn empty_blocks() {
        let mut c = vec![1.0; 6];
        let none = block(&[], (0, 3), 3);
        let other = block(&[], (0, 2), 2);
        subtract_product(&other.t(), &none, &mut block_mut(&mut c, (2, 3), 3));
        assert_eq!(c, [1.0; 6]);
    }

    /// Across the sizes of blocks: L Lᵀ = A, A⁻¹ A x = x, and the inner products of L⁻¹ B are those of A⁻¹.
    #[test]
    fn blocked_and_plain_agree() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for n in [1, 2, 63, 64, 65, 150] {
            let x: Vec<f64> = StandardNormal.sample_iter(&mut rng).take(n * n).collect();
            let mut a = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..n {
                    let inner = dot(&x[i * n..(i + 1) * n], &x[j * n..(j + 1) * n]);
                    a[i * n + j] = inner + if i == j { n as f64 } else { 0.0 };
                }
            }
            let lower = Lower::new(a.clone(), n, 0.0, &Control::new()).expect("not interrupted");
            for i in 0..n {
                for j in 0..=i {
                    let product = dot(&lower.row(i)[..=j], lower.row(j));
                    assert!((product - a[i * n + j]).abs() < 1e-10 * n as f64, "{n}: {i} {j}");
                }
            }
            let columns = 5;
            let b: Vec<f64> = StandardNormal.sample_iter(&mut rng).take(n * columns).collect();
            let mut forwarded = b.clone();
            lower.forward(&mut forwarded, columns);
            for c in 0..columns {
                let column: Vec<f64> = (0..n).map(|i| b[i * columns + c]).collect();
                let mut solved = column.clone();
                lower.solve(&mut solved);
                for i in 0..n {
                    let back = dot(&a[i * n..(i + 1) * n], &solved);
                    assert!((back - column[i]).abs() < 1e-9, "{n}: {back}");
                }
                let square: f64 = (0..n).map(|i| forwarded[i * columns + c].powi(2)).sum();
                assert!((square - dot(&column, &solved)).abs() < 1e-10 * square.max(1.0));
            }
        }
    }
}
