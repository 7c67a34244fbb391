//! Conversion of arrays: arguments are checked and borrowed, results are moved.

use numpy::{Element, IntoPyArray, PyArray, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::base::Error;

/// Borrows a square, C-contiguous matrix.
pub(super) fn matrix<'a, T: Element>(
    name: &'static str,
    array: &'a PyReadonlyArray2<'_, T>,
) -> PyResult<&'a [T]> {
    let view = array.as_array();
    if view.nrows() != view.ncols() {
        let got = format!("shape ({}, {})", view.nrows(), view.ncols());
        return Err(Error::invalid(name, got, "a square matrix").into());
    }
    array
        .as_slice()
        .map_err(|_| Error::invalid(name, "another memory layout", "C-contiguous").into())
}

/// Borrows a contiguous vector.
pub(super) fn vector<'a, T: Element>(
    name: &'static str,
    array: &'a PyReadonlyArray1<'_, T>,
) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| Error::invalid(name, "another memory layout", "contiguous").into())
}

/// Moves a vector to Python as an array of the given shape, without a copy.
pub(super) fn to_array<T: Element, const N: usize>(
    py: Python<'_>,
    values: Vec<T>,
    shape: [usize; N],
) -> PyResult<Bound<'_, PyArray<T, numpy::ndarray::Dim<[usize; N]>>>>
where
    numpy::ndarray::Dim<[usize; N]>: numpy::ndarray::Dimension,
    [usize; N]: numpy::ndarray::IntoDimension<Dim = numpy::ndarray::Dim<[usize; N]>>,
{
    values.into_pyarray(py).reshape(shape)
}
