//! Laws of labels: log likelihoods for combinations of functions, and probabilities that each of several values is the largest.

use numpy::{
    Element, IntoPyArray, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use super::arrays::{Matrix, NewMatrix, NewVector, Rows, Vector, check_shape, contiguous};
use super::call;
use crate::base::{Error, require};
use crate::laws::{Largest, Law, Observed, Paths, Trial};
use crate::simd::Entry;
use crate::simd::tall::Tall;

/// Columns between two checks for signals.
const COLUMNS: usize = 4096;

/// Observed labels: the attributes of `bayespoint.labels.laws.Observed`.
#[derive(FromPyObject)]
pub struct ObservedLabels<'py> {
    law: String,
    n_contrasts: usize,
    floors: Vector<'py>,
    spans: Vector<'py>,
}

impl ObservedLabels<'_> {
    /// The labels of n observations, whose arrays are empty or have a number for each.
    fn observed(&self, n_values: usize) -> PyResult<Observed<'_>> {
        let law = match &*self.law {
            "one wall" => Law::OneWall,
            "interval" => Law::Interval,
            "largest" => Law::LargestOf,
            other => return Err(Error::invalid("law", other, "the name of a law").into()),
        };
        require(law.takes(self.n_contrasts), "n_contrasts", self.n_contrasts, "those of the law")?;
        let n = n_values / self.n_contrasts;
        check_shape("values", n * self.n_contrasts == n_values, n_values)?;
        let noise = [contiguous("floors", &self.floors)?, contiguous("spans", &self.spans)?];
        check_shape("spans", noise[0].len() == noise[1].len(), noise[1].len())?;
        check_shape("floors", noise[0].is_empty() || noise[0].len() == n, noise[0].len())?;
        Ok(Observed { law, n_contrasts: self.n_contrasts, noise })
    }
}

/// Returns log likelihoods on the paths of balls, with derivatives; see `bayespoint.labels.laws`.
#[pyfunction]
#[pyo3(signature = (labels, values, trials, *, by_contrast))]
pub fn log_likelihoods<'py>(
    py: Python<'py>,
    labels: ObservedLabels,
    values: Values,
    trials: Trials,
    by_contrast: bool,
) -> PyResult<NewMatrix<'py>> {
    let trials = made(&trials)?;
    match &values {
        Values::Doubles(rows) => found(py, rows, &trials, &labels, by_contrast),
        Values::Singles(rows) => found(py, rows, &trials, &labels, by_contrast),
    }
}

/// Log probabilities, slopes and negative second derivatives.
type Derivatives<'py> = (NewVector<'py>, NewMatrix<'py>, Bound<'py, PyArray3<f64>>);

/// Returns log probabilities at contrasts, shape (K, n), with first and negative second derivatives.
#[pyfunction]
pub fn law_derivatives<'py>(
    py: Python<'py>,
    labels: ObservedLabels,
    contrasts: Matrix,
) -> PyResult<Derivatives<'py>> {
    let observed = labels.observed(contrasts.len())?;
    let contrasts = contiguous("contrasts", &contrasts)?;
    let (k, n) = (observed.n_contrasts, contrasts.len() / observed.n_contrasts);
    let [log_p, slopes, curvatures] = py.detach(|| observed.derivatives(contrasts));
    Ok((
        log_p.into_pyarray(py),
        slopes.into_pyarray(py).reshape([k, n])?,
        curvatures.into_pyarray(py).reshape([k, k, n])?,
    ))
}

