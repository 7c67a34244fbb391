//! The Python interface: one function for each kind of run, of a problem, settings and a seed.

#![allow(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments by value")]
#![allow(clippy::too_many_arguments, clippy::type_complexity, reason = "calls from Python")]

/// Makes a dict of names and values, `name: value`, or arrays, `name => values`.
macro_rules! dict {
    ($py:expr, $($name:literal $(: $value:expr)? $(=> $array:expr)?),* $(,)?) => {{
        let dict = pyo3::types::PyDict::new($py);
        $(
            $(dict.set_item($name, $value)?;)?
            $(dict.set_item($name, numpy::IntoPyArray::into_pyarray($array, $py))?;)?
        )*
        Ok(dict)
    }};
}

/// Defines a function that reads settings, calls the engine, which may start threads, and converts what it found.
macro_rules! measurement {
    ($(#[$text:meta])* $name:ident: $has_threads:literal, $work:path, $outcome:path) => {
        $(#[$text])*
        #[pyfunction]
        pub fn $name<'py>(
            py: Python<'py>,
            problem: Space,
            settings: &Bound<PyAny>,
            callback: Option<&Bound<PyAny>>,
        ) -> Found<'py> {
            let settings = read(settings)?;
            let work = |space: &VersionSpace, control: &Control| $work(space, &settings, control);
            $outcome(py, problem.call(py, callback, $has_threads, work)?)
        }
    };
}

/// What a call found: the fields of a class in `bayespoint.results`.
type Found<'py> = PyResult<Bound<'py, PyDict>>;

mod arrays;
mod call;
mod distance;
mod errors;
mod laws;
mod outcomes;
mod papers;
mod predictions;
mod propagation;
mod soft;
mod space;

use numpy::PyReadonlyArray3;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::{Depythonizer, pythonize};
use serde::de::DeserializeOwned;

use crate::base::{Control, Error, Result, State, require};
use crate::ensemble::mixing::{Coordinates, LEAST_DRAWS, normal_scores};
use crate::ensemble::{self, Settings};
use crate::evidence::EvidenceSettings;
use crate::interior::{self, MarginSettings, MaxMargin, Start};
use crate::space::{Mirror, VersionSpace};
use arrays::{Vector, contiguous};
use space::{Outer, Space};

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::{
        check_settings,
        distance::{sums_of_differences, values_of_distances},
        effective_size,
        errors::InfeasibleError,
        evidence, feasible_point,
        laws::{largest_probabilities, law_derivatives, log_likelihoods, tall_product},
        max_margin,
        papers::{correlation, fly, light_trap_one_way, onion, perceptron_path},
        predictions::OnePass,
        propagation::{KeptSum, Posteriors, SumPlan, propagation, whiten},
        r_hat, run,
        soft::SoftSampler,
    };

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "a Python name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// Reads settings of the engine. An error names the setting.
fn read<T: DeserializeOwned>(values: &Bound<PyAny>) -> PyResult<T> {
    serde_path_to_error::deserialize(&mut Depythonizer::from_object(values)).map_err(|error| {
        let text = format!("{} {}", error.path(), error.inner());
        let is_of_type = PyErr::from(error.into_inner()).is_instance_of::<PyTypeError>(values.py());
        if is_of_type { PyTypeError::new_err(text) } else { PyValueError::new_err(text) }
    })
}

/// Raises `ValueError` if settings are out of range or cannot be combined.
#[pyfunction]
fn check_settings(kind: &str, values: &Bound<PyAny>) -> PyResult<()> {
    match kind {
        "sample" => read::<Settings>(values)?.check()?,
        "evidence" => read::<EvidenceSettings>(values)?.check()?,
        "margin" => read::<MarginSettings>(values)?.check()?,
        other => papers::check_settings(other, values)?,
    }
    Ok(())
}

