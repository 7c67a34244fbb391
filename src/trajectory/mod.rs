//! The life of one ball: its event loop, its dynamics, refreshes of its direction, and what is recorded of its path.

pub mod dynamics;
mod event_loop;
mod recorder;
pub(crate) mod refresh;
mod tally;

pub(crate) use event_loop::Ended;
pub use event_loop::Trajectory;
pub use recorder::Recorder;
pub use refresh::{Refresh, RefreshChoice};
pub use tally::{Goal, Layers, Tally, Until};
