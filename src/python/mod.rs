//! The Python door: few functions of a problem, settings, numbers and a seed.

#![allow(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]

mod arrays;
mod call;
mod errors;
mod points;
mod remote;
mod rows;
mod settings;
mod space;
mod states;

use std::time::Duration;

use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::base::{Error, State};
use crate::correlation::{self, CorrelationSettings};
use crate::ensemble::{self, Outcome, Settings};
use crate::evidence::{EvidenceSettings, Method};
use crate::onion::{OnionMethod, OnionSettings};
use crate::space::Mirror;
use crate::trajectory::dynamics::Motion;
use arrays::vector;
use settings::SampleSettings;
use space::Space;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::errors::InfeasibleError;
    #[pymodule_export]
    use super::points::{feasible_point, light_trap_one_way, max_margin_point, perceptron_path};
    #[pymodule_export]
    use super::{correlation_pairs, evidence, onion, run, take_step};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "a Python name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// Samples version space; see `VersionSpace.sample`.
#[pyfunction]
#[pyo3(signature = (problem, settings, *, start, seed, n_threads, state, checkpoint, every, callback, executor))]
#[allow(clippy::too_many_arguments, reason = "one call")]
fn run<'py>(
    py: Python<'py>,
    problem: Space<'py>,
    settings: SampleSettings<'py>,
    start: Option<PyReadonlyArray1<'py, f64>>,
    seed: u64,
    n_threads: usize,
    state: Option<states::Saved<'py>>,
    checkpoint: Option<Py<PyAny>>,
    every: f64,
    callback: Option<&Bound<'py, PyAny>>,
    executor: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let start = match &start {
        Some(start) => Some(vector("start", start)?.to_vec()),
        None => None,
    };
    let settings = Settings { start, n_threads, seed, ..settings.taken()? };
    let n_trajectories = settings.n_trajectories;
    let state = state.map(|state| state.taken()).transpose()?;
    let m = problem.labels.len();
    let inverse = problem.inverse()?;
    let every = Duration::try_from_secs_f64(every)
        .map_err(|_| Error::invalid("every", every, "seconds, at least 0"))?;
    let keeping = checkpoint.map(|checkpoint| {
        let keep = move |py: Python<'_>, state: State| -> PyResult<()> {
            checkpoint.call1(py, (states::to_dict(py, state, m)?,)).map(|_| ())
        };
        call::Keeping { every, keep: Box::new(keep) }
    });
    if let Some(send) = executor {
        let outcome = problem.call_sending(py, send, keeping, |space, executor, control| {
            ensemble::run_remotely(space, &settings, inverse, state.as_ref(), executor, control)
        })?;
        return to_dict(py, outcome, n_trajectories);
    }
    let work = problem.on_space(|space, control| match &state {
        Some(state) => ensemble::resume(space, &settings, inverse, state, control),
        None => ensemble::run_with(space, &settings, inverse, control),
    })?;
    let outcome = call::interruptible(py, callback, keeping.as_ref(), work)?;
    to_dict(py, outcome, n_trajectories)
}

/// Takes a step of a trajectory for another process; see `run` with an `executor`.
#[pyfunction]
#[pyo3(signature = (problem, order, trajectory))]
fn take_step<'py>(
    py: Python<'py>,
    problem: Space<'py>,
    order: &[u8],
    trajectory: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let inverse = problem.inverse()?;
    let stepped = problem.call_single(py, None, |space, control| {
        ensemble::take_step(space, inverse, order, trajectory, control)
    })?;
    Ok(PyBytes::new(py, &stepped))
}

