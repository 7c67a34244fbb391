//! The center of mass and its error, from the arc integrals of batches of several trajectories.

use serde::{Deserialize, Serialize};

use super::conditional_means::Smoother;
use crate::base::{Control, Result, ensure, ensure_vectors};
use crate::gram::Gram;
use crate::simd::{Precision, dot};

/// A piece of path and its arc integral.
#[derive(Clone, Serialize, Deserialize)]
pub struct Batch {
    /// Dual coefficients of `∫ b dt`, shape (m,).
    pub integral: Vec<f64>,
    /// Radians.
    pub length: f64,
    /// Integral of the densities at the walls, shape (m,) or of the coordinates of walls, until the integral is one of conditional means.
    pub densities: Option<Vec<f64>>,
    /// Plane coordinates of the integral, shape (m,), once they have been computed.
    pub field: Option<Vec<f64>>,
}

impl Batch {
    /// Checks a stored piece, for m planes and a number of densities.
    pub fn check(&self, m: usize, densities: usize) -> Result<()> {
        ensure(self.length > 0.0 && self.length.is_finite(), "one with a piece without length")?;
        ensure_vectors(m, &[&self.integral])?;
        self.densities.iter().try_for_each(|part| ensure_vectors(densities, &[part]))?;
        self.field.iter().try_for_each(|part| ensure_vectors(m, &[part]))
    }

    fn field(&self) -> &[f64] {
        self.field.as_deref().expect("fields are filled before sums are formed")
    }

    fn join(mut self, other: &Self) -> Self {
        dot::add(&mut self.integral, &other.integral);
        self.length += other.length;
        if let (Some(a), Some(b)) = (&mut self.densities, &other.densities) {
            dot::add(a, b);
        }
        self.field = match (self.field, &other.field) {
            (Some(mut a), Some(b)) => {
                dot::add(&mut a, b);
                Some(a)
            }
            _ => None,
        };
        self
    }
}

/// Joins neighboring pieces two by two.
pub fn join_pairs(batches: &mut Vec<Batch>) {
    let mut pieces = std::mem::take(batches).into_iter();
    while let Some(first) = pieces.next() {
        batches.push(match pieces.next() {
            Some(second) => first.join(&second),
            None => first,
        });
    }
}

/// Replaces the integrals of all batches with densities by those of conditional means.
pub fn smooth(smoother: &Smoother, batches: &mut [&mut Batch], control: &Control) -> Result<()> {
    let rough: Vec<_> = batches.iter_mut().filter(|b| b.densities.is_some()).collect();
    let integrals: Vec<(&[f64], &[f64])> = rough
        .iter()
        .map(|batch| (&*batch.integral, batch.densities.as_deref().unwrap_or_default()))
        .collect();
    let moves = smoother.moves(&integrals, control)?;
    for (batch, change) in rough.into_iter().zip(&moves) {
        batch.densities = None;
        dot::add(&mut batch.integral, change);
    }
    Ok(())
}

/// Computes the plane coordinates of all batches that lack them, in one sweep through the matrix.
pub fn fill_fields(gram: &Gram, batches: &mut [&mut Batch], control: &Control) -> Result<()> {
    let missing: Vec<_> = batches.iter_mut().filter(|b| b.field.is_none()).collect();
    let duals: Vec<&[f64]> = missing.iter().map(|b| b.integral.as_slice()).collect();
    let fields = gram.multiply(&duals, Precision::Plain, control)?;
    for (batch, field) in missing.into_iter().zip(fields) {
        batch.field = Some(field);
    }
    Ok(())
}

/// Largest variance of the means of halves of four pieces each, relative to the variance of the pieces. It is 0.25 for
/// independent pieces, 1.5 if the path is five to six correlation lengths long, and 5 or more for a random walk.
const MOST_APART: f64 = 1.5;

/// The mean of unit weight vectors along the path of all trajectories.
pub struct Center {
    /// Dual coefficients of the unit vector, shape (m,).
    pub dual: Vec<f64>,
    /// Length of the mean, in (0, 1].
    pub norm: f64,
    /// Standard error of the direction, radians.
    pub error: f64,
    /// False if the halves of the trajectories differ more than their pieces suggest. The path is then only a few correlation
    /// lengths long, all trajectories may still be drifting from a common start, and the error cannot be trusted.
    pub mixed: bool,
}

