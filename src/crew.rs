//! The workers of one call.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::gas::Elsewhere;

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
        rayon::ThreadPoolBuilder::new()
            .num_threads(n_threads)
            .build()
            .map(|pool| Self { pool: Some(pool), elsewhere: None })
            .map_err(|error| {
                Error::invalid("n_threads", error, "a number of threads that the system can start")
            })
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
