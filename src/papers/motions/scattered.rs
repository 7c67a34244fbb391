//! Great circles with two changes that Ruján and Marchand (section 18.5.1) expect to speed up mixing.

use std::sync::Arc;

use rand::{Rng, RngExt};

use super::{Radius, SMALLEST_RADIUS};
use crate::ball::{Ball, DRAWS};
use crate::base::{Control, Result, require};
use crate::gram::Gram;
use crate::linalg::{Draw, Factor, Isotropic};
use crate::simd::dot::{self, scale};
use crate::space::{Mirror, VersionSpace};
use crate::trajectory::dynamics::{Arrival, Dynamics, Geodesic};

/// Radius of a fitted sphere, relative to the distance from the center to the nearest wall.
const FITTED: f64 = 0.5;

/// Great circles with a reflecting sphere, scattering by the cosine law at the walls, or both: they preserve the measure.
///
/// **Cosine law.** After a bounce the direction is random, independent of the direction before, with the density of the flux,
/// which is proportional to the sine of the angle with the wall. This takes O(m²) a bounce. Changing only the angle, and not
/// the direction along the wall, would take O(m), but it rescales the dual coefficients of the direction at every bounce, and
/// their component in the null space of the Gram matrix would grow without bound.
///
/// **Scatterer.** See `Sphere`. O(m) an event for the distance to the sphere, O(m²) a scattering.
#[derive(Clone, Debug)]
pub struct Scattered {
    factor: Arc<Factor>,
    cosine: bool,
    cap: Option<Sphere>,
    /// Reflections at the sphere since the last reset.
    pub scatterings: u64,
}

/// The reflecting sphere: a cap `<w, c> ≥ cos ρ` around a fixed center c.
///
/// A ball that arrives at the cap first flies through it. At the exit it is put back to the entry and reflected there. So the
/// path outside is that of a billiard with a reflecting sphere. The path inside is uniform, too, because the flux into the cap
/// is that of the uniform distribution and the flight through it preserves the measure. The whole path is therefore uniform on
/// version space, and no volumes are needed. The ball is put back by a rotation about c, by an angle that the direction at the
/// exit determines. This preserves the flux out of the cap, also after a refresh inside.
///
/// The sphere disperses: neighboring trajectories separate exponentially, and so would the dual coefficients of a ball and its
/// plane coordinates. Position and direction are therefore recomputed from orthonormal coordinates at every scattering.
#[derive(Clone, Debug)]
struct Sphere {
    /// Dual coefficients of c.
    dual: Vec<f64>,
    /// Orthonormal coordinates of c.
    coordinates: Vec<f64>,
    radius: f64,
    /// True from a scattering to the next event: the ball is on the sphere and moves away from it.
    just_left: bool,
    /// Radians to the exit from the cap, if it comes before the next wall. Computed at every event.
    exit: Option<f64>,
}

impl Sphere {
    /// Returns the radians to the exit of the present flight from the cap, if any.
    fn find_exit(&mut self, ball: &Ball) -> Option<f64> {
        let (height, speed) = (dot::dot(&self.dual, ball.f()), dot::dot(&self.dual, ball.g()));
        let (rim, highest) = (self.radius.cos(), height.hypot(speed));
        // A great circle that leaves the sphere meets a wall before it returns, whatever rounding says.
        let through = height > rim || (speed > 0.0 && highest > rim);
        let exit = if through && !self.just_left {
            // The highest point of the great circle, and half of its arc through the cap.
            speed.atan2(height) + (rim / highest).min(1.0).acos()
        } else {
            f64::INFINITY
        };
        self.exit = (exit < ball.to_wall()).then_some(exit.max(0.0));
        self.exit
    }

    /// Flies to the exit, puts the ball back at the entry of its arc and reflects it there.
    fn scatter(&mut self, ball: &mut Ball, space: &VersionSpace, factor: &Factor, exit: f64) {
        let gram = space.gram();
        ball.fly(gram, exit);
        let (mut b, mut v) = (factor.coordinates(ball.f()), factor.coordinates(ball.g()));
        let c = &self.coordinates;
        let dot = |a: &[f64], b: &[f64]| dot::dot(a, b);
        let norm = dot(&b, &b).sqrt();
        scale(&mut b, norm.recip());
        let along = dot(&b, &v);
        dot::axpy(-along, &b, &mut v);
        let norm = dot(&v, &v).sqrt();
        scale(&mut v, norm.recip());
        let (height, speed) = (dot(c, &b), dot(c, &v));
        let (sin, cos) = (2.0 * f64::atan2(-speed, height)).sin_cos();
        for (b, v) in b.iter_mut().zip(&mut v) {
            (*b, *v) = (*b * cos - *v * sin, *b * sin + *v * cos);
        }
        // v ← v - 2 <v, N> N / |N|² with the normal N = c - <c, b> b, by its coordinates: products lose those of small spheres.
        let mut normal = c.clone();
        dot::axpy(-dot::dot(c, &b), &b, &mut normal);
        let kick = -2.0 * dot::dot(&v, &normal) / dot::dot(&normal, &normal);
        dot::axpy(kick, &normal, &mut v);
        ball.place(gram, factor.vector(b), factor.vector(v));
        self.just_left = true;
    }
}

impl Scattered {
    /// Returns dynamics without a sphere. `cosine` scatters by the cosine law at the walls.
    pub fn new(factor: Arc<Factor>, cosine: bool) -> Self {
        Self { factor, cosine, cap: None, scatterings: 0 }
    }

