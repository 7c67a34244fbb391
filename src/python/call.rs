//! Long calls: detached from the interpreter, open to signals, with errors as exceptions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::base::{Control, Result, State, memory};

/// Time between two checks for signals. The callback is called at every second one.
const TICK: Duration = Duration::from_millis(50);

/// Messages from the working thread to the calling thread.
enum News {
    Over,
    State(State),
}

/// Passes a state of the run to Python.
type Keep = dyn Fn(Python<'_>, State) -> PyResult<()> + Send + Sync;

/// The function that stores states of the run, and the time between two of them.
pub(super) struct Keeping {
    pub every: Duration,
    pub keep: Box<Keep>,
}

/// Runs `work` on a new thread, detached from the interpreter. Meanwhile the calling thread checks for signals, calls
/// `callback` with the progress, and stores a state of the run at intervals. An exception in any of these stops the work and
/// is raised when the work has stopped.
pub(super) fn interruptible<R: Send>(
    py: Python<'_>,
    callback: Option<&Bound<'_, PyAny>>,
    keeping: Option<&Keeping>,
    work: impl FnOnce(&Control) -> Result<R> + Send,
) -> PyResult<R> {
    if let Some(callback) = callback
        && !callback.is_callable()
    {
        let text = format!("callback must be a callable or None; got {}", callback.repr()?);
        return Err(PyTypeError::new_err(text));
    }
    let (done, news) = channel();
    let control = match keeping {
        Some(_) => {
            let to_caller = done.clone();
            Control::new().kept_by(move |state| {
                // The receiver is gone after a signal. The state is then not needed.
                let _ = to_caller.send(News::State(state));
            })
        }
        None => Control::new(),
    };
    let callback = callback.map(|callback| callback.clone().unbind());
    memory::check_threads(1)?;
    py.detach(move || {
        std::thread::scope(|scope| {
            let control = &control;
            let worker = std::thread::Builder::new()
                .spawn_scoped(scope, move || {
                    let result = catch_unwind(AssertUnwindSafe(|| work(control)));
                    // The receiver is gone after a signal.
                    let _ = done.send(News::Over);
                    result
                })
                .map_err(|error| {
                    PyRuntimeError::new_err(format!("the engine can start no thread: {error}"))
                })?;
            let mut raised = None;
            // When to request the next state; None while a request is pending.
            let later = || keeping.map(|keeping| Instant::now() + keeping.every);
            let mut next = later();
            let mut report_at = Instant::now() + 2 * TICK;
            loop {
                let wait = next
                    .map_or(TICK, |time| TICK.min(time.saturating_duration_since(Instant::now())));
                let state = match news.recv_timeout(wait) {
                    Ok(News::State(state)) => Some(state),
                    Err(RecvTimeoutError::Timeout) => None,
                    Ok(News::Over) | Err(RecvTimeoutError::Disconnected) => break,
                };
                let now = Instant::now();
                if next.is_some_and(|time| now >= time) {
                    control.ask_for_state();
                    next = None;
                }
                let listened = Python::attach(|py| {
                    py.check_signals()?;
                    if let (Some(state), Some(keeping)) = (state, keeping) {
                        (keeping.keep)(py, state)?;
                        next = later();
                    }
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

/// The exception raised by a signal handler or by a function that the work called. It ends the work.
pub(super) type Raised = Arc<Mutex<Option<PyErr>>>;

/// Records an exception.
pub(super) fn record(raised: &Raised, error: PyErr) {
    *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
}

/// Runs `work` on the calling thread, detached from the interpreter. The work's own checks look for signals, and states are
/// stored as soon as they are ready. For work that calls Python, and for work that may take less time than starting a thread
/// and loading the matrix into its cache.
pub(super) fn here<R: Send>(
    py: Python<'_>,
    raised: &Raised,
    keeping: Option<Keeping>,
    work: impl FnOnce(&Control) -> Result<R> + Send,
) -> PyResult<R> {
    py.detach(|| {
        let signaled = Arc::clone(raised);
        let mut control = Control::listening(TICK, move || {
            let Some(error) = Python::attach(|py| py.check_signals().err()) else { return false };
            record(&signaled, error);
            true
        });
        if let Some(Keeping { keep, .. }) = keeping {
            let (raised, flag) = (Arc::clone(raised), control.flag());
            control = control.kept_by(move |state| {
                if let Err(error) = Python::attach(|py| keep(py, state)) {
                    record(&raised, error);
                    flag.store(true, Ordering::Relaxed);
                }
            });
        }
        let result = catch_unwind(AssertUnwindSafe(|| work(&control)));
        let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        concluded(raised, result)
    })
}

/// Returns the result of the work, or the exception that was raised meanwhile.
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

/// Returns the progress of the work.
pub(super) fn progress<'py>(py: Python<'py>, control: &Control) -> PyResult<Bound<'py, PyDict>> {
    let progress = PyDict::new(py);
    progress.set_item("length", control.length())?;
    progress.set_item("bounces", control.bounces())?;
    progress.set_item("center_error", control.center_error())?;
    Ok(progress)
}

/// These need an embedded interpreter: `make test-door`.
#[cfg(test)]
mod tests {
    use super::*;

    fn panics(_: &Control) -> Result<()> {
        panic!("injected")
    }

    #[test]
    fn a_panic_of_a_worker_is_a_runtime_error_and_the_interpreter_lives() {
        Python::initialize();
        Python::attach(|py| {
            for error in [
                interruptible(py, None, None, panics).expect_err("a panic"),
                here(py, &Raised::default(), None, panics).expect_err("a panic"),
            ] {
                assert!(error.is_instance_of::<PyRuntimeError>(py), "{error}");
                assert!(error.to_string().contains("a worker of the engine panicked: injected"));
            }
            let next = interruptible(py, None, None, |control| control.check().map(|()| 7));
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
            let error = here(py, &Raised::default(), None, work).expect_err("no room");
            assert!(error.is_instance_of::<pyo3::exceptions::PyMemoryError>(py), "{error}");
        });
    }
}
