//! A linear problem that owns its arrays, so that it outlives its runs and can be told to others.

use std::sync::Arc;

use bayespoint::{Gram, Inverse, Kernel, KernelRows, VersionSpace};

use super::{dot, inverse};

#[derive(Clone)]
pub struct Owned {
    inputs: Vec<f64>,
    gram: Vec<f64>,
    labels: Vec<i8>,
    softness: f64,
    /// Columns of a factor, and the diagonal of the inverse.
    inverse: Option<(Vec<f64>, Vec<f64>)>,
    /// Rows to keep of a matrix that is computed on demand.
    kept_rows: Option<usize>,
}

impl Owned {
    /// Inputs of the given dimension, one after the other, and the matrix of their products.
    pub fn new(inputs: Vec<f64>, dimension: usize, labels: Vec<i8>, softness: f64) -> Self {
        let x: Vec<&[f64]> = inputs.chunks_exact(dimension).collect();
        let gram = x.iter().flat_map(|a| x.iter().map(|b| dot(a, b))).collect();
        drop(x);
        Self { inputs, gram, labels, softness, inverse: None, kept_rows: None }
    }

    /// With the inverse, for conditional means.
    pub fn inverted(mut self) -> Self {
        self.inverse = Some(inverse(&self.gram, self.softness));
        self
    }

    /// With rows on demand, of which some are kept.
    pub fn on_demand(mut self, rows: usize) -> Self {
        self.kept_rows = Some(rows);
        self
    }

    pub fn with<R>(&self, work: impl FnOnce(&VersionSpace<'_>, Option<Inverse<'_>>) -> R) -> R {
        let m = self.labels.len();
        let softness = vec![self.softness; m];
        let gram = match self.kept_rows {
            Some(rows) => {
                let rows = KernelRows::new(&self.inputs, m, Kernel::Linear, 1.0, rows);
                Gram::computed(Arc::new(rows.expect("rows")), 0.0, softness)
            }
            None => Gram::new(&self.gram, 0.0, softness),
        };
        let space = VersionSpace::new(gram.expect("a matrix"), self.labels.clone());
        let inverse = self
            .inverse
            .as_ref()
            .map(|(columns, diagonal)| Inverse::new(columns, diagonal).expect("an inverse"));
        work(&space.expect("a space"), inverse)
    }
}