    /// Adds a sphere around a point, given by dual coefficients. [`crate::Error::Invalid`] unless inside version space.
    pub fn with_sphere(
        mut self,
        space: &VersionSpace,
        center: &[f64],
        radius: Radius,
        control: &Control,
    ) -> Result<Self> {
        control.check()?;
        let gram = space.gram();
        let margins = space.margins(center)?;
        let mut field: Vec<f64> =
            margins.iter().enumerate().map(|(i, margin)| space.sign(i) * margin).collect();
        let length = dot::dot(center, &field).sqrt();
        let mut dual = center.to_vec();
        scale(&mut dual, length.recip());
        scale(&mut field, length.recip());
        let nearest = (0..space.len())
            .map(|i| space.sign(i) * field[i] / gram.diagonal(i).sqrt())
            .fold(1.0, f64::min)
            .asin();
        let radius = match radius {
            Radius::Fitted => FITTED * nearest,
            Radius::Given(radius) => radius,
        };
        let fits = radius >= SMALLEST_RADIUS && radius < nearest;
        let got = format_args!("{radius} where the nearest wall is {nearest:.4} radians away");
        let wanted = "at least 1e-6 and smaller than the distance of the center from every wall";
        require(fits, "scatterer", got, wanted)?;
        let mut coordinates = self.factor.coordinates(&field);
        let norm = dot::dot(&coordinates, &coordinates).sqrt();
        scale(&mut coordinates, norm.recip());
        self.cap = Some(Sphere { dual, coordinates, radius, just_left: false, exit: None });
        Ok(self)
    }

    /// Returns the radius of the sphere in radians, if there is one.
    pub fn scatterer(&self) -> Option<f64> {
        self.cap.as_ref().map(|cap| cap.radius)
    }

    /// Returns whether a ball is inside the sphere.
    pub(crate) fn covers(&self, ball: &Ball) -> bool {
        self.cap.as_ref().is_some_and(|cap| dot::dot(&cap.dual, ball.f()) > cap.radius.cos())
    }
}

impl Dynamics for Scattered {
    #[inline]
    fn flight(&mut self, ball: &Ball) -> Option<f64> {
        let exit = self.cap.as_mut().and_then(|cap| cap.find_exit(ball));
        Some(exit.unwrap_or_else(|| ball.to_wall()))
    }

    fn flew(&mut self, _angle: f64) {
        if let Some(cap) = &mut self.cap {
            cap.just_left = false;
        }
    }

    fn arrive(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace,
        transparency: f64,
        rng: &mut impl Rng,
    ) -> Arrival {
        if let Some(cap) = &mut self.cap {
            if let Some(exit) = cap.exit.take() {
                cap.scatter(ball, space, &self.factor, exit);
                self.scatterings += 1;
                return Arrival::Turn;
            }
            cap.just_left = false;
        }
        // Needs a third dimension for the directions along the wall.
        if !self.cosine || self.factor.rank() < 3 {
            return Geodesic.arrive(ball, space, transparency, rng);
        }
        if Mirror::lets_pass(transparency, rng) {
            return Arrival::Crossing { plane: ball.cross(space.gram()) };
        }
        // The flux through a wall of n = rank - 2 dimensions: the sine's density is proportional to s (1 - s²)^(n/2 - 1).
        let cosine = rng.random::<f64>().powf(((self.factor.rank() - 2) as f64).recip());
        let sine = (1.0 - cosine * cosine).sqrt();
        let (plane, impulse) = scatter(ball, space.gram(), sine, || self.factor.draw(rng));
        Arrival::Bounce { plane, impulse }
    }

    fn reset(&mut self) {
        self.scatterings = 0;
    }
}

/// Flies to the next wall and leaves it with `sine` = <v, n>, where n is the unit normal. The rest of the direction is the
/// part of an isotropic draw orthogonal to both. If `sine` has its distribution under the cosine law, so has the direction.
///
/// As in [`Ball::refresh_full`], draws with a small orthogonal part are rejected. If all are, which is certain in two
/// dimensions, the ball is reflected as in a mirror. Returns what [`Ball::reflect`] returns.
pub fn scatter(
    ball: &mut Ball,
    gram: &Gram,
    sine: f64,
    mut draw: impl FnMut() -> Draw,
) -> (usize, f64) {
    let mirrored = ball.reflect(gram);
    let (plane, impulse) = mirrored;
    let length = gram.diagonal(plane).sqrt();
    let side = 1f64.copysign(ball.f()[plane]);
    let (dual, field) = (ball.position(0.0), ball.f().to_vec());
    for _ in 0..DRAWS {
        let mut across = draw();
        let along = dot::dot(&across.dual, &field);
        let out = side * across.field[plane] / length;
        let square = across.square - along * along - out * out;
        if square <= 0.25 * across.square {
            continue;
        }
        let scale = ((1.0 - sine * sine) / square).sqrt();
        let normal = side * (sine - scale * out) / length;
        for (w, b) in across.dual.iter_mut().zip(&dual) {
            *w = (*w - along * b) * scale;
        }
        across.dual[plane] += normal;
        let lift = normal * gram.offset();
        for (g, f) in across.field.iter_mut().zip(&field) {
            *g = (*g - along * f) * scale + lift;
        }
        gram.add_rows(&[(normal, plane)], &mut across.field);
        across.field[plane] = side * sine * length;
        ball.place(gram, Draw { dual, field, square: 1.0 }, across);
        return (plane, 0.5 * impulse + side * sine / length);
    }
    mirrored
}
