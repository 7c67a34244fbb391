//! Room in memory, asked for ahead: an allocation that fails ends the process, and what is known to fail is an error instead.
//!
//! What a system without overcommitment, a limit of the address space or a machine too small for it refuses is refused here.
//! Where memory is promised that there is none of, nobody is told before it is touched.

use crate::base::error::{Error, Result};

/// What small things take, and an exception that tells of a lack. More than the 32 MiB up to which the freeing of a block
/// teaches GNU's allocator to keep blocks of its size.
const SPARE: usize = 33 << 20;
/// Stack of a thread, and the address space that GNU's allocator takes for it at a time.
const STACK: usize = 2 << 20;
const ARENA: usize = 64 << 20;

/// Makes sure that there is room for so many bytes beside what small things take.
pub(crate) fn check(bytes: usize) -> Result<()> {
    let mut probe = Vec::<u8>::new();
    let found = probe.try_reserve_exact(bytes.saturating_add(SPARE));
    // What nobody looks at need not be allocated, says the optimizer.
    std::hint::black_box(&probe);
    found.map_err(|_| Error::Memory { bytes })
}

/// The same for doubles: `times` vectors of n.
pub(crate) fn check_vectors(times: usize, n: usize) -> Result<()> {
    check(times.saturating_mul(n).saturating_mul(size_of::<f64>()))
}

/// The same for the stacks of threads that are about to start, and what their allocations take at the least.
pub(crate) fn check_threads(n: usize) -> Result<()> {
    check(n.saturating_mul(STACK + ARENA))
}

/// The same for n doubles that so many threads share. What one leaves of the address space that it takes when it needs
/// more than it began with does not serve another.
pub(crate) fn check_shared(n: usize, threads: usize) -> Result<()> {
    let bytes = n.saturating_mul(size_of::<f64>());
    let more = if bytes < ARENA / 2 { 0 } else { threads.saturating_mul(ARENA) };
    check(bytes.saturating_add(more))
}

/// Room for n values, all of it or an error.
pub(crate) fn reserved<T>(n: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    reserve(&mut values, n)?;
    Ok(values)
}

/// Doubles from which on memory is worth a block of its own.
const MANY: usize = (4 << 20) / size_of::<f64>();

/// Room for n doubles that goes back to the system as soon as it is freed or shrunk: GNU's allocator keeps blocks of a size
/// that it has learnt, and what it keeps of this run's draws the result's cannot use. Pages that nobody touches are not taken.
pub(crate) fn reserved_apart(n: usize) -> Result<Vec<f64>> {
    let mut values = Vec::new();
    if n < MANY || values.try_reserve_exact(n.max(SPARE / size_of::<f64>())).is_err() {
        reserve(&mut values, n)?;
    }
    Ok(values)
}

/// Room for n values more.
pub(crate) fn reserve<T>(values: &mut Vec<T>, n: usize) -> Result<()> {
    values
        .try_reserve_exact(n)
        .map_err(|_| Error::Memory { bytes: n.saturating_mul(size_of::<T>()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "what Miri has no room for ends it")]
    fn what_no_machine_has_is_refused() {
        let most = isize::MAX.unsigned_abs();
        assert_eq!(check(usize::MAX), Err(Error::Memory { bytes: usize::MAX }));
        assert_eq!(check(most / 4), Err(Error::Memory { bytes: most / 4 }));
        assert_eq!(check_vectors(usize::MAX, 2), Err(Error::Memory { bytes: usize::MAX }));
        assert!(check_threads(usize::MAX).is_err());
        assert!(reserved::<f64>(most / 8).is_err());
        assert!(reserved::<f64>(usize::MAX).is_err());
        assert_eq!(check(0), Ok(()));
        assert!(reserved_apart(most / 8).is_err());
        for n in [10, MANY, 2 * SPARE / size_of::<f64>()] {
            assert!(reserved_apart(n).is_ok_and(|values| values.capacity() >= n));
        }
        assert!(reserved::<f64>(10).is_ok_and(|values| values.capacity() >= 10));
    }
}
