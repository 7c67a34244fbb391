//! Searches for a first point inside version space, or for a proof that there is none.

mod active_set;
pub(crate) mod conflicts;
mod coordinate_ascent;
mod free_set;
pub(crate) mod light_trap;
pub(crate) mod max_margin;
pub(crate) mod perceptron;
mod unit_diagonal;

use serde::{Deserialize, Serialize};

use crate::base::{Control, Error, Result, memory, random};
use crate::space::{Mirror, VersionSpace, one_dimensional};

pub(crate) use light_trap::Trapped;
pub use light_trap::{OneWay, one_way};
pub use max_margin::{MarginSettings, MaxMargin, max_margin};
pub use perceptron::{Perceptron, PerceptronSettings, perceptron};

/// Where a trajectory started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start {
    /// Drawn about the middle of version space, coordinate by coordinate.
    Typical,
    /// The light trap caught the ball.
    LightTrap,
    /// The light trap gave up; the ball was put at a point of the maximal-margin search.
    MaxMargin,
    /// The caller gave the point.
    Given,
}

impl Start {
    /// "light_trap", "max_margin" or "given".
    pub fn name(self) -> &'static str {
        match self {
            Self::LightTrap => "light_trap",
            Self::MaxMargin => "max_margin",
            Self::Typical => "typical",
            Self::Given => "given",
        }
    }
}

/// Dual coefficients, of unit length, of a point inside version space caught by the light trap.
///
/// # Errors
///
/// [`crate::Error::Interrupted`], and as the search for the largest margin.
pub fn feasible_point(
    space: &VersionSpace<'_>,
    seed: u64,
    control: &Control,
) -> Result<(Vec<f64>, Start)> {
    conflicts::check(space, Mirror::HARD, control)?;
    if one_dimensional::is_one_dimensional(space.gram()) {
        return Ok((max_margin::interior_point(space, control)?, Start::MaxMargin));
    }
    match light_trap::trap(space, Mirror::HARD, random::stream(seed, 0), control)? {
        Trapped::Caught(trajectory) => Ok((trajectory.ball().position(0.0), Start::LightTrap)),
        Trapped::Lost(_) => Ok((max_margin::interior_point(space, control)?, Start::MaxMargin)),
    }
}

/// A point inside version space, of unit length, by perceptron updates at the example whose normalized margin is smallest.
///
/// # Errors
///
/// Where `max_updates` do not suffice, the error (or the point) of the maximal-margin search, which can tell
/// slow from impossible; [`Error::Interrupted`].
pub fn perceptron_point(
    space: &VersionSpace<'_>,
    max_updates: usize,
    control: &Control,
) -> Result<Vec<f64>> {
    match perceptron::point(space, max_updates, control)? {
        Some(dual) => Ok(dual),
        None => max_margin::interior_point(space, control),
    }
}

/// A point that satisfies every example whose wall is hard.
pub(crate) fn hard_point(
    space: &VersionSpace<'_>,
    mirror: Mirror,
    control: &Control,
) -> Result<Vec<f64>> {
    if mirror.is_hard() {
        return max_margin::interior_point(space, control);
    }
    // Walls of one class are hard, those of the other may be violated: version space of the first alone.
    let gram = space.gram();
    let hard: Vec<usize> =
        (0..space.len()).filter(|&i| mirror.of(space.labels()[i]) == 0.0).collect();
    let labels = hard.iter().map(|&i| space.labels()[i]).collect();
    memory::check_vectors(hard.len(), hard.len())?;
    let part = VersionSpace::new(gram.submatrix(&hard), labels)?;
    let scattered = |values: Vec<f64>| {
        let mut all = vec![0.0; space.len()];
        for (&i, value) in hard.iter().zip(values) {
            all[i] = value;
        }
        all
    };
    match max_margin::interior_point(&part, control) {
        Ok(position) => Ok(scattered(position)),
        Err(Error::Infeasible { examples, violations, margin_bound, certificate }) => {
            let certificate = scattered(certificate);
            Err(Error::Infeasible { examples, violations, margin_bound, certificate })
        }
        Err(error) => Err(error),
    }
}
