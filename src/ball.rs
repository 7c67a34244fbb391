//! The ball: position and direction on the unit sphere, seen from the planes and as dual coefficients.

use crate::average::{ArcIntegral, LayerIntegral, LayerIntegrals};
use crate::control::Control;
use crate::dot;
use crate::error::{Error, Result};
use crate::factor::Draw;
use crate::gram::{Gram, Precision};
use crate::pass::{self, Kick, NextWall};

/// Dual coefficients of position and direction in a frame that stands still between jumps:
/// `b = p cos θ + q sin θ`, `v = -p sin θ + q cos θ`, with θ the angle flown since the frame was laid.
///
/// Flight changes θ alone, and a jump of `v` along one feature vector changes one coordinate of `p` and of `q`.
#[derive(Clone, Debug)]
pub struct Frame {
    p: Vec<f64>,
    q: Vec<f64>,
    theta: f64,
    sin: f64,
    cos: f64,
}

impl Frame {
    fn lay(p: Vec<f64>, q: Vec<f64>) -> Self {
        Self { p, q, theta: 0.0, sin: 0.0, cos: 1.0 }
    }

    #[inline]
    pub(crate) fn p(&self, j: usize) -> f64 {
        self.p[j]
    }

    #[inline]
    pub(crate) fn q(&self, j: usize) -> f64 {
        self.q[j]
    }

    #[inline]
    pub(crate) fn sin_cos(&self) -> (f64, f64) {
        (self.sin, self.cos)
    }

    #[inline]
    pub(crate) fn angle_sin_cos(&self) -> (f64, f64, f64) {
        (self.theta, self.sin, self.cos)
    }

    #[inline]
    fn turn(&mut self, angle: f64) {
        self.theta += angle;
        // From the angle itself, not by the addition theorem: no drift of sin² + cos².
        (self.sin, self.cos) = self.theta.sin_cos();
    }

    /// What `v ← v + a φ_j` adds to `p_j` and `q_j`.
    #[inline]
    pub(crate) fn jump(&self, a: f64) -> (f64, f64) {
        (-a * self.sin, a * self.cos)
    }

    /// `v ← v + a φ_j`.
    #[inline]
    fn kick(&mut self, j: usize, a: f64) {
        let (dp, dq) = self.jump(a);
        self.p[j] += dp;
        self.q[j] += dq;
    }

