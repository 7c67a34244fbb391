//! Worker threads of one call.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rayon::prelude::*;

use crate::base::{Control, Error, Result, memory};

/// A rayon pool for one call. The global pool would hang in a forked child.
pub struct WorkerPool<'c> {
    pool: Option<rayon::ThreadPool>,
    pub control: &'c Control,
}

impl<'c> WorkerPool<'c> {
    pub fn new(n_threads: usize, control: &'c Control) -> Result<Self> {
        if n_threads == 1 {
            return Ok(Self { pool: None, control });
        }
        memory::check_threads(n_threads)?;
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().map_err(|error| {
                Error::invalid("n_threads", error, "a number of threads that the system can start")
            })?;
        // Threads reserve their address space when they start. Later memory checks must see what is left.
        pool.broadcast(|_| std::hint::black_box(Vec::<u8>::with_capacity(1)));
        Ok(Self { pool: Some(pool), control })
    }

    pub fn n_threads(&self) -> usize {
        self.pool.as_ref().map_or(1, rayon::ThreadPool::current_num_threads)
    }

    /// Checks that memory suffices for `n` trajectories with `vectors` vectors of m doubles each.
    pub fn check_memory(&self, n: usize, vectors: usize, m: usize) -> Result<()> {
        let threads = self.pool.as_ref().map_or(0, rayon::ThreadPool::current_num_threads);
        memory::check_shared(n.saturating_mul(vectors).saturating_mul(m), threads)
    }

    /// Applies `work` to every item. Returns the results in order, or the error of the lowest index. A panic stops all workers.
    pub fn each<T: Send, R: Send>(
        &self,
        items: &mut [T],
        work: impl Fn(usize, &mut T) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let work = |(i, item)| {
            catch_unwind(AssertUnwindSafe(|| work(i, item))).unwrap_or_else(|panic| {
                // The others would otherwise end their work before the panic is resumed.
                self.control.interrupt();
                resume_unwind(panic)
            })
        };
        let results: Vec<Result<R>> = match &self.pool {
            None => items.iter_mut().enumerate().map(work).collect(),
            Some(pool) => pool.install(|| items.par_iter_mut().enumerate().map(work).collect()),
        };
        results.into_iter().collect()
    }
}
