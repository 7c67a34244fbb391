//! The evidence with landmarks; see `bayespoint.landmarks.features`.

use ndarray::{Array1, Array2, Axis, concatenate};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::call;
use crate::base::require;
use crate::propagation::sums::{self, Measure, Summand};
use crate::propagation::{
    self as sites, Approximation, ByVariances, FirstSites, Problems, Whitening, propagate,
};
use crate::simd::distance::Radial;

/// Multiplications of a sweep from which a single problem has several threads: starting them takes as long as little work.
const LARGE: f64 = 3e7;

/// An earlier result: attributes of `bayespoint.landmarks.features.Propagation`.
#[derive(FromPyObject)]
pub struct Sites<'py> {
    precision: PyReadonlyArray2<'py, f64>,
    shift: PyReadonlyArray2<'py, f64>,
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
    #[allow(clippy::too_many_arguments, reason = "names in Python")]
    fn by_values<'py>(
        &self,
        py: Python<'py>,
        factors: PyReadonlyArray2<'py, f64>,
        features: PyReadonlyArray2<'py, f64>,
        by_variances: PyReadonlyArray1<'py, f64>,
        is_triangle: bool,
        share: f64,
        by_mean: f64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let whitening =
            Whitening { factors: factors.as_array(), is_triangle, features: features.as_array() };
        let each = by_variances.as_array();
        let m = self.level.len();
        let fits = whitening.features.dim() == (m, whitening.factors.ncols()) && each.len() == m;
        require(
            fits,
            "features",
            format_args!("{:?}", features.as_array().dim()),
            "those of the problems",
        )?;
        let by_variances = ByVariances { each, of_mean: by_mean };
        let work = |control: &_| {
            let level = &self.level.view();
            sites::by_values(
                &self.found,
                level,
                share,
                &whitening,
                &by_variances,
                self.n_threads,
                control,
            )
        };
        Ok(call::in_threads(py, self.n_threads, work)?.into_pyarray(py))
    }
}

/// Returns the approximation of each problem.
#[pyfunction]
#[pyo3(signature = (features, level, positive, noise, *, intervals, start, change, n_threads))]
#[allow(clippy::too_many_arguments, reason = "names in Python")]
pub fn propagation<'py>(
    py: Python<'py>,
    features: PyReadonlyArray2<'py, f64>,
    level: PyReadonlyArray1<'py, f64>,
    positive: PyReadonlyArray2<'py, bool>,
    noise: [f64; 2],
    intervals: Option<PyReadonlyArray2<'py, f64>>,
    start: Option<Sites<'py>>,
    change: f64,
    n_threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let start = start.as_ref().map(|sites| FirstSites {
        precision: sites.precision.as_array(),
        shift: sites.shift.as_array(),
        converged: sites.converged.as_array(),
    });
    let (features, level, positive) = (features.as_array(), level.as_array(), positive.as_array());
    let intervals = intervals.as_ref().map(PyReadonlyArray2::as_array);
    let problems = Problems { features, level, positive, intervals, noise, change };
    let ((n, m), of_start) = (positive.dim(), start.as_ref());
    let fits = [features.nrows(), level.len()] == [m; 2]
        && intervals.is_none_or(|intervals| n == 1 && intervals.dim() == (m, 2))
        && of_start.is_none_or(|start| {
            [start.precision.dim(), start.shift.dim()] == [(n, m); 2] && start.converged.len() == n
        });
    require(fits, "positive", format_args!("shape ({n}, {m})"), "labels of as many examples")?;
    let work = (m as f64) * (features.ncols() as f64).powi(2);
    let n_threads = if work < LARGE { n_threads.min(n).max(1) } else { n_threads };
    let work = |control: &_| propagate(&problems, start.as_ref(), n_threads, control);
    let found = call::in_threads(py, n_threads, work)?;
    let each = |of: fn(&Approximation) -> &Vec<f64>| {
        let values = found.iter().flat_map(|one| of(one).iter().copied()).collect();
        Array2::from_shape_vec((n, m), values).expect("a value each")
    };
    let sum = |of: &dyn Fn(&Approximation) -> f64| found.iter().map(of).sum::<f64>();
    let by_level: Vec<f64> = (0..m).map(|i| sum(&|one| one.by_level[i])).collect();
    let by_noise = [0, 1].map(|k| sum(&|one| one.by_noise[k]));
    let log_evidence: Vec<f64> = found.iter().map(|one| one.log_evidence).collect();
    let converged: Vec<bool> = found.iter().map(|one| one.converged).collect();
    let sums = [by_noise[0], by_noise[1], sum(&|one| one.by_thresholds)];
    let arrays = [each(|one| &one.precision), each(|one| &one.shift), each(|one| &one.left_out)];
    let [precision, shift, left_out] = arrays;
    let level = level.to_owned();
    let posteriors = Bound::new(py, Posteriors { found, level, n_threads })?;
    dict!(py,
        "posteriors": posteriors,
        "log_evidence" => log_evidence,
        "converged" => converged,
        "precision" => precision,
        "shift" => shift,
        "left_out" => left_out,
        "by_noise" => sums[..2].to_vec(),
        "by_level" => by_level,
        "by_thresholds": sums[2],
    )
}

