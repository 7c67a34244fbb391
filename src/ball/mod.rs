//! The ball: position and direction on the unit sphere, seen from the planes and as dual coefficients.

#![allow(
    clippy::inline_always,
    reason = "a bounce is short: the calls between its parts took a tenth of its time"
)]

mod arc_integral;
mod frame;
pub(crate) mod laying;
mod neighbor_list;

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::base::{Control, Result, ensure, ensure_finite, ensure_vectors, incompatible};
use crate::gram::{Gram, Values};
use crate::linalg::{Draw, Factor};
use crate::simd::{Kick, NextWall, Precision, dot, pass};
use arc_integral::{ArcIntegral, LayerIntegrals};
use neighbor_list::NeighborList;

pub use frame::Frame;

pub(crate) use arc_integral::LayerIntegral;

/// |u|² relative to its terms below which a tangent pair is left alone: the rounding of f and g would show in |v|.
const TINY: f64 = 1e-8;

/// Planes, and planes for one feature, from which on a neighbor list is used.
const FEWEST_PLANES: usize = 1_000;
const PLANES_PER_FEATURE: usize = 8;

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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ball {
    f: Vec<f64>,
    g: Vec<f64>,
    frame: Frame,
    arc: ArcIntegral,
    #[serde(skip)]
    layers: Option<LayerIntegrals>,
    wall: NextWall,
    /// Radians to that wall.
    #[serde(skip)]
    to_wall: f64,
    /// Whether a neighbor list is to be used where the Gram matrix has features.
    uses_neighbors: bool,
    near: Option<Box<NeighborList>>,
}

impl Ball {
    /// The ball that was stored, with what follows from it and the features.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Invalid`] for one of another problem.
    pub(crate) fn restored(mut self, gram: &Gram<'_>) -> Result<Self> {
        let m = gram.len();
        ensure_vectors(m, &[&self.f, &self.g])?;
        self.frame.check(m)?;
        self.arc.check(m)?;
        ensure(self.wall.plane < m, || format!("one with a wall {}", self.wall.plane))?;
        ensure_finite(&[&[self.wall.n, self.wall.d]])?;
        ensure(self.wall.d >= 0.0, || "one with a wall behind the ball")?;
        self.to_wall = self.wall.angle();
        self.near = match (self.near, gram.features()) {
            (None, _) => None,
            (Some(near), Some(features)) => {
                Some(Box::new(near.restored(gram, features, &self.frame)?))
            }
            (Some(_), None) => return Err(incompatible("one with near walls")),
        };
        Ok(self)
    }

    /// Whether position and direction are unit vectors across each other, with the plane coordinates that they should have.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Interrupted`].
    pub(crate) fn fits(&self, gram: &Gram<'_>, control: &Control) -> Result<bool> {
        const CLOSE: f64 = 1e-3;
        let (position, direction) = self.frame.unfold(0.0);
        let (mut f, mut g) = (vec![0.0; gram.len()], vec![0.0; gram.len()]);
        let out = &mut [f.as_mut_slice(), &mut g];
        gram.multiply(&[&position, &direction], out, Precision::Compensated, control)?;
        let dot = |a: &[f64], b: &[f64]| dot::dot(gram.arch(), a, b);
        let unit = (dot(&position, &f) - 1.0).abs() < CLOSE
            && (dot(&direction, &g) - 1.0).abs() < CLOSE
            && dot(&direction, &f).abs() < CLOSE;
        let close = |i: usize| {
            let (own_f, own_g) = self.coordinates(gram, i);
            let far = CLOSE * gram.diagonal(i).sqrt();
            (f[i] - own_f).abs() < far
                && (g[i] - own_g).abs() < far
                && (own_f == 0.0 || own_f.is_sign_negative() == self.f[i].is_sign_negative())
        };
        Ok(unit && (0..gram.len()).all(close) && self.knows_next_wall(gram, CLOSE))
    }

    /// Whether the wall that is said to come next does, up to planes that the ball is on, or nearly.
    fn knows_next_wall(&self, gram: &Gram<'_>, close: f64) -> bool {
        let angle = |i: usize| {
            let (f, g) = self.coordinates(gram, i);
            let far = close * gram.diagonal(i).sqrt();
            (f.abs() > far).then(|| NextWall::of(i, f, g).angle())
        };
        let none_before = (0..gram.len()).filter_map(angle).all(|t| t > self.to_wall - close);
        none_before && angle(self.wall.plane).is_none_or(|t| (t - self.to_wall).abs() < close)
    }

