//! Factorizations of the Gram matrix and of small dense matrices.

mod factor;
mod inverse;
pub mod pivoted_cholesky;
pub mod small;
mod updatable_cholesky;

pub use factor::{Draw, Factor, Isotropic};
pub use inverse::Inverse;
pub use updatable_cholesky::Cholesky;
