//! Every long call: detach, run, listen for signals, convert the error.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::control::Control;
use crate::error::Result;

/// Between two looks for a signal; the callback is called at every second one.
const TICK: Duration = Duration::from_millis(50);

/// Runs `work` on a thread of its own, detached from the interpreter, while the calling thread listens for signals and
/// calls `callback` with the progress. What either raises stops the work and is raised once it has stopped.
pub(super) fn interruptible<R: Send>(
    py: Python<'_>,
    callback: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Control) -> Result<R> + Send,
) -> PyResult<R> {
    let control = Control::new();
    let callback = callback.map(|callback| callback.clone().unbind());
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, finished) = channel();
            let control = &control;
            let worker = scope.spawn(move || {
                let result = catch_unwind(AssertUnwindSafe(|| work(control)));
                // The listener may have gone after a signal: nobody waits then.
                let _ = done.send(());
                result
            });
            let mut raised = None;
            for tick in 1u64.. {
                if finished.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                let heard = Python::attach(|py| {
                    py.check_signals()?;
                    match &callback {
                        Some(callback) if tick % 2 == 0 => report(py, callback, control),
                        _ => Ok(()),
                    }
                });
                if let Err(error) = heard {
                    control.interrupt();
                    raised = Some(error);
                    break;
                }
            }
            concluded(raised, worker.join().and_then(|result| result))
        })
    })
}

/// Runs `work` on the calling thread, detached from the interpreter; its checks listen for signals. For work on one thread
/// that may be over sooner than another thread starts and has the matrix in its cache.
pub(super) fn interruptible_here<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Control) -> Result<R> + Send,
) -> PyResult<R> {
    here(py, Raised::default(), work)
}

/// What was raised by a signal, or by what `work` calls: it must end then.
pub(super) type Raised = Arc<Mutex<Option<PyErr>>>;

/// The same for work that may raise exceptions of its own.
pub(super) fn here<R: Send>(
    py: Python<'_>,
    raised: Raised,
    work: impl FnOnce(&Control) -> Result<R> + Send,
) -> PyResult<R> {
    py.detach(|| {
        let control = listening(&raised);
        let result = catch_unwind(AssertUnwindSafe(|| work(&control)));
        let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        concluded(raised, result)
    })
}

/// Checks that listen for signals, on the thread that makes them, and put down what these raise.
fn listening(raised: &Raised) -> Control {
    let heard = Arc::clone(raised);
    Control::listening(TICK, move || {
        let Err(error) = Python::attach(|py| -> PyResult<()> {
            py.check_signals()?;
            Ok(())
        }) else {
            return false;
        };
        *heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        true
    })
}

/// What was raised while the work was done, or its result.
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

fn report(py: Python<'_>, callback: &Py<PyAny>, control: &Control) -> PyResult<()> {
    let progress = PyDict::new(py);
    fill(&progress, control)?;
    callback.call1(py, (progress,)).map(|_| ())
}

/// Says how far the work has come.
pub(super) fn fill(progress: &Bound<'_, PyDict>, control: &Control) -> PyResult<()> {
    progress.set_item("length", control.length())?;
    progress.set_item("bounces", control.bounces())?;
    progress.set_item("center_error", control.center_error())
}
