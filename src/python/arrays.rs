//! Arrays as arguments, checked and borrowed: vectors, rows of the Gram matrix, states of runs.

use std::fmt::Debug;

use numpy::ndarray::Dimension;
use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray, PyReadonlyArray1,
    PyReadonlyArray2,
};
use pyo3::prelude::*;

use super::Found;
use crate::base::{Error, Result, State, require};
use crate::simd::{Entry, Row};

/// Arrays of doubles: arguments, and results.
pub type Vector<'py> = PyReadonlyArray1<'py, f64>;
pub type Matrix<'py> = PyReadonlyArray2<'py, f64>;
pub type NewVector<'py> = Bound<'py, PyArray1<f64>>;
pub type NewMatrix<'py> = Bound<'py, PyArray2<f64>>;

/// Returns an error unless arrays have shapes that fit one another.
pub fn check_shape(name: &'static str, fits: bool, shape: impl Debug) -> Result<()> {
    require(fits, name, format_args!("shape {shape:?}"), "one that fits the other arrays")
}

/// Borrows a square, C-contiguous matrix.
pub fn matrix<'a, T: Element>(
    name: &'static str,
    array: &'a PyReadonlyArray2<T>,
) -> PyResult<&'a [T]> {
    let view = array.as_array();
    require(view.is_square(), name, format_args!("shape {:?}", view.dim()), "a square matrix")?;
    contiguous(name, array)
}

/// Borrows a C-contiguous matrix or vector.
pub fn contiguous<'a, T: Element, D: Dimension>(
    name: &'static str,
    array: &'a PyReadonlyArray<T, D>,
) -> PyResult<&'a [T]> {
    let wanted = "C-contiguous";
    array.as_slice().map_err(|_| Error::invalid(name, "another memory layout", wanted).into())
}

/// Rows of a matrix, such as the argument `gram` of every function.
#[derive(FromPyObject)]
pub enum Rows<'py> {
    Doubles(Matrix<'py>),
    Singles(PyReadonlyArray2<'py, f32>),
}

impl Rows<'_> {
    /// Borrows all entries of a Gram matrix, for a thread that is detached from the interpreter.
    pub fn entries(&self) -> PyResult<Row<'_>> {
        Ok(match self {
            Self::Doubles(array) => Entry::row(matrix("gram", array)?),
            Self::Singles(array) => Entry::row(matrix("gram", array)?),
        })
    }
}

pub fn read_state(state: &Bound<PyAny>) -> PyResult<Option<State>> {
    if state.is_none() {
        return Ok(None);
    }
    let numbers = |name| -> PyResult<Vec<f64>> {
        let array: Matrix = state.get_item(name)?.extract()?;
        Ok(array.as_array().iter().copied().collect())
    };
    let bytes: PyReadonlyArray1<u8> = state.get_item("bytes")?.extract()?;
    let kept: PyReadonlyArray1<u64> = state.get_item("kept")?.extract()?;
    Ok(Some(State {
        bytes: bytes.as_array().to_vec(),
        draws: numbers("draws")?,
        functionals: numbers("functionals")?,
        kept: kept.as_array().to_vec(),
    }))
}

pub fn state_dict(py: Python<'_>, state: State, m: usize) -> Found<'_> {
    let State { bytes, draws, functionals, kept } = state;
    let rows = draws.len() / m;
    let q = functionals.len().checked_div(rows).unwrap_or(0);
    dict!(py,
        "bytes" => bytes,
        "draws": draws.into_pyarray(py).reshape([rows, m])?,
        "functionals": functionals.into_pyarray(py).reshape([rows, q])?,
        "kept" => kept,
    )
}
