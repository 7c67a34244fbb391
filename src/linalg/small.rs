//! Cholesky factors of small dense matrices.

/// Replaces the lower triangle of a positive definite row-major (n, n) matrix by its Cholesky factor, pivots `ridge` or more.
pub fn factor(matrix: &mut [f64], n: usize, ridge: f64) {
    for i in 0..n {
        for j in 0..=i {
            let done: f64 = (0..j).map(|k| matrix[i * n + k] * matrix[j * n + k]).sum();
            let rest = matrix[i * n + j] - done;
            matrix[i * n + j] =
                if i == j { rest.max(ridge).sqrt() } else { rest / matrix[j * n + j] };
        }
    }
}

/// Solves `L Lᵀ x = b` in place of b.
pub fn solve(factor: &[f64], n: usize, b: &mut [f64]) {
    for i in 0..n {
        let done: f64 = (0..i).map(|k| factor[i * n + k] * b[k]).sum();
        b[i] = (b[i] - done) / factor[i * n + i];
    }
    for i in (0..n).rev() {
        let done: f64 = (i + 1..n).map(|k| factor[k * n + i] * b[k]).sum();
        b[i] = (b[i] - done) / factor[i * n + i];
    }
}
