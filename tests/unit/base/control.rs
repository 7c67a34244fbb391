//! Tests of `base::control`.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::base::{Control, Error};

#[test]
fn checks_ask_the_listener_now_and_then() {
    let asked = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&asked);
    let control =
        Control::listening(Duration::from_millis(5), move || counter.fetch_add(1, Relaxed) >= 1);
    assert!(control.check().is_ok());
    let began = Instant::now();
    let mut checks = 0u64;
    while control.check().is_ok() {
        checks += 1;
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    assert!(matches!(control.check(), Err(Error::Interrupted)));
    assert!(began.elapsed() >= Duration::from_millis(5));
    assert_eq!(asked.load(Relaxed), 2, "after {checks} checks");
}
