//! The evidence with landmarks; see `bayespoint.landmarks.features`.

use ndarray::{Array1, Array2, Axis, concatenate};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::Found;
use super::arrays::{Matrix, NewMatrix, NewVector, Vector, check_shape};
use super::call;
use crate::propagation::sums::{self, Measure, Summand};
use crate::propagation::{
    self as sites, Approximation, FirstSites, Problems, Whitening, propagate,
};
use crate::simd::distance::Radial;

/// Multiplications of a sweep from which a single problem has several threads: starting them takes as long as little work.
const LARGE: f64 = 3e7;

/// An earlier result: attributes of `bayespoint.landmarks.features.Propagation`.
#[derive(FromPyObject)]
pub struct Sites<'py> {
    precision: Matrix<'py>,
    shift: Matrix<'py>,
    converged: PyReadonlyArray1<'py, bool>,
}

/// Normal approximations, kept for the derivatives of their evidences.
#[pyclass(frozen, module = "bayespoint._core")]
pub struct Posteriors {
    found: Vec<Approximation>,
    level: Array1<f64>,
    n_threads: usize,
}

#[pymethods]
impl Posteriors {
    /// Returns the derivatives of `share` times the sum of the evidences by kernel values, of the landmarks and then of the
    /// examples with them. Features are the values times `factors`; `by_variances` are derivatives by the (m,) variances that
    /// do not come through the features, and `by_mean` that by the variance of the mean function.
    #[pyo3(signature = (factors, features, by_variances, *, is_triangle, share, by_mean))]
    fn by_values<'py>(
        &self,
        py: Python<'py>,
        factors: Matrix,
        features: Matrix,
        by_variances: Vector,
        is_triangle: bool,
        share: f64,
        by_mean: f64,
    ) -> PyResult<NewMatrix<'py>> {
        let (factors, features) = (factors.as_array(), features.as_array());
        let (m, by_variances) = (self.level.len(), by_variances.as_array());
        let fits = features.dim() == (m, factors.ncols()) && by_variances.len() == m;
        check_shape("features", fits, features.dim())?;
        let whitening = Whitening { factors, is_triangle, features, by_variances, by_mean };
        let (level, n) = (self.level.view(), self.n_threads);
        let work =
            |control: &_| sites::by_values(&self.found, &level, share, &whitening, n, control);
        Ok(call::in_threads(py, n, work)?.into_pyarray(py))
    }
}

/// Returns the approximation of each problem.
#[pyfunction]
#[pyo3(signature = (features, level, positive, noise, *, intervals, start, change, n_threads))]
pub fn propagation<'py>(
    py: Python<'py>,
    features: Matrix,
    level: Vector,
    positive: PyReadonlyArray2<bool>,
    noise: [f64; 2],
    intervals: Option<Matrix>,
    start: Option<Sites>,
    change: f64,
    n_threads: usize,
) -> Found<'py> {
    let start = start.as_ref().map(|sites| FirstSites {
        precision: sites.precision.as_array(),
        shift: sites.shift.as_array(),
        converged: sites.converged.as_array(),
    });
    let (features, level, positive) = (features.as_array(), level.as_array(), positive.as_array());
    let intervals = intervals.as_ref().map(Matrix::as_array);
    let problems = Problems { features, level, positive, intervals, noise, change };
    let ((n, m), of_start) = (positive.dim(), start.as_ref());
    let fits = [features.nrows(), level.len()] == [m; 2]
        && intervals.is_none_or(|intervals| n == 1 && intervals.dim() == (m, 2))
        && of_start.is_none_or(|start| {
            [start.precision.dim(), start.shift.dim()] == [(n, m); 2] && start.converged.len() == n
        });
    check_shape("positive", fits, (n, m))?;
    let work = (m as f64) * (features.ncols() as f64).powi(2);
    let n_threads = if work < LARGE { n_threads.min(n).max(1) } else { n_threads };
    let work = |control: &_| propagate(&problems, start.as_ref(), n_threads, control);
    let found = call::in_threads(py, n_threads, work)?;
    let each = |of: fn(&Approximation) -> &Vec<f64>| {
        let values = found.iter().flat_map(|one| of(one).iter().copied()).collect();
        Array2::from_shape_vec((n, m), values).expect("a value each")
    };
    let sum = |of: &dyn Fn(&Approximation) -> f64| found.iter().map(of).sum::<f64>();
    dict!(py,
        "log_evidence" => found.iter().map(|one| one.log_evidence).collect::<Vec<_>>(),
        "converged" => found.iter().map(|one| one.converged).collect::<Vec<_>>(),
        "precision" => each(|one| &one.precision),
        "shift" => each(|one| &one.shift),
        "left_out" => each(|one| &one.left_out),
        "by_noise" => [0, 1].map(|k| sum(&|one| one.by_noise[k])).to_vec(),
        "by_level" => (0..m).map(|i| sum(&|one| one.by_level[i])).collect::<Vec<_>>(),
        "by_thresholds": sum(&|one| one.by_thresholds),
        "posteriors": Bound::new(py, Posteriors { found, level: level.to_owned(), n_threads })?,
    )
}