    /// Plane coordinates of the position, shape (m,). The sign bit is the side, also of zeros.
    ///
    /// While the ball looks at its neighbor list alone ([`Ball::use_neighbors`]) only the sides are up to date, and what
    /// [`Ball::coordinates`] says.
    pub fn f(&self) -> &[f64] {
        &self.f
    }

    /// Plane coordinates of the direction, shape (m,). Not up to date while the ball looks at its neighbor list alone.
    pub fn g(&self) -> &[f64] {
        &self.g
    }

    /// Plane coordinates of position and direction for plane i.
    pub fn coordinates(&self, gram: &Gram<'_>, i: usize) -> (f64, f64) {
        match (&self.near, gram.features()) {
            (Some(near), Some(features)) => {
                near.coordinates(gram, features, &self.frame, i, 1f64.copysign(self.f[i]))
            }
            _ => (self.f[i], self.g[i]),
        }
    }

    /// Looks only at walls of a neighbor list from here on, if there are features far fewer than planes. The ball meets the same
    /// walls; an event costs what the near ones do. Where too many are near it looks at all, until it is laid anew.
    pub fn use_neighbors(&mut self, gram: &Gram<'_>) {
        let Some(features) = gram.features() else { return };
        let d = features.points().dimension();
        self.uses_neighbors = gram.len() >= FEWEST_PLANES.max(PLANES_PER_FEATURE * d);
        if self.uses_neighbors && self.near.is_none() {
            self.find_wall(gram);
        }
    }

    /// True while the ball looks at its neighbor list alone.
    pub fn uses_neighbors(&self) -> bool {
        self.near.is_some()
    }

    /// Looks at all walls again, and brings all plane coordinates up to date.
    pub fn use_all_planes(&mut self, gram: &Gram<'_>) {
        self.update_all(gram);
        self.uses_neighbors = false;
    }

    /// Brings all plane coordinates up to date, to be looked at until the next [`Ball::find_wall`].
    fn update_all(&mut self, gram: &Gram<'_>) {
        if let (Some(near), Some(features)) = (self.near.take(), gram.features()) {
            near.write_all(gram, features, &self.frame, &mut self.f, &mut self.g);
        }
    }

    /// The wall that comes next.
    pub fn next_wall(&self) -> NextWall {
        self.wall
    }

    /// Flight time to the wall that comes next, radians in [0, π].
    #[inline]
    pub fn to_wall(&self) -> f64 {
        self.to_wall
    }

    /// Dual coefficients of the position after flying `ahead` more radians without an event.
    pub fn position(&self, ahead: f64) -> Vec<f64> {
        self.positions(ahead).collect()
    }

    /// The same, one after the other.
    #[inline]
    pub(crate) fn positions(&self, ahead: f64) -> impl Iterator<Item = f64> {
        let (sin, cos) = self.frame.sin_cos_ahead((ahead.cos(), ahead.sin()));
        self.frame.p.iter().zip(&self.frame.q).map(move |(p, q)| p * cos + q * sin)
    }

    /// Dual coefficients of the direction.
    pub fn direction(&self) -> Vec<f64> {
        self.frame.unfold(0.0).1
    }

    /// `dual ← old dual + new b`, with b the position `ahead` radians further on the great circle.
    pub(crate) fn blend(&self, ahead: f64, (old, new): (f64, f64), dual: &mut [f64]) {
        let (sin, cos) = self.frame.sin_cos_ahead((ahead.cos(), ahead.sin()));
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
        self.frame.turn(angle, (cos, sin));
        let wall = self.pass(gram, (cos, sin), &[]);
        self.take_wall(gram, wall);
    }

