//! The ball: position and direction on the unit sphere, seen from the planes and as dual coefficients.

mod frame;
mod laying;

use crate::average::{ArcIntegral, LayerIntegral, LayerIntegrals};
use crate::dot;
use crate::factor::Draw;
use crate::gram::{Gram, Values};
use crate::pass::{self, Kick, NextWall};

pub use frame::Frame;

/// |u|² relative to its terms below which a tangent pair is left alone: the rounding of f and g would show in |v|.
const TINY: f64 = 1e-8;

/// Draws of a direction before a refresh is given up.
const DRAWS: usize = 64;

/// `a b - c d` without cancellation of the rounding errors (Kahan).
#[inline]
fn product_difference(a: f64, b: f64, c: f64, d: f64) -> f64 {
    let product = c * d;
    let lost = c.mul_add(-d, product);
    a.mul_add(b, -product) + lost
}

/// What a reflection did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reflection {
    /// The plane that was hit.
    pub plane: usize,
    /// The signed multiple of `φ_plane` added to the direction: positive for label +1.
    pub impulse: f64,
}

/// A ball on the unit sphere of the span of the feature vectors.
///
/// The plane coordinates `f_i = <b, φ_i>` and `g_i = <v, φ_i>` rotate with the ball (one fused pass an event);
/// the dual coefficients rest in a frame (O(1) an event). A rotating `f, g` costs the pass nothing that a
/// resting one would save, since both are read and written anyway, and keeps the coordinate of the wall just hit an
/// exact signed zero.
#[derive(Clone, Debug)]
pub struct Ball {
    f: Vec<f64>,
    g: Vec<f64>,
    frame: Frame,
    arc: ArcIntegral,
    layers: Option<LayerIntegrals>,
    wall: NextWall,
}

impl Ball {
    /// Plane coordinates of the position, shape (m,). The sign bit is the side, also of zeros.
    pub fn f(&self) -> &[f64] {
        &self.f
    }

    /// Plane coordinates of the direction, shape (m,).
    pub fn g(&self) -> &[f64] {
        &self.g
    }

    /// The wall that comes next.
    pub fn next_wall(&self) -> NextWall {
        self.wall
    }

    /// Dual coefficients of the position after flying `ahead` more radians without an event.
    pub fn position(&self, ahead: f64) -> Vec<f64> {
        self.frame.unfold(ahead).0
    }

    /// Dual coefficients of the direction.
    pub fn direction(&self) -> Vec<f64> {
        self.frame.unfold(0.0).1
    }

    /// `dual ← old dual + new b`, with b the position `ahead` radians further on the great circle.
    pub(crate) fn blend(&self, ahead: f64, (old, new): (f64, f64), dual: &mut [f64]) {
        let (sin, cos) = (self.frame.theta + ahead).sin_cos();
        let (cos, sin) = (new * cos, new * sin);
        for ((c, p), q) in dual.iter_mut().zip(&self.frame.p).zip(&self.frame.q) {
            *c = old * *c + (p * cos + q * sin);
        }
    }

    /// Takes out the dual coefficients of `∫ b dt` since the last call.
    pub fn take_arc_integral(&mut self) -> Vec<f64> {
        self.arc.flush(&self.frame);
        self.arc.take()
    }

    /// Integrates the arc in each of `layers` layers from here on, the present one being `now`; in none for 0.
    pub(crate) fn keep_layers(&mut self, layers: usize, now: Option<usize>) {
        self.layers =
            (layers > 0).then(|| LayerIntegrals::new(self.f.len(), layers, now, &self.frame));
    }

    /// Says that the ball is in another layer from here on; `None` beyond those kept.
    #[inline]
    pub(crate) fn enter_layer(&mut self, layer: Option<usize>) {
        if let Some(layers) = &mut self.layers {
            layers.enter(layer, &self.frame);
        }
    }

    /// Adds to a layer the arc between two angles ahead that a flight without events would have in it.
    #[inline]
    pub(crate) fn add_beyond(&mut self, layer: usize, from: f64, to: f64) {
        if let Some(layers) = &mut self.layers {
            layers.add_beyond(layer, from, to, &self.frame);
        }
    }

    /// Takes out what was integrated in each layer since the last call; empty where none is kept.
    pub(crate) fn take_layers(&mut self) -> Vec<LayerIntegral> {
        let Some(layers) = &mut self.layers else { return Vec::new() };
        layers.flush(&self.frame);
        layers.take()
    }

    /// Flies `angle` radians without an event. `angle` must not go past the next wall.
    pub fn fly(&mut self, gram: &Gram<'_>, angle: f64) {
        let (sin, cos) = angle.sin_cos();
        self.frame.turn(angle);
        let wall =
            pass::advance::<f64>(gram.arch(), &mut self.f, &mut self.g, (cos, sin), &[], 0.0);
        self.sight(wall);
    }

