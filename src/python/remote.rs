//! The door to other processes: steps that are handed out, and steps that are taken for others.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::call::{self, Raised};
use super::states;
use crate::base::{Control, Error, Result, State};
use crate::ensemble::RemoteExecutor;

/// A callable of Python's that hands out steps: `send(order, trajectories, progress) -> trajectories`, all of them bytes.
pub(super) struct Sender {
    send: Py<PyAny>,
    keeper: Option<Keeper>,
    raised: Raised,
}

/// A callable of Python's that keeps states of the run, asked for now and then between two steps.
pub(super) struct Keeper {
    keep: Py<PyAny>,
    every: Duration,
    /// Number of examples.
    m: usize,
    states: Mutex<Receiver<State>>,
    /// When to ask for the next, unless it was asked for.
    next: Mutex<Option<Instant>>,
}

impl Keeper {
    pub(super) fn new(keep: Py<PyAny>, every: Duration, m: usize, states: Receiver<State>) -> Self {
        let next = Mutex::new(Some(Instant::now() + every));
        Self { keep, every, m, states: Mutex::new(states), next }
    }

    /// Has a state kept that came, and asks for the next when it is due.
    fn look(&self, py: Python<'_>, control: &Control) -> PyResult<()> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.states.lock().unwrap_or_else(PoisonError::into_inner).try_recv();
        if let Ok(state) = state {
            self.keep.call1(py, (states::to_dict(py, state, self.m)?,))?;
            *next = Some(Instant::now() + self.every);
        }
        if next.is_some_and(|time| Instant::now() >= time) {
            control.ask_for_state();
            *next = None;
        }
        Ok(())
    }
}

impl Sender {
    pub(super) fn new(send: &Bound<'_, PyAny>, keeper: Option<Keeper>, raised: &Raised) -> Self {
        Self { send: send.clone().unbind(), keeper, raised: Arc::clone(raised) }
    }

    fn ask(
        &self,
        py: Python<'_>,
        order: &[u8],
        trajectories: &[Vec<u8>],
        control: &Control,
    ) -> PyResult<Vec<Vec<u8>>> {
        if let Some(keeper) = &self.keeper {
            keeper.look(py, control)?;
        }
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
        Python::attach(|py| self.ask(py, &order, &trajectories, control)).map_err(|error| {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Error::Interrupted
        })
    }
}
