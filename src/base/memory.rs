//! Checks that large allocations will succeed. In Rust one that fails aborts the process; these functions return an error.
//!
//! They detect a limit of the address space and, without overcommitment, a lack of memory.

use super::error::{Error, Result};

/// Headroom in bytes for small allocations and the error: more than the 32 MiB up to which GNU's allocator keeps freed blocks.
const SPARE: usize = 33 << 20;
/// Bytes of a thread's stack, and of the arena that GNU's allocator reserves for a thread.
const STACK: usize = 2 << 20;
const ARENA: usize = 64 << 20;

/// Checks that `bytes` can be allocated, with headroom for small allocations.
pub fn check(bytes: usize) -> Result<()> {
    let mut probe = Vec::<u8>::new();
    let found = probe.try_reserve_exact(granted(bytes.saturating_add(SPARE)));
    // Keeps the optimizer from removing the unused allocation.
    std::hint::black_box(&probe);
    found.map_err(|_| Error::Memory { bytes })
}

/// Returns n. A test asks for more than any machine has instead.
#[cfg(not(test))]
const fn granted(n: usize) -> usize {
    n
}
#[cfg(test)]
use tests::granted;

/// As [`check`], for `times` vectors of n doubles.
pub fn check_vectors(times: usize, n: usize) -> Result<()> {
    check(times.saturating_mul(n).saturating_mul(size_of::<f64>()))
}

/// As [`check`], for the stacks and the first arenas of n new threads.
pub fn check_threads(n: usize) -> Result<()> {
    check(n.saturating_mul(STACK + ARENA))
}

/// As [`check`], for n doubles that threads allocate together, in arenas of their own, whose unused part others cannot use.
pub fn check_shared(n: usize, threads: usize) -> Result<()> {
    let bytes = n.saturating_mul(size_of::<f64>());
    let more = if bytes < ARENA / 2 { 0 } else { threads.saturating_mul(ARENA) };
    check(bytes.saturating_add(more))
}

pub fn reserved<T>(n: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    reserve(&mut values, n)?;
    Ok(values)
}

/// Number of doubles from which a vector gets a block of its own.
const MANY: usize = (4 << 20) / size_of::<f64>();

/// Returns an empty vector with capacity for n doubles in a block that goes back to the system when it is freed or shrunk.
/// GNU's allocator would keep a smaller one, which the copy of the draws in the result could not use.
pub fn reserved_apart(n: usize) -> Result<Vec<f64>> {
    let mut values = Vec::new();
    if n < MANY || values.try_reserve_exact(n.max(SPARE / size_of::<f64>())).is_err() {
        reserve(&mut values, n)?;
    }
    Ok(values)
}

pub fn reserve<T>(values: &mut Vec<T>, n: usize) -> Result<()> {
    values
        .try_reserve_exact(granted(n))
        .map_err(|_| Error::Memory { bytes: n.saturating_mul(size_of::<T>()) })
}

#[cfg(test)]
#[path = "../../tests/unit/base/memory.rs"]
mod tests;
