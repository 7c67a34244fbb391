//! Arrays as arguments: checked and borrowed.

use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2};
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
