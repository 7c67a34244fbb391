//! Version space: a Gram matrix with labels, whose planes are walls.

mod coinciding;
mod mirror;
pub(crate) mod one_dimensional;
mod version_space;
mod violations;

pub(crate) use coinciding::{Role, is_parallel};
pub use mirror::{Mirror, Transparency};
pub use version_space::VersionSpace;
pub(crate) use violations::Violations;
