//! The Python interface: one function for each kind of run, of a problem, settings and a seed.

#![allow(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]

mod arrays;
mod call;
mod errors;
mod largest;
mod likelihood;
mod outcomes;
mod points;
mod remote;
mod rows;
mod settings;
mod space;
mod states;

use std::time::Duration;

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::base::{Error, State};
use crate::correlation::{self, CorrelationSettings};
use crate::ensemble::{self, Settings};
use crate::evidence::EvidenceSettings;
use crate::onion::OnionSettings;
use arrays::vector;
use space::Space;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::errors::InfeasibleError;
    #[pymodule_export]
    use super::largest::largest_probabilities;
    #[pymodule_export]
    use super::likelihood::{likelihood_of_classes, likelihood_of_signs};
    #[pymodule_export]
    use super::points::{feasible_point, light_trap_one_way, max_margin_point, perceptron_path};
    #[pymodule_export]
    use super::settings::check_settings;
    #[pymodule_export]
    use super::{correlation_pairs, evidence, onion, run, take_step};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "a Python name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// Samples version space; see `VersionSpace.sample`.
#[pyfunction]
#[pyo3(signature = (problem, settings, *, start, state, checkpoint, every, callback, executor))]
#[allow(clippy::too_many_arguments, reason = "one call")]
fn run<'py>(
    py: Python<'py>,
    problem: Space<'py>,
    settings: &Bound<'py, PyAny>,
    start: Option<PyReadonlyArray1<'py, f64>>,
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
    let settings = Settings { start, ..settings::read(settings)? };
    let state = state.map(|saved| saved.state());
    let m = problem.planes()?;
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
        return outcomes::run(py, outcome);
    }
    let work = problem.on_space(|space, control| match &state {
        Some(state) => ensemble::resume(space, &settings, inverse, state, control),
        None => ensemble::run_with(space, &settings, inverse, control),
    })?;
    let outcome = call::interruptible(py, callback, keeping.as_ref(), work)?;
    outcomes::run(py, outcome)
}

/// Takes a step of a trajectory for another process: a task of the `executor` of `run`.
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

/// Runs pairs of neighboring balls until they separate; see `bayespoint.papers.correlation`.
#[pyfunction]
#[pyo3(name = "correlation", signature = (problem, settings, *, callback))]
fn correlation_pairs<'py>(
    py: Python<'py>,
    problem: Space<'py>,
    settings: &Bound<'py, PyAny>,
    callback: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = settings::read::<CorrelationSettings>(settings)?;
    let found = problem
        .call(py, callback, |space, control| correlation::correlation(space, &settings, control))?;
    outcomes::correlation(py, found)
}

/// Computes ln Z by a bridge or a ladder; see `VersionSpace.evidence`.
#[pyfunction]
#[pyo3(signature = (problem, settings, *, callback))]
fn evidence<'py>(
    py: Python<'py>,
    problem: Space<'py>,
    settings: &Bound<'py, PyAny>,
    callback: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = settings::read::<EvidenceSettings>(settings)?;
    let found = problem.call(py, callback, |space, control| {
        crate::evidence::evidence(space, &settings, control)
    })?;
    outcomes::evidence(py, found)
}

/// Computes the centers of the layers; see `VersionSpace.onion`.
#[pyfunction]
#[pyo3(signature = (problem, settings, *, callback))]
fn onion<'py>(
    py: Python<'py>,
    problem: Space<'py>,
    settings: &Bound<'py, PyAny>,
    callback: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = settings::read::<OnionSettings>(settings)?;
    let found = problem
        .call(py, callback, |space, control| crate::onion::onion(space, &settings, control))?;
    outcomes::onion(py, found)
}
