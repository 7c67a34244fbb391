//! Version space: a Gram matrix with labels, whose planes are walls, and the layers beyond them.

pub(crate) mod layers;
pub(crate) mod mirror;
pub(crate) mod one_dimensional;
pub(crate) mod version_space;
