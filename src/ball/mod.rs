//! The ball: position and direction on the unit sphere, as plane coordinates and as dual coefficients.

mod frame;
pub mod laying;

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::base::{Control, Result, ensure, ensure_finite, ensure_vectors};
use crate::gram::Gram;
use crate::linalg::{Draw, Factor};
use crate::simd::{NextWall, Precision, Row, dot, pass, with_entries};
use frame::Frame;

/// Smallest |u|² relative to its terms in a pair refresh: below it the rounding of f and g would be visible in |v|.
const TINY: f64 = 1e-8;

/// Largest number of attempts to draw a direction.
pub const DRAWS: usize = 64;

/// Returns `a b - c d` without cancellation of the rounding errors (Kahan).
#[inline]
fn product_difference(a: f64, b: f64, c: f64, d: f64) -> f64 {
    let product = c * d;
    let lost = c.mul_add(-d, product);
    a.mul_add(b, -product) + lost
}

/// Returns `f`, or zero if it is not on the side of `old`, with the sign bit of `old`.
#[inline]
fn on_side(old: f64, f: f64) -> f64 {
    let side = 1f64.copysign(old);
    (side * f).max(0.0).copysign(side)
}

/// Returns the plane coordinates of a position and a direction, given by dual coefficients.
fn fields(gram: &Gram, duals: [&[f64]; 2], control: &Control) -> Result<[Vec<f64>; 2]> {
    let fields = gram.multiply(&duals, Precision::Compensated, control)?;
    Ok(fields.try_into().expect("a field of each vector"))
}

/// A ball on the unit sphere of the span of the feature vectors.
///
/// The plane coordinates `f_i = <b, φ_i>` and `g_i = <v, φ_i>` are rotated at each event, in one fused pass. The dual
/// coefficients are kept in a fixed frame, which changes in O(1) per event. A fixed frame would not make the pass over
/// `f` and `g` faster. Rotation keeps the coordinate of the wall just hit an exact signed zero.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ball {
    f: Vec<f64>,
    g: Vec<f64>,
    frame: Frame,
    wall: NextWall,
    /// Flight time to that wall, radians.
    #[serde(skip)]
    to_wall: f64,
    /// Rows of planes that are not those of single examples.
    #[serde(skip)]
    scratch: Vec<f64>,
}

impl Ball {
    /// Checks a stored ball and computes the fields that are not stored.
    pub(crate) fn restored(mut self, gram: &Gram) -> Result<Self> {
        let m = gram.len();
        ensure_vectors(m, &[&self.f, &self.g])?;
        self.frame.check(m)?;
        ensure_finite(&[&[self.wall.n, self.wall.d]])?;
        ensure(self.wall.plane < m && self.wall.d >= 0.0, "one with another wall")?;
        self.to_wall = self.wall.angle();
        Ok(self)
    }

    /// Returns whether position, direction, plane coordinates and next wall agree with one another, up to a tolerance.
    pub(crate) fn fits(&self, gram: &Gram, control: &Control) -> Result<bool> {
        const CLOSE: f64 = 1e-3;
        let (position, direction) = self.frame.unfold();
        let [f, g] = fields(gram, [&position, &direction], control)?;
        let dot = dot::dot::<f64>;
        let unit = (dot(&position, &f) - 1.0).abs() < CLOSE
            && (dot(&direction, &g) - 1.0).abs() < CLOSE
            && dot(&direction, &f).abs() < CLOSE;
        let far = |i: usize| CLOSE * gram.diagonal(i).sqrt();
        let close =
            |i: usize| (f[i] - self.f[i]).abs() < far(i) && (g[i] - self.g[i]).abs() < far(i);
        // No wall comes before the next one, except planes at the position itself.
        let angle = |i: usize| {
            let is_ahead = self.f[i].abs() > far(i);
            is_ahead.then(|| NextWall::of(i, self.f[i], self.g[i]).angle())
        };
        let fits = |i: usize| close(i) && angle(i).is_none_or(|t| t > self.to_wall - CLOSE);
        Ok(unit
            && (0..gram.len()).all(fits)
            && angle(self.wall.plane).is_none_or(|t| (t - self.to_wall).abs() < CLOSE))
    }

    /// Returns the plane coordinates of the position, shape (m,). The sign bit is the side, also of zeros.
    pub fn f(&self) -> &[f64] {
        &self.f
    }

    /// Returns the plane coordinates of the direction, shape (m,).
    pub fn g(&self) -> &[f64] {
        &self.g
    }

    /// Returns the next wall.
    pub fn next_wall(&self) -> NextWall {
        self.wall
    }

    /// Returns the flight time to the next wall, radians in [0, π].
    #[inline]
    pub fn to_wall(&self) -> f64 {
        self.to_wall
    }

    /// Returns the dual coefficients of the position `ahead` radians further on the great circle.
    pub fn position(&self, ahead: f64) -> Vec<f64> {
        let (sin, cos) = self.frame.sin_cos_ahead((ahead.cos(), ahead.sin()));
        self.frame.p.iter().zip(&self.frame.q).map(|(p, q)| p * cos + q * sin).collect()
    }

