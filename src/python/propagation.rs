//! The evidence with landmarks; see `bayespoint.landmarks.features`.

use ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::call;
use crate::base::require;
use crate::propagation::{self as sites, Approximation, FirstSites, Problems, propagate};

/// An earlier result: attributes of `bayespoint.landmarks.features.Propagation`.
#[derive(FromPyObject)]
pub struct Sites<'py> {
    precision: PyReadonlyArray2<'py, f64>,
    shift: PyReadonlyArray2<'py, f64>,
    converged: PyReadonlyArray1<'py, bool>,
}

/// Returns the approximation of each problem, and the derivatives of the sum of the evidences.
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
    let n_threads = n_threads.min(n).max(1);
    let work = |control: &_| propagate(&problems, start.as_ref(), n_threads, control);
    let (found, by_features) =
        if n_threads == 1 { call::here(py, work)? } else { call::interruptible(py, None, work)? };
    let each = |of: fn(&Approximation) -> &Vec<f64>| {
        let values = found.iter().flat_map(|one| of(one).iter().copied()).collect();
        Array2::from_shape_vec((n, m), values).expect("a value each")
    };
    let sum = |of: &dyn Fn(&Approximation) -> f64| found.iter().map(of).sum::<f64>();
    let by_level: Vec<f64> = (0..m).map(|i| sum(&|one| one.by_level[i])).collect();
    let by_noise = [0, 1].map(|k| sum(&|one| one.by_noise[k]));
    let log_evidence: Vec<f64> = found.iter().map(|one| one.log_evidence).collect();
    let converged: Vec<bool> = found.iter().map(|one| one.converged).collect();
    dict!(py,
        "log_evidence" => log_evidence,
        "converged" => converged,
        "precision" => each(|one| &one.precision),
        "shift" => each(|one| &one.shift),
        "left_out" => each(|one| &one.left_out),
        "by_noise" => by_noise.to_vec(),
        "by_features" => by_features,
        "by_level" => by_level,
        "by_thresholds": sum(&|one| one.by_thresholds),
    )
}

/// Returns the inverse of the upper triangle U for a matrix `Uᵀ U`, with zeros below its diagonal.
#[pyfunction]
pub fn inverse_of_factor<'py>(
    py: Python<'py>,
    matrix: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let matrix = matrix.as_array();
    let got = format_args!("shape {:?}", matrix.dim());
    require(matrix.is_square(), "matrix", got, "a square one")?;
    let work = |_: &_| sites::inverse_of_factor(matrix.as_standard_layout().into_owned());
    Ok(call::here(py, work)?.into_pyarray(py))
}
