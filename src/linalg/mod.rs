//! Factorizations of the Gram matrix and of small dense matrices.

mod factor;
mod inverse;
pub(crate) mod pivoted_cholesky;
pub(crate) mod small;
mod updatable_cholesky;

pub use factor::{Draw, Factor, Isotropic};
pub use inverse::Inverse;
pub(crate) use updatable_cholesky::Cholesky;
