//! Steps of trajectories in other processes, sent by a Python callable.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::call::{self, Raised};
use crate::base::{Control, Error, Result};
use crate::ensemble::RemoteExecutor;

/// A Python callable that distributes steps: `send(order, trajectories, progress) -> trajectories`, where orders and
/// trajectories are bytes. If states are stored, one is requested between two steps at intervals.
pub(super) struct Sender {
    pub send: Py<PyAny>,
    pub every: Option<Duration>,
    pub asked: Mutex<Instant>,
    pub raised: Raised,
}

impl RemoteExecutor for Sender {
    fn take(
        &self,
        order: Vec<u8>,
        trajectories: Vec<Vec<u8>>,
        control: &Control,
    ) -> Result<Vec<Vec<u8>>> {
        control.check()?;
        {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            if self.every.is_some_and(|every| asked.elapsed() >= every) {
                control.ask_for_state();
                *asked = Instant::now();
            }
        }
        let sent = Python::attach(|py| -> PyResult<_> {
            let bytes = |bytes: &Vec<u8>| PyBytes::new(py, bytes);
            let trajectories: Vec<_> = trajectories.iter().map(bytes).collect();
            let progress = call::progress(py, control)?;
            let stepped = self.send.bind(py).call1((bytes(&order), trajectories, progress))?;
            stepped.try_iter()?.map(|one| Ok(one?.cast::<PyBytes>()?.as_bytes().to_vec())).collect()
        });
        sent.map_err(|error| {
            call::record(&self.raised, error);
            Error::Interrupted
        })
    }
}