    /// Returns the dual coefficients of the direction.
    pub fn direction(&self) -> Vec<f64> {
        self.frame.unfold().1
    }

    /// `dual ← old dual + new b`, where b is the position `ahead` radians further on the great circle.
    pub(crate) fn blend(&self, ahead: f64, (old, new): (f64, f64), dual: &mut [f64]) {
        let (sin, cos) = self.frame.sin_cos_ahead((ahead.cos(), ahead.sin()));
        let (cos, sin) = (new * cos, new * sin);
        for ((c, p), q) in dual.iter_mut().zip(&self.frame.p).zip(&self.frame.q) {
            *c = old * *c + (p * cos + q * sin);
        }
    }

    /// Returns the dual coefficients of `∫ b dt` since the last call.
    pub fn take_arc_integral(&mut self) -> Vec<f64> {
        self.frame.take_integral()
    }

    /// Flies `angle` radians without an event. `angle` must not exceed the flight time to the next wall.
    pub fn fly(&mut self, gram: &Gram, angle: f64) {
        let (sin, cos) = angle.sin_cos();
        self.frame.turn((cos, sin));
        let wall = self.pass(gram, (cos, sin), &[]);
        self.take_wall(wall);
    }

    /// Rotates and kicks the plane coordinates, and finds the next wall.
    #[inline(always)]
    fn pass(&mut self, gram: &Gram, rotation: (f64, f64), kicks: &[(usize, f64)]) -> NextWall {
        let (arch, f, g) = (gram.arch, &mut self.f, &mut self.g);
        if let Some(joint) = gram.joint() {
            return joint.advance((f, g), rotation, kicks, &mut self.scratch);
        }
        let lift = gram.offset() * kicks.iter().map(|kick| kick.1).sum::<f64>();
        match *kicks {
            [] => pass::advance::<f64>(arch, f, g, rotation, &[], lift),
            [(plane, scale)] => with_entries!(&gram.row(plane), |row| {
                pass::advance(arch, f, g, rotation, &[(scale, row)], lift)
            }),
            [(k, at_k), (l, at_l)] => match (&gram.row(k), &gram.row(l)) {
                (Row::Doubles(k), Row::Doubles(l)) => {
                    pass::advance(arch, f, g, rotation, &[(at_k, k), (at_l, l)], lift)
                }
                (Row::Singles(k), Row::Singles(l)) => {
                    pass::advance(arch, f, g, rotation, &[(at_k, k), (at_l, l)], lift)
                }
                _ => unreachable!("all rows of one source are of one kind"),
            },
            _ => unreachable!("an event changes the direction along two planes at most"),
        }
    }

    /// Flies to the next wall and reflects: `v ← v - 2 <v, φ_j> φ_j / K_jj`. Returns j and the multiple of φ_j added.
    #[inline]
    pub fn reflect(&mut self, gram: &Gram) -> (usize, f64) {
        let NextWall { plane, .. } = self.wall;
        let side = 1f64.copysign(self.f[plane]);
        let (cos, sin, speed) = self.wall.rotation();
        let impulse = 2.0 * side * speed / gram.diagonal(plane);
        self.frame.turn((cos, sin));
        self.g[plane] = f64::NAN;
        let wall = self.pass(gram, (cos, sin), &[(plane, impulse)]);
        self.frame.kick(plane, impulse);
        self.leave(plane, side, speed, wall);
        (plane, impulse)
    }

    /// Flies to the next wall and crosses it: only the side of the plane changes. Returns the plane.
    pub fn cross(&mut self, gram: &Gram) -> usize {
        let NextWall { plane, .. } = self.wall;
        let side = 1f64.copysign(self.f[plane]);
        let (cos, sin, speed) = self.wall.rotation();
        self.frame.turn((cos, sin));
        self.g[plane] = f64::NAN;
        let wall = self.pass(gram, (cos, sin), &[]);
        self.leave(plane, -side, speed, wall);
        plane
    }

