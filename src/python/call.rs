//! Long calls: detached from the interpreter, open to signals, with errors as exceptions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use super::Found;
use crate::base::{Control, Result, memory};

/// Time between two checks for signals. The callback is called at every second one.
const TICK: Duration = Duration::from_millis(50);

/// Runs `work` on a new thread, detached from the interpreter. Meanwhile the calling thread checks for signals and calls
/// `callback`. An exception in either stops the work and is then raised.
pub fn interruptible<R: Send>(
    py: Python,
    callback: Option<&Bound<PyAny>>,
    work: impl FnOnce(&Control) -> Result<R> + Send,
) -> PyResult<R> {
    if let Some(callback) = callback
        && !callback.is_callable()
    {
        let text = format!("callback must be a callable or None; got {}", callback.repr()?);
        return Err(PyTypeError::new_err(text));
    }
    let (to_caller, is_over) = channel();
    let control = Control::new();
    let callback = callback.map(|callback| callback.clone().unbind());
    memory::check_threads(1)?;
    py.detach(move || {
        std::thread::scope(|scope| {
            let control = &control;
            let worker = std::thread::Builder::new()
                .spawn_scoped(scope, move || {
                    let result = catch_unwind(AssertUnwindSafe(|| work(control)));
                    // The receiver is gone after a signal.
                    let _ = to_caller.send(());
                    result
                })
                .map_err(|error| {
                    PyRuntimeError::new_err(format!("the engine can start no thread: {error}"))
                })?;
            let mut raised = None;
            let mut report_at = Instant::now() + 2 * TICK;
            while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(TICK) {
                let now = Instant::now();
                let listened = Python::attach(|py| {
                    py.check_signals()?;
                    match &callback {
                        Some(callback) if now >= report_at => {
                            report_at = now + 2 * TICK;
                            callback.call1(py, (progress(py, control)?,)).map(drop)
                        }
                        _ => Ok(()),
                    }
                });
                if let Err(error) = listened {
                    control.interrupt();
                    raised = Some(error);
                    break;
                }
            }
            concluded(raised, worker.join().and_then(|result| result))
        })
    })
}

/// Runs short `work` on the calling thread, detached from the interpreter. The work's own checks look for signals.
pub fn here<R: Send>(py: Python, work: impl FnOnce(&Control) -> Result<R> + Send) -> PyResult<R> {
    py.detach(|| {
        let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
        let signaled = Arc::clone(&raised);
        let control = Control::listening(TICK, move || {
            let Some(error) = Python::attach(|py| py.check_signals().err()) else { return false };
            *signaled.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            true
        });
        let result = catch_unwind(AssertUnwindSafe(|| work(&control)));
        let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        concluded(raised, result)
    })
}

/// Runs `work` on the calling thread, or on others.
pub fn in_threads<R: Send>(
    py: Python,
    n_threads: usize,
    work: impl FnOnce(&Control) -> Result<R> + Send,
) -> PyResult<R> {
    if n_threads == 1 { here(py, work) } else { interruptible(py, None, work) }
}

fn concluded<R>(raised: Option<PyErr>, result: std::thread::Result<Result<R>>) -> PyResult<R> {
    match (raised, result) {
        (Some(error), _) => Err(error),
        (None, Ok(result)) => Ok(result?),
        (None, Err(panic)) => {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
                .unwrap_or_default();
            Err(PyRuntimeError::new_err(format!("a worker of the engine panicked: {text}")))
        }
    }
}

fn progress<'py>(py: Python<'py>, control: &Control) -> Found<'py> {
    dict!(py,
        "length": control.length(),
        "bounces": control.bounces(),
        "center_error": control.center_error(),
    )
}

/// These need an embedded interpreter: `make ci-slow` runs them.
#[cfg(test)]
#[path = "../../tests/unit/python/call.rs"]
mod tests;
