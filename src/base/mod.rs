//! Errors, control of a call, memory, states of runs and random streams.

mod control;
mod error;
pub mod memory;
pub mod random;
mod range;
mod state;

pub use control::Control;
pub use error::{Error, Result, SMALLEST_MARGIN};
pub use random::Stream;
pub use range::{
    blocks, check_count, check_length, check_positive, count, require, require_sound, some_count,
};
pub use state::{State, decode, encode, ensure, ensure_finite, ensure_vectors, incompatible};