    /// Flies `angle` radians and reflects in the tangent vector `u = f_l φ_k - f_k φ_l` of planes k ≠ l: the measure stays.
    ///
    /// Without reflection if `|u|` is tiny, which depends only on the position. Returns whether the direction changed.
    pub fn refresh_pair(&mut self, gram: &Gram, angle: f64, (k, l): (usize, usize)) -> bool {
        debug_assert_ne!(k, l);
        let (sin, cos) = angle.sin_cos();
        let turned = |i: usize| {
            let (f, g) = (self.f[i], self.g[i]);
            (on_side(f, f * cos + g * sin), g * cos - f * sin)
        };
        let ((f_k, g_k), (f_l, g_l)) = (turned(k), turned(l));
        let (k_kk, k_kl, k_ll) = (gram.diagonal(k), gram.entry(k, l), gram.diagonal(l));
        // |u|² = f_l (f_l K_kk - f_k K_kl) + f_k (f_k K_ll - f_l K_kl): between nearly parallel planes digits cancel.
        let square = f_l * product_difference(f_l, k_kk, f_k, k_kl)
            + f_k * product_difference(f_k, k_ll, f_l, k_kl);
        if square.is_nan() || square <= TINY * (f_l * f_l * k_kk + f_k * f_k * k_ll) {
            self.fly(gram, angle);
            return false;
        }
        let a = -2.0 * product_difference(f_l, g_k, f_k, g_l) / square;
        let (at_k, at_l) = (a * f_l, -a * f_k);
        self.frame.turn((cos, sin));
        (self.g[k], self.g[l]) = (f64::NAN, f64::NAN);
        let wall = self.pass(gram, (cos, sin), &[(k, at_k), (l, at_l)]);
        let (g_k, g_l) = (g_k + at_k * k_kk + at_l * k_kl, g_l + at_k * k_kl + at_l * k_ll);
        (self.f[k], self.g[k], self.f[l], self.g[l]) = (f_k, g_k, f_l, g_l);
        self.frame.kick(k, at_k);
        self.frame.kick(l, at_l);
        let own = NextWall::of(k, f_k, g_k).or(NextWall::of(l, f_l, g_l));
        self.take_wall(wall.or(own));
        true
    }

    /// Flies `angle` radians and draws a new isotropic direction, the tangent part of a Gaussian vector; on a line it stays.
    pub fn refresh_full(&mut self, gram: &Gram, angle: f64, mut draw: impl FnMut() -> Draw) {
        self.fly(gram, angle);
        let (position, _) = self.frame.unfold();
        // The tangent part of a Gaussian vector is isotropic whatever its angle with the position, so draws at less than
        // 45 degrees to the position may be rejected. They must be: the rounding difference between f and the dual
        // coefficients enters times the cotangent of that angle, and in few dimensions it would grow from draw to draw.
        let drawn = (0..DRAWS).find_map(|_| {
            let normal = draw();
            let along = dot::dot(&normal.dual, &self.f);
            let square = normal.square - along * along;
            (square > 0.5 * normal.square).then_some((normal, along, square))
        });
        // All draws fail in one dimension, in others with probability 2^-DRAWS at most.
        let Some((mut normal, along, square)) = drawn else { return };
        let scale = square.sqrt().recip();
        for (w, b) in normal.dual.iter_mut().zip(&position) {
            *w = (*w - along * b) * scale;
        }
        for ((g, w), f) in self.g.iter_mut().zip(&normal.field).zip(&self.f) {
            *g = (w - along * f) * scale;
        }
        self.frame.lay(position, normal.dual);
        self.find_wall(gram);
    }

    /// Flies `angle` radians and redraws the part of the direction in the span of the factor's columns, see [`Factor::turn`].
    pub(crate) fn refresh_part(
        &mut self,
        gram: &Gram,
        angle: f64,
        factor: &Factor,
        rng: &mut impl Rng,
        control: &Control,
    ) -> Result<()> {
        self.fly(gram, angle);
        let (position, mut direction) = self.frame.unfold();
        if let Some(mut turned) = factor.turn(&self.f, &self.g, rng) {
            let mut field = gram.combination(&turned, control)?;
            dot::axpy(1.0, &self.g, &mut field);
            dot::axpy(1.0, &direction, &mut turned);
            // The factor reproduces the matrix only up to rounding, which large dual coefficients amplify.
            let along = dot::dot(&turned, &self.f);
            dot::axpy(-along, &position, &mut turned);
            dot::axpy(-along, &self.f, &mut field);
            let scale = dot::dot(&turned, &field).sqrt().recip();
            // Not finite if the matrix is indefinite by more than rounding. Then the old direction stays.
            if scale.is_finite() {
                dot::scale(&mut turned, scale);
                dot::scale(&mut field, scale);
                (direction, self.g) = (turned, field);
            }
        }
        self.frame.lay(position, direction);
        self.find_wall(gram);
        Ok(())
    }

    /// Puts the ball exactly on a plane just hit or crossed, moving away on side `side`.
    #[inline(always)]
    fn leave(&mut self, plane: usize, side: f64, speed: f64, others: NextWall) {
        (self.f[plane], self.g[plane]) = (0f64.copysign(side), side * speed);
        let own = NextWall { plane, n: -speed, d: 0.0 };
        self.set_wall(if others.plane == usize::MAX { own } else { others });
    }

    /// Finds the next wall of a ball whose plane coordinates are up to date.
    fn find_wall(&mut self, gram: &Gram) {
        let wall = self.pass(gram, (1.0, 0.0), &[]);
        self.take_wall(wall);
    }

    /// Sets the wall found by a pass. If there is none, all planes have just been left, to be met again after half a turn.
    #[inline]
    fn take_wall(&mut self, wall: NextWall) {
        let wall = if wall.plane == usize::MAX {
            NextWall { plane: 0, n: -self.g[0].abs().max(f64::MIN_POSITIVE), d: 0.0 }
        } else {
            wall
        };
        self.set_wall(wall);
    }

    #[inline(always)]
    fn set_wall(&mut self, wall: NextWall) {
        (self.wall, self.to_wall) = (wall, wall.angle());
    }
}
