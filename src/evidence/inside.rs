//! Points of version space from which trips up the ladder begin.

use crate::base::{Control, Error, Result};
use crate::evidence::settings::{EvidenceSettings, Method};
use crate::interior::{self, conflicts, max_margin};
use crate::space::{Mirror, VersionSpace};

/// What is in version space behind walls that let through, if it is found: where double precision or memory give out the trips
/// down see what there is. With hard walls they may not, and that is an error.
pub(super) fn found<T>(inside: Result<T>, targets: &[Mirror]) -> Result<Option<T>> {
    match inside {
        Ok(inside) => Ok(Some(inside)),
        Err(Error::Infeasible { .. }) => Ok(None),
        Err(Error::Breakdown { .. } | Error::Memory { .. })
            if targets.iter().all(|target| target.negative.min(target.positive) > 0.0) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A point from which trips up begin: inside version space if that is found, and where the walls of one class alone are hard,
/// on its side of them.
///
/// # Errors
///
/// [`Error::Infeasible`] where that class alone leaves nothing.
pub(super) fn inside(
    space: &VersionSpace<'_>,
    settings: &EvidenceSettings,
    control: &Control,
) -> Result<Option<Vec<f64>>> {
    let [negative, positive] = space.class_counts();
    let is_hard = |target: Mirror| {
        [target.negative == 0.0 && negative > 0, target.positive == 0.0 && positive > 0]
    };
    if let [target] = settings.targets[..]
        && let [true, false] | [false, true] = is_hard(target)
        && !target.is_hard()
    {
        conflicts::check(space, target, control)?;
        return interior::hard_point(space, target, control).map(Some);
    }
    match settings.method {
        Method::Integration => found(max_margin::interior_point(space, control), &settings.targets),
        Method::Bridge => Ok(None),
    }
}
