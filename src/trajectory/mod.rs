//! The life of one ball: its event loop, its dynamics, refreshes of its direction, and what is recorded of its path.

pub mod dynamics;
pub(crate) mod event_loop;
pub(crate) mod recorder;
pub(crate) mod refresh;
pub(crate) mod tally;
