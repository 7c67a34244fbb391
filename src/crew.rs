//! The workers of one call.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::gas::Elsewhere;
use crate::room;

/// The workers of one call: a pool of its own, never the global one, which would hang in a forked child; and other processes,
/// if there are any, for what can be done there.
pub(crate) struct Crew {
    pool: Option<rayon::ThreadPool>,
    elsewhere: Option<Box<dyn Elsewhere>>,
}

impl Crew {
    pub(crate) fn new(n_threads: usize) -> Result<Self> {
        if n_threads == 1 {
            return Ok(Self { pool: None, elsewhere: None });
        }
        room::check_threads(n_threads)?;
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().map_err(|error| {
                Error::invalid("n_threads", error, "a number of threads that the system can start")
            })?;
        // Each takes its address space now, so that what is left after it can be told.
        pool.broadcast(|_| std::hint::black_box(Vec::<u8>::with_capacity(1)));
        Ok(Self { pool: Some(pool), elsewhere: None })
    }

    /// Makes sure that there is room for what `n` trajectories on m examples are about to allocate, `vectors` of m doubles each.
    pub(crate) fn check_room(&self, n: usize, vectors: usize, m: usize) -> Result<()> {
        let threads = self.pool.as_ref().map_or(0, rayon::ThreadPool::current_num_threads);
        room::check_shared(n.saturating_mul(vectors).saturating_mul(m), threads)
    }

    /// The same with other processes.
    pub(crate) fn with(self, elsewhere: Option<Box<dyn Elsewhere>>) -> Self {
        Self { elsewhere, ..self }
    }

    /// The other processes.
    pub(crate) fn elsewhere(&self) -> Option<&dyn Elsewhere> {
        self.elsewhere.as_deref()
    }

    /// Applies `work` to every item; results, and the first error, in the order of the index.
    pub(crate) fn each<T: Send, R: Send>(
        &self,
        items: &mut [T],
        work: impl Fn(usize, &mut T) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let results: Vec<Result<R>> = match &self.pool {
            None => items.iter_mut().enumerate().map(|(i, item)| work(i, item)).collect(),
            Some(pool) => pool.install(|| {
                items.par_iter_mut().enumerate().map(|(i, item)| work(i, item)).collect()
            }),
        };
        results.into_iter().collect()
    }
}
