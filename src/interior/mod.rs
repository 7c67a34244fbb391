//! Searches for a first point inside version space, or for a proof that there is none.

pub(crate) mod active_set;
pub(crate) mod coordinate_ascent;
pub(crate) mod free_set;
pub(crate) mod light_trap;
pub(crate) mod max_margin;
pub(crate) mod perceptron;
pub(crate) mod unit_diagonal;