/// Returns the upper triangle T and the features `values T`, where `matrix` is `(T Tᵀ)⁻¹`.
#[pyfunction]
pub fn whiten<'py>(
    py: Python<'py>,
    matrix: PyReadonlyArray2<'py, f64>,
    values: PyReadonlyArray2<'py, f64>,
) -> PyResult<[Bound<'py, PyArray2<f64>>; 2]> {
    let (matrix, values) = (matrix.as_array(), values.as_array());
    let got = format_args!("shape {:?}", matrix.dim());
    require(
        matrix.dim() == (values.ncols(), values.ncols()),
        "matrix",
        got,
        "a square one of the landmarks",
    )?;
    let work = |_: &_| sites::whiten(matrix.as_standard_layout().into_owned(), &values);
    let (factors, features) = call::here(py, work)?;
    Ok([factors, features].map(|array| array.into_pyarray(py)))
}

/// A part of a sum of kernels: attributes of `bayespoint.kernels.products.Summand`.
#[derive(FromPyObject)]
pub struct PartOfSum<'py> {
    measure: String,
    factor: f64,
    scale: PyReadonlyArray1<'py, f64>,
    rate: f64,
    terms: [[f64; 3]; 2],
}

impl PartOfSum<'_> {
    pub fn summand(&self) -> Summand {
        let measure = match &*self.measure {
            "city block" => Measure::CityBlock,
            "distance" => Measure::Distance,
            _ => Measure::Product,
        };
        let radial = Radial { rate: self.rate, terms: self.terms };
        Summand { measure, factor: self.factor, scale: self.scale.as_array().to_vec(), radial }
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
        landmarks: PyReadonlyArray2<'_, f64>,
        examples: PyReadonlyArray2<'_, f64>,
        limits: Vec<f64>,
        parts: Vec<PartOfSum<'_>>,
    ) -> PyResult<Self> {
        let (landmarks, examples) = (landmarks.as_array(), examples.as_array());
        let d = landmarks.ncols();
        let fits = examples.ncols() == d && limits.len() <= d && d > 0 && !parts.is_empty();
        require(
            fits,
            "examples",
            format_args!("{:?}", examples.dim()),
            "points of as many features",
        )?;
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
    #[allow(clippy::type_complexity, reason = "three values")]
    fn sum<'py>(
        &self,
        py: Python<'py>,
        factors: Vec<f64>,
        scales: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<(KeptSum, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>)> {
        let (plan, scales) = (&self.0, scales.as_array());
        let shape = (plan.summands.len(), plan.points.ncols());
        let fits = factors.len() == shape.0 && scales.dim() == shape;
        require(fits, "scales", format_args!("{:?}", scales.dim()), "factors of each feature")?;
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
    #[allow(clippy::type_complexity, reason = "two arrays")]
    fn slopes<'py>(
        &self,
        py: Python<'py>,
        by_values: PyReadonlyArray2<'py, f64>,
        by_own: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>)> {
        let (by_values, by_own) = (by_values.as_array(), by_own.as_array());
        let shape = self.0.shape();
        let fits = by_values.dim() == shape && by_own.len() + shape.1 == shape.0;
        require(
            fits,
            "by_values",
            format_args!("{:?}", by_values.dim()),
            "a number for each value",
        )?;
        let found = call::here(py, |control| self.0.slopes(&by_values, &by_own, control))?;
        let factors: Vec<f64> = found.iter().map(|part| part.factor).collect();
        let scales: Vec<f64> = found.iter().flat_map(|part| part.scale.iter().copied()).collect();
        let scales = Array2::from_shape_vec((found.len(), scales.len() / found.len()), scales);
        Ok((factors.into_pyarray(py), scales.expect("a row each").into_pyarray(py)))
    }
}
