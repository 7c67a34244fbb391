//! Feature vectors of very different lengths, all made as long as one: on which side of a plane a point is does not depend on
//! them, but a margin that is compared with the longest of them gets lost in its rounding.

use crate::base::{Control, Error, Result, memory};
use crate::gram::Gram;
use crate::space::VersionSpace;

/// Longest feature vector over the shortest from which on they are made unit. Up to a hundred times as much does no harm.
const UNEVEN: f64 = 1e4;
/// Examples up to which rows on demand are worth a matrix: who asks for them has no room for one of many.
const FEW: usize = 4000;

/// A Gram matrix with a diagonal of ones.
pub(crate) struct UnitDiagonal {
    matrix: Vec<f64>,
    /// One over the lengths.
    shrink: Vec<f64>,
    longest: f64,
}

impl UnitDiagonal {
    /// Makes the feature vectors even where they are very different, and where there is room for the matrix.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`], [`Error::Memory`].
    pub fn of(space: &VersionSpace<'_>, control: &Control) -> Result<Option<Self>> {
        let (gram, m) = (space.gram(), space.len());
        let lengths = || (0..m).map(|i| gram.diagonal(i).sqrt());
        let longest = lengths().fold(0.0, f64::max);
        if longest <= UNEVEN * lengths().fold(f64::INFINITY, f64::min)
            || !(gram.is_in_memory() || m <= FEW)
            || memory::check_vectors(m, m).is_err()
        {
            return Ok(None);
        }
        let shrink: Vec<f64> = lengths().map(f64::recip).collect();
        let mut matrix = memory::reserved(m * m)?;
        for i in 0..m {
            control.check()?;
            let row = gram.shifted_row(i);
            matrix.extend(row.iter().zip(&shrink).map(|(x, s)| x * shrink[i] * s));
            matrix[i * m + i] = 1.0;
        }
        Ok(Some(Self { matrix, shrink, longest }))
    }

    /// The same version space, of the unit vectors.
    pub fn space<'b>(&'b self, space: &VersionSpace<'_>) -> Result<VersionSpace<'b>> {
        Ok(space.mapped(Gram::new(&self.matrix, 0.0, vec![0.0; space.len()])?))
    }

    /// Dual coefficients, of the vectors as they were, of what has these of the unit ones.
    pub fn back(&self, dual: &[f64]) -> Vec<f64> {
        dual.iter().zip(&self.shrink).map(|(c, s)| c * s).collect()
    }

    /// An error about the unit vectors, with its certificate about those that there were.
    pub fn error(&self, error: Error) -> Error {
        let Error::Infeasible { examples, violations, margin_bound, certificate } = error else {
            return error;
        };
        let weights = self.back(&certificate);
        let total: f64 = weights.iter().sum();
        Error::Infeasible {
            examples,
            violations,
            margin_bound: margin_bound / (total * self.longest),
            certificate: weights.iter().map(|a| a / total).collect(),
        }
    }
}
