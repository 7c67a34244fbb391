//! Rows of the Gram matrix: from an array of doubles or singles, or from explicit features.

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::arrays::matrix;
use crate::base::{Error, Result};
use crate::gram::Gram;

/// The argument `gram` of every function.
#[derive(FromPyObject)]
pub(super) enum Rows<'py> {
    Doubles(PyReadonlyArray2<'py, f64>),
    Singles(PyReadonlyArray2<'py, f32>),
    Features(Features<'py>),
}

/// The attributes of `bayespoint.kernels.explicit.FeatureRows`.
#[derive(FromPyObject)]
pub(super) struct Features<'py> {
    #[pyo3(attribute("X"))]
    values: PyReadonlyArray2<'py, f64>,
}

/// Borrowed rows.
#[derive(Clone, Copy)]
pub(super) enum Borrowed<'a> {
    Doubles(&'a [f64]),
    Singles(&'a [f32]),
    /// The values, row-major, and the number of features.
    Features(&'a [f64], usize),
}

impl Rows<'_> {
    pub(super) fn borrow(&self) -> PyResult<Borrowed<'_>> {
        Ok(match self {
            Self::Doubles(array) => Borrowed::Doubles(matrix("gram", array)?),
            Self::Singles(array) => Borrowed::Singles(matrix("gram", array)?),
            Self::Features(Features { values }) => {
                let slice = values.as_slice().map_err(|_| {
                    Error::invalid("features", "another memory layout", "C-contiguous")
                })?;
                Borrowed::Features(slice, values.shape()[1])
            }
        })
    }
}

impl<'a> Borrowed<'a> {
    /// Returns the Gram matrix with offset and softness.
    pub(super) fn gram(self, offset: f64, softness: Vec<f64>) -> Result<Gram<'a>> {
        match self {
            Self::Doubles(values) => Gram::new(values, offset, softness),
            Self::Singles(values) => Gram::new(values, offset, softness),
            Self::Features(values, d) => Gram::of_features(values, d, offset, softness),
        }
    }
}
