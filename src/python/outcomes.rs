//! Results of runs as dicts of plain values and arrays, without copies. Keys are the fields in `bayespoint.results`.

use numpy::ndarray::{Array2, Array3};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pythonize::pythonize;

use super::Found;
use super::arrays;
use super::space::Outer;
use crate::ensemble::{CenterOfMass, Outcome};
use crate::evidence::EvidenceOutcome;
use crate::interior::MaxMargin;
use crate::trajectory::Tally;

pub fn layers(layers: Vec<[u32; 2]>) -> Array2<i64> {
    Array2::from(layers).mapv(i64::from)
}

/// Returns the outcome with vectors of several classes as Python has them.
pub fn outer(mut outcome: Outcome, outer: Outer) -> Outcome {
    let (chains, n, _) = outcome.draws.dim();
    let CenterOfMass { dual, impulse, .. } = &mut outcome.center;
    for vector in [dual, impulse, &mut outcome.state.draws] {
        *vector = outer.duals(std::mem::take(vector));
    }
    let width = outcome.center.dual.len();
    let draws = outer.duals(std::mem::take(&mut outcome.draws).into_raw_vec_and_offset().0);
    outcome.draws = Array3::from_shape_vec((chains, n, width), draws).expect("as many draws");
    outcome.hits = outer.values(outcome.hits);
    outcome.watched = outcome.watched.into_iter().map(|plane| outer.index(plane)).collect();
    outcome
}

pub fn run(py: Python<'_>, outcome: Outcome) -> Found<'_> {
    let (m, length) = (outcome.draws.dim().2, outcome.length());
    let CenterOfMass { dual, norm, error, impulse } = outcome.center;
    let watched = outcome.watched.into_iter().map(i64::try_from).collect::<Result<Vec<_>, _>>()?;
    let starts = outcome.starts.iter().map(|start| pythonize(py, start));
    let starts = PyTuple::new(py, starts.collect::<Result<Vec<_>, _>>()?)?;
    let count = |of: fn(&Tally) -> u64| outcome.tallies.iter().map(of).collect::<Vec<_>>();
    dict!(py,
        "length": length,
        "arc_center" => dual,
        "center_norm": norm,
        "center_error": error,
        "impulse_center" => impulse,
        "draws" => outcome.draws,
        "watched" => watched,
        "functionals" => outcome.functionals,
        "spacing": outcome.spacing,
        "start": starts,
        "bounces" => count(|tally| tally.bounces),
        "crossings" => count(|tally| tally.crossings),
        "refreshes" => count(|tally| tally.refreshes),
        "missed" => outcome.missed,
        "hits" => outcome.hits,
        "mean_violations": outcome.mean_violations,
        "drift": outcome.drift,
        "refresh": outcome.refresh,
        "refresh_rate": outcome.refresh_rate,
        "loses_softness": outcome.loses_softness,
        "burn_in": outcome.burn_in,
        "stop_reason": pythonize(py, &outcome.stop_reason)?,
        "state": arrays::state_dict(py, outcome.state, m)?,
    )
}

pub fn evidence(py: Python<'_>, found: EvidenceOutcome) -> Found<'_> {
    dict!(py,
        "value" => found.values,
        "error" => found.errors,
        "lag" => found.lags,
        "ladder" => found.ladder,
        "mean_violations" => found.mean_violations,
        "log_share" => found.log_share,
        "layers" => layers(found.layers),
        "layer_shares" => found.layer_shares,
        "length": found.length,
        "converged": found.converged,
    )
}

pub fn max_margin(py: Python<'_>, found: MaxMargin) -> Found<'_> {
    dict!(py,
        "dual_coef" => found.dual,
        "multipliers" => found.multipliers,
        "norm": found.norm,
        "margin": found.margin,
        "bound": found.bound,
        "gap": found.gap,
        "kkt": found.kkt,
        "iterations": found.iterations,
        "converged": found.converged,
    )
}
