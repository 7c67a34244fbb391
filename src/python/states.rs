//! States of runs as mappings of arrays.

use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::base::State;

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
    pub(super) fn state(&self) -> State {
        State {
            bytes: self.bytes.as_array().to_vec(),
            draws: self.draws.as_array().iter().copied().collect(),
            functionals: self.functionals.as_array().iter().copied().collect(),
            held: self.held.as_array().to_vec(),
            kept: self.kept.as_array().to_vec(),
        }
    }
}

/// Converts a state of a run on m examples to a dict of arrays.
pub(super) fn to_dict(py: Python<'_>, state: State, m: usize) -> PyResult<Bound<'_, PyDict>> {
    let State { bytes, draws, functionals, held, kept } = state;
    let rows = draws.len() / m;
    let q = functionals.len().checked_div(rows).unwrap_or(0);
    let dict = PyDict::new(py);
    dict.set_item("bytes", bytes.into_pyarray(py))?;
    dict.set_item("draws", draws.into_pyarray(py).reshape([rows, m])?)?;
    dict.set_item("functionals", functionals.into_pyarray(py).reshape([rows, q])?)?;
    dict.set_item("held", held.into_pyarray(py))?;
    dict.set_item("kept", kept.into_pyarray(py))?;
    Ok(dict)
}