    /// One event: rotates the coordinates of the planes that are looked at, adds multiples of rows to their directions, and
    /// returns the next wall. See [`pass::advance`].
    #[inline(always)]
    fn pass(&mut self, gram: &Gram<'_>, rotation: (f64, f64), kicks: &[(usize, f64)]) -> NextWall {
        if let Some(near) = &mut self.near
            && let Some(features) = gram.features()
        {
            return near.pass(gram, features, &self.frame, rotation, kicks);
        }
        let (arch, f, g) = (gram.arch(), &mut self.f, &mut self.g);
        let lift = gram.offset() * kicks.iter().map(|kick| kick.1).sum::<f64>();
        match *kicks {
            [] => pass::advance::<f64>(arch, f, g, rotation, &[], lift),
            [(plane, scale)] => match gram.row(plane).values() {
                Values::Doubles(row) => {
                    pass::advance(arch, f, g, rotation, &[Kick { scale, row }], lift)
                }
                Values::Singles(row) => {
                    pass::advance(arch, f, g, rotation, &[Kick { scale, row }], lift)
                }
            },
            [(k, at_k), (l, at_l)] => match (gram.row(k).values(), gram.row(l).values()) {
                (Values::Doubles(k), Values::Doubles(l)) => {
                    let kicks = [Kick { scale: at_k, row: k }, Kick { scale: at_l, row: l }];
                    pass::advance(arch, f, g, rotation, &kicks, lift)
                }
                (Values::Singles(k), Values::Singles(l)) => {
                    let kicks = [Kick { scale: at_k, row: k }, Kick { scale: at_l, row: l }];
                    pass::advance(arch, f, g, rotation, &kicks, lift)
                }
                _ => unreachable!("all rows of one source are of one kind"),
            },
            _ => unreachable!("an event changes the direction along two planes at most"),
        }
    }

    /// Sets the coordinates of a plane.
    #[inline(always)]
    fn set(&mut self, plane: usize, f: f64, g: f64) {
        (self.f[plane], self.g[plane]) = (f, g);
        if let Some(near) = &mut self.near {
            near.set(plane, f, g);
        }
    }

    /// Flies to the next wall and is reflected there: `v ← v - 2 <v, φ_j> φ_j / K_jj`.
    #[inline]
    pub fn reflect(&mut self, gram: &Gram<'_>) -> Reflection {
        let NextWall { plane, .. } = self.wall;
        let side = 1f64.copysign(self.f[plane]);
        let (cos, sin, speed) = self.wall.rotation();
        let impulse = 2.0 * side * speed / gram.diagonal(plane);
        let angle = self.to_wall;
        self.frame.turn(angle, (cos, sin));
        self.set(plane, self.f[plane], f64::NAN);
        let wall = self.pass(gram, (cos, sin), &[(plane, impulse)]);
        self.kick(gram, plane, impulse);
        self.leave(gram, plane, side, speed, wall);
        Reflection { plane, impulse }
    }