    /// Flies to the next wall and is reflected there: `v ← v - 2 <v, φ_j> φ_j / K_jj`.
    pub fn reflect(&mut self, gram: &Gram<'_>) -> Reflection {
        let NextWall { plane, .. } = self.wall;
        let side = 1f64.copysign(self.f[plane]);
        let (cos, sin, speed) = self.wall.rotation();
        let impulse = 2.0 * side * speed / gram.diagonal(plane);
        self.frame.turn(self.wall.angle());
        self.g[plane] = f64::NAN;
        let (scale, lift) = (impulse, impulse * gram.offset());
        let (arch, f, g) = (gram.arch(), &mut self.f, &mut self.g);
        let wall = match gram.row(plane).values() {
            Values::Doubles(row) => {
                pass::advance(arch, f, g, (cos, sin), &[Kick { scale, row }], lift)
            }
            Values::Singles(row) => {
                pass::advance(arch, f, g, (cos, sin), &[Kick { scale, row }], lift)
            }
        };
        self.leave(plane, side, speed, wall);
        self.kick(plane, impulse);
        Reflection { plane, impulse }
    }

    /// Flies to the next wall and on through it: only the plane's side changes. Returns the plane.
    pub fn cross(&mut self, gram: &Gram<'_>) -> usize {
        let NextWall { plane, .. } = self.wall;
        let side = 1f64.copysign(self.f[plane]);
        let (cos, sin, speed) = self.wall.rotation();
        self.frame.turn(self.wall.angle());
        self.g[plane] = f64::NAN;
        let wall =
            pass::advance::<f64>(gram.arch(), &mut self.f, &mut self.g, (cos, sin), &[], 0.0);
        self.leave(plane, -side, speed, wall);
        plane
    }

    /// Flies `angle` radians and reflects the direction in mid-air in the tangent vector
    /// `u = f_l φ_k - f_k φ_l` of the planes k ≠ l. Leaves the uniform measure and `|v|` as they are.
    ///
    /// Skipped (only flown) where `|u|` is tiny, which depends on the position alone. Returns whether it was done.
    pub fn refresh_pair(&mut self, gram: &Gram<'_>, angle: f64, (k, l): (usize, usize)) -> bool {
        debug_assert_ne!(k, l);
        let (sin, cos) = angle.sin_cos();
        let turned = |i: usize| {
            let side = 1f64.copysign(self.f[i]);
            let f = (side * (self.f[i] * cos + self.g[i] * sin)).max(0.0).copysign(side);
            (f, self.g[i] * cos - self.f[i] * sin)
        };
        let ((f_k, g_k), (f_l, g_l)) = (turned(k), turned(l));
        let row_k = gram.row(k);
        let (k_kk, k_ll, k_kl) = (gram.diagonal(k), gram.diagonal(l), row_k.at(l) + gram.offset());
        // |u|² = f_l (f_l K_kk - f_k K_kl) + f_k (f_k K_ll - f_l K_kl). For nearly parallel planes the differences
        // cancel, and what is lost in them would be lost in |v|.
        let square = f_l * product_difference(f_l, k_kk, f_k, k_kl)
            + f_k * product_difference(f_k, k_ll, f_l, k_kl);
        if square.is_nan() || square <= TINY * (f_l * f_l * k_kk + f_k * f_k * k_ll) {
            self.fly(gram, angle);
            return false;
        }
        let a = -2.0 * product_difference(f_l, g_k, f_k, g_l) / square;
        let (at_k, at_l) = (a * f_l, -a * f_k);
        self.frame.turn(angle);
        self.g[k] = f64::NAN;
        self.g[l] = f64::NAN;
        let row_l = gram.row(l);
        let lift = (at_k + at_l) * gram.offset();
        let (arch, f, g) = (gram.arch(), &mut self.f, &mut self.g);
        let wall = match (row_k.values(), row_l.values()) {
            (Values::Doubles(k), Values::Doubles(l)) => {
                let kicks = [Kick { scale: at_k, row: k }, Kick { scale: at_l, row: l }];
                pass::advance(arch, f, g, (cos, sin), &kicks, lift)
            }
            (Values::Singles(k), Values::Singles(l)) => {
                let kicks = [Kick { scale: at_k, row: k }, Kick { scale: at_l, row: l }];
                pass::advance(arch, f, g, (cos, sin), &kicks, lift)
            }
            _ => unreachable!("all rows of one source are of one kind"),
        };
        (self.f[k], self.g[k]) = (f_k, g_k + at_k * k_kk + at_l * k_kl);
        (self.f[l], self.g[l]) = (f_l, g_l + at_k * k_kl + at_l * k_ll);
        self.kick(k, at_k);
        self.kick(l, at_l);
        let own = NextWall::of(k, self.f[k], self.g[k]).or(NextWall::of(l, self.f[l], self.g[l]));
        self.sight(wall.or(own));
        true
    }

