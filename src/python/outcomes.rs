//! Results of runs as dicts of plain values and arrays without copies. The keys are the fields of the results in
//! `bayespoint.results`.

use numpy::IntoPyArray;
use numpy::ndarray::Array2;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pythonize::pythonize;

use super::arrays;
use crate::correlation::Pair;
use crate::ensemble::{CenterOfMass, Outcome};
use crate::evidence::EvidenceOutcome;
use crate::interior::MaxMargin;
use crate::onion::OnionOutcome;
use crate::trajectory::Tally;

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
    dict.set_item("draws", outcome.draws.into_pyarray(py))?;
    let watched = outcome.watched.into_iter().map(i64::try_from).collect::<Result<Vec<_>, _>>()?;
    dict.set_item("watched", watched.into_pyarray(py))?;
    dict.set_item("functionals", outcome.functionals.into_pyarray(py))?;
    dict.set_item("spacing", outcome.spacing)?;
    let starts = outcome.starts.iter().map(|start| pythonize(py, start));
    dict.set_item("start", PyTuple::new(py, starts.collect::<Result<Vec<_>, _>>()?)?)?;
    let count = |of: fn(&Tally) -> u64| outcome.tallies.iter().map(of).collect::<Vec<_>>();
    dict.set_item("bounces", count(|tally| tally.bounces).into_pyarray(py))?;
    dict.set_item("crossings", count(|tally| tally.crossings).into_pyarray(py))?;
    dict.set_item("refreshes", count(|tally| tally.refreshes).into_pyarray(py))?;
    dict.set_item("escapes", count(|tally| tally.escapes).into_pyarray(py))?;
    dict.set_item("scatterings", count(|tally| tally.scatterings).into_pyarray(py))?;
    dict.set_item("missed", outcome.missed.into_pyarray(py))?;
    dict.set_item("cycles", outcome.cycles.into_pyarray(py))?;
    dict.set_item("hits", outcome.hits.into_pyarray(py))?;
    dict.set_item("mean_violations", outcome.mean_violations)?;
    dict.set_item("drift", outcome.drift)?;
    dict.set_item("refresh", outcome.refresh)?;
    dict.set_item("refresh_rate", outcome.refresh_rate)?;
    dict.set_item("loses_softness", outcome.loses_softness)?;
    dict.set_item("scatterer", outcome.scatterer)?;
    dict.set_item("burn_in", outcome.burn_in)?;
    dict.set_item("stop_reason", pythonize(py, &outcome.stop_reason)?)?;
    dict.set_item("state", arrays::state_dict(py, outcome.state, m)?)?;
    Ok(dict)
}

pub(super) fn correlation(
    py: Python<'_>,
    (pairs, scatterer): (Array2<Pair>, Option<f64>),
) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("pair_bounces", pairs.map(|pair| pair.0).into_pyarray(py))?;
    dict.set_item("pair_lengths", pairs.map(|pair| pair.1).into_pyarray(py))?;
    dict.set_item("parted", pairs.map(|pair| pair.2).into_pyarray(py))?;
    dict.set_item("scatterer", scatterer)?;
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

pub(super) fn max_margin(py: Python<'_>, found: MaxMargin) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("dual_coef", found.dual.into_pyarray(py))?;
    dict.set_item("multipliers", found.multipliers.into_pyarray(py))?;
    dict.set_item("bias", found.bias)?;
    dict.set_item("norm", found.norm)?;
    dict.set_item("margin", found.margin)?;
    dict.set_item("bound", found.bound)?;
    dict.set_item("gap", found.gap)?;
    dict.set_item("kkt", found.kkt)?;
    dict.set_item("iterations", found.iterations)?;
    dict.set_item("converged", found.converged)?;
    Ok(dict)
}
