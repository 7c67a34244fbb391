//! The papers' own methods, which the engine does not need: a wing above it, that nothing but the interface to Python uses.
//!
//! The engine's traits are [`Dynamics`](crate::dynamics::Dynamics), of which the [`motions`] are, [`Observer`](crate::Observer) and
//! [`Transparency`](crate::Transparency), by which the [`onion`](mod@onion) sees and changes the path of a ball.

use crate::base::{Result, require};
use crate::space::VersionSpace;

pub mod correlation;
pub mod light_trap;
pub mod motions;
pub mod onion;
pub mod perceptron;

fn check_two_classes(space: &VersionSpace, name: &'static str, what: &str) -> Result<()> {
    let wanted = "another for several classes or walls, where it is not defined";
    require(space.planes().is_none(), name, what, wanted)
}
