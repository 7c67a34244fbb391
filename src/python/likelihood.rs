//! Log likelihoods of labels for combinations of functions, and probabilities that each of several normal values is the largest.

use numpy::{
    Element, IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use super::arrays::{Rows, contiguous};
use super::call;
use crate::base::{Error, require};
use crate::simd::likelihood::{ClassLabels, LabelLaw, Paths, Signs, Trial};
use crate::simd::tall::Tall;
use crate::simd::{Entry, Largest};

/// Columns between two checks for signals.
const COLUMNS: usize = 4096;

/// Returns log likelihoods of two classes with derivatives; see `bayespoint.engine.likelihood`.
#[pyfunction]
#[pyo3(signature = (values, trials, floors, span, counts, bounded, *, by_value))]
#[allow(clippy::too_many_arguments, reason = "names in Python")]
pub fn likelihood_of_signs<'py>(
    py: Python<'py>,
    values: Values<'py>,
    trials: Trials<'py>,
    floors: PyReadonlyArray1<'py, f64>,
    span: f64,
    counts: PyReadonlyArray1<'py, f64>,
    bounded: PyReadonlyArray1<'py, bool>,
    by_value: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (floors, counts) = (contiguous("floors", &floors)?, contiguous("counts", &counts)?);
    let bounded = contiguous("bounded", &bounded)?;
    let n = if bounded.is_empty() { values.len() } else { bounded.len() };
    check_shape("bounded", bounded.is_empty() || values.len() == 2 * n)?;
    for (name, each) in [("floors", floors), ("counts", counts)] {
        check_shape(name, each.is_empty() || each.len() == n)?;
    }
    let mut signs = Signs { floors, span, counts, bounded };
    values.found(py, &made(&trials)?, &mut signs, by_value)
}

/// Returns the same of several classes; the derivatives by the values are those of a class one after the other.
#[pyfunction]
#[pyo3(signature = (values, trials, labels, noise, counts, *, by_value))]
pub fn likelihood_of_classes<'py>(
    py: Python<'py>,
    values: Values<'py>,
    trials: Trials<'py>,
    labels: PyReadonlyArray1<'py, u32>,
    noise: f64,
    counts: PyReadonlyArray1<'py, f64>,
    by_value: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let labels = contiguous("labels", &labels)?;
    let n_classes = values.len().checked_div(labels.len()).unwrap_or(2);
    let known = labels.iter().all(|&label| (label as usize) < n_classes);
    check_shape("labels", n_classes * labels.len() == values.len() && known)?;
    let counts = contiguous("counts", &counts)?;
    check_shape("counts", counts.is_empty() || counts.len() == labels.len())?;
    let mut classes = ClassLabels::new(labels, noise, counts, n_classes);
    values.found(py, &made(&trials)?, &mut classes, by_value)
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
        check_shape("given", length == if sums { n } else { width })?;
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
type Trials<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray2<'py, f64>);

/// Values of the mean, and of the place and the direction of each ball.
#[derive(FromPyObject)]
pub enum Values<'py> {
    Doubles(Vec<PyReadonlyArrayDyn<'py, f64>>),
    Singles(Vec<PyReadonlyArrayDyn<'py, f32>>),
}

impl<'py> Values<'py> {
    /// Number of the values of each function.
    fn len(&self) -> usize {
        match self {
            Self::Doubles(rows) => rows.first().map_or(0, |row| row.len()),
            Self::Singles(rows) => rows.first().map_or(0, |row| row.len()),
        }
    }

    fn found(
        &self,
        py: Python<'py>,
        trials: &[Trial],
        law: &mut (impl LabelLaw + Send),
        by_value: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        match self {
            Self::Doubles(rows) => found(py, rows, trials, law, by_value),
            Self::Singles(rows) => found(py, rows, trials, law, by_value),
        }
    }
}

fn found<'py, E: Entry + Element>(
    py: Python<'py>,
    rows: &[PyReadonlyArrayDyn<'py, E>],
    trials: &[Trial],
    law: &mut (impl LabelLaw + Send),
    by_value: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let rows: Vec<&[E]> =
        rows.iter().map(|row| contiguous("values", row)).collect::<PyResult<_>>()?;
    let Some((mean, others)) = rows.split_first() else {
        return Err(Error::invalid("values", "nothing", "values of the mean").into());
    };
    check_shape("values", others.iter().all(|row| row.len() == mean.len()))?;
    let balls = others.as_chunks::<2>().0.to_vec();
    check_shape("balls", trials.iter().all(|trial| trial.ball < balls.len()))?;
    let paths = Paths { mean, balls };
    let found = py.detach(|| {
        if by_value {
            law.slopes(&paths, trials)
        } else {
            law.sums(&paths, trials).into_iter().map(Vec::from).collect()
        }
    });
    Ok(PyArray2::from_vec2(py, &found)?)
}

fn made((balls, along): &Trials<'_>) -> PyResult<Vec<Trial>> {
    let (balls, along) = (contiguous("balls", balls)?, contiguous("along", along)?);
    check_shape("along", along.len() == 2 * balls.len())?;
    let pairs = balls.iter().zip(along.as_chunks::<2>().0);
    // A negative number is larger than that of any ball.
    Ok(pairs
        .map(|(&ball, &along)| Trial { ball: ball.try_into().unwrap_or(usize::MAX), along })
        .collect())
}

/// Returns the probability that each value of a column is the largest; see `bayespoint.engine.largest`.
#[pyfunction]
#[pyo3(signature = (behind))]
pub fn largest_probabilities<'py>(
    py: Python<'py>,
    behind: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let behind = behind.as_array();
    let found = call::here(py, |control| {
        let mut found = ndarray::Array2::zeros(behind.dim());
        let (mut column, mut p) = (vec![0.0; behind.nrows()], vec![0.0; behind.nrows()]);
        let mut largest = Largest::new();
        for (i, (from, mut to)) in behind.columns().into_iter().zip(found.columns_mut()).enumerate()
        {
            if i % COLUMNS == 0 {
                control.check()?;
            }
            column.iter_mut().zip(from).for_each(|(x, &b)| *x = b);
            if let Some(bad) = column.iter().find(|b| b.is_nan() || **b < 0.0) {
                return Err(Error::invalid("behind", bad, "at least 0"));
            }
            let got = "a column without 0";
            require(column.contains(&0.0), "behind", got, "0 for the largest")?;
            largest.probabilities(&column, &mut p);
            to.iter_mut().zip(&p).for_each(|(to, p)| *to = *p);
        }
        Ok(found)
    })?;
    Ok(found.into_pyarray(py))
}

fn check_shape(name: &'static str, fits: bool) -> PyResult<()> {
    Ok(require(fits, name, "another shape", "one number for each value")?)
}