    /// Flies to the next wall and on through it: only the plane's side changes. Returns the plane.
    pub fn cross(&mut self, gram: &Gram<'_>) -> usize {
        let NextWall { plane, .. } = self.wall;
        let side = 1f64.copysign(self.f[plane]);
        let (cos, sin, speed) = self.wall.rotation();
        let angle = self.to_wall;
        self.frame.turn(angle, (cos, sin));
        self.set(plane, self.f[plane], f64::NAN);
        let wall = self.pass(gram, (cos, sin), &[]);
        self.leave(gram, plane, -side, speed, wall);
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
            let (f, g) = self.coordinates(gram, i);
            let side = 1f64.copysign(f);
            ((side * (f * cos + g * sin)).max(0.0).copysign(side), g * cos - f * sin)
        };
        let ((f_k, g_k), (f_l, g_l)) = (turned(k), turned(l));
        let k_kl = match (&self.near, gram.features()) {
            (Some(_), Some(features)) => NeighborList::inner(gram, features, k, l),
            _ => gram.row(k).at(l) + gram.offset(),
        };
        let (k_kk, k_ll) = (gram.diagonal(k), gram.diagonal(l));
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
        self.frame.turn(angle, (cos, sin));
        self.set(k, self.f[k], f64::NAN);
        self.set(l, self.f[l], f64::NAN);
        let wall = self.pass(gram, (cos, sin), &[(k, at_k), (l, at_l)]);
        let (g_k, g_l) = (g_k + at_k * k_kk + at_l * k_kl, g_l + at_k * k_kl + at_l * k_ll);
        self.set(k, f_k, g_k);
        self.set(l, f_l, g_l);
        self.kick(gram, k, at_k);
        self.kick(gram, l, at_l);
        let own = NextWall::of(k, f_k, g_k).or(NextWall::of(l, f_l, g_l));
        self.take_wall(gram, wall.or(own));
        true
    }

    /// Flies `angle` radians and takes a fresh isotropic direction of the span, the part of a draw that is tangent at the
    /// position.
    pub fn refresh_full(&mut self, gram: &Gram<'_>, angle: f64, mut draw: impl FnMut() -> Draw) {
        self.fly(gram, angle);
        self.update_all(gram);
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
        self.find_wall(gram);
    }

    /// Flies `angle` radians and draws afresh what of the direction the columns of a factor span, see [`Factor::turn`].
    ///
    /// # Errors
    ///
    /// [`crate::Error::Interrupted`].
    pub(crate) fn refresh_part(
        &mut self,
        gram: &Gram<'_>,
        angle: f64,
        factor: &Factor,
        rng: &mut impl Rng,
        control: &Control,
    ) -> Result<()> {
        self.fly(gram, angle);
        self.update_all(gram);
        let (position, mut direction) = self.frame.unfold(0.0);
        if let Some(mut turned) = factor.turn(&self.f, &self.g, rng) {
            let arch = gram.arch();
            let mut field = gram.combination(&turned, control)?;
            dot::axpy(arch, 1.0, &self.g, &mut field);
            dot::axpy(arch, 1.0, &direction, &mut turned);
            // The matrix is that of the factor but for rounding, which large dual coefficients show.
            let along = dot::dot(arch, &turned, &self.f);
            dot::axpy(arch, -along, &position, &mut turned);
            dot::axpy(arch, -along, &self.f, &mut field);
            let scale = dot::dot(arch, &turned, &field).sqrt().recip();
            // Of a matrix that is not positive by more than that, the old direction is as good as any.
            if scale.is_finite() {
                turned.iter_mut().for_each(|x| *x *= scale);
                field.iter_mut().for_each(|x| *x *= scale);
                (direction, self.g) = (turned, field);
            }
        }
        self.lay_frame(position, direction);
        self.find_wall(gram);
        Ok(())
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
        self.update_all(gram);
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
            self.find_wall(gram);
            return Reflection { plane, impulse: 0.5 * impulse + side * sine / length };
        }
        mirrored
    }

    #[inline(always)]
    fn kick(&mut self, gram: &Gram<'_>, plane: usize, a: f64) {
        self.arc.catch_up(plane, &self.frame);
        if let Some(layers) = &mut self.layers {
            layers.before_jump(plane, a, &self.frame);
        }
        if let Some(near) = &mut self.near
            && let Some(features) = gram.features()
        {
            near.kick(gram, features, plane, self.frame.jump(a));
        }
        self.frame.kick(plane, a);
    }

    /// Sets a plane just hit or crossed: exactly on it, moving away into the side `side`.
    #[inline(always)]
    fn leave(&mut self, gram: &Gram<'_>, plane: usize, side: f64, speed: f64, others: NextWall) {
        self.set(plane, 0f64.copysign(side), side * speed);
        let own = NextWall { plane, n: -speed, d: 0.0 };
        self.set_wall(gram, if others.plane == usize::MAX { own } else { others });
    }

    /// Looks for the next wall where no flight led up to it.
    fn find_wall(&mut self, gram: &Gram<'_>) {
        self.near = None;
        if let Some(features) = gram.features().filter(|_| self.uses_neighbors) {
            let mut near = Box::new(NeighborList::new(gram, features, &self.frame));
            self.wall = near.renew(gram, features, &self.frame, &self.f);
            self.to_wall = self.wall.angle();
            self.near = Some(near);
            return;
        }
        let wall = self.pass(gram, (1.0, 0.0), &[]);
        self.take_wall(gram, wall);
    }

    /// Takes the wall that a pass found. None found means that all planes have just been left (as after a bounce with
    /// m = 1): each comes again after half a turn.
    #[inline]
    fn take_wall(&mut self, gram: &Gram<'_>, wall: NextWall) {
        let wall = if wall.plane == usize::MAX {
            NextWall { plane: 0, n: -self.g[0].abs().max(f64::MIN_POSITIVE), d: 0.0 }
        } else {
            wall
        };
        self.set_wall(gram, wall);
    }

    /// Takes the wall that comes next, or looks for it in new neighbor lists, where others may come before it.
    #[inline(always)]
    fn set_wall(&mut self, gram: &Gram<'_>, wall: NextWall) {
        (self.wall, self.to_wall) = (wall, wall.angle());
        if let Some(near) = &mut self.near
            && !near.is_valid_to(self.wall)
            && let Some(features) = gram.features()
        {
            self.wall = near.renew(gram, features, &self.frame, &self.f);
            self.to_wall = self.wall.angle();
            if near.is_too_long() {
                self.update_all(gram);
                let wall = self.pass(gram, (1.0, 0.0), &[]);
                self.take_wall(gram, wall);
            }
        }
    }
}
