//! Points of version space from which trips up the ladder begin.

use crate::base::{Control, Error, Result};
use crate::interior::{self, conflicts, max_margin};
use crate::space::{Mirror, VersionSpace};

/// Returns what was computed from a point inside version space, or `None` if no point can be had and the run can do without.
/// Behind half-silvered walls the trips down suffice where double precision or memory does not. Behind hard walls
/// they may miss version space, so that is an error.
pub(super) fn optional<T>(inside: Result<T>, targets: &[Mirror]) -> Result<Option<T>> {
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

/// Returns a point from which trips up begin: inside version space, or on the satisfied side of the hard walls where those of
/// one class alone are hard.
///
/// # Errors
///
/// [`Error::Infeasible`] if no point satisfies the class with hard walls.
pub(super) fn point(
    space: &VersionSpace<'_>,
    targets: &[Mirror],
    control: &Control,
) -> Result<Option<Vec<f64>>> {
    let [negative, positive] = space.class_counts();
    if let [target] = *targets
        && let [true, false] | [false, true] =
            [target.negative == 0.0 && negative > 0, target.positive == 0.0 && positive > 0]
        && !target.is_hard()
    {
        conflicts::check(space, target, control)?;
        return interior::hard_point(space, target, control).map(Some);
    }
    optional(max_margin::interior_point(space, control), targets)
}
