//! What everything else stands on: errors, control of a call, memory, checkpoints and random streams.

pub(crate) mod checkpoint;
pub(crate) mod control;
pub(crate) mod error;
pub(crate) mod memory;
pub(crate) mod random;
