//! Version space: a Gram matrix with labels.

use crate::control::Control;
use crate::error::{Error, Result};
use crate::gram::{Gram, Precision};

/// The set of unit weight vectors `w = Σ c_i φ_i` with `y_i <w, φ_i> > 0` for all examples.
///
/// Weight vectors are given by their dual coefficients `c`, shape (m,), with the labels inside: `w = Σ c_i φ_i`.
#[derive(Clone, Debug)]
pub struct VersionSpace<'a> {
    gram: Gram<'a>,
    labels: Vec<i8>,
}

impl<'a> VersionSpace<'a> {
    /// Joins a Gram matrix and its labels, each -1 or +1.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when the number of labels is not m or a label is neither -1 nor +1.
    pub fn new(gram: Gram<'a>, labels: Vec<i8>) -> Result<Self> {
        if labels.len() != gram.len() {
            return Err(Error::invalid(
                "labels",
                format!("{} labels", labels.len()),
                "one per row of gram",
            ));
        }
        if let Some(bad) = labels.iter().find(|y| ![-1, 1].contains(*y)) {
            return Err(Error::invalid("labels", bad, "-1 or +1"));
        }
        Ok(Self { gram, labels })
    }

    /// The Gram matrix.
    pub fn gram(&self) -> &Gram<'a> {
        &self.gram
    }

    /// The labels, shape (m,).
    pub fn labels(&self) -> &[i8] {
        &self.labels
    }

    /// Number of examples m.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// False: a version space has at least one example.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The label of example i as a number.
    #[inline]
    pub(crate) fn sign(&self, i: usize) -> f64 {
        f64::from(self.labels[i])
    }

    /// True when a plane coordinate is on the side of its label. The side of zero is its sign bit.
    #[inline]
    pub(crate) fn satisfied(&self, i: usize, f: f64) -> bool {
        f.is_sign_positive() == (self.labels[i] > 0)
    }

    /// Number of examples of labels -1 and +1 that plane coordinates `f` violate.
    pub(crate) fn violations(&self, f: &[f64]) -> [u32; 2] {
        let mut violated = [0; 2];
        for (i, &f) in f.iter().enumerate() {
            violated[usize::from(self.labels[i] > 0)] += u32::from(!self.satisfied(i, f));
        }
        violated
    }

    /// Margins `y_i <w, φ_i>` of dual coefficients, shape (m,): all positive inside version space.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when the number of coefficients is not m.
    pub fn margins(&self, dual: &[f64]) -> Result<Vec<f64>> {
        if dual.len() != self.len() {
            return Err(Error::invalid(
                "dual",
                format!("{} coefficients", dual.len()),
                "one per example",
            ));
        }
        let mut f = vec![0.0; self.len()];
        self.gram.multiply(&[dual], &mut [&mut f], Precision::Compensated, &Control::new())?;
        for (f, y) in f.iter_mut().zip(&self.labels) {
            *f *= f64::from(*y);
        }
        Ok(f)
    }

    /// True when every margin is positive.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when the number of coefficients is not m.
    pub fn contains(&self, dual: &[f64]) -> Result<bool> {
        Ok(self.margins(dual)?.iter().all(|&margin| margin > 0.0))
    }
}
