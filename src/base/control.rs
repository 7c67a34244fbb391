//! Stop flag and progress, shared between the caller and the workers.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::base::checkpoint::State;
use crate::base::error::{Error, Result};

/// One relaxed flag that the workers look at, and the counters that they fill.
///
/// The caller may raise the flag from any thread; every long loop of the engine looks at it at least every
/// few dozen O(m) steps and returns [`Error::Interrupted`].
#[derive(Debug, Default)]
pub struct Control {
    listener: Option<Listener>,
    keeper: Option<Keeper>,
    stop: Arc<AtomicBool>,
    pause: AtomicBool,
    bounces: AtomicU64,
    length: AtomicU64,
    center_error: AtomicU64,
}

/// Who takes states of the run.
struct Keeper(Box<dyn Fn(State) + Send + Sync>);

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keeper").finish_non_exhaustive()
    }
}

/// What the checks ask now and then.
struct Listener {
    ear: Box<dyn Fn() -> bool + Send + Sync>,
    every: Duration,
    began: Instant,
    /// When to ask next, nanoseconds after the beginning.
    next: AtomicU64,
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("every", &self.every).finish_non_exhaustive()
    }
}

impl Listener {
    /// Whether the time has come and `ear` says that all is to stop.
    fn asks_to_stop(&self) -> bool {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let now = self.began.elapsed();
        if nanos(now) < self.next.load(Ordering::Relaxed) {
            return false;
        }
        self.next.store(nanos(now + self.every), Ordering::Relaxed);
        (self.ear)()
    }
}

impl Control {
    /// A flag that is not raised.
    pub fn new() -> Self {
        let control = Self::default();
        control.center_error.store(f64::NAN.to_bits(), Ordering::Relaxed);
        control
    }

    /// A flag that is raised when `ear` returns true. The checks themselves call it, on their thread, not more often than
    /// `every` so many seconds: for work on one thread, where nobody else could listen.
    pub fn listening(every: Duration, ear: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let next = AtomicU64::new(u64::try_from(every.as_nanos()).unwrap_or(u64::MAX));
        let listener = Listener { ear: Box::new(ear), every, began: Instant::now(), next };
        Self { listener: Some(listener), ..Self::new() }
    }

    /// Gives `keeper` a state of the run whenever [`Control::ask_for_state`] asks for one, on a thread of the run, which
    /// waits meanwhile.
    #[must_use]
    pub fn kept_by(mut self, keeper: impl Fn(State) + Send + Sync + 'static) -> Self {
        self.keeper = Some(Keeper(Box::new(keeper)));
        self
    }

    /// Asks for a state of the run, as soon as it measures. Runs that cannot be continued give none.
    pub fn ask_for_state(&self) {
        if self.keeper.is_some() {
            self.pause.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the workers are to stand still for a state.
    #[inline]
    pub(crate) fn is_to_pause(&self) -> bool {
        self.pause.load(Ordering::Relaxed)
    }

    /// Takes the state that was asked for, which `state` makes.
    pub(crate) fn keep(&self, state: impl FnOnce() -> State) {
        if self.pause.swap(false, Ordering::Relaxed)
            && let Some(Keeper(keeper)) = &self.keeper
        {
            keeper(state());
        }
    }

    /// Asks all workers to stop.
    pub fn interrupt(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The flag, to be raised by whoever has nothing else of this.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// # Errors
    ///
    /// [`Error::Interrupted`] once the flag is raised.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        if self.listener.as_ref().is_some_and(Listener::asks_to_stop) {
            self.interrupt();
            return Err(Error::Interrupted);
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_ask_the_listener_now_and_then() {
        let asked = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&asked);
        let control = Control::listening(Duration::from_millis(5), move || {
            counter.fetch_add(1, Ordering::Relaxed) >= 1
        });
        assert!(control.check().is_ok());
        let began = Instant::now();
        let mut checks = 0u64;
        while control.check().is_ok() {
            checks += 1;
            assert!(began.elapsed() < Duration::from_secs(10));
        }
        assert!(matches!(control.check(), Err(Error::Interrupted)));
        assert!(began.elapsed() >= Duration::from_millis(5));
        assert_eq!(asked.load(Ordering::Relaxed), 2, "after {checks} checks");
    }
}
