//! Loops in vector instructions, with plain versions for tests. The instruction set is chosen at run time.

pub mod distance;
pub(crate) mod dot;
mod entry;
pub(crate) mod log_normal;
pub mod pass;
pub(crate) mod special;
pub mod tall;
pub(crate) mod tile;

pub use dot::Precision;
pub(crate) use entry::Call;
pub use entry::{Entry, Row};
pub(crate) use pass::NextWall;
