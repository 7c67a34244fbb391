//! Log likelihoods of labels for combinations of functions, and probabilities that each of several normal values is the largest.

use numpy::{Element, IntoPyArray, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;

use super::arrays::{contiguous, vector};
use super::call;
use crate::base::{Error, require};
use crate::simd::likelihood::{Classes, Signs};
use crate::simd::{Entry, Largest};

/// Columns between two checks for signals.
const COLUMNS: usize = 4096;

/// Returns log likelihoods of two classes with derivatives; see `bayespoint.engine.likelihood`.
#[pyfunction]
#[pyo3(signature = (values, coefs, floors, span, *, by_value))]
pub fn likelihood_of_signs<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    coefs: PyReadonlyArray2<'py, f64>,
    floors: PyReadonlyArray1<'py, f64>,
    span: f64,
    by_value: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    fn found<E: Entry + Element>(
        py: Python<'_>,
        values: &PyReadonlyArray2<'_, E>,
        coefs: &PyReadonlyArray2<'_, f64>,
        signs: Signs<'_>,
        by_value: bool,
    ) -> PyResult<Vec<Vec<f64>>> {
        let (values, coefs) = (rows("values", values)?, rows("coefs", coefs)?);
        let n = values.first().map_or(0, |row| row.len());
        check_shape("coefs", coefs.iter().all(|row| row.len() == values.len()))?;
        check_shape("floors", signs.floors.is_empty() || signs.floors.len() == n)?;
        let work = if by_value { Signs::slopes } else { Signs::sums };
        Ok(py.detach(|| work(&signs, &values, &coefs)))
    }
    let signs = Signs { floors: vector("floors", &floors)?, span };
    let found = match values.extract::<PyReadonlyArray2<'_, f64>>() {
        Ok(values) => found(py, &values, &coefs, signs, by_value)?,
        Err(_) => found::<f32>(py, &values.extract()?, &coefs, signs, by_value)?,
    };
    Ok(PyArray2::from_vec2(py, &found)?)
}

/// Returns the same of several classes; the derivatives by the values are those of a class one after the other.
#[pyfunction]
#[pyo3(signature = (values, coefs, labels, noise, *, by_value))]
pub fn likelihood_of_classes<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    coefs: PyReadonlyArray2<'py, f64>,
    labels: PyReadonlyArray1<'py, u32>,
    noise: f64,
    by_value: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    fn found<E: Entry + Element>(
        py: Python<'_>,
        values: &PyReadonlyArray3<'_, E>,
        coefs: &PyReadonlyArray2<'_, f64>,
        classes: Classes<'_>,
        by_value: bool,
    ) -> PyResult<Vec<Vec<f64>>> {
        let (k, n_classes, n) = values.as_array().dim();
        let flat = contiguous("values", values)?;
        let coefs = rows("coefs", coefs)?;
        check_shape("coefs", coefs.iter().all(|row| row.len() == k))?;
        let known = classes.labels.iter().all(|&label| (label as usize) < n_classes);
        check_shape("labels", classes.labels.len() == n && known)?;
        let rows: Vec<&[E]> = (0..k * n_classes).map(|i| &flat[i * n..][..n]).collect();
        let values: Vec<Vec<&[E]>> = rows.chunks(n_classes.max(1)).map(<[_]>::to_vec).collect();
        let work = if by_value { Classes::slopes } else { Classes::sums };
        Ok(py.detach(|| work(&classes, &values, &coefs)))
    }
    let classes = Classes { labels: vector("labels", &labels)?, noise };
    let found = match values.extract::<PyReadonlyArray3<'_, f64>>() {
        Ok(values) => found(py, &values, &coefs, classes, by_value)?,
        Err(_) => found::<f32>(py, &values.extract()?, &coefs, classes, by_value)?,
    };
    Ok(PyArray2::from_vec2(py, &found)?)
}

/// Returns the probability that each value of a column is the largest; see `bayespoint.engine.largest`.
#[pyfunction]
#[pyo3(signature = (behind))]
pub fn largest_probabilities<'py>(
    py: Python<'py>,
    behind: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let behind = behind.as_array();
    let found = call::here(py, |control| {
        let mut found = ndarray::Array2::zeros(behind.dim());
        let (mut column, mut p) = (vec![0.0; behind.nrows()], vec![0.0; behind.nrows()]);
        let mut largest = Largest::new();
        for (i, (from, mut to)) in behind.columns().into_iter().zip(found.columns_mut()).enumerate()
        {
            if i % COLUMNS == 0 {
                control.check()?;
            }
            column.iter_mut().zip(from).for_each(|(x, &b)| *x = b);
            if let Some(bad) = column.iter().find(|b| b.is_nan() || **b < 0.0) {
                return Err(Error::invalid("behind", bad, "at least 0"));
            }
            let got = "a column without 0";
            require(column.contains(&0.0), "behind", got, "0 for the largest")?;
            largest.probabilities(&column, &mut p);
            to.iter_mut().zip(&p).for_each(|(to, p)| *to = *p);
        }
        Ok(found)
    })?;
    Ok(found.into_pyarray(py))
}

/// Borrows the rows of a C-contiguous matrix.
fn rows<'a, T: Element>(
    name: &'static str,
    array: &'a PyReadonlyArray2<'_, T>,
) -> PyResult<Vec<&'a [T]>> {
    let (k, n) = array.as_array().dim();
    let flat = contiguous(name, array)?;
    Ok((0..k).map(|i| &flat[i * n..][..n]).collect())
}

fn check_shape(name: &'static str, fits: bool) -> PyResult<()> {
    Ok(require(fits, name, "another shape", "one number for each value")?)
}