fn to_dict(py: Python<'_>, outcome: Outcome, t: usize) -> PyResult<Bound<'_, PyDict>> {
    let (m, n, q) = (outcome.center.len(), outcome.n_draws, outcome.watched.len());
    let length = outcome.lengths.iter().sum::<f64>() / t as f64;
    let watched: Vec<i64> =
        outcome.watched.iter().map(|&i| i64::try_from(i)).collect::<std::result::Result<_, _>>()?;
    let start: Vec<&str> = outcome.start.iter().map(|start| start.name()).collect();
    let dict = PyDict::new(py);
    dict.set_item("center", arrays::to_array(py, outcome.center, [m])?)?;
    dict.set_item("center_norm", outcome.center_norm)?;
    if let Some(center) = outcome.running_center {
        dict.set_item("running_center", arrays::to_array(py, center, [m])?)?;
    }
    dict.set_item("impulse_center", arrays::to_array(py, outcome.impulse_center, [m])?)?;
    dict.set_item("center_error", outcome.center_error)?;
    dict.set_item("draws", arrays::to_array(py, outcome.draws, [t, n, m])?)?;
    dict.set_item("watched", arrays::to_array(py, watched, [q])?)?;
    dict.set_item("functionals", arrays::to_array(py, outcome.functionals, [t, n, q])?)?;
    dict.set_item("spacing", outcome.spacing)?;
    dict.set_item("bounces", arrays::to_array(py, outcome.bounces, [t])?)?;
    dict.set_item("crossings", arrays::to_array(py, outcome.crossings, [t])?)?;
    dict.set_item("refreshes", arrays::to_array(py, outcome.refreshes, [t])?)?;
    dict.set_item("escapes", arrays::to_array(py, outcome.escapes, [t])?)?;
    dict.set_item("scatterings", arrays::to_array(py, outcome.scatterings, [t])?)?;
    dict.set_item("scatterer", outcome.scatterer)?;
    dict.set_item("length", length)?;
    dict.set_item("settled", outcome.settled)?;
    dict.set_item("cycles", arrays::to_array(py, outcome.cycles, [t])?)?;
    dict.set_item("missed", arrays::to_array(py, outcome.missed, [t])?)?;
    dict.set_item("hits", arrays::to_array(py, outcome.hits, [m])?)?;
    dict.set_item("mean_violations", outcome.mean_violations)?;
    dict.set_item("stop_reason", outcome.stop_reason.name())?;
    dict.set_item("refresh", outcome.refresh)?;
    dict.set_item("refresh_rate", outcome.refresh_rate)?;
    dict.set_item("loses_softness", outcome.loses_softness)?;
    dict.set_item("drift", outcome.drift)?;
    dict.set_item("start", start)?;
    let state = outcome.state.map(|state| states::to_dict(py, state, m)).transpose()?;
    dict.set_item("state", state)?;
    Ok(dict)
}

/// Pairs of neighboring balls until they part; see `VersionSpace.correlation_length`.
#[pyfunction]
#[pyo3(name = "correlation", signature = (problem, *, angle, n_trajectories, n_pairs, max_bounces, dynamics,
    n_threads, seed, callback))]
#[allow(clippy::too_many_arguments, reason = "one flat call")]
fn correlation_pairs<'py>(
    py: Python<'py>,
    problem: Space<'py>,
    angle: f64,
    n_trajectories: usize,
    n_pairs: usize,
    max_bounces: u64,
    dynamics: &Bound<'py, PyAny>,
    n_threads: usize,
    seed: u64,
    callback: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (cosine, scatterer) = match settings::motion(dynamics, "auto")? {
        Motion::Geodesic => (false, None),
        Motion::Scattered { cosine, scatterer } => (cosine, scatterer),
        _ => {
            let wanted = "Geodesic() or Scattered(...)";
            return Err(Error::invalid("dynamics", "a straight flight", wanted).into());
        }
    };
    let settings = CorrelationSettings {
        angle,
        n_trajectories,
        n_pairs,
        max_bounces,
        cosine,
        scatterer,
        n_threads,
        seed,
    };
    let correlation::Correlation { pairs, scatterer } =
        problem.call(py, callback, |space, control| {
            correlation::correlation(space, &settings, control)
        })?;
    let shape = [n_trajectories, n_pairs];
    let dict = PyDict::new(py);
    let bounces = pairs.iter().map(|pair| pair.bounces).collect();
    dict.set_item("pair_bounces", arrays::to_array::<u64, 2>(py, bounces, shape)?)?;
    let lengths = pairs.iter().map(|pair| pair.path).collect();
    dict.set_item("pair_lengths", arrays::to_array::<f64, 2>(py, lengths, shape)?)?;
    let parted = pairs.iter().map(|pair| pair.parted).collect();
    dict.set_item("parted", arrays::to_array::<bool, 2>(py, parted, shape)?)?;
    dict.set_item("scatterer", scatterer)?;
    Ok(dict)
}

/// ln Z by a bridge or a ladder; see `VersionSpace.log_volume`.
#[pyfunction]
#[pyo3(signature = (problem, *, method, transparencies, tol, max_length, n_trajectories,
    n_threads, seed, callback))]
