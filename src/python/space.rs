//! The version space of a call, made from its arrays.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::arrays::{Matrix, Rows, Vector, check_shape, contiguous, matrix};
use super::call;
use crate::base::{Control, Error, Result, memory};
use crate::gram::{ClassPlanes, Gram, Planes, Wall, Walls};
use crate::linalg::Inverse;
use crate::simd::with_entries;
use crate::space::VersionSpace;

/// Vectors of length m that every call allocates, for the problem and a ball, before any further check of memory.
const VECTORS: usize = 64;

type Factored<'py> = (Matrix<'py>, Vector<'py>);

/// Walls: the attributes of `bayespoint.engine.walls.Walls`.
#[derive(FromPyObject)]
struct WallArrays<'py> {
    /// Shape (W, 3).
    coordinates: PyReadonlyArray2<'py, i64>,
    /// Shape (W, 3), 0 for missing coordinates.
    coefficients: Matrix<'py>,
    /// Shape (W,), -1 for none.
    observations: PyReadonlyArray1<'py, i64>,
}

/// The first argument of every function: the attributes of `bayespoint.engine.problem.Problem`.
#[derive(FromPyObject)]
pub struct Space<'py> {
    gram: Rows<'py>,
    label: PyReadonlyArray1<'py, i64>,
    n_functions: usize,
    walls: Option<WallArrays<'py>>,
    offset: f64,
    softness: Vector<'py>,
    #[pyo3(from_py_with = factored)]
    inverse: Option<Factored<'py>>,
}

type Make = Box<dyn FnOnce(Gram) -> Result<VersionSpace> + Send>;

/// Vectors of the planes as Python has them: of several classes with a part for each class, shape (C, m), one after the other.
#[derive(Clone, Copy)]
pub struct Outer<'a>(Option<&'a ClassPlanes>);

impl<'a> Outer<'a> {
    pub fn of(space: &'a VersionSpace) -> Self {
        Self(space.planes().and_then(Planes::classes))
    }

    /// The place of a plane.
    pub fn index(self, plane: usize) -> usize {
        self.0.map_or(plane, |planes| planes.index(plane))
    }

    /// Values of the planes of a vector, 0 for each example's own class.
    pub fn values<T: Clone + Default>(self, values: Vec<T>) -> Vec<T> {
        let Some(planes) = self.0 else { return values };
        let mut found = vec![T::default(); planes.n_classes * planes.examples()];
        values.into_iter().enumerate().for_each(|(plane, x)| found[planes.index(plane)] = x);
        found
    }

    /// Dual coefficients of some vectors, one after the other; over the classes they sum to zero.
    pub fn duals(self, duals: Vec<f64>) -> Vec<f64> {
        let Some(planes) = self.0 else { return duals };
        duals
            .chunks_exact(planes.len())
            .flat_map(|dual| planes.class_duals(dual).concat())
            .collect()
    }

    /// Returns the dual coefficients of which these are [`Outer::duals`].
    pub fn of_planes(self, outer: Vec<f64>) -> Vec<f64> {
        let Some(planes) = self.0 else { return outer };
        let rows = outer.chunks_exact(planes.n_classes * planes.examples());
        rows.flat_map(|row| (0..planes.len()).map(|plane| -row[planes.index(plane)])).collect()
    }
}

/// Extracts the transposed lower triangular factor, whose rows are contiguous, and the diagonal of the inverse.
fn factored<'py>(inverse: &Bound<'py, PyAny>) -> PyResult<Option<Factored<'py>>> {
    let Some((factor, diagonal)) = inverse.extract::<Option<(Bound<'py, PyAny>, _)>>()? else {
        return Ok(None);
    };
    Ok(Some((factor.getattr("lower")?.getattr("T")?.extract()?, diagonal)))
}

/// Returns an index, or an error for a negative number.
fn index(name: &'static str, number: i64) -> Result<usize> {
    usize::try_from(number).map_err(|_| Error::invalid(name, number, "an index of at least 0"))
}

impl WallArrays<'_> {
    fn walls(&self) -> Result<Vec<Wall>> {
        let (j, b) = (self.coordinates.as_array(), self.coefficients.as_array());
        let observations = self.observations.as_array();
        let fits = j.dim() == b.dim() && j.nrows() == observations.len();
        check_shape("walls", fits, b.dim())?;
        let rows = j.rows().into_iter().zip(b.rows()).zip(observations);
        rows.map(|((j, b), observation)| {
            let terms = j.iter().zip(b).filter(|(_, b)| **b != 0.0);
            let terms = terms.map(|(j, b)| Ok((index("walls", *j)?, *b)));
            Ok((terms.collect::<Result<_>>()?, usize::try_from(*observation).ok()))
        })
        .collect()
    }
}

impl Space<'_> {
    fn labeled(&self) -> PyResult<Make> {
        if let Some(arrays) = &self.walls {
            let walls = arrays.walls()?;
            return Ok(Box::new(move |gram| VersionSpace::of_walls(gram, &walls)));
        }
        let (label, n_classes) = (contiguous("label", &self.label)?, self.n_functions);
        if n_classes == 1 {
            let signs = label.iter().map(|&label| if label > 0 { 1 } else { -1 }).collect();
            return Ok(Box::new(|gram| VersionSpace::new(gram, signs)));
        }
        let label = label.iter().map(|&label| index("label", label));
        let label = label.collect::<Result<Vec<_>>>()?;
        Ok(Box::new(move |gram| VersionSpace::of_classes(gram, &label, n_classes)))
    }

    /// Returns the number of dual coefficients: that of coordinates of walls, or of planes.
    pub fn width(&self) -> usize {
        let planes = self.n_functions.saturating_sub(1).max(1);
        self.label.len().unwrap_or(0).saturating_mul(planes)
    }

    /// Returns the inverse of the Gram matrix, if the problem has a factor.
    pub fn inverse(&self) -> PyResult<Option<Inverse<'_>>> {
        let Some((columns, diagonal)) = &self.inverse else { return Ok(None) };
        let columns = matrix("factor", columns)?;
        Ok(Some(Inverse::new(columns, contiguous("inverse_diagonal", diagonal)?)?))
    }

    /// Runs `work` detached from the interpreter and open to interrupts; on this thread, if it has but one and no callback.
    pub fn call<R: Send>(
        &self,
        py: Python,
        callback: Option<&Bound<PyAny>>,
        has_threads: bool,
        work: impl FnOnce(&VersionSpace, &Control) -> Result<R> + Send,
    ) -> PyResult<R> {
        let work = self.on_space(work)?;
        if has_threads || callback.is_some() {
            return call::interruptible(py, callback, work);
        }
        call::here(py, work)
    }

    pub fn on_space<R>(
        &self,
        work: impl FnOnce(&VersionSpace, &Control) -> Result<R> + Send,
    ) -> PyResult<impl FnOnce(&Control) -> Result<R> + Send> {
        let labeled = self.labeled()?;
        let walls = self.walls.as_ref().map_or(0, |walls| walls.observations.len().unwrap_or(0));
        memory::check_vectors(VECTORS, self.width() + walls)?;
        let softness = contiguous("softness", &self.softness)?.to_vec();
        let offset = self.offset;
        let entries = self.gram.entries()?;
        Ok(move |control: &Control| {
            let gram = with_entries!(&entries, |entries| Gram::new(entries, offset, softness))?;
            let space = labeled(gram)?;
            work(&space, control).map_err(|error| {
                error.map_certificate(|mut certificate| {
                    certificate.truncate(space.walls().map_or(usize::MAX, Walls::walls));
                    Outer::of(&space).values(certificate)
                })
            })
        })
    }
}
