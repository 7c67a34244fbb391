//! What a run looks at on the way, besides its counters.

use std::collections::BTreeMap;

use crate::ball::Ball;
use crate::gram::Gram;
use crate::space::{LayerRange, RaysBeyond, VersionSpace};

/// An observer of a run of the event loop. The loop is compiled for each kind, so one that does nothing costs nothing.
pub trait Observer {
    /// Sees the next flight: its beginning, radians after the last reset, its length, and the layer in which it is.
    #[inline]
    fn flies(&mut self, _ball: &Ball, _gram: &Gram<'_>, _flight: (f64, f64), _layer: [u32; 2]) {}

    /// Sees the ball before it arrives at the wall ahead.
    #[inline]
    fn arrives(&mut self, _ball: &mut Ball, _space: &VersionSpace<'_>) {}

    /// Sees the ball after it has entered another layer.
    #[inline]
    fn enters(&mut self, _ball: &mut Ball, _layer: [u32; 2]) {}
}

impl Observer for () {}

impl<A: Observer, B: Observer> Observer for (&mut A, &mut B) {
    fn flies(&mut self, ball: &Ball, gram: &Gram<'_>, flight: (f64, f64), layer: [u32; 2]) {
        self.0.flies(ball, gram, flight, layer);
        self.1.flies(ball, gram, flight, layer);
    }

    fn arrives(&mut self, ball: &mut Ball, space: &VersionSpace<'_>) {
        self.0.arrives(ball, space);
        self.1.arrives(ball, space);
    }

    fn enters(&mut self, ball: &mut Ball, layer: [u32; 2]) {
        self.0.enters(ball, layer);
        self.1.enters(ball, layer);
    }
}

/// Path length by the numbers of violated planes of labels -1 and +1: the layers of the onion.
///
/// Ordered, so that sums over it have the same bits in every run.
pub type Layers = BTreeMap<[u32; 2], f64>;

impl Observer for Layers {
    fn flies(&mut self, _: &Ball, _: &Gram<'_>, (_, flight): (f64, f64), layer: [u32; 2]) {
        if flight > 0.0 {
            *self.entry(layer).or_insert(0.0) += flight;
        }
    }
}

/// Integrates the arc in every layer of the range; see [`crate::Trajectory`].
impl Observer for LayerRange {
    fn enters(&mut self, ball: &mut Ball, layer: [u32; 2]) {
        ball.enter_layer(self.index(layer));
    }
}

/// Integrates the rays beyond walls that are hit, inside hard ones, of a ball that uses all planes, which rays may meet.
impl Observer for RaysBeyond {
    fn arrives(&mut self, ball: &mut Ball, space: &VersionSpace<'_>) {
        for &(layer, [from, to]) in self.trace((ball.f(), ball.g()), space.labels()) {
            ball.add_beyond(layer, from, to);
        }
    }
}
