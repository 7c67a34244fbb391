//! The center of all pieces of path so far, and sums of the tallies.

use crate::base::{Control, Result};
use crate::ensemble::center;
use crate::ensemble::center::{Batch, Center};
use crate::ensemble::chain::Chain;
use crate::ensemble::pool::WorkerPool;
use crate::space::VersionSpace;
use crate::trajectory::dynamics::Dynamics;

/// Returns the total path and arrivals of the tallies.
pub(crate) fn totals<D: Dynamics>(chains: &[Chain<'_, D>]) -> (f64, u64) {
    chains.iter().fold((0.0, 0), |(path, arrivals), chain| {
        let tally = chain.trajectory.tally();
        (path + tally.path, arrivals + tally.arrivals())
    })
}

pub(crate) fn watched_space<'s, D: Dynamics>(chains: &[Chain<'s, D>]) -> &'s VersionSpace<'s> {
    chains[0].trajectory.space()
}

/// Returns the center of all pieces so far.
pub(crate) fn estimate<D: Dynamics>(
    pool: &WorkerPool,
    chains: &mut [Chain<'_, D>],
    control: &Control,
) -> Result<Center> {
    let gram = watched_space(chains).gram();
    pool.each(chains, |_, chain| chain.prepare(control))?;
    let lists: Vec<Vec<Batch>> =
        chains.iter_mut().map(|chain| std::mem::take(&mut chain.batches)).collect();
    let center = center::center(gram, &lists);
    for (chain, list) in chains.iter_mut().zip(lists) {
        chain.batches = list;
    }
    Ok(center)
}
