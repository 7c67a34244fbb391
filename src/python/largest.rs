//! Probabilities that each of several normal values is the largest.

use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

use super::call;
use crate::base::Error;
use crate::simd::Largest;

/// Columns between two checks for signals.
const COLUMNS: usize = 4096;

/// Returns the probability that each value of a column is the largest; see `bayespoint.engine.largest`.
#[pyfunction]
#[pyo3(signature = (behind))]
pub fn largest_probabilities<'py>(
    py: Python<'py>,
    behind: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let behind = behind.as_array();
    let found = call::here(py, &call::Raised::default(), None, |control| {
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
            if !column.contains(&0.0) {
                return Err(Error::invalid("behind", "a column without 0", "0 for the largest"));
            }
            largest.probabilities(&column, &mut p);
            to.iter_mut().zip(&p).for_each(|(to, p)| *to = *p);
        }
        Ok(found)
    })?;
    Ok(found.into_pyarray(py))
}
