//! Many trajectories: how they start, how long they run, and how what they find is merged in the order of their index.

pub(crate) mod attempt;
pub(crate) mod burn_in;
pub(crate) mod burned_in;
pub(crate) mod center;
pub(crate) mod chain;
pub(crate) mod conditional_means;
pub(crate) mod cycle;
pub(crate) mod estimate;
pub(crate) mod executor;
pub(crate) mod merge;
pub(crate) mod one_dimensional_posterior;
pub(crate) mod outcome;
pub(crate) mod pool;
pub(crate) mod remote;
pub(crate) mod run;
pub(crate) mod scatterer;
pub(crate) mod settings;
pub(crate) mod stages;
pub(crate) mod start;
pub(crate) mod step;
