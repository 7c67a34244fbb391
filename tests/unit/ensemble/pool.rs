//! Tests of `ensemble::pool`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::base::{Control, Error, Result};
use crate::ensemble::WorkerPool;

/// Of four workers one panics; the others never end by themselves.
#[test]
fn a_panic_ends_the_work_of_all() {
    for n_threads in [1, 2, 8] {
        let control = Control::new();
        let pool = WorkerPool::new(n_threads, &control).expect("threads");
        let mut items = [0, 1, 2, 3];
        let ended = catch_unwind(AssertUnwindSafe(|| {
            pool.each(&mut items, |i, _| -> Result<()> {
                assert!(i > 0, "injected");
                loop {
                    control.check()?;
                    std::thread::yield_now();
                }
            })
        }));
        let panic = ended.expect_err("a panic");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"injected"));
        assert_eq!(control.check(), Err(Error::Interrupted));
        // The pool can still be used.
        let doubled = pool.each(&mut items, |_, item| Ok(2 * *item)).expect("no panic");
        assert_eq!(doubled, [0, 2, 4, 6]);
    }
}
