//! Functions of distances between points, and the slopes of their sums; see `bayespoint.kernels.stationary`.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray2, PyReadwriteArray2};
use pyo3::prelude::*;

use super::arrays::contiguous;
use super::call;
use crate::base::{Error, memory, require};
use crate::simd::distance::{Columns, ROWS, Radial};

type Matrix<'py> = PyReadonlyArray2<'py, f64>;

/// Writes `(a + b r + c r²) exp(-rate r)` of the distances r between two sets of points, with the terms a, b and c.
#[pyfunction]
#[pyo3(signature = (X, Y, city_block, rate, terms, out))]
#[allow(non_snake_case, reason = "names in Python")]
pub fn values_of_distances<'py>(
    py: Python<'py>,
    X: Matrix<'py>,
    Y: Matrix<'py>,
    city_block: bool,
    rate: f64,
    terms: [f64; 3],
    mut out: PyReadwriteArray2<'py, f64>,
) -> PyResult<()> {
    let (shape, of) = (shape(&X, &Y, &[out.as_array().dim()])?, Radial { rate, terms });
    let (x, y) = (contiguous("X", &X)?, contiguous("Y", &Y)?);
    let wanted = "C-contiguous";
    let out = out.as_slice_mut().map_err(|_| Error::invalid("out", "another layout", wanted))?;
    call::here(py, |control| {
        memory::check_vectors(1, y.len())?;
        let columns = Columns::new(y, shape[1], shape[2]);
        for rows in blocks(shape[0]) {
            control.check()?;
            let [of_x, of_out] = [shape[2], shape[1]].map(|n| rows.start * n..rows.end * n);
            columns.values(&x[of_x], city_block, of, &mut out[of_out]);
        }
        Ok(())
    })
}

/// Returns for each feature k the sum of `a_ij b_ij |x_ik - y_jk|`, or of the squares.
#[pyfunction]
#[pyo3(signature = (X, Y, a, b, *, city_block))]
#[allow(non_snake_case, reason = "names in Python")]
pub fn sums_of_differences<'py>(
    py: Python<'py>,
    X: Matrix<'py>,
    Y: Matrix<'py>,
    a: Matrix<'py>,
    b: Matrix<'py>,
    city_block: bool,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let shape = shape(&X, &Y, &[a.as_array().dim(), b.as_array().dim()])?;
    let (x, y) = (contiguous("X", &X)?, contiguous("Y", &Y)?);
    let weights = [contiguous("a", &a)?, contiguous("b", &b)?];
    let sums = call::here(py, |control| {
        memory::check_vectors(1, y.len())?;
        let (columns, mut sums) = (Columns::new(y, shape[1], shape[2]), vec![0.0; shape[2]]);
        for rows in blocks(shape[0]) {
            control.check()?;
            let [of_x, of_pairs] = [shape[2], shape[1]].map(|n| rows.start * n..rows.end * n);
            let weights = weights.map(|weights| &weights[of_pairs.clone()]);
            columns.add_slopes(&x[of_x], city_block, weights, &mut sums);
        }
        Ok(sums)
    })?;
    Ok(sums.into_pyarray(py))
}

/// Returns the numbers of rows, columns and features, if the matrices of pairs fit.
fn shape(x: &Matrix<'_>, y: &Matrix<'_>, of_pairs: &[(usize, usize)]) -> PyResult<[usize; 3]> {
    let ((n, d), (m, e)) = (x.as_array().dim(), y.as_array().dim());
    let fits = d == e && d > 0 && of_pairs.iter().all(|pairs| *pairs == (n, m));
    require(fits, "Y", format_args!("{e} features"), "the same features, with a value each pair")?;
    Ok([n, m, d])
}

fn blocks(n: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..n).step_by(ROWS).map(move |first| first..n.min(first + ROWS))
}
