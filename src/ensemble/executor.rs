//! Processes that take steps of trajectories for this one.

use crate::base::{Control, Result, State};

/// Processes that take steps for this one.
pub trait RemoteExecutor: Send + Sync {
    /// What [`take_step`](crate::take_step) makes of every trajectory, in their order.
    ///
    /// # Errors
    ///
    /// As [`take_step`](crate::take_step), and [`crate::Error::Interrupted`] where the caller asks to stop.
    fn take(&self, order: State, trajectories: Vec<State>, control: &Control)
    -> Result<Vec<State>>;
}
