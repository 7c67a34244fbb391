//! Version space: a Gram matrix with labels, whose planes are walls, and the layers beyond them.

mod coinciding;
mod layers;
mod mirror;
pub(crate) mod one_dimensional;
mod version_space;
mod violations;

pub(crate) use coinciding::{Role, is_parallel};
pub use layers::LayerRange;
pub(crate) use layers::{LayerWalls, RaysBeyond};
pub use mirror::Mirror;
pub use version_space::VersionSpace;
pub(crate) use violations::Violations;