    /// Flies `angle` radians and takes a fresh isotropic direction of the span, the part of a draw that is tangent at the
    /// position.
    pub fn refresh_full(&mut self, gram: &Gram<'_>, angle: f64, mut draw: impl FnMut() -> Draw) {
        self.fly(gram, angle);
        let (position, _) = self.frame.unfold(0.0);
        // The tangent part of a Gaussian vector is isotropic whatever its angle with the position, so draws at less than
        // 45 degrees to the position may be rejected. They must be: the mismatch between f and the dual coefficients,
        // which is of the order of the rounding, goes into the new direction times the cotangent of that angle, and
        // in few dimensions it would grow from draw to draw.
        let mut drawn = None;
        for _ in 0..DRAWS {
            let normal = draw();
            let along = dot::dot(gram.arch(), &normal.dual, &self.f);
            let square = normal.square - along * along;
            if square > 0.5 * normal.square {
                drawn = Some((normal, along, square));
                break;
            }
        }
        // One dimension, or one chance in 2^DRAWS.
        let Some((mut normal, along, square)) = drawn else { return };
        let scale = square.sqrt().recip();
        for (w, b) in normal.dual.iter_mut().zip(&position) {
            *w = (*w - along * b) * scale;
        }
        for ((g, w), f) in self.g.iter_mut().zip(&normal.field).zip(&self.f) {
            *g = (w - along * f) * scale;
        }
        self.lay_frame(position, normal.dual);
        self.look(gram);
    }

    /// Flies to the next wall and leaves it at `sine` = <v, n> with its unit normal n, the rest of the direction being
    /// the part of an isotropic draw across position and normal: by the cosine law, where `sine` is drawn by its law.
    ///
    /// What the mismatch between f and the dual coefficients does to a direction laid anew is said in
    /// [`Ball::refresh_full`]. Where no draw is far enough from the plane of position and normal (as in two dimensions,
    /// where there is nothing else) the ball is reflected as in a mirror.
    pub fn scatter(
        &mut self,
        gram: &Gram<'_>,
        sine: f64,
        mut draw: impl FnMut() -> Draw,
    ) -> Reflection {
        let mirrored = self.reflect(gram);
        let Reflection { plane, impulse } = mirrored;
        let length = gram.diagonal(plane).sqrt();
        let side = 1f64.copysign(self.f[plane]);
        let (position, _) = self.frame.unfold(0.0);
        for _ in 0..DRAWS {
            let mut across = draw();
            let along = dot::dot(gram.arch(), &across.dual, &self.f);
            let out = side * across.field[plane] / length;
            let square = across.square - along * along - out * out;
            if square <= 0.25 * across.square {
                continue;
            }
            let scale = ((1.0 - sine * sine) / square).sqrt();
            let normal = side * (sine - scale * out) / length;
            for (w, b) in across.dual.iter_mut().zip(&position) {
                *w = (*w - along * b) * scale;
            }
            across.dual[plane] += normal;
            let lift = normal * gram.offset();
            for ((g, w), f) in self.g.iter_mut().zip(&across.field).zip(&self.f) {
                *g = (w - along * f) * scale + lift;
            }
            gram.add_row(plane, normal, &mut self.g);
            self.g[plane] = side * sine * length;
            self.lay_frame(position, across.dual);
            self.look(gram);
            return Reflection { plane, impulse: 0.5 * impulse + side * sine / length };
        }
        mirrored
    }

    #[inline]
    fn kick(&mut self, plane: usize, a: f64) {
        self.arc.settle(plane, &self.frame);
        if let Some(layers) = &mut self.layers {
            layers.settle(plane, a, &self.frame);
        }
        self.frame.kick(plane, a);
    }

    /// Sets a plane just hit or crossed: exactly on it, moving away into the side `side`.
    #[inline]
    fn leave(&mut self, plane: usize, side: f64, speed: f64, others: NextWall) {
        self.f[plane] = 0f64.copysign(side);
        self.g[plane] = side * speed;
        let own = NextWall { plane, n: -speed, d: 0.0 };
        self.wall = if others.plane == usize::MAX { own } else { others };
    }

    /// Looks for the next wall where no flight led up to it.
    fn look(&mut self, gram: &Gram<'_>) {
        let wall =
            pass::advance::<f64>(gram.arch(), &mut self.f, &mut self.g, (1.0, 0.0), &[], 0.0);
        self.sight(wall);
    }

    /// Takes the wall that a pass found. None found means that all planes have just been left (as after a bounce with
    /// m = 1): each comes again after half a turn.
    #[inline]
    fn sight(&mut self, wall: NextWall) {
        self.wall = if wall.plane == usize::MAX {
            NextWall { plane: 0, n: -self.g[0].abs().max(f64::MIN_POSITIVE), d: 0.0 }
        } else {
            wall
        };
    }
}