#[allow(clippy::too_many_arguments, reason = "one flat call")]
fn evidence<'py>(
    py: Python<'py>,
    problem: Space<'py>,
    method: &str,
    transparencies: Vec<(f64, f64)>,
    tol: f64,
    max_length: f64,
    n_trajectories: usize,
    n_threads: usize,
    seed: u64,
    callback: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let method = match method {
        "bridge" => Method::Bridge,
        "integration" => Method::Integration,
        other => {
            return Err(Error::invalid("method", other, "'bridge' or 'integration'").into());
        }
    };
    let targets = transparencies
        .into_iter()
        .map(|(negative, positive)| Mirror { negative, positive })
        .collect();
    let settings =
        EvidenceSettings { n_trajectories, tol, max_length, targets, method, n_threads, seed };
    let found = problem.call(py, callback, |space, control| {
        crate::evidence::evidence(space, &settings, control)
    })?;
    let (n, k, v) = (found.values.len(), found.ladder.len(), found.log_share.len());
    let means = found.mean_violations.len();
    let layers = found.layers.len();
    let (mut planes, mut shares) = (Vec::new(), Vec::new());
    for (negative, positive, share) in found.layers {
        planes.extend([i64::from(negative), i64::from(positive)]);
        shares.push(share);
    }
    let dict = PyDict::new(py);
    dict.set_item("values", arrays::to_array(py, found.values, [n])?)?;
    dict.set_item("errors", arrays::to_array(py, found.errors, [n])?)?;
    dict.set_item("lags", arrays::to_array(py, found.lags, [n])?)?;
    dict.set_item("ladder", arrays::to_array(py, found.ladder, [k])?)?;
    dict.set_item("mean_violations", arrays::to_array(py, found.mean_violations, [means])?)?;
    dict.set_item("log_share", arrays::to_array(py, found.log_share, [v])?)?;
    dict.set_item("layers", arrays::to_array(py, planes, [layers, 2])?)?;
    dict.set_item("layer_shares", arrays::to_array(py, shares, [layers])?)?;
    dict.set_item("length", found.length)?;
    dict.set_item("converged", found.converged)?;
    Ok(dict)
}

/// The centers of the layers; see `VersionSpace.onion`.
#[pyfunction]
#[pyo3(signature = (problem, *, max_errors, method, tol, volume_tol, max_length,
    n_trajectories, n_threads, seed, callback))]
#[allow(clippy::too_many_arguments, reason = "one flat call")]
fn onion<'py>(
    py: Python<'py>,
    problem: Space<'py>,
    max_errors: (u32, u32),
    method: &str,
    tol: f64,
    volume_tol: Option<f64>,
    max_length: f64,
    n_trajectories: usize,
    n_threads: usize,
    seed: u64,
    callback: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let method = match method {
        "exact" => OnionMethod::Exact,
        "projected" => OnionMethod::Projected,
        other => return Err(Error::invalid("method", other, "'exact' or 'projected'").into()),
    };
    let max_errors = [max_errors.0, max_errors.1];
    let settings = OnionSettings {
        max_errors,
        method,
        n_trajectories,
        tol,
        volume_tol,
        max_length,
        n_threads,
        seed,
    };
    let found = problem
        .call(py, callback, |space, control| crate::onion::onion(space, &settings, control))?;
    let [a, b] = found.range.most.map(|most| most as usize + 1);
    let (m, l) = (found.centers.len() / (a * b), found.layers.len());
    let replicates = found.log_shares.len().checked_div(l).unwrap_or(0);
    let layers: Vec<i64> = found.layers.iter().flatten().map(|&n| i64::from(n)).collect();
    let dict = PyDict::new(py);
    dict.set_item("centers", arrays::to_array(py, found.centers, [a, b, m])?)?;
    dict.set_item("center_norm", arrays::to_array(py, found.norms, [a, b])?)?;
    dict.set_item("center_error", arrays::to_array(py, found.errors, [a, b])?)?;
    dict.set_item("path_length", arrays::to_array(py, found.paths, [a, b])?)?;
    if method == OnionMethod::Exact {
        dict.set_item("log_volume", arrays::to_array(py, found.log_volumes, [a, b])?)?;
        dict.set_item("log_volume_error", arrays::to_array(py, found.log_volume_errors, [a, b])?)?;
    }
    dict.set_item("layers", arrays::to_array(py, layers, [l, 2])?)?;
    dict.set_item("layer_log_shares", arrays::to_array(py, found.log_shares, [replicates, l])?)?;
    dict.set_item("length", found.length)?;
    dict.set_item("converged", found.converged)?;
    Ok(dict)
}
