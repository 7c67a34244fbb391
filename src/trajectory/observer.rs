//! What a run looks at on the way, besides its counters.

use std::collections::BTreeMap;

use crate::ball::Ball;
use crate::gram::Gram;
use crate::space::VersionSpace;

/// An observer of a run of the event loop. The loop is compiled for each kind, so one that does nothing costs nothing.
pub trait Observer {
    /// Sees the next flight: its beginning, radians after the last reset, its length, and the layer in which it is.
    #[inline]
    fn flies(&mut self, _ball: &Ball, _gram: &Gram, _flight: (f64, f64), _layer: [u32; 2]) {}

    /// Sees the ball before it arrives at the wall ahead.
    #[inline]
    fn arrives(&mut self, _ball: &Ball, _space: &VersionSpace) {}
}

impl Observer for () {}

/// Path length by the numbers of violated planes of labels -1 and +1: the layers of the onion.
///
/// Ordered, so that sums over it have the same bits in every run.
pub type Layers = BTreeMap<[u32; 2], f64>;

impl Observer for Layers {
    fn flies(&mut self, _: &Ball, _: &Gram, (_, flight): (f64, f64), layer: [u32; 2]) {
        if flight > 0.0 {
            *self.entry(layer).or_insert(0.0) += flight;
        }
    }
}
