//! Log likelihoods of labels for combinations of functions.

use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;

use super::arrays::vector;
use crate::base::Error;
use crate::simd::{Entry, likelihood};

/// Function values in doubles or in singles.
#[derive(FromPyObject)]
pub enum Rows<'py> {
    Doubles(PyReadonlyArray2<'py, f64>),
    Singles(PyReadonlyArray2<'py, f32>),
}

/// The same for several classes.
#[derive(FromPyObject)]
pub enum Cubes<'py> {
    Doubles(PyReadonlyArray3<'py, f64>),
    Singles(PyReadonlyArray3<'py, f32>),
}

/// Returns the log likelihood of two classes; see `bayespoint.engine.likelihood`.
#[pyfunction]
#[pyo3(signature = (values, coefs, floors, span))]
pub fn likelihood_of_signs<'py>(
    py: Python<'py>,
    values: Rows<'py>,
    coefs: PyReadonlyArray2<'py, f64>,
    floors: PyReadonlyArray1<'py, f64>,
    span: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    fn sums<E: Entry + Element>(
        py: Python<'_>,
        values: &PyReadonlyArray2<'_, E>,
        coefs: &PyReadonlyArray2<'_, f64>,
        floors: &[f64],
        span: f64,
    ) -> PyResult<Vec<f64>> {
        let (values, coefs) = (rows("values", values)?, rows("coefs", coefs)?);
        let n = values.first().map_or(0, |row| row.len());
        require("coefs", coefs.iter().all(|row| row.len() == values.len()))?;
        require("floors", floors.is_empty() || floors.len() == n)?;
        Ok(py.detach(|| likelihood::two_classes(&values, &coefs, floors, span)))
    }
    let floors = vector("floors", &floors)?;
    let found = match &values {
        Rows::Doubles(values) => sums(py, values, &coefs, floors, span)?,
        Rows::Singles(values) => sums(py, values, &coefs, floors, span)?,
    };
    Ok(found.into_pyarray(py))
}

/// Returns the log likelihood of several classes; see `bayespoint.engine.likelihood`.
#[pyfunction]
#[pyo3(signature = (values, coefs, labels, noise))]
pub fn likelihood_of_classes<'py>(
    py: Python<'py>,
    values: Cubes<'py>,
    coefs: PyReadonlyArray2<'py, f64>,
    labels: PyReadonlyArray1<'py, u32>,
    noise: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    fn sums<E: Entry + Element>(
        py: Python<'_>,
        values: &PyReadonlyArray3<'_, E>,
        coefs: &PyReadonlyArray2<'_, f64>,
        labels: &[u32],
        noise: f64,
    ) -> PyResult<Vec<f64>> {
        let (k, n_classes, n) = values.as_array().dim();
        let flat = values.as_slice().map_err(|_| layout("values"))?;
        let coefs = rows("coefs", coefs)?;
        require("coefs", coefs.iter().all(|row| row.len() == k))?;
        let known = labels.iter().all(|&label| (label as usize) < n_classes);
        require("labels", labels.len() == n && known)?;
        let rows: Vec<&[E]> = (0..k * n_classes).map(|i| &flat[i * n..][..n]).collect();
        let values: Vec<Vec<&[E]>> = rows.chunks(n_classes.max(1)).map(<[_]>::to_vec).collect();
        Ok(py.detach(|| likelihood::several_classes(&values, &coefs, labels, noise)))
    }
    let labels = vector("labels", &labels)?;
    let found = match &values {
        Cubes::Doubles(values) => sums(py, values, &coefs, labels, noise)?,
        Cubes::Singles(values) => sums(py, values, &coefs, labels, noise)?,
    };
    Ok(found.into_pyarray(py))
}

/// Borrows the rows of a C-contiguous matrix.
fn rows<'a, T: Element>(
    name: &'static str,
    array: &'a PyReadonlyArray2<'_, T>,
) -> PyResult<Vec<&'a [T]>> {
    let (k, n) = array.as_array().dim();
    let flat = array.as_slice().map_err(|_| layout(name))?;
    Ok((0..k).map(|i| &flat[i * n..][..n]).collect())
}

fn layout(name: &'static str) -> PyErr {
    Error::invalid(name, "another memory layout", "C-contiguous").into()
}

fn require(name: &'static str, fits: bool) -> PyResult<()> {
    if fits {
        return Ok(());
    }
    Err(Error::invalid(name, "another shape", "one number for each value").into())
}
