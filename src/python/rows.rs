//! Rows of the Gram matrix: from an array of doubles or singles, or from inputs and a kernel.

use std::sync::Arc;

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use super::arrays::matrix;
use crate::base::{Error, Result};
use crate::gram::{Gram, Kernel, KernelRows};

/// The argument `gram` of every function.
#[derive(FromPyObject)]
pub(super) enum Rows<'py> {
    Doubles(PyReadonlyArray2<'py, f64>),
    Singles(PyReadonlyArray2<'py, f32>),
    Computed(Computed<'py>),
}

/// Rows on demand: the attributes of `bayespoint.kernels.sources.KernelRows`.
#[derive(FromPyObject)]
pub(super) struct Computed<'py> {
    inputs: PyReadonlyArray2<'py, f64>,
    /// "linear", "rbf" or "poly".
    form: String,
    sigma: f64,
    degree: u32,
    coef0: f64,
    factor: f64,
    cached_rows: usize,
}

/// Borrowed rows.
#[derive(Clone, Copy)]
pub(super) enum Borrowed<'a> {
    Doubles(&'a [f64]),
    Singles(&'a [f32]),
    Computed { inputs: &'a [f64], m: usize, kernel: Kernel, factor: f64, cached: usize },
}

impl Rows<'_> {
    pub(super) fn borrow(&self) -> PyResult<Borrowed<'_>> {
        Ok(match self {
            Self::Doubles(array) => Borrowed::Doubles(matrix("gram", array)?),
            Self::Singles(array) => Borrowed::Singles(matrix("gram", array)?),
            Self::Computed(rows) => {
                let kernel = match rows.form.as_str() {
                    "linear" => Kernel::Linear,
                    "rbf" => Kernel::Rbf { sigma: rows.sigma },
                    "poly" => Kernel::Polynomial { degree: rows.degree, coef0: rows.coef0 },
                    other => {
                        let wanted = "'linear', 'rbf' or 'poly'";
                        return Err(Error::invalid("form", other, wanted).into());
                    }
                };
                let inputs = rows.inputs.as_slice().map_err(|_| {
                    Error::invalid("inputs", "another memory layout", "C-contiguous")
                })?;
                let m = rows.inputs.as_array().nrows();
                let (factor, cached) = (rows.factor, rows.cached_rows);
                Borrowed::Computed { inputs, m, kernel, factor, cached }
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
            Self::Computed { inputs, m, kernel, factor, cached } => {
                let rows = KernelRows::new(inputs, m, kernel, factor, cached)?;
                Gram::computed(Arc::new(rows), offset, softness)
            }
        }
    }
}
