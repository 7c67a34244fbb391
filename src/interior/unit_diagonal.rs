//! Feature vectors of very different lengths, scaled to unit length.
//!
//! The scaling does not change version space. Without it, margins of short vectors are lost in the rounding of long ones.

use super::{lengths, longest};
use crate::base::{Control, Error, Result, memory};
use crate::gram::{Gram, Planes};
use crate::space::VersionSpace;

/// Ratio of the longest to the shortest feature vector above which they are scaled. Unscaled vectors do no harm up to 1e6.
const MAX_LENGTH_RATIO: f64 = 1e4;

/// The Gram matrix of the scaled vectors of the examples, whose diagonal entries are 1.
pub struct UnitDiagonal {
    matrix: Vec<f64>,
    /// Reciprocals of the original lengths, one for each plane.
    inverse_lengths: Vec<f64>,
    longest: f64,
}

impl UnitDiagonal {
    /// Scales the feature vectors. None if their lengths do not differ much or there is no memory for the matrix.
    pub fn new(space: &VersionSpace, control: &Control) -> Result<Option<Self>> {
        let gram = space.gram().of_examples();
        let classes = match space.planes() {
            // The lengths of the normals of walls are not those of the coordinates.
            Some(Planes::Walls(_)) => return Ok(None),
            Some(Planes::Classes(classes)) => Some(classes),
            None => None,
        };
        let (m, lengths, longest) = (gram.len(), lengths(gram), longest(gram));
        if longest <= MAX_LENGTH_RATIO * lengths.iter().copied().fold(f64::INFINITY, f64::min)
            || memory::check_vectors(m, m).is_err()
        {
            return Ok(None);
        }
        let inverse_lengths: Vec<f64> = lengths.into_iter().map(f64::recip).collect();
        let mut matrix = memory::reserved(m * m)?;
        for i in 0..m {
            control.check()?;
            let row = gram.shifted_row(i);
            matrix
                .extend(row.iter().zip(&inverse_lengths).map(|(x, s)| x * inverse_lengths[i] * s));
            matrix[i * m + i] = 1.0;
        }
        let inverse_lengths = match classes {
            None => inverse_lengths,
            Some(planes) => (0..planes.len()).map(|p| inverse_lengths[planes.of(p).0]).collect(),
        };
        Ok(Some(Self { matrix, inverse_lengths, longest }))
    }

    /// Returns the version space with the Gram matrix of the scaled vectors.
    pub fn space<'b>(&'b self, space: &VersionSpace) -> Result<VersionSpace<'b>> {
        let gram = Gram::new(&self.matrix, 0.0, vec![0.0; space.examples()])?;
        Ok(space.mapped(match space.planes() {
            None => gram,
            Some(planes) => Gram::of_planes(gram, planes.clone())?,
        }))
    }

    /// Converts dual coefficients of the scaled vectors to those of the original ones.
    pub fn original(&self, dual: &[f64]) -> Vec<f64> {
        dual.iter().zip(&self.inverse_lengths).map(|(c, s)| c * s).collect()
    }

    /// Converts the certificate of an error about the scaled vectors to the original ones.
    pub fn original_error(&self, mut error: Error) -> Error {
        if let Error::Infeasible { margin_bound, certificate, .. } = &mut error {
            let weights = self.original(certificate);
            let total: f64 = weights.iter().sum();
            *margin_bound /= total * self.longest;
            *certificate = weights.iter().map(|a| a / total).collect();
        }
        error
    }
}
