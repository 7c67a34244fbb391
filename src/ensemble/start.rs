//! Starting points of trajectories.

use crate::base::{Control, Result, random};
use crate::ensemble::attempt::{at, attempt};
use crate::ensemble::chain::Chain;
use crate::ensemble::conditional_means::Smoother;
use crate::ensemble::pool::WorkerPool;
use crate::ensemble::remote;
use crate::ensemble::settings::Settings;
use crate::interior::{Start, Trapped, conflicts, hard_point};
use crate::space::VersionSpace;

/// Starts all trajectories: at the given point, or at a point that a light trap finds for each. Those whose light trap fails
/// start at the point of a single search for the maximal margin.
pub(super) fn start<'s>(
    space: &'s VersionSpace<'s>,
    settings: &Settings,
    smoother: Option<&Smoother<'_>>,
    pool: &WorkerPool,
    control: &Control,
) -> Result<Vec<Chain<'s>>> {
    conflicts::check(space, settings.mirror, control)?;
    let middle = match smoother {
        Some(smoother) if settings.start.is_none() => {
            Some((smoother, smoother.middle(space, settings.mirror, control)?))
        }
        _ => None,
    };
    let (seed, n, mirror) = (settings.seed, settings.n_trajectories, settings.mirror);
    let middle = middle.as_ref().map(|(smoother, middle)| (*smoother, middle));
    let mut tried = match (&settings.start, pool.executor()) {
        (None, Some(executor)) => {
            remote::attempts(executor, space, (seed, n), mirror, middle, control)?
        }
        (start, _) => pool.each(&mut vec![(); n], |i, ()| {
            let rng = random::stream(seed, i);
            match start {
                Some(position) => at(space, position, rng, control).map(Trapped::Caught),
                None => attempt(space, mirror, middle, rng, control),
            }
        })?,
    };
    let interior = if tried.iter().any(|trapped| matches!(trapped, Trapped::Lost(_))) {
        Some(hard_point(space, settings.mirror, control)?)
    } else {
        None
    };
    let caught = match (&settings.start, middle) {
        (Some(_), _) => Start::Given,
        (None, Some(_)) => Start::Typical,
        (None, None) => Start::LightTrap,
    };
    tried
        .drain(..)
        .map(|trapped| {
            let (mut trajectory, start) = match (trapped, &interior) {
                (Trapped::Caught(trajectory), _) => (trajectory, caught),
                (Trapped::Lost(rng), Some(position)) => {
                    (at(space, position, rng, control)?, Start::MaxMargin)
                }
                (Trapped::Lost(_), None) => unreachable!("the search was made for the lost ones"),
            };
            trajectory.set_mirror(settings.mirror);
            Ok(Chain::new(trajectory, start))
        })
        .collect()
}
