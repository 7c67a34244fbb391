//! Tests of `python::call` that need its private parts.

use super::*;

fn panics(_: &Control) -> Result<()> {
    panic!("injected")
}

#[test]
fn a_panic_of_a_worker_is_a_runtime_error_and_the_interpreter_lives() {
    Python::initialize();
    Python::attach(|py| {
        for error in [
            interruptible(py, None, panics).expect_err("a panic"),
            here(py, panics).expect_err("a panic"),
        ] {
            assert!(error.is_instance_of::<PyRuntimeError>(py), "{error}");
            assert!(error.to_string().contains("a worker of the engine panicked: injected"));
        }
        let next = interruptible(py, None, |control| control.check().map(|()| 7));
        assert_eq!(next.expect("no panic"), 7);
        let sum: u64 =
            py.eval(c"sum(range(10))", None, None).and_then(|x| x.extract()).expect("45");
        assert_eq!(sum, 45);
    });
}

#[test]
fn a_lack_of_memory_is_a_memory_error() {
    Python::initialize();
    Python::attach(|py| {
        let work = |_: &Control| memory::check(usize::MAX);
        let error = here(py, work).expect_err("no room");
        assert!(error.is_instance_of::<pyo3::exceptions::PyMemoryError>(py), "{error}");
    });
}
