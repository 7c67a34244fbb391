//! Many trajectories: their start, their burn-in, their length, and the merging of their results in the order of the index.

pub(crate) mod burn_in;
pub(crate) mod center;
pub(crate) mod chain;
mod conditional_means;
mod context;
mod cycle;
mod merge;
mod mixing;
mod outcome;
mod pool;
mod run;
mod settings;
mod stages;
mod start;
mod step;

pub(crate) use center::{Batch, Center};
pub use outcome::{CenterOfMass, Draws, Outcome, RefreshReport, StopReason, TrajectoryReport};
pub(crate) use pool::WorkerPool;
pub use run::{resume, run, run_remotely, run_with};
pub(crate) use settings::SHORTEST_LENGTH;
pub use settings::{Average, Settings};
pub use step::{RemoteExecutor, take_step};
