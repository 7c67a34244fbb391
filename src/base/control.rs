//! Stop flag and progress, shared between the caller and the workers.

use std::sync::LazyLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use super::error::{Error, Result};

static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A stop flag and a deadline that the workers read, and the counters of progress that they write.
///
/// Any thread may raise the flag. Every long loop reads it at least every few dozen O(m) steps, then [`Error::Interrupted`].
#[derive(Default)]
pub struct Control {
    /// Called by every check; returns whether to stop.
    listener: Option<Box<dyn Fn() -> bool + Send + Sync>>,
    stop: AtomicBool,
    /// End of the time of the run, in nanoseconds after [`ORIGIN`]; 0 for none.
    deadline: AtomicU64,
    /// Whether work cannot end early with what there is.
    must_finish: AtomicBool,
    bounces: AtomicU64,
    length: AtomicU64,
    center_error: AtomicU64,
}

impl Control {
    /// Returns a flag that is not raised.
    pub fn new() -> Self {
        let control = Self::default();
        control.center_error.store(f64::NAN.to_bits(), Relaxed);
        control
    }

    /// Returns a flag that is raised when `asks` returns true; the checks call it on their own thread, at most once in `every`.
    pub fn listening(every: Duration, asks: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        // The time of the next call, in nanoseconds after the start.
        let (began, next) = (Instant::now(), AtomicU64::new(nanos(every)));
        let listener = move || {
            let now = began.elapsed();
            if nanos(now) < next.load(Relaxed) {
                return false;
            }
            next.store(nanos(now + every), Relaxed);
            asks()
        };
        Self { listener: Some(Box::new(listener)), ..Self::new() }
    }

    /// Sets the time of the run in seconds from now on, or removes the limit.
    pub(crate) fn limit_time(&self, seconds: Option<f64>) {
        let deadline = seconds.map_or(0, |seconds| {
            let given = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
            nanos(ORIGIN.elapsed()).saturating_add(nanos(given)).max(1)
        });
        self.deadline.store(deadline, Relaxed);
    }

    #[inline]
    pub(crate) fn is_out_of_time(&self) -> bool {
        let deadline = self.deadline.load(Relaxed);
        deadline > 0 && nanos(ORIGIN.elapsed()) >= deadline
    }

    /// Says whether the work that follows cannot end early with what there is, so that the checks fail when the time is over.
    pub(crate) fn require_all(&self, must_finish: bool) {
        self.must_finish.store(must_finish, Relaxed);
    }

    /// Asks all workers to stop.
    pub fn interrupt(&self) {
        self.stop.store(true, Relaxed);
    }

    /// [`Error::Interrupted`] once the flag is raised; [`Error::Time`] once the time is over in work that cannot end early.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.stop.load(Relaxed) {
            return Err(Error::Interrupted);
        }
        if self.must_finish.load(Relaxed) && self.is_out_of_time() {
            return Err(Error::Time);
        }
        if self.listener.as_ref().is_some_and(|asks| asks()) {
            self.interrupt();
            return Err(Error::Interrupted);
        }
        Ok(())
    }

    /// Returns the bounces of all trajectories so far.
    pub fn bounces(&self) -> u64 {
        self.bounces.load(Relaxed)
    }

    /// Returns the path of each trajectory so far, radians.
    pub fn length(&self) -> f64 {
        f64::from_bits(self.length.load(Relaxed))
    }

    /// Returns the last estimate of the error of the center, radians; NaN before the first.
    pub fn center_error(&self) -> f64 {
        f64::from_bits(self.center_error.load(Relaxed))
    }

    pub(crate) fn count_bounces(&self, n: u64) {
        self.bounces.fetch_add(n, Relaxed);
    }

    pub(crate) fn report(&self, length: f64, center_error: f64) {
        self.length.store(length.to_bits(), Relaxed);
        self.center_error.store(center_error.to_bits(), Relaxed);
    }
}
