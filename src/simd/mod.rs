//! Loops in vector instructions, with plain versions for tests. The instruction set is chosen at run time.

pub mod distance;
pub mod dot;
mod entry;
mod exponential;
pub mod log_normal;
pub mod pass;
pub mod singles;
pub mod special;
pub mod tall;
pub mod tile;

pub use dot::Precision;
pub use entry::{Call, Entry, Row};
pub(crate) use entry::{vector_fn, vectorized, with_entries};
pub use pass::NextWall;
