//! Single weight vectors: feasible points, light traps, perceptrons.

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arrays::contiguous;
use super::read;
use super::space::{Outer, Space};
use crate::base::{Control, Error};
use crate::interior::{self, PerceptronSettings, Start, light_trap, perceptron};
use crate::space::{Mirror, VersionSpace};

/// Updates of the kernel perceptron before the maximal-margin search takes over.
const PERCEPTRON_UPDATES: usize = 100_000;

/// Returns a point inside version space; see `VersionSpace.feasible_point`.
#[pyfunction]
#[pyo3(signature = (problem, *, method, seed, callback))]
pub fn feasible_point<'py>(
    py: Python<'py>,
    problem: Space<'py>,
    method: &str,
    seed: u64,
    callback: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (dual, has_found) = problem.call(py, callback, false, |space, control| {
        let found = match method {
            "light_trap" => interior::feasible_point(space, seed, control)
                .map(|(dual, start)| (dual, start == Start::LightTrap)),
            "one_way" => {
                light_trap::one_way(space, seed, control).map(|way| (way.dual, way.caught))
            }
            "perceptron" => interior::perceptron_point(space, PERCEPTRON_UPDATES, control)
                .map(|dual| (dual, true)),
            "max_margin" => {
                interior::hard_point(space, Mirror::HARD, control).map(|dual| (dual, true))
            }
            other => {
                let wanted = "'light_trap', 'one_way', 'perceptron' or 'max_margin'";
                Err(Error::invalid("method", other, wanted))
            }
        };
        let outer = Outer::of(space);
        found.map(|(dual, has_found)| (outer.duals(space.gram().outer_duals(dual)), has_found))
    })?;
    dict!(py,
        "dual_coef": dual.into_pyarray(py),
        "method": if has_found { method } else { "max_margin" },
    )
}

/// Runs the light trap of the paper; see `VersionSpace.light_trap`.
#[pyfunction]
#[pyo3(name = "light_trap", signature = (problem, *, seed, callback))]
pub fn light_trap_one_way<'py>(
    py: Python<'py>,
    problem: Space<'py>,
    seed: u64,
    callback: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let work =
        |space: &VersionSpace<'_>, control: &Control| light_trap::one_way(space, seed, control);
    let found = problem.call(py, callback, false, work)?;
    let errors: Vec<i64> = found.errors.into_iter().map(i64::from).collect();
    dict!(py,
        "dual_coef": found.dual.into_pyarray(py),
        "errors": errors.into_pyarray(py),
        "bounces": found.bounces.into_pyarray(py),
        "caught": found.caught,
    )
}

/// Runs the kernel perceptron in a given order; see `KernelPerceptron`.
#[pyfunction]
#[pyo3(name = "perceptron", signature = (problem, settings, *, order, callback))]
pub fn perceptron_path<'py>(
    py: Python<'py>,
    problem: Space<'py>,
    settings: &Bound<'py, PyAny>,
    order: PyReadonlyArray1<'py, i64>,
    callback: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = read::<PerceptronSettings>(settings)?;
    let order: Vec<usize> = contiguous("order", &order)?
        .iter()
        .map(|&i| usize::try_from(i))
        .collect::<std::result::Result<_, _>>()?;
    let found = problem.call(py, callback, false, |space, control| {
        perceptron::perceptron(space, &order, &settings, control)
    })?;
    dict!(py,
        "dual_coef": found.dual.into_pyarray(py),
        "mistakes": found.mistakes,
        "epochs": found.epochs,
        "converged": found.converged,
    )
}
