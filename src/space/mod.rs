//! Version space: a Gram matrix with labels, whose planes are walls.

mod coinciding;
mod mirror;
pub mod one_dimensional;
mod version_space;
mod violations;

pub use coinciding::{Role, is_parallel};
pub use mirror::{Mirror, Transparency};
pub use version_space::VersionSpace;
pub use violations::Violations;
