//! Predictions of several models in one pass; see `bayespoint.kernels.one_pass`.

use numpy::{IntoPyArray, PyArray3, PyReadonlyArray2};
use pyo3::prelude::*;

use super::arrays::{Matrix, Vector, check_shape};
use super::call;
use super::propagation::PartOfSum;
use crate::predictions::{self, Model};

/// A model: attributes of `bayespoint.kernels.one_pass.Coefficients`.
#[derive(FromPyObject)]
pub struct Coefficients<'py> {
    parts: Vec<PartOfSum<'py>>,
    offset: f64,
    softness: f64,
    center: Vector<'py>,
    span: PyReadonlyArray2<'py, f32>,
    form: PyReadonlyArray2<'py, f32>,
}

/// Models with the same points, which predict in one pass.
#[pyclass(frozen, name = "Predictor", module = "bayespoint._core")]
pub struct OnePass(predictions::Predictor);

#[pymethods]
impl OnePass {
    /// Takes the (m, d) points of the models; limits are as in `values_of_distances`.
    #[new]
    fn new(points: Matrix, limits: Vec<f64>, models: Vec<Coefficients>) -> PyResult<Self> {
        let models: Vec<_> = models.iter().map(Coefficients::borrow).collect();
        Ok(Self(predictions::Predictor::new(&points.as_array(), &limits, &models)?))
    }

    /// Returns the (3, models, n) means, prior variances and variances; without `variances` the first two.
    #[pyo3(signature = (points, *, variances, n_threads))]
    fn moments<'py>(
        &self,
        py: Python<'py>,
        points: Matrix,
        variances: bool,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let points = points.as_array();
        check_shape("points", points.ncols() == self.0.d, points.dim())?;
        let n_threads = n_threads.min(points.nrows().div_ceil(predictions::TILE)).max(1);
        let work = |control: &_| self.0.moments(&points, variances, n_threads, control);
        Ok(call::in_threads(py, n_threads, work)?.into_pyarray(py))
    }
}

impl Coefficients<'_> {
    fn borrow(&self) -> Model<'_> {
        Model {
            parts: self.parts.iter().map(PartOfSum::summand).collect(),
            offset: self.offset,
            softness: self.softness,
            center: self.center.as_array(),
            span: self.span.as_array(),
            form: self.form.as_array(),
        }
    }
}
