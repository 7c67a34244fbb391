//! Balls with soft walls; see `bayespoint.landmarks.sampling`.

use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use super::Found;
use super::arrays::{Matrix, NewMatrix, Vector, check_shape, contiguous, matrix};
use crate::base::require;
use crate::laws::Trial;
use crate::soft::{NormalLaw, SoftWalls, Turns};

/// Balls about a normal distribution, which is an argument of `steps`.
#[pyclass(name = "SoftBalls", module = "bayespoint._core")]
pub struct SoftSampler(crate::soft::SoftBalls);

#[pymethods]
impl SoftSampler {
    #[new]
    fn new(
        dimension: usize,
        n_balls: usize,
        freedom: f64,
        seed: u64,
        n_rising: usize,
    ) -> PyResult<Self> {
        require(n_rising <= dimension, "n_rising", n_rising, "at most the dimension")?;
        Ok(Self(crate::soft::SoftBalls::new(dimension, n_balls, freedom, seed, n_rising)))
    }

    fn steps<'py>(
        &mut self,
        py: Python<'py>,
        n_steps: usize,
        mean: Vector,
        root: Matrix,
        walls: Bound<PyAny>,
    ) -> Found<'py> {
        let normal = NormalLaw { mean: contiguous("mean", &mean)?, root: matrix("root", &root)? };
        let d = normal.mean.len();
        let fits = normal.root.len() == d * d && d == self.0.dimension();
        check_shape("root", fits, root.as_array().dim())?;
        let mut walls = Callbacks { walls: walls.unbind(), dimension: d };
        let found = py.detach(|| self.0.steps(n_steps, &normal, &mut walls))?;
        let n = self.0.len();
        let flat = |values: Vec<f64>| values.into_pyarray(py);
        dict!(py,
            "draws": flat(found.places).reshape([n, n_steps, d])?,
            "residuals": flat(found.residuals).reshape([n, n_steps])?,
            "reference": flat(found.reference).reshape([n, n_steps])?,
            "trials": found.trials,
            "bounces": found.bounces,
            "refused": found.refused,
        )
    }
}

/// The methods of `bayespoint.landmarks.block.BlockSums`.
struct Callbacks {
    walls: Py<PyAny>,
    dimension: usize,
}

impl SoftWalls for Callbacks {
    type Error = PyErr;

    fn start(&mut self, vectors: Vec<f64>) -> PyResult<()> {
        Python::attach(|py| {
            let shape = [vectors.len() / self.dimension, self.dimension];
            let vectors = vectors.into_pyarray(py).reshape(shape)?;
            self.walls.call_method1(py, "start", (vectors,)).map(drop)
        })
    }

    fn turn(&mut self, turns: Turns) -> PyResult<()> {
        Python::attach(|py| {
            let added =
                turns.added.into_pyarray(py).reshape([turns.balls.len(), self.dimension])?;
            let [places, directions] =
                [turns.places, turns.directions].map(|each| pairs(py, &each));
            let arguments = (numbers(py, turns.balls.into_iter()), places, directions, added);
            self.walls.call_method1(py, "turn", arguments).map(drop)
        })
    }

    fn log_likelihoods(&mut self, trials: &[Trial]) -> PyResult<Vec<[f64; 3]>> {
        Ok(self.called("log_likelihoods", trials, 3)?.as_chunks::<3>().0.to_vec())
    }

    fn slopes(&mut self, trials: &[Trial]) -> PyResult<Vec<f64>> {
        self.called("slopes", trials, self.dimension)
    }
}

impl Callbacks {
    /// Calls a method with trials, and returns its matrix of some columns.
    fn called(&self, name: &str, trials: &[Trial], columns: usize) -> PyResult<Vec<f64>> {
        Python::attach(|py| {
            let along: Vec<[f64; 2]> = trials.iter().map(|trial| trial.along).collect();
            let balls = numbers(py, trials.iter().map(|trial| trial.ball));
            let found = self.walls.call_method1(py, name, ((balls, pairs(py, &along)),))?;
            let found: Matrix = found.extract(py)?;
            let found = found.as_array();
            check_shape("walls", found.dim() == (trials.len(), columns), found.dim())?;
            Ok(found.iter().copied().collect())
        })
    }
}

fn numbers(py: Python<'_>, balls: impl Iterator<Item = usize>) -> Bound<'_, PyArray1<i64>> {
    balls
        .map(|ball| i64::try_from(ball).expect("a number of a ball"))
        .collect::<Vec<_>>()
        .into_pyarray(py)
}

fn pairs<'py>(py: Python<'py>, pairs: &[[f64; 2]]) -> NewMatrix<'py> {
    Array2::from(pairs.to_vec()).into_pyarray(py)
}
