//! Factorizations of the Gram matrix and of small dense matrices.

pub(crate) mod factor;
pub(crate) mod inverse;
pub(crate) mod pivoted_cholesky;
pub(crate) mod small;
pub(crate) mod updatable_cholesky;