#[pyfunction]
#[pyo3(signature = (problem, settings, *, start, state, callback))]
fn run<'py>(
    py: Python<'py>,
    problem: Space,
    settings: &Bound<PyAny>,
    start: Option<Vector>,
    #[pyo3(from_py_with = arrays::read_state)] state: Option<State>,
    callback: Option<&Bound<PyAny>>,
) -> Found<'py> {
    let start = start.as_ref().map(|start| contiguous("start", start)).transpose()?;
    let settings: Settings = read(settings)?;
    let inverse = problem.inverse()?;
    let work = problem.on_space(|space, control| {
        let outer = Outer::of(space);
        let start = start.map(|start| outer.of_planes(start.to_vec()));
        let settings = Settings { start, ..settings };
        let state = state.map(|state| State { draws: outer.of_planes(state.draws), ..state });
        let found = ensemble::sample(space, &settings, inverse, state.as_ref(), control)?;
        Ok(outcomes::outer(found, outer))
    })?;
    outcomes::run(py, call::interruptible(py, callback, work)?)
}

measurement! {
    /// Computes ln Z by a bridge or a ladder; see `VersionSpace.evidence`.
    evidence: true, crate::evidence::evidence, outcomes::evidence
}

measurement! {
    /// Computes the maximal margin; see `VersionSpace.max_margin`.
    max_margin: false, outer_max_margin, outcomes::max_margin
}

fn outer_max_margin(
    space: &VersionSpace,
    settings: &MarginSettings,
    control: &Control,
) -> Result<MaxMargin> {
    let (found, outer) = (interior::max_margin(space, settings, control)?, Outer::of(space));
    let (dual, multipliers) = (outer.duals(found.dual), outer.values(found.multipliers));
    Ok(MaxMargin { dual, multipliers, ..found })
}

/// Returns a point inside version space; see `VersionSpace.feasible_point`.
#[pyfunction]
fn feasible_point<'py>(
    py: Python<'py>,
    problem: Space,
    method: &str,
    seed: u64,
    callback: Option<&Bound<PyAny>>,
) -> Found<'py> {
    let (dual, start) = problem.call(py, callback, false, |space, control| {
        let (dual, start) = match method {
            "light_trap" => interior::feasible_point(space, seed, control)?,
            "max_margin" => (interior::hard_point(space, Mirror::HARD, control)?, Start::MaxMargin),
            other => {
                return Err(Error::invalid("method", other, "'light_trap' or 'max_margin'"));
            }
        };
        Ok((Outer::of(space).duals(space.gram().outer_duals(dual)), start))
    })?;
    dict!(py, "dual_coef" => dual, "method": pythonize(py, &start)?)
}

/// Returns R-hat of each quantity of (quantity, trajectory, draw); see `bayespoint.results.diagnostics`.
#[pyfunction]
fn r_hat(draws: PyReadonlyArray3<f64>) -> PyResult<Vec<f64>> {
    of_each(&draws, Coordinates::r_hat)
}

/// Returns the bulk effective sample size of each quantity.
#[pyfunction]
fn effective_size(draws: PyReadonlyArray3<f64>) -> PyResult<Vec<f64>> {
    of_each(&draws, Coordinates::ess)
}

fn of_each(
    draws: &PyReadonlyArray3<f64>,
    statistic: fn(&Coordinates, &[f64]) -> f64,
) -> PyResult<Vec<f64>> {
    let (_, t, n) = draws.as_array().dim();
    require(t > 0 && n >= LEAST_DRAWS, "draws", format_args!("{t} x {n}"), "4 of a trajectory")?;
    let scores = normal_scores(2 * t * (n / 2));
    let quantities = draws.as_array();
    let values = quantities.outer_iter().map(|quantity| {
        draws.py().check_signals()?;
        let chains = quantity.outer_iter().map(|chain| chain.to_vec()).collect();
        Ok(statistic(&Coordinates(chains), &scores))
    });
    values.collect()
}
