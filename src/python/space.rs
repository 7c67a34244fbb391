//! The version space of a call, made from its arrays.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::arrays::{matrix, vector};
use super::rows::Rows;
use super::{call, remote};
use crate::base::{Control, Error, Result, memory};
use crate::ensemble::RemoteExecutor;
use crate::gram::{Gram, Planes};
use crate::linalg::Inverse;
use crate::space::VersionSpace;

/// Vectors of length m that every call allocates, for the problem and a ball, before any further check of memory.
const VECTORS: usize = 64;

type Factored<'py> = (PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>);

/// The first argument of every function: the attributes of `bayespoint.engine.problem.Problem`.
#[derive(FromPyObject)]
pub struct Space<'py> {
    gram: Rows<'py>,
    #[pyo3(attribute("y"))]
    labels: Labels<'py>,
    n_classes: usize,
    offset: f64,
    softness: PyReadonlyArray1<'py, f64>,
    #[pyo3(from_py_with = factored)]
    inverse: Option<Factored<'py>>,
}

/// Labels -1 and +1 of two classes, or 0, 1, ... of several.
#[derive(FromPyObject)]
enum Labels<'py> {
    Signs(PyReadonlyArray1<'py, i8>),
    Classes(PyReadonlyArray1<'py, i64>),
}

/// The labels of a call.
enum Given {
    Signs(Vec<i8>),
    Classes(Vec<usize>, usize),
}

impl Given {
    /// Number of planes.
    fn planes(&self) -> usize {
        match self {
            Self::Signs(labels) => labels.len(),
            Self::Classes(labels, n_classes) => labels.len().saturating_mul(*n_classes - 1),
        }
    }

    fn space(self, gram: Gram<'_>) -> Result<VersionSpace<'_>> {
        match self {
            Self::Signs(labels) => VersionSpace::new(gram, labels),
            Self::Classes(labels, n_classes) => VersionSpace::of_classes(gram, &labels, n_classes),
        }
    }
}

/// Converts the certificate of an error about planes to one about classes and examples, row-major (C, m).
fn by_class(error: Error, planes: Option<&Planes>) -> Error {
    match (error, planes) {
        (Error::Infeasible { examples, violations, margin_bound, certificate }, Some(planes)) => {
            let mut weights = vec![0.0; examples * planes.n_classes()];
            for (plane, weight) in certificate.into_iter().enumerate() {
                let (example, _, other) = planes.of(plane);
                weights[other * examples + example] = weight;
            }
            Error::Infeasible { examples, violations, margin_bound, certificate: weights }
        }
        (error, _) => error,
    }
}

/// Extracts the transposed lower triangular factor, whose rows are contiguous, and the diagonal of the inverse.
fn factored<'py>(inverse: &Bound<'py, PyAny>) -> PyResult<Option<Factored<'py>>> {
    let Some((factor, diagonal)) = inverse.extract::<Option<(Bound<'py, PyAny>, _)>>()? else {
        return Ok(None);
    };
    Ok(Some((factor.getattr("lower")?.getattr("T")?.extract()?, diagonal)))
}

impl Space<'_> {
    fn labels(&self) -> PyResult<Given> {
        Ok(match &self.labels {
            Labels::Signs(labels) => Given::Signs(vector("labels", labels)?.to_vec()),
            Labels::Classes(labels) => {
                if self.n_classes < 2 {
                    return Err(Error::invalid("n_classes", self.n_classes, "at least 2").into());
                }
                let index = |&label: &i64| {
                    let wanted = "in 0, ..., n_classes - 1";
                    usize::try_from(label).map_err(|_| Error::invalid("labels", label, wanted))
                };
                let labels = vector("labels", labels)?.iter().map(index);
                Given::Classes(labels.collect::<Result<_>>()?, self.n_classes)
            }
        })
    }

    /// Returns the number of planes: the length of the engine's dual coefficients.
    pub fn planes(&self) -> PyResult<usize> {
        Ok(self.labels()?.planes())
    }

    /// Returns the inverse of the Gram matrix, if the problem has a factor.
    pub fn inverse(&self) -> PyResult<Option<Inverse<'_>>> {
        let Some((columns, diagonal)) = &self.inverse else { return Ok(None) };
        let columns = matrix("factor", columns)?;
        Ok(Some(Inverse::new(columns, vector("inverse_diagonal", diagonal)?)?))
    }

    /// Runs `work` on the version space, detached from the interpreter and open to interrupts.
    pub fn call<R: Send>(
        &self,
        py: Python<'_>,
        callback: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&VersionSpace<'_>, &Control) -> Result<R> + Send,
    ) -> PyResult<R> {
        call::interruptible(py, callback, None, self.on_space(work)?)
    }

    /// As [`Space::call`], for work that `send` distributes. It runs on the calling thread, because joblib's backend is known
    /// to that thread only.
    pub fn call_sending<R: Send>(
        &self,
        py: Python<'_>,
        send: &Bound<'_, PyAny>,
        keeping: Option<call::Keeping>,
        work: impl FnOnce(&VersionSpace<'_>, &dyn RemoteExecutor, &Control) -> Result<R> + Send,
    ) -> PyResult<R> {
        let raised = call::Raised::default();
        let sender = remote::Sender {
            send: send.clone().unbind(),
            every: keeping.as_ref().map(|keeping| keeping.every),
            asked: Mutex::new(Instant::now()),
            raised: Arc::clone(&raised),
        };
        let work = self.on_space(|space, control| work(space, &sender, control))?;
        call::here(py, &raised, keeping, work)
    }

    /// As [`Space::call`], for work on one thread.
    pub fn call_single<R: Send>(
        &self,
        py: Python<'_>,
        callback: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&VersionSpace<'_>, &Control) -> Result<R> + Send,
    ) -> PyResult<R> {
        let work = self.on_space(work)?;
        match callback {
            Some(_) => call::interruptible(py, callback, None, work),
            None => call::here(py, &call::Raised::default(), None, work),
        }
    }

    pub fn on_space<R>(
        &self,
        work: impl FnOnce(&VersionSpace<'_>, &Control) -> Result<R> + Send,
    ) -> PyResult<impl FnOnce(&Control) -> Result<R> + Send> {
        let labels = self.labels()?;
        memory::check_vectors(VECTORS, labels.planes())?;
        let softness = vector("softness", &self.softness)?.to_vec();
        let offset = self.offset;
        let rows = self.gram.borrow()?;
        Ok(move |control: &Control| {
            let space = labels.space(rows.gram(offset, softness)?)?;
            work(&space, control).map_err(|error| by_class(error, space.planes()))
        })
    }
}