/// Returns the upper triangle T and the features `values T`, where `matrix` is `(T Tᵀ)⁻¹`.
#[pyfunction]
pub fn whiten<'py>(
    py: Python<'py>,
    matrix: Matrix,
    values: Matrix,
) -> PyResult<[NewMatrix<'py>; 2]> {
    let (matrix, values) = (matrix.as_array(), values.as_array());
    check_shape("matrix", matrix.dim() == (values.ncols(), values.ncols()), matrix.dim())?;
    let work = |_: &_| sites::whiten(matrix.as_standard_layout().into_owned(), &values);
    let (factors, features) = call::here(py, work)?;
    Ok([factors, features].map(|array| array.into_pyarray(py)))
}

/// A part of a sum of kernels: attributes of `bayespoint.kernels.products.Summand`.
#[derive(FromPyObject)]
pub struct PartOfSum<'py> {
    #[pyo3(from_py_with = super::read)]
    measure: Measure,
    factor: f64,
    scale: Vector<'py>,
    rate: f64,
    terms: [[f64; 3]; 2],
}

impl PartOfSum<'_> {
    pub fn summand(&self) -> Summand {
        Summand {
            measure: self.measure,
            factor: self.factor,
            scale: self.scale.as_array().to_vec(),
            radial: Radial { rate: self.rate, terms: self.terms },
        }
    }
}

/// Points with a sum of kernels, for many factors of these and of the features.
#[pyclass(frozen, module = "bayespoint._core")]
pub struct SumPlan(sums::KernelPlan);

#[pymethods]
impl SumPlan {
    /// Takes landmarks and examples; limits are as in `values_of_distances`.
    #[new]
    fn new(
        landmarks: Matrix,
        examples: Matrix,
        limits: Vec<f64>,
        parts: Vec<PartOfSum>,
    ) -> PyResult<Self> {
        let (landmarks, examples) = (landmarks.as_array(), examples.as_array());
        let d = landmarks.ncols();
        let fits = examples.ncols() == d && limits.len() <= d && d > 0 && !parts.is_empty();
        check_shape("examples", fits, examples.dim())?;
        let points = concatenate![Axis(0), landmarks, examples];
        let summands = parts.iter().map(PartOfSum::summand).collect();
        Ok(Self(sums::KernelPlan { points, n_landmarks: landmarks.nrows(), limits, summands }))
    }

    /// Number of features.
    #[getter]
    fn n_features(&self) -> usize {
        self.0.points.ncols()
    }

    /// Returns the sum for (S,) factors of its parts and (S, d) ones of the features, with its values.
    fn sum<'py>(
        &self,
        py: Python<'py>,
        factors: Vec<f64>,
        scales: Matrix,
    ) -> PyResult<(KeptSum, NewMatrix<'py>, NewVector<'py>)> {
        let (plan, scales) = (&self.0, scales.as_array());
        let shape = (plan.summands.len(), plan.points.ncols());
        let fits = factors.len() == shape.0 && scales.dim() == shape;
        check_shape("scales", fits, scales.dim())?;
        let (sum, values, own) = call::here(py, |control| {
            let sum = plan.sum(&factors, &scales, control)?;
            let (values, own) = (sum.values(), sum.own());
            Ok((sum, values, own))
        })?;
        Ok((KeptSum(sum), values.into_pyarray(py), own.into_pyarray(py)))
    }
}

/// Values of a sum of kernels, kept for derivatives.
#[pyclass(frozen, name = "KernelSum", module = "bayespoint._core")]
pub struct KeptSum(sums::KernelSum);

#[pymethods]
impl KeptSum {
    /// Returns the (S,) and (S, d) derivatives by the logarithms of the factors, given those by the values.
    fn slopes<'py>(
        &self,
        py: Python<'py>,
        by_values: Matrix,
        by_own: Vector,
    ) -> PyResult<(NewVector<'py>, NewMatrix<'py>)> {
        let (by_values, by_own) = (by_values.as_array(), by_own.as_array());
        let shape = self.0.shape();
        let fits = by_values.dim() == shape && by_own.len() + shape.1 == shape.0;
        check_shape("by_values", fits, by_values.dim())?;
        let found = call::here(py, |control| self.0.slopes(&by_values, &by_own, control))?;
        let (factors, scales): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        Ok((factors.into_pyarray(py), PyArray2::from_vec2(py, &scales)?))
    }
}
