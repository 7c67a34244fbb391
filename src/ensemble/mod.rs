//! Many trajectories: their start, their burn-in, their length, and the merging of their results in the order of the index.

pub mod burn_in;
pub mod center;
pub mod chain;
mod conditional_means;
pub mod merge;
pub mod mixing;
mod pool;
pub(crate) mod run;
mod settings;
pub mod stages;
pub mod start;

pub use center::{Batch, Center};
pub use merge::{CenterOfMass, Outcome, StopReason};
pub use pool::WorkerPool;
pub use run::{run, sample};
pub use settings::{Average, SHORTEST_LENGTH, Settings};
