//! Many trajectories: their start, their burn-in, their length, and the merging of their results in the order of the index.

pub(crate) mod burn_in;
pub(crate) mod center;
pub(crate) mod chain;
mod conditional_means;
pub(crate) mod merge;
pub(crate) mod mixing;
mod outcome;
mod pool;
pub(crate) mod run;
mod settings;
pub(crate) mod stages;
pub(crate) mod start;

pub(crate) use center::{Batch, Center};
pub use outcome::{CenterOfMass, Outcome, StopReason};
pub(crate) use pool::WorkerPool;
pub use run::{resume, run, run_with};
pub(crate) use settings::SHORTEST_LENGTH;
pub use settings::{Average, Settings};