/// Returns products of the rows of a matrix with vectors, or sums of multiples of them; see `bayespoint.engine.likelihood`.
#[pyfunction]
#[pyo3(signature = (rows, given, *, sums))]
pub fn tall_product<'py>(
    rows: Rows<'py>,
    given: Rows<'py>,
    sums: bool,
) -> PyResult<Bound<'py, PyAny>> {
    fn found<'py, E: Entry + Element>(
        rows: &PyReadonlyArray2<'py, E>,
        given: &PyReadonlyArray2<'py, E>,
        sums: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (n, width) = rows.as_array().dim();
        let (k, length) = given.as_array().dim();
        check_shape("given", length == if sums { n } else { width }, length)?;
        let tall = Tall { entries: contiguous("rows", rows)?, width };
        let given_entries = contiguous("given", given)?;
        let py = rows.py();
        let work = if sums { Tall::sums } else { Tall::values };
        let found = py.detach(|| work(&tall, given_entries, k));
        Ok(found.into_pyarray(py).reshape([k, if sums { width } else { n }])?.into_any())
    }
    match (&rows, &given) {
        (Rows::Doubles(rows), Rows::Doubles(given)) => found(rows, given, sums),
        (Rows::Singles(rows), Rows::Singles(given)) => found(rows, given, sums),
        _ => Err(Error::invalid("given", "another type", "the type of rows").into()),
    }
}

/// The numbers of the balls, and the factors of their places and directions.
type Trials<'py> = (PyReadonlyArray1<'py, i64>, Matrix<'py>);

/// Values of the mean, and of the place and the direction of each ball.
#[derive(FromPyObject)]
pub enum Values<'py> {
    Doubles(Vec<PyReadonlyArrayDyn<'py, f64>>),
    Singles(Vec<PyReadonlyArrayDyn<'py, f32>>),
}

fn found<'py, E: Entry + Element>(
    py: Python<'py>,
    rows: &[PyReadonlyArrayDyn<E>],
    trials: &[Trial],
    labels: &ObservedLabels,
    by_contrast: bool,
) -> PyResult<NewMatrix<'py>> {
    let rows: Vec<&[E]> =
        rows.iter().map(|row| contiguous("values", row)).collect::<PyResult<_>>()?;
    let Some((mean, others)) = rows.split_first() else {
        return Err(Error::invalid("values", "nothing", "values of the mean").into());
    };
    let observed = labels.observed(mean.len())?;
    let n = mean.len();
    for row in others {
        check_shape("values", row.len() == n, row.len())?;
    }
    let balls = others.as_chunks::<2>().0.to_vec();
    check_shape("balls", trials.iter().all(|trial| trial.ball < balls.len()), balls.len())?;
    let paths = Paths { mean, balls };
    let found = py.detach(|| {
        if by_contrast {
            observed.slopes(&paths, trials)
        } else {
            observed.sums(&paths, trials).into_iter().map(Vec::from).collect()
        }
    });
    Ok(PyArray2::from_vec2(py, &found)?)
}

fn made((balls, along): &Trials) -> PyResult<Vec<Trial>> {
    let (balls, along) = (contiguous("balls", balls)?, contiguous("along", along)?);
    check_shape("along", along.len() == 2 * balls.len(), along.len())?;
    let pairs = balls.iter().zip(along.as_chunks::<2>().0);
    // A negative number is larger than that of any ball.
    Ok(pairs
        .map(|(&ball, &along)| Trial { ball: ball.try_into().unwrap_or(usize::MAX), along })
        .collect())
}

/// Returns the probability that each value of a column is the largest; see `bayespoint.engine.largest`.
#[pyfunction]
pub fn largest_probabilities<'py>(py: Python<'py>, behind: Matrix) -> PyResult<NewMatrix<'py>> {
    let behind = behind.as_array();
    let found = call::here(py, |control| {
        let mut found = ndarray::Array2::zeros(behind.dim());
        let (mut column, mut p) = (Vec::new(), vec![0.0; behind.nrows()]);
        let mut largest = Largest::new();
        for (i, (from, mut to)) in behind.columns().into_iter().zip(found.columns_mut()).enumerate()
        {
            if i % COLUMNS == 0 {
                control.check()?;
            }
            column.clear();
            column.extend(from);
            for b in &column {
                require(*b >= 0.0, "behind", b, "at least 0")?;
            }
            let got = "a column without 0";
            require(column.contains(&0.0), "behind", got, "0 for the largest")?;
            largest.probabilities(&column, &mut p);
            to.assign(&ndarray::aview1(&p));
        }
        Ok(found)
    })?;
    Ok(found.into_pyarray(py))
}
