//! Vector kernels, each beside a plain twin that gives the same numbers. The instruction set is chosen at run time.

pub(crate) mod dot;
pub(crate) mod entry;
pub mod pass;
pub(crate) mod special;
