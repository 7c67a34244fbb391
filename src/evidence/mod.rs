//! The evidence: ln of the share of the sphere that version space takes, or that walls that let through leave.

pub(crate) mod annealing;
pub(crate) mod bridge;
pub(crate) mod integration;
pub(crate) mod ladder;
pub(crate) mod mbar;
mod one_dimensional_evidence;