fn sum<'b>(m: usize, batches: impl IntoIterator<Item = &'b Batch>) -> Batch {
    let zero = vec![0.0; m];
    let none = Batch { integral: zero.clone(), length: 0.0, densities: None, field: Some(zero) };
    batches.into_iter().fold(none, Batch::join)
}

/// Returns the center of all batches, one list per trajectory, with plane coordinates, and the standard error of its direction.
///
/// The error is `√(n/(n-1) Σ |r_k|²) / (L |mean|)` with the residuals `r_k = S_k - L_k mean` of the n pieces, less
/// their components along the mean, which do not turn it. It is computed with three kinds of pieces, and the largest value is
/// returned: the trajectories, the trajectories with equal weights, and all batches. Batches underestimate the error if the
/// correlation length exceeds one; weights by length do for one long trajectory; few trajectories are a noisy sample.
///
/// The error is infinite if the distance of a trajectory from the mean exceeds the length of its whole path, with a burn-in of
/// `burn_in_length` radians, and NaN for a single piece.
pub fn center(gram: &Gram, trajectories: &[&[Batch]], burn_in_length: f64) -> Center {
    let m = gram.len();
    let sums: Vec<Batch> = trajectories.iter().map(|list| sum(m, *list)).collect();
    let total = sum(m, &sums);
    let square = dot::dot(&total.integral, total.field());
    let length = total.length;
    let norm = square.max(0.0).sqrt() / length;
    // Squared length of a piece's residual orthogonal to the mean.
    let across = |piece: &Batch| {
        let part = piece.length;
        let own = dot::dot(&piece.integral, piece.field());
        let along = dot::dot(&piece.integral, total.field()) / length;
        let residual = own - 2.0 * part * along + part * part * norm * norm;
        let radial = if norm > 0.0 { (along - part * norm * norm) / norm } else { 0.0 };
        (residual - radial * radial).max(0.0)
    };
    // Of n pieces, given the sum of their squared residuals.
    let spread = |n: usize, sum: f64| {
        let n = n as f64;
        if n > 1.0 { (n / (n - 1.0) * sum).sqrt() / (length * norm) } else { f64::NAN }
    };
    let apart = sums.iter().filter(|sum| sum.length > 0.0);
    let apart: Vec<(f64, f64)> = apart.map(|sum| (across(sum), sum.length)).collect();
    let n = apart.len();
    let between = spread(n, apart.iter().map(|(square, _)| square).sum());
    // Equal weights: a trajectory that the limit of arrivals stopped early in a corner counts as much as the others.
    let share = length / n as f64;
    let alike = spread(n, apart.iter().map(|(square, own)| square * (share / own).powi(2)).sum());
    let residuals: Vec<f64> = trajectories.iter().copied().flatten().map(across).collect();
    let (pieces, pieces_apart) = (residuals.len(), residuals.iter().sum::<f64>());
    let pooled = spread(pieces, pieces_apart);
    let mixed = {
        let halves = trajectories.iter().flat_map(|list| {
            let (first, second) = list.split_at(list.len() / 2);
            [first, second]
        });
        let halves: Vec<&[Batch]> = halves.filter(|half| !half.is_empty()).collect();
        // Squared deviations of the halves from the center, and of the pieces from their halves, for the length of a piece.
        let (mut apart, mut within) = (0.0, 0.0);
        for half in &halves {
            let square = across(&sum(m, *half));
            let n = half.len() as f64;
            apart += square / (n * n);
            within -= square / n;
        }
        within += pieces_apart;
        let (n, all) = (halves.len() as f64, pieces as f64);
        all < 2.0 * n || apart / (n - 1.0) <= MOST_APART * within / (all - n)
    };
    let scale = if square > 0.0 { square.sqrt().recip() } else { 0.0 };
    let dual = total.integral.iter().map(|x| x * scale).collect();
    // The angle from the mean to that of a trajectory, minus the length of its path.
    let beyond = apart.iter().map(|(square, own)| square.sqrt() / (own * norm) - own);
    // `max` prefers a number to NaN.
    let error = between.max(alike).max(pooled);
    let is_far = beyond.fold(f64::NEG_INFINITY, f64::max) > burn_in_length;
    Center { dual, norm, error: if is_far { f64::INFINITY } else { error }, mixed }
}

#[cfg(test)]
#[path = "../../tests/unit/ensemble/center.rs"]
mod tests;
