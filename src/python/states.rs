//! States of runs as mappings of arrays.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arrays::{to_array, vector};
use crate::base::{Error, State};

/// A state with all of its draws.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Saved<'py> {
    bytes: PyReadonlyArray1<'py, u8>,
    draws: PyReadonlyArray2<'py, f64>,
    functionals: PyReadonlyArray2<'py, f64>,
    held: PyReadonlyArray1<'py, u64>,
    kept: PyReadonlyArray1<'py, u64>,
}

impl Saved<'_> {
    pub(super) fn taken(&self) -> PyResult<State> {
        let rows = |array: &PyReadonlyArray2<'_, f64>| -> PyResult<Vec<f64>> {
            let rows = array.as_slice();
            let rows = rows.map_err(|_| Error::invalid("state", "other rows", "C-contiguous"))?;
            Ok(rows.to_vec())
        };
        Ok(State {
            bytes: vector("state", &self.bytes)?.to_vec(),
            draws: rows(&self.draws)?,
            functionals: rows(&self.functionals)?,
            held: vector("state", &self.held)?.to_vec(),
            kept: vector("state", &self.kept)?.to_vec(),
        })
    }
}

/// Converts a state of a run on m examples to a dict of arrays.
pub(super) fn to_dict(py: Python<'_>, state: State, m: usize) -> PyResult<Bound<'_, PyDict>> {
    let State { bytes, draws, functionals, held, kept } = state;
    let rows = draws.len() / m;
    let q = functionals.len().checked_div(rows).unwrap_or(0);
    let dict = PyDict::new(py);
    let n = bytes.len();
    dict.set_item("bytes", to_array(py, bytes, [n])?)?;
    dict.set_item("draws", to_array(py, draws, [rows, m])?)?;
    dict.set_item("functionals", to_array(py, functionals, [rows, q])?)?;
    let n = held.len();
    dict.set_item("held", to_array(py, held, [n])?)?;
    dict.set_item("kept", to_array(py, kept, [n])?)?;
    Ok(dict)
}
