//! Feasible points.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::space::{Outer, Space};
use crate::base::Error;
use crate::interior::{self, Start};
use crate::space::Mirror;

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
            "max_margin" => {
                interior::hard_point(space, Mirror::HARD, control).map(|dual| (dual, true))
            }
            other => Err(Error::invalid("method", other, "'light_trap' or 'max_margin'")),
        };
        let outer = Outer::of(space);
        found.map(|(dual, has_found)| (outer.duals(space.gram().outer_duals(dual)), has_found))
    })?;
    dict!(py,
        "dual_coef": dual.into_pyarray(py),
        "method": if has_found { method } else { "max_margin" },
    )
}
