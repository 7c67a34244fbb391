//! Errors of the engine.

use std::fmt::Display;

use thiserror::Error;

/// Below this bound of the margin, relative to the longest feature vector, rounding hides version space.
pub const SMALLEST_MARGIN: f64 = 3e-8;

/// Errors of the engine. Each names the argument or the quantity and the offending value.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Error {
    /// An argument outside its range or of the wrong shape.
    #[error("{name} must be {wanted}; got {got}")]
    Invalid {
        /// The argument's name.
        name: &'static str,
        /// The value.
        got: String,
        /// The values allowed.
        wanted: &'static str,
    },
    /// No weight vector satisfies all examples, or none was found.
    #[error(
        "no weight vector was found that satisfies all {examples} examples (the best one tried violates {violations}): \
         {}",
        verdict(*margin_bound, certificate, *examples)
    )]
    Infeasible {
        /// Number of examples.
        examples: usize,
        /// Fewest violated examples of all weight vectors tried.
        violations: usize,
        /// Upper bound of the margin by weak duality, to rounding (1e-7), relative to the longest feature vector.
        margin_bound: f64,
        /// Weights a ≥ 0 (of planes), Σ a = 1, with |Σ a_i y_i φ_i| equal to the bound times the longest feature vector.
        certificate: Vec<f64>,
    },
    /// The arithmetic broke down: the Gram matrix is not positive semi-definite, or too ill-conditioned.
    #[error(
        "numerical breakdown: {what} = {value:e}. The Gram matrix is not positive semi-definite or too \
         ill-conditioned for double precision; a softness > 0 helps"
    )]
    Breakdown {
        /// The quantity that went out of range.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// Memory, or the address space that a limit leaves, does not suffice.
    #[error("out of memory: there is no room for {bytes} bytes more")]
    Memory {
        /// Size of the allocation.
        bytes: usize,
    },
    /// The time of the run is over and there is nothing to return.
    #[error(
        "max_time must be long enough to find a point in version space, where a run starts; none was found in time. \
         Use a longer max_time, or softness > 0"
    )]
    Time,
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Also names the examples of a proof that needs two of them. The certificate may have a row of weights for each class.
fn verdict(margin_bound: f64, certificate: &[f64], examples: usize) -> String {
    if margin_bound < SMALLEST_MARGIN {
        let hidden =
            "the data are not separable with this kernel, or only by a margin that rounding hides";
        let weighted = (0..certificate.len()).filter(|&i| certificate[i] > 0.0);
        let mut weighted = weighted.map(|i| i % examples.max(1));
        return match (weighted.next(), weighted.next(), weighted.next()) {
            (Some(i), Some(j), None) => {
                format!("{hidden}, because of examples {} and {} alone", i.min(j), i.max(j))
            }
            _ => hidden.into(),
        };
    }
    format!(
        "the data are not separable with this kernel, or only by a margin that the search did not reach (it \
         is at most {margin_bound:.1e} of the longest feature vector)"
    )
}

impl Error {
    pub(crate) fn invalid(name: &'static str, got: impl Display, wanted: &'static str) -> Self {
        Self::Invalid { name, got: got.to_string(), wanted }
    }

    /// Converts the certificate, if there is one.
    pub(crate) fn map_certificate(mut self, convert: impl FnOnce(Vec<f64>) -> Vec<f64>) -> Self {
        if let Self::Infeasible { certificate, .. } = &mut self {
            *certificate = convert(std::mem::take(certificate));
        }
        self
    }
}

/// Result with the engine's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;
