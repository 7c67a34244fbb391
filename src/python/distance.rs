//! Functions of distances between points, and the slopes of their sums; see `bayespoint.kernels.stationary`.

use numpy::{IntoPyArray, PyReadwriteArray3};
use pyo3::prelude::*;

use super::arrays::{Matrix, NewVector, check_shape, contiguous};
use super::call;
use crate::base::{Control, Error, Result, blocks, memory, require};
use crate::simd::distance::{Columns, ROWS, Radial};

/// Numbers that a copy may need without a check of the memory.
const MANY: usize = 1 << 20;

/// Writes `(a + b r + c r²) exp(-rate r)` of the distances r between two sets of points, for one or two times the terms a, b
/// and c. `Y=None` stands for X. Absolute differences of the last features count as their limits at most.
#[pyfunction]
#[allow(non_snake_case, reason = "names in Python")]
pub fn values_of_distances(
    py: Python,
    X: Matrix,
    Y: Option<Matrix>,
    city_block: bool,
    rate: f64,
    terms: Vec<[f64; 3]>,
    mut out: PyReadwriteArray3<f64>,
    limits: Vec<f64>,
) -> PyResult<()> {
    let (is_symmetric, y) = (Y.is_none(), Y.as_ref().unwrap_or(&X));
    let (number, n, m) = out.as_array().dim();
    let shape = shape(&X, y, &[(n, m)])?;
    check_shape("out", number == terms.len(), [number, n, m])?;
    let (x, y) = (contiguous("X", &X)?, contiguous("Y", y)?);
    let wanted = "C-contiguous";
    let out = out.as_slice_mut().map_err(|_| Error::invalid("out", "another layout", wanted))?;
    let (out, others) = out.split_at_mut(n * m);
    call::here(py, |control| {
        let columns = columns(y, shape, &limits)?;
        let (columns, x) = ((&columns, city_block, is_symmetric), (x, shape));
        match terms[..] {
            [terms] => fill(control, columns, x, Radial { rate, terms: [terms] }, [out]),
            [a, b] => fill(control, columns, x, Radial { rate, terms: [a, b] }, [out, others]),
            _ => Err(Error::invalid("terms", terms.len(), "one or two of them")),
        }
    })
}

/// Fills matrices with functions of the distances of points from those of the columns, of which the points may be the same.
fn fill<const N: usize>(
    control: &Control,
    (columns, city_block, is_symmetric): (&Columns, bool, bool),
    (x, shape): (&[f64], [usize; 3]),
    of: Radial<N>,
    mut out: [&mut [f64]; N],
) -> Result<()> {
    for rows in blocks(shape[0], ROWS) {
        control.check()?;
        let [of_x, of_out] = [shape[2], shape[1]].map(|n| rows.start * n..rows.end * n);
        let until = if is_symmetric { rows.end } else { shape[1] };
        let to = out.each_mut().map(|out| &mut out[of_out.clone()]);
        columns.values(&x[of_x], until, city_block, of, to);
        for out in out.iter_mut().filter(|_| is_symmetric) {
            let (before, block) = out.split_at_mut(rows.start * shape[1]);
            for (j, row) in before.chunks_exact_mut(shape[1]).enumerate() {
                let column = block.chunks_exact(shape[1]).map(|row| row[j]);
                row[rows.clone()].iter_mut().zip(column).for_each(|(to, value)| *to = value);
            }
        }
    }
    Ok(())
}

/// Returns for each feature k the sum of `a_ij b_ij |x_ik - y_jk|`, or of the squares; limits as above.
#[pyfunction]
#[pyo3(signature = (X, Y, a, b, *, city_block, limits))]
#[allow(non_snake_case, reason = "names in Python")]
pub fn sums_of_differences<'py>(
    py: Python<'py>,
    X: Matrix,
    Y: Matrix,
    a: Matrix,
    b: Matrix,
    city_block: bool,
    limits: Vec<f64>,
) -> PyResult<NewVector<'py>> {
    let shape = shape(&X, &Y, &[a.as_array().dim(), b.as_array().dim()])?;
    let (x, y) = (contiguous("X", &X)?, contiguous("Y", &Y)?);
    let weights = [contiguous("a", &a)?, contiguous("b", &b)?];
    let sums = call::here(py, |control| {
        let (columns, mut sums) = (columns(y, shape, &limits)?, vec![0.0; shape[2]]);
        for rows in blocks(shape[0], ROWS) {
            control.check()?;
            let [of_x, of_pairs] = [shape[2], shape[1]].map(|n| rows.start * n..rows.end * n);
            let weights = weights.map(|weights| &weights[of_pairs.clone()]);
            columns.add_slopes(&x[of_x], city_block, weights, &mut sums);
        }
        Ok(sums)
    })?;
    Ok(sums.into_pyarray(py))
}

fn shape(x: &Matrix, y: &Matrix, of_pairs: &[(usize, usize)]) -> PyResult<[usize; 3]> {
    let ((n, d), (m, e)) = (x.as_array().dim(), y.as_array().dim());
    let fits = d == e && d > 0 && of_pairs.iter().all(|pairs| *pairs == (n, m));
    check_shape("Y", fits, (m, e))?;
    Ok([n, m, d])
}

fn columns<'a>(points: &[f64], [_, n, d]: [usize; 3], limits: &'a [f64]) -> Result<Columns<'a>> {
    let fit = limits.len() <= d && limits.iter().all(|&limit| limit > 0.0);
    require(fit, "limits", format_args!("{limits:?}"), "positive numbers for the last features")?;
    if points.len() >= MANY {
        memory::check_vectors(1, points.len())?;
    }
    Ok(Columns::new(points, n, d, limits))
}