    /// Position and direction at the present angle plus `ahead`.
    fn unfold(&self, ahead: f64) -> (Vec<f64>, Vec<f64>) {
        let (sin, cos) = (self.theta + ahead).sin_cos();
        self.p.iter().zip(&self.q).map(|(p, q)| (p * cos + q * sin, q * cos - p * sin)).unzip()
    }
}

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
    /// Puts a ball at the dual coefficients `position` (scaled to the sphere), flying along the part of
    /// `direction` that is tangent there.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a position of length zero or a direction without tangent part;
    /// [`Error::Interrupted`] when the caller asks to stop.
    pub fn new(
        gram: &Gram<'_>,
        position: &[f64],
        direction: &[f64],
        control: &Control,
    ) -> Result<Self> {
        let m = gram.len();
        for (name, dual) in [("position", position), ("direction", direction)] {
            if dual.len() != m || dual.iter().any(|x| !x.is_finite()) {
                return Err(Error::invalid(
                    name,
                    "a vector of another length or not finite",
                    "m finite dual coefficients",
                ));
            }
        }
        let mut ball = Self {
            f: vec![0.0; m],
            g: vec![0.0; m],
            frame: Frame::lay(position.to_vec(), direction.to_vec()),
            arc: ArcIntegral::new(m),
            layers: None,
            wall: NextWall::NONE,
        };
        gram.multiply(
            &[position, direction],
            &mut [&mut ball.f, &mut ball.g],
            Precision::Compensated,
            control,
        )?;
        ball.orthonormalize(gram, |name, value| {
            Error::invalid(
                name,
                format!("one of squared length {value:e}"),
                "a vector with a part of positive length",
            )
        })?;
        ball.look(gram);
        Ok(ball)
    }

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
        let wall = pass::advance(gram.arch(), &mut self.f, &mut self.g, (cos, sin), &[], 0.0);
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
        let kick = Kick { scale: impulse, row: gram.row(plane) };
        let lift = impulse * gram.offset();
        let wall = pass::advance(gram.arch(), &mut self.f, &mut self.g, (cos, sin), &[kick], lift);
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
        let wall = pass::advance(gram.arch(), &mut self.f, &mut self.g, (cos, sin), &[], 0.0);
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
        let (k_kk, k_ll, k_kl) = (gram.diagonal(k), gram.diagonal(l), gram.entry(k, l));
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
        let kicks =
            [Kick { scale: at_k, row: gram.row(k) }, Kick { scale: at_l, row: gram.row(l) }];
        let lift = (at_k + at_l) * gram.offset();
        let wall = pass::advance(gram.arch(), &mut self.f, &mut self.g, (cos, sin), &kicks, lift);
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
            for (((g, w), f), k) in
                self.g.iter_mut().zip(&across.field).zip(&self.f).zip(gram.row(plane))
            {
                *g = (w - along * f) * scale + (normal * k + lift);
            }
            self.g[plane] = side * sine * length;
            self.lay_frame(position, across.dual);
            self.look(gram);
            return Reflection { plane, impulse: 0.5 * impulse + side * sine / length };
        }
        mirrored
    }

    /// A ball at the same position, its direction turned by `angle` towards the part of `direction` (dual coefficients) that
    /// is across position and direction.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where there is no such part; [`Error::Interrupted`].
    pub(crate) fn tilted(
        &self,
        gram: &Gram<'_>,
        angle: f64,
        direction: &[f64],
        control: &Control,
    ) -> Result<Self> {
        let (position, heading) = self.frame.unfold(0.0);
        let tangent = Self::new(gram, &position, direction, control)?;
        let along = dot::dot(gram.arch(), &tangent.frame.q, &self.g);
        let across = (1.0 - along * along).max(0.0).sqrt();
        if across < 1e-6 {
            let got = "a vector along the ball's own";
            return Err(Error::invalid("direction", got, "one across it"));
        }
        let share = angle.sin() / across;
        let tilted: Vec<f64> = heading
            .iter()
            .zip(&tangent.frame.q)
            .map(|(v, u)| (angle.cos() - share * along) * v + share * u)
            .collect();
        Self::new(gram, &position, &tilted, control)
    }

    /// Puts the ball at a unit vector and lets it fly along a unit vector across it. No plane may change its side.
    pub(crate) fn place(&mut self, gram: &Gram<'_>, position: Draw, direction: Draw) {
        self.f = position.field;
        self.g = direction.field;
        self.lay_frame(position.dual, direction.dual);
        self.look(gram);
    }

    /// Turns the direction round: the ball flies back the way it came.
    pub fn reverse(&mut self, gram: &Gram<'_>) {
        let (position, mut direction) = self.frame.unfold(0.0);
        direction.iter_mut().for_each(|v| *v = -*v);
        self.g.iter_mut().for_each(|g| *g = -*g);
        self.lay_frame(position, direction);
        self.look(gram);
    }

    /// Recomputes the plane coordinates from the dual coefficients and restores `|b| = |v| = 1`, `<b, v> = 0`.
    ///
    /// Every plane keeps its side. Returns the drift found: the largest change of a plane coordinate, relative to
    /// the length of its feature vector.
    ///
    /// # Errors
    ///
    /// [`Error::Breakdown`] when a norm is no longer near 1; [`Error::Interrupted`].
    pub fn reproject(&mut self, gram: &Gram<'_>, control: &Control) -> Result<f64> {
        let (position, direction) = self.frame.unfold(0.0);
        let (old_f, old_g) = (self.f.clone(), self.g.clone());
        self.lay(gram, position, direction, control)?;
        let mut drift = 0f64;
        for i in 0..self.f.len() {
            let length = gram.diagonal(i).sqrt();
            drift = drift
                .max((self.f[i] - old_f[i]).abs() / length)
                .max((self.g[i] - old_g[i]).abs() / length);
        }
        self.keep_sides(&old_f, true);
        self.look(gram);
        Ok(drift)
    }

    /// Puts the ball at `position`, dual coefficients of a unit vector, or leaves it where it is, and lets it fly along the
    /// tangent part of `direction`. Every plane keeps its side. Returns the angle between position and direction, and the drift
    /// found in the position.
    ///
    /// The drift matters where launches are frequent and the Gram matrix is singular: a flight that uses up little of its
    /// reach magnifies the part of the dual coefficients that the matrix does not see, until its rounding does.
    ///
    /// # Errors
    ///
    /// [`Error::Breakdown`] when the position is not of unit length or the direction has no tangent part;
    /// [`Error::Interrupted`].
    pub fn launch(
        &mut self,
        gram: &Gram<'_>,
        position: Option<Vec<f64>>,
        direction: Vec<f64>,
        control: &Control,
    ) -> Result<(f64, f64)> {
        let stays = position.is_none();
        let position = position.unwrap_or_else(|| self.frame.unfold(0.0).0);
        let old_f = self.f.clone();
        let (angle, norm) = self.lay(gram, position, direction, control)?;
        let mut drift = (norm - 1.0).abs();
        if stays {
            for i in 0..self.f.len() {
                drift = drift.max((self.f[i] - old_f[i]).abs() / gram.diagonal(i).sqrt());
            }
        }
        self.keep_sides(&old_f, stays);
        self.look(gram);
        Ok((angle, drift))
    }

    /// Lays the frame along a position of about unit length and a direction, with the plane coordinates of both. Returns
    /// the angle between them and the squared length of the position as it came.
    fn lay(
        &mut self,
        gram: &Gram<'_>,
        position: Vec<f64>,
        direction: Vec<f64>,
        control: &Control,
    ) -> Result<(f64, f64)> {
        gram.multiply(
            &[&position, &direction],
            &mut [&mut self.f, &mut self.g],
            Precision::Compensated,
            control,
        )?;
        self.lay_frame(position, direction);
        let norm = dot::dot(gram.arch(), &self.frame.p, &self.f);
        if norm.is_nan() || (norm - 1.0).abs() > 1e-3 {
            return Err(Error::Breakdown { what: "squared length of the position", value: norm });
        }
        let angle = self.orthonormalize(gram, |what, value| Error::Breakdown { what, value })?;
        Ok((angle, norm))
    }

    /// Holds every plane coordinate on the side that it has in `old_f`; where the ball is still in its place, a wall just
    /// hit stays an exact zero: its true coordinate is one.
    fn keep_sides(&mut self, old_f: &[f64], stays: bool) {
        for (f, old) in self.f.iter_mut().zip(old_f) {
            let side = 1f64.copysign(*old);
            let kept = if stays && *old == 0.0 { 0.0 } else { (side * *f).max(0.0) };
            *f = kept.copysign(side);
        }
    }

    /// Makes the laid frame (θ = 0) and the plane coordinates orthonormal. Returns the angle between position and
    /// direction as they came.
    fn orthonormalize(
        &mut self,
        gram: &Gram<'_>,
        error: impl Fn(&'static str, f64) -> Error,
    ) -> Result<f64> {
        let arch = gram.arch();
        let square = dot::dot(arch, &self.frame.p, &self.f);
        if !(square > 0.0 && square.is_finite()) {
            return Err(error("position", square));
        }
        let scale = square.sqrt().recip();
        self.frame.p.iter_mut().for_each(|x| *x *= scale);
        self.f.iter_mut().for_each(|x| *x *= scale);
        let whole = dot::dot(arch, &self.frame.q, &self.g);
        let radial = dot::dot(arch, &self.frame.q, &self.f);
        // Twice: one projection leaves a part of the order of its own rounding.
        for _ in 0..2 {
            let along = dot::dot(arch, &self.frame.q, &self.f);
            dot::axpy(arch, -along, &self.frame.p, &mut self.frame.q);
            dot::axpy(arch, -along, &self.f, &mut self.g);
        }
        let square = dot::dot(arch, &self.frame.q, &self.g);
        if !(square > 1e-20 * whole && square.is_finite()) {
            return Err(error("direction", square));
        }
        let tangent = square.sqrt();
        let scale = tangent.recip();
        self.frame.q.iter_mut().for_each(|x| *x *= scale);
        self.g.iter_mut().for_each(|x| *x *= scale);
        Ok(tangent.atan2(radial))
    }

    fn lay_frame(&mut self, position: Vec<f64>, direction: Vec<f64>) {
        self.arc.flush(&self.frame);
        if let Some(layers) = &mut self.layers {
            layers.flush(&self.frame);
            layers.frame_laid();
        }
        self.frame = Frame::lay(position, direction);
        self.arc.frame_laid();
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
        let wall = pass::advance(gram.arch(), &mut self.f, &mut self.g, (1.0, 0.0), &[], 0.0);
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
