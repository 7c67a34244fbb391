//! The door of the wing for the papers: the only file outside of it that uses it.

use ndarray::Array2;
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use super::Found;
use super::arrays::{Vector, contiguous};
use super::outcomes::layers;
use super::space::Space;
use super::{outcomes, read};
use crate::base::{Control, Error};
use crate::ensemble::StopReason;
use crate::papers::correlation::{self as pairs, CorrelationSettings, Pair};
use crate::papers::light_trap::one_way;
use crate::papers::motions::{self, Motion, MotionSettings};
use crate::papers::onion::{self as layered, OnionOutcome, OnionSettings};
use crate::papers::perceptron::{PerceptronSettings, perceptron};
use crate::space::VersionSpace;

/// As [`super::check_settings`], for what only the papers use.
pub fn check_settings(kind: &str, values: &Bound<PyAny>) -> PyResult<()> {
    match kind {
        "motion" => read::<Motion>(values)?.check()?,
        "flight" => read::<MotionSettings>(values)?.check()?,
        "onion" => read::<OnionSettings>(values)?.check()?,
        "perceptron" => read::<PerceptronSettings>(values)?.check()?,
        "correlation" => read::<CorrelationSettings>(values)?.check()?,
        other => {
            let wanted = "'sample', 'evidence', 'margin', 'motion', 'flight', 'onion', 'perceptron' or 'correlation'";
            return Err(Error::invalid("kind", other, wanted).into());
        }
    }
    Ok(())
}

/// Runs a motion of the papers; see `bayespoint.papers.dynamics`.
#[pyfunction]
#[pyo3(signature = (problem, settings, *, start, callback))]
pub fn fly<'py>(
    py: Python<'py>,
    problem: Space,
    settings: &Bound<PyAny>,
    start: Option<Vector>,
    callback: Option<&Bound<PyAny>>,
) -> Found<'py> {
    let mut settings = read::<MotionSettings>(settings)?;
    if let Some(start) = &start {
        settings.run.start = Some(contiguous("start", start)?.to_vec());
    }
    let work = |space: &VersionSpace, control: &Control| motions::fly(space, &settings, control);
    let flight = problem.call(py, callback, true, work)?;
    let has_ended = flight.run.stop_reason == StopReason::Ended;
    let found = outcomes::run(py, flight.run)?;
    if has_ended {
        found.set_item("stop_reason", "weight_tol")?;
    }
    found.set_item("running_center", flight.center.map(|center| center.into_pyarray(py)))?;
    found.set_item("escapes", flight.escapes.into_pyarray(py))?;
    found.set_item("scatterings", flight.scatterings.into_pyarray(py))?;
    found.set_item("scatterer", flight.scatterer)?;
    Ok(found)
}

measurement! {
    /// Runs pairs of neighboring balls until they separate; see `bayespoint.papers.correlation`.
    correlation: true, pairs::correlation, of_pairs
}

fn of_pairs(py: Python<'_>, (pairs, scatterer): (Array2<Pair>, Option<f64>)) -> Found<'_> {
    dict!(py,
        "pair_bounces": pairs.map(|pair| pair.0).into_pyarray(py),
        "pair_lengths": pairs.map(|pair| pair.1).into_pyarray(py),
        "parted": pairs.map(|pair| pair.2).into_pyarray(py),
        "scatterer": scatterer,
    )
}

measurement! {
    /// Computes the centers of the layers; see `bayespoint.papers.onion`.
    onion: true, layered::onion, of_layers
}

fn of_layers(py: Python<'_>, found: OnionOutcome) -> Found<'_> {
    dict!(py,
        "centers": found.centers.into_pyarray(py),
        "center_norm": found.norms.into_pyarray(py),
        "center_error": found.errors.into_pyarray(py),
        "path_length": found.paths.into_pyarray(py),
        "log_volume": found.log_volumes.map(|volumes| volumes.into_pyarray(py)),
        "log_volume_error": found.log_volume_errors.map(|errors| errors.into_pyarray(py)),
        "layers": layers(found.layers).into_pyarray(py),
        "layer_log_shares": found.log_shares.into_pyarray(py),
        "length": found.length,
        "converged": found.converged,
    )
}

/// Runs the light trap of the paper; see `bayespoint.papers.light_trap`.
#[pyfunction]
#[pyo3(name = "light_trap")]
pub fn light_trap_one_way<'py>(
    py: Python<'py>,
    problem: Space,
    seed: u64,
    callback: Option<&Bound<PyAny>>,
) -> Found<'py> {
    let work = |space: &VersionSpace, control: &Control| one_way(space, seed, control);
    let found = problem.call(py, callback, false, work)?;
    let errors: Vec<i64> = found.errors.into_iter().map(i64::from).collect();
    dict!(py,
        "dual_coef": found.dual.into_pyarray(py),
        "errors": errors.into_pyarray(py),
        "bounces": found.bounces.into_pyarray(py),
        "caught": found.caught,
    )
}

/// Runs the kernel perceptron in a given order; see `bayespoint.papers.perceptron`.
#[pyfunction]
#[pyo3(name = "perceptron")]
pub fn perceptron_path<'py>(
    py: Python<'py>,
    problem: Space,
    settings: &Bound<PyAny>,
    order: PyReadonlyArray1<i64>,
    callback: Option<&Bound<PyAny>>,
) -> Found<'py> {
    let settings = read::<PerceptronSettings>(settings)?;
    let order: Vec<usize> = contiguous("order", &order)?
        .iter()
        .map(|&i| usize::try_from(i))
        .collect::<std::result::Result<_, _>>()?;
    let found = problem.call(py, callback, false, |space, control| {
        perceptron(space, &order, &settings, control)
    })?;
    dict!(py,
        "dual_coef": found.dual.into_pyarray(py),
        "mistakes": found.mistakes,
        "epochs": found.epochs,
        "converged": found.converged,
    )
}
