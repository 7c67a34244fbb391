//! Results of runs as dicts of plain values and arrays without copies. The keys are the fields of the results in
//! `bayespoint.results`.

use numpy::ndarray::Array2;
use numpy::{Element, IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::states;
use crate::correlation::{Correlation, Pair};
use crate::ensemble::{CenterOfMass, Draws, Outcome, RefreshReport, TrajectoryReport};
use crate::evidence::EvidenceOutcome;
use crate::onion::OnionOutcome;

/// Returns an array with one number for each trajectory.
fn column<'py, T: Element>(
    py: Python<'py>,
    trajectories: &[TrajectoryReport],
    of: impl Fn(&TrajectoryReport) -> T,
) -> Bound<'py, PyArray1<T>> {
    trajectories.iter().map(of).collect::<Vec<T>>().into_pyarray(py)
}

/// Returns an array with the two counts of each layer as a row.
fn layers(layers: Vec<[u32; 2]>) -> Array2<i64> {
    Array2::from(layers).mapv(i64::from)
}

pub(super) fn run(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("length", outcome.length())?;
    let m = outcome.hits.len();
    let CenterOfMass { dual, norm, error, running, impulse } = outcome.center;
    dict.set_item("arc_center", dual.into_pyarray(py))?;
    dict.set_item("center_norm", norm)?;
    dict.set_item("center_error", error)?;
    dict.set_item("running_center", running.map(|center| center.into_pyarray(py)))?;
    dict.set_item("impulse_center", impulse.into_pyarray(py))?;
    let Draws { values, watched, functionals, spacing } = outcome.draws;
    dict.set_item("draws", values.into_pyarray(py))?;
    let watched = watched.into_iter().map(i64::try_from).collect::<Result<Vec<_>, _>>()?;
    dict.set_item("watched", watched.into_pyarray(py))?;
    dict.set_item("functionals", functionals.into_pyarray(py))?;
    dict.set_item("spacing", spacing)?;
    let each = &outcome.trajectories;
    dict.set_item("start", PyTuple::new(py, each.iter().map(|one| one.start.name()))?)?;
    dict.set_item("bounces", column(py, each, |one| one.tally.bounces))?;
    dict.set_item("crossings", column(py, each, |one| one.tally.crossings))?;
    dict.set_item("refreshes", column(py, each, |one| one.tally.refreshes))?;
    dict.set_item("escapes", column(py, each, |one| one.tally.escapes))?;
    dict.set_item("scatterings", column(py, each, |one| one.tally.scatterings))?;
    dict.set_item("missed", column(py, each, |one| one.missed))?;
    dict.set_item("cycles", column(py, each, |one| one.cycle))?;
    dict.set_item("hits", outcome.hits.into_pyarray(py))?;
    dict.set_item("mean_violations", outcome.mean_violations)?;
    dict.set_item("drift", outcome.drift)?;
    let RefreshReport { name, rate, loses_softness } = outcome.refresh;
    dict.set_item("refresh", name)?;
    dict.set_item("refresh_rate", rate)?;
    dict.set_item("loses_softness", loses_softness)?;
    dict.set_item("scatterer", outcome.scatterer)?;
    dict.set_item("burn_in", outcome.burn_in)?;
    dict.set_item("stop_reason", outcome.stop_reason.name())?;
    dict.set_item("state", states::to_dict(py, outcome.state, m)?)?;
    Ok(dict)
}

pub(super) fn correlation(py: Python<'_>, found: Correlation) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let pairs: Array2<Pair> = found.pairs;
    dict.set_item("pair_bounces", pairs.map(|pair| pair.bounces).into_pyarray(py))?;
    dict.set_item("pair_lengths", pairs.map(|pair| pair.path).into_pyarray(py))?;
    dict.set_item("parted", pairs.map(|pair| pair.parted).into_pyarray(py))?;
    dict.set_item("scatterer", found.scatterer)?;
    Ok(dict)
}

pub(super) fn evidence(py: Python<'_>, found: EvidenceOutcome) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("value", found.values.into_pyarray(py))?;
    dict.set_item("error", found.errors.into_pyarray(py))?;
    dict.set_item("lag", found.lags.into_pyarray(py))?;
    dict.set_item("ladder", found.ladder.into_pyarray(py))?;
    dict.set_item("mean_violations", found.mean_violations.into_pyarray(py))?;
    dict.set_item("log_share", found.log_share.into_pyarray(py))?;
    dict.set_item("layers", layers(found.layers).into_pyarray(py))?;
    dict.set_item("layer_shares", found.layer_shares.into_pyarray(py))?;
    dict.set_item("length", found.length)?;
    dict.set_item("converged", found.converged)?;
    Ok(dict)
}

pub(super) fn onion(py: Python<'_>, found: OnionOutcome) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("centers", found.centers.into_pyarray(py))?;
    dict.set_item("center_norm", found.norms.into_pyarray(py))?;
    dict.set_item("center_error", found.errors.into_pyarray(py))?;
    dict.set_item("path_length", found.paths.into_pyarray(py))?;
    let volumes = found.log_volumes.map(|volumes| volumes.into_pyarray(py));
    dict.set_item("log_volume", volumes)?;
    let errors = found.log_volume_errors.map(|errors| errors.into_pyarray(py));
    dict.set_item("log_volume_error", errors)?;
    dict.set_item("layers", layers(found.layers).into_pyarray(py))?;
    dict.set_item("layer_log_shares", found.log_shares.into_pyarray(py))?;
    dict.set_item("length", found.length)?;
    dict.set_item("converged", found.converged)?;
    Ok(dict)
}
