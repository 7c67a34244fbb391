//! One trajectory: the event loop and its observers, the dynamics, refreshes of the direction, and the recorded draws.

pub mod dynamics;
mod event_loop;
mod observer;
mod recorder;
mod refresh;
mod tally;

pub use dynamics::{Dynamics, Geodesic};
pub use event_loop::{Trajectory, TrajectoryState};
pub use observer::{Layers, Observer};
pub use recorder::Recorder;
pub use refresh::{Refresh, RefreshChoice};
pub use tally::{Goal, Tally, Until};
