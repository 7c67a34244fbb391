//! The time that the benches measure: that of the clock or, with `BAYESPOINT_CPU_TIME`, that of the processor.

use std::time::{Duration, Instant};

use criterion::measurement::{Measurement, ValueFormatter, WallTime};

/// Other programs on the same processors make wall time longer, and the processor time of this one hardly.
pub struct Clock {
    begin: Instant,
    of_processor: bool,
}

impl Clock {
    /// The clock that the environment asks for.
    pub fn new() -> Self {
        let of_processor = std::env::var_os("BAYESPOINT_CPU_TIME").is_some();
        Self { begin: Instant::now(), of_processor }
    }

    fn now(&self) -> Duration {
        if self.of_processor { processor_time() } else { self.begin.elapsed() }
    }
}

/// The processor time of all threads of this process.
#[cfg(unix)]
fn processor_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).expect("a positive time")
}

#[cfg(not(unix))]
fn processor_time() -> Duration {
    panic!("processor time is measured on Unix alone")
}

impl Measurement for Clock {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        self.now()
    }

    fn end(&self, start: Duration) -> Duration {
        self.now().checked_sub(start).expect("a clock that runs")
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, time: &Duration) -> f64 {
        WallTime.to_f64(time)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}
