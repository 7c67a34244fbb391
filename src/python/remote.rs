//! The door to other processes: steps that are handed out, and steps that are taken for others.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::arrays::{to_array, vector};
use super::call::{self, Raised};
use super::states;
use crate::base::{Control, Error, Result, State};
use crate::ensemble::RemoteExecutor;

/// A state as a pair of arrays: words and numbers.
pub(super) type Pair<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<f64>>);

pub(super) fn to_pair(py: Python<'_>, state: State) -> PyResult<Pair<'_>> {
    let (words, numbers) = (state.words.len(), state.numbers.len());
    Ok((to_array(py, state.words, [words])?, to_array(py, state.numbers, [numbers])?))
}

pub(super) fn from_pair(
    (words, numbers): &(PyReadonlyArray1<'_, u64>, PyReadonlyArray1<'_, f64>),
) -> PyResult<State> {
    let (words, numbers) = (vector("words", words)?.to_vec(), vector("numbers", numbers)?.to_vec());
    Ok(State { words, numbers, ..State::default() })
}

/// A callable of Python's that hands out steps: `send(order, states, progress) -> states`.
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
        order: State,
        states: Vec<State>,
        control: &Control,
    ) -> PyResult<Vec<State>> {
        if let Some(keeper) = &self.keeper {
            keeper.look(py, control)?;
        }
        let order = to_pair(py, order)?;
        let states =
            states.into_iter().map(|state| to_pair(py, state)).collect::<PyResult<Vec<_>>>()?;
        let progress = PyDict::new(py);
        call::fill(&progress, control)?;
        let back = self.send.bind(py).call1((order, PyList::new(py, states)?, progress))?;
        back.try_iter()?.map(|pair| from_pair(&pair?.extract()?)).collect()
    }
}

impl RemoteExecutor for Sender {
    fn take(&self, order: State, states: Vec<State>, control: &Control) -> Result<Vec<State>> {
        Python::attach(|py| self.ask(py, order, states, control)).map_err(|error| {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Error::Interrupted
        })
    }
}
