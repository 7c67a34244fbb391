//! Explicit features: points whose inner products, times a factor, are the entries of the matrix.

use super::panels::Panels;

/// The features of all examples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features<'a> {
    points: &'a Panels,
    factor: f64,
}

impl<'a> Features<'a> {
    pub(super) fn new(points: &'a Panels, factor: f64) -> Self {
        Self { points, factor }
    }

    /// A point for each example.
    pub(crate) fn points(self) -> &'a Panels {
        self.points
    }

    /// What inner products are multiplied by.
    pub(crate) fn factor(self) -> f64 {
        self.factor
    }
}
