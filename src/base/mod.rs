//! Errors, control of a call, memory, states of runs and random streams.

mod control;
mod error;
pub mod memory;
pub mod random;
mod range;
mod state;

pub use control::Control;
pub use error::SMALLEST_MARGIN;
pub use error::{Error, Result};
pub use range::{check_count, check_positive, count, require, some_count};
pub use state::State;
pub use state::{decode, encode, ensure, ensure_finite, ensure_vectors, incompatible};
