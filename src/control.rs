//! Stop flag and progress, shared between the caller and the workers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, Result};

/// One relaxed flag that the workers look at, and the counters that they fill.
///
/// The caller may raise the flag from any thread; every long loop of the engine looks at it at least every
/// few dozen O(m) steps and returns [`Error::Interrupted`].
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    bounces: AtomicU64,
    length: AtomicU64,
    center_error: AtomicU64,
}

impl Control {
    /// A flag that is not raised.
    pub fn new() -> Self {
        let control = Self::default();
        control.center_error.store(f64::NAN.to_bits(), Ordering::Relaxed);
        control
    }

    /// Asks all workers to stop.
    pub fn interrupt(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// # Errors
    ///
    /// [`Error::Interrupted`] once the flag is raised.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Bounces of all trajectories so far.
    pub fn bounces(&self) -> u64 {
        self.bounces.load(Ordering::Relaxed)
    }

    /// Path behind every trajectory, radians.
    pub fn length(&self) -> f64 {
        f64::from_bits(self.length.load(Ordering::Relaxed))
    }

    /// Last estimate of the error of the center, radians; NaN until there is one.
    pub fn center_error(&self) -> f64 {
        f64::from_bits(self.center_error.load(Ordering::Relaxed))
    }

    pub(crate) fn count_bounces(&self, n: u64) {
        self.bounces.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn report(&self, length: f64, center_error: f64) {
        self.length.store(length.to_bits(), Ordering::Relaxed);
        self.center_error.store(center_error.to_bits(), Ordering::Relaxed);
    }
}
