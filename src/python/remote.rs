//! Steps of trajectories in other processes, sent by a Python callable.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::call::{self, Raised};
use crate::base::{Control, Error, Result};
use crate::ensemble::RemoteExecutor;

/// A Python callable that distributes steps: `send(order, trajectories, progress) -> trajectories`, where orders and
/// trajectories are bytes. If states are stored, it requests one between two steps at intervals.
pub(super) struct Sender {
    pub send: Py<PyAny>,
    pub every: Option<Duration>,
    pub asked: Mutex<Instant>,
    pub raised: Raised,
}

impl Sender {
    fn ask(
        &self,
        py: Python<'_>,
        order: &[u8],
        trajectories: &[Vec<u8>],
        control: &Control,
    ) -> PyResult<Vec<Vec<u8>>> {
        let to_bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
        let trajectories: Vec<_> = trajectories.iter().map(|bytes| to_bytes(bytes)).collect();
        let progress = PyDict::new(py);
        call::fill(&progress, control)?;
        let back = self.send.bind(py).call1((to_bytes(order), trajectories, progress))?;
        back.try_iter()?.map(|bytes| Ok(bytes?.cast::<PyBytes>()?.as_bytes().to_vec())).collect()
    }
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
        Python::attach(|py| self.ask(py, &order, &trajectories, control)).map_err(|error| {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Error::Interrupted
        })
    }
}
