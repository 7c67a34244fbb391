//! Placement of the ball: positions and directions that do not result from a flight.

use rand::Rng;

use super::frame::Frame;
use super::{Ball, fields, on_side};
use crate::base::{Control, Error, Result, Stream, random, require, require_sound};
use crate::gram::Gram;
use crate::linalg::Draw;
use crate::simd::{NextWall, dot};

/// What a ball was recast from.
pub struct Recast {
    /// Angle between position and direction, radians.
    pub angle: f64,
    /// Squared length of the position.
    pub norm: f64,
    /// Largest change of a plane coordinate of the position, for unit feature vectors.
    pub drift: f64,
}

impl Ball {
    /// Returns a ball at `position`, scaled to unit length, along the tangent part of `direction`, both dual coefficients, (m,).
    ///
    /// [`Error::Invalid`] for vectors not of shape (m,) or finite, of length zero, or without tangent part.
    pub fn new(
        gram: &Gram,
        position: &[f64],
        direction: &[f64],
        control: &Control,
    ) -> Result<Self> {
        let m = gram.len();
        for (name, dual) in [("position", position), ("direction", direction)] {
            let fits = dual.len() == m && dual.iter().all(|x| x.is_finite());
            let got = "a vector of another length or not finite";
            require(fits, name, got, "m finite dual coefficients")?;
        }
        let [f, g] = fields(gram, [position, direction], control)?;
        let mut ball = Self {
            f,
            g,
            frame: Frame::new(position.to_vec(), direction.to_vec()),
            wall: NextWall::NONE,
            to_wall: 0.0,
            scratch: Vec::new(),
        };
        ball.orthonormalize(|name, value| {
            let got = format!("one of squared length {value:e}");
            let wanted =
                "a vector of positive length, a direction also after projection on the tangent space";
            Error::invalid(name, got, wanted)
        })?;
        ball.find_wall(gram);
        Ok(ball)
    }

    /// Sets position and direction, which must be orthogonal unit vectors. No plane may change its side.
    pub(crate) fn place(&mut self, gram: &Gram, position: Draw, direction: Draw) {
        self.f = position.field;
        self.g = direction.field;
        self.frame.lay(position.dual, direction.dual);
        self.find_wall(gram);
    }

    /// Reverses the direction.
    pub fn reverse(&mut self, gram: &Gram) {
        let (position, mut direction) = self.frame.unfold();
        dot::scale(&mut direction, -1.0);
        dot::scale(&mut self.g, -1.0);
        self.frame.lay(position, direction);
        self.find_wall(gram);
    }

    /// Recomputes the plane coordinates from the dual coefficients and restores `|b| = |v| = 1`, `<b, v> = 0`.
    ///
    /// Every plane keeps its side. Returns the drift: the largest change of a plane coordinate, for unit feature vectors.
    ///
    /// [`Error::Breakdown`] if a norm is no longer close to 1; [`Error::Interrupted`].
    pub fn reproject(&mut self, gram: &Gram, control: &Control) -> Result<f64> {
        let (position, direction) = self.frame.unfold();
        let old_g = self.g.clone();
        let recast = self.recast(gram, position, direction, true, control)?;
        Ok(recast.drift.max(drift(gram, &self.g, &old_g)))
    }

    /// Moves the ball to other dual coefficients of its position, or with `stays` false to another one, of nearly unit length,
    /// and lets it fly along the tangent part of a direction. Every plane keeps its side. Errors as [`Ball::reproject`].
    pub(crate) fn recast(
        &mut self,
        gram: &Gram,
        position: Vec<f64>,
        direction: Vec<f64>,
        stays: bool,
        control: &Control,
    ) -> Result<Recast> {
        let [f, g] = fields(gram, [&position, &direction], control)?;
        let old_f = std::mem::replace(&mut self.f, f);
        self.g = g;
        self.frame.lay(position, direction);
        let norm = dot::dot(&self.frame.p, &self.f);
        require_sound((norm - 1.0).abs() <= 1e-3, "squared length of the position", norm)?;
        let angle = self.orthonormalize(|what, value| Error::Breakdown { what, value })?;
        let drift = drift(gram, &self.f, &old_f);
        for (f, old) in self.f.iter_mut().zip(&old_f) {
            // The exact zero of a wall just hit stays if the position does.
            *f = if stays && *old == 0.0 { *old } else { on_side(*old, *f) };
        }
        self.find_wall(gram);
        Ok(Recast { angle, norm, drift })
    }

    /// Orthonormalizes frame (at θ = 0) and plane coordinates. Returns the angle between position and direction before.
    fn orthonormalize(&mut self, error: impl Fn(&'static str, f64) -> Error) -> Result<f64> {
        let square = dot::dot(&self.frame.p, &self.f);
        if !(square > 0.0 && square.is_finite()) {
            return Err(error("position", square));
        }
        let scale = square.sqrt().recip();
        dot::scale(&mut self.frame.p, scale);
        dot::scale(&mut self.f, scale);
        let whole = dot::dot(&self.frame.q, &self.g);
        let radial = dot::dot(&self.frame.q, &self.f);
        // Twice, because one projection leaves a remainder of the order of its rounding.
        for _ in 0..2 {
            let along = dot::dot(&self.frame.q, &self.f);
            dot::axpy(-along, &self.frame.p, &mut self.frame.q);
            dot::axpy(-along, &self.f, &mut self.g);
        }
        let square = dot::dot(&self.frame.q, &self.g);
        if !(square > 1e-20 * whole && square.is_finite()) {
            return Err(error("direction", square));
        }
        let tangent = square.sqrt();
        let scale = tangent.recip();
        dot::scale(&mut self.frame.q, scale);
        dot::scale(&mut self.g, scale);
        Ok(tangent.atan2(radial))
    }

    /// Begins a path here, from whose frame the integral of a short one, a difference of sines, loses no digits.
    pub(crate) fn begin_path(&mut self) {
        let (position, direction) = self.frame.unfold();
        self.frame = Frame::new(position, direction);
    }
}

/// Returns the largest change of a plane coordinate, relative to the length of its feature vector.
fn drift(gram: &Gram, new: &[f64], old: &[f64]) -> f64 {
    let relative = |i: usize| (new[i] - old[i]).abs() / gram.diagonal(i).sqrt();
    (0..new.len()).map(relative).fold(0.0, f64::max)
}

/// Returns a ball at a position with a random direction. [`Error::Breakdown`] if rounding leaves no tangent part of it.
pub fn ball_at(gram: &Gram, position: &[f64], rng: &mut Stream, control: &Control) -> Result<Ball> {
    let direction = random_direction(gram, rng);
    Ball::new(gram, position, &direction, control).map_err(|error| {
        let what = "length of a direction tangent at the position";
        match error {
            Error::Invalid { name: "direction", .. } => Error::Breakdown { what, value: 0.0 },
            other => other,
        }
    })
}

/// Returns the sum of the unit feature vectors times normal numbers: a random vector of symmetric, not isotropic distribution.
pub fn random_direction(gram: &Gram, rng: &mut impl Rng) -> Vec<f64> {
    (0..gram.len()).map(|i| random::normal(rng) / gram.diagonal(i).sqrt()).collect()
}
