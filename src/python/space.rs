//! The version space that the arrays of a call make, and what runs on it.

use std::sync::mpsc::channel;
use std::time::Duration;

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use super::arrays::vector;
use super::rows::Rows;
use super::{call, remote};
use crate::base::{Control, Result, memory};
use crate::ensemble::RemoteExecutor;
use crate::space::VersionSpace;

/// Vectors of a number for each example that a call takes before it asks for more: the problem, and a ball on its way into
/// version space.
const VECTORS: usize = 64;

/// The arrays that every function of the door takes.
pub struct Space<'py> {
    pub gram: Rows<'py>,
    pub labels: PyReadonlyArray1<'py, i8>,
    pub offset: f64,
    pub softness: PyReadonlyArray1<'py, f64>,
}

impl Space<'_> {
    /// Runs `work` on the version space, detached from the interpreter and open to interrupts.
    pub fn call<R: Send>(
        &self,
        py: Python<'_>,
        callback: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&VersionSpace<'_>, &Control) -> Result<R> + Send,
    ) -> PyResult<R> {
        call::interruptible(py, callback, None, self.on_space(work)?)
    }

    /// The same for work that `send` hands out, on the calling thread: it alone may know where the others are.
    pub fn call_sending<R: Send>(
        &self,
        py: Python<'_>,
        send: &Bound<'_, PyAny>,
        keep: Option<(Py<PyAny>, Duration, usize)>,
        work: impl FnOnce(&VersionSpace<'_>, Box<dyn RemoteExecutor>, &Control) -> Result<R> + Send,
    ) -> PyResult<R> {
        let raised = call::Raised::default();
        let (to_sender, states) = channel();
        let keeps = keep.is_some().then_some(to_sender);
        let keeper =
            keep.map(|(checkpoint, every, m)| remote::Keeper::new(checkpoint, every, m, states));
        let sender = Box::new(remote::Sender::new(send, keeper, &raised));
        let work = self.on_space(|space, control| work(space, sender, control))?;
        call::here(py, &raised, keeps, work)
    }

    /// The same for work on one thread.
    pub fn call_single<R: Send>(
        &self,
        py: Python<'_>,
        callback: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&VersionSpace<'_>, &Control) -> Result<R> + Send,
    ) -> PyResult<R> {
        let work = self.on_space(work)?;
        match callback {
            Some(_) => call::interruptible(py, callback, None, work),
            None => call::interruptible_here(py, work),
        }
    }

    pub fn on_space<R>(
        &self,
        work: impl FnOnce(&VersionSpace<'_>, &Control) -> Result<R> + Send,
    ) -> PyResult<impl FnOnce(&Control) -> Result<R> + Send> {
        let (labels, softness) =
            (vector("labels", &self.labels)?, vector("softness", &self.softness)?);
        memory::check_vectors(VECTORS, labels.len())?;
        let (labels, softness) = (labels.to_vec(), softness.to_vec());
        let offset = self.offset;
        let rows = self.gram.borrow()?;
        Ok(move |control: &Control| {
            let space = VersionSpace::new(rows.gram(offset, softness)?, labels)?;
            work(&space, control)
        })
    }
}
