//! What everything else stands on: errors, control of a call, memory, checkpoints and random streams.

mod checkpoint;
mod control;
mod error;
pub(crate) mod memory;
pub(crate) mod random;

pub use checkpoint::State;
pub(crate) use checkpoint::{
    RngState, decode, encode, ensure, ensure_finite, ensure_vectors, incompatible,
};
pub use control::Control;
pub(crate) use error::SMALLEST_MARGIN;
pub use error::{Error, Result};
