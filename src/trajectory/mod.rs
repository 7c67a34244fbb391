//! One trajectory: the event loop, the dynamics, refreshes of the direction, and the recorded draws.

pub mod dynamics;
mod event_loop;
mod recorder;
mod refresh;
mod tally;

pub use event_loop::Trajectory;
pub(crate) use event_loop::{Ended, TrajectoryState};
pub use recorder::Recorder;
pub(crate) use refresh::RefreshState;
pub use refresh::{Refresh, RefreshChoice};
pub use tally::{Goal, Layers, Tally, Until};
