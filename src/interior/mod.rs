//! Searches for a point inside version space, or for a certificate that there is none.

mod active_set;
pub mod conflicts;
mod coordinate_ascent;
mod free_set;
pub mod light_trap;
pub(crate) mod max_margin;
pub mod perceptron;
mod unit_diagonal;

use serde::{Deserialize, Serialize};

use crate::base::{Control, Result, memory, random};
use crate::gram::Gram;
use crate::space::{Mirror, VersionSpace, one_dimensional};

pub use max_margin::{MarginSettings, MaxMargin, max_margin};

/// How the start of a trajectory was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Drawn near the middle of version space, coordinate by coordinate.
    Typical,
    /// By the light trap.
    LightTrap,
    /// By the maximal-margin search, after the light trap gave up.
    MaxMargin,
    /// Given by the caller.
    Given,
}

/// Finds a unit vector in version space with the light trap, or else by the maximal margin. Errors as [`max_margin()`].
pub fn feasible_point(
    space: &VersionSpace,
    seed: u64,
    control: &Control,
) -> Result<(Vec<f64>, Start)> {
    conflicts::check(space, Mirror::HARD, control)?;
    let rng = random::stream(seed, 0);
    if !one_dimensional::is_one_dimensional(space.gram())
        && let Ok(trajectory) = light_trap::trap(space, Mirror::HARD, rng, control)?
    {
        return Ok((trajectory.ball().position(0.0), Start::LightTrap));
    }
    Ok((hard_point(space, Mirror::HARD, control)?, Start::MaxMargin))
}

/// Returns a point that satisfies every example whose wall is hard.
pub fn hard_point(space: &VersionSpace, mirror: Mirror, control: &Control) -> Result<Vec<f64>> {
    let is_hard = |i: usize| !space.is_free(i) && mirror.of(space.labels()[i]) == 0.0;
    let hard: Vec<usize> = (0..space.len()).filter(|&i| is_hard(i)).collect();
    if hard.len() == space.len() {
        return max_margin::interior_point(space, control);
    }
    // Take the version space of these walls alone.
    let labels = hard.iter().map(|&i| space.labels()[i]).collect();
    memory::check_vectors(hard.len(), hard.len())?;
    let part = VersionSpace::new(space.gram().submatrix(&hard), labels)?;
    let padded = |values: Vec<f64>| {
        let mut all = vec![0.0; space.len()];
        for (&i, value) in hard.iter().zip(values) {
            all[i] = value;
        }
        all
    };
    max_margin::interior_point(&part, control)
        .map(padded)
        .map_err(|error| error.map_certificate(padded))
}

fn lengths(gram: &Gram) -> Vec<f64> {
    gram.diagonals().iter().map(|square| square.sqrt()).collect()
}

fn longest(gram: &Gram) -> f64 {
    lengths(gram).into_iter().fold(0.0, f64::max)
}
