//! The maximal margin by dual coordinate ascent, without bias.

use crate::control::Control;
use crate::dot;
use crate::error::{Error, Result};
use crate::factor::Factor;
use crate::version_space::VersionSpace;

/// Below this bound of the margin, relative to the longest feature vector, rounding hides version space.
pub(crate) const SMALLEST_MARGIN: f64 = 3e-8;

/// The center of the largest ball inscribed in version space when all feature vectors are equally long.
#[derive(Clone, Debug)]
pub struct MaxMargin {
    /// Dual coefficients of unit length, `y_i c_i ≥ 0`, shape (m,).
    pub dual: Vec<f64>,
    /// `min_i y_i <w, φ_i>` of the unit weight vector.
    pub margin: f64,
    /// Relative duality gap `(P - D) / P` reached.
    pub gap: f64,
    /// Coordinate steps taken.
    pub iterations: usize,
    /// Whether the gap reached the tolerance.
    pub converged: bool,
}

/// Dual ascent on `max Σ a_i - ½ |Σ a_i y_i φ_i|²`, `a ≥ 0`.
struct Ascent<'s> {
    space: &'s VersionSpace<'s>,
    a: Vec<f64>,
    /// y_i <w, φ_i>
    margins: Vec<f64>,
    iterations: usize,
}

impl<'s> Ascent<'s> {
    fn new(space: &'s VersionSpace<'s>) -> Self {
        let m = space.len();
        Self { space, a: vec![0.0; m], margins: vec![0.0; m], iterations: 0 }
    }

    /// The coordinate whose exact step raises the dual most, and the step.
    fn best_step(&self) -> Option<(usize, f64)> {
        let gram = self.space.gram();
        let mut best = (usize::MAX, 0.0, 0.0);
        for i in 0..self.a.len() {
            let (slack, k) = (1.0 - self.margins[i], gram.diagonal(i));
            let step = (slack / k).max(-self.a[i]);
            let gain = step * (slack - 0.5 * k * step);
            if gain > best.2 {
                best = (i, step, gain);
            }
        }
        (best.0 != usize::MAX).then_some((best.0, best.1))
    }

    fn step(&mut self, i: usize, step: f64) {
        let gram = self.space.gram();
        self.iterations += 1;
        self.a[i] += step;
        let signed = step * self.space.sign(i);
        let lift = signed * gram.offset();
        for ((margin, k), y) in self.margins.iter_mut().zip(gram.row(i)).zip(self.space.labels()) {
            *margin += f64::from(*y) * (signed * k + lift);
        }
        self.margins[i] += step * gram.softness()[i];
    }

    fn smallest_margin(&self) -> f64 {
        self.margins.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// `|w|²` and `Σ a`.
    fn norms(&self) -> (f64, f64) {
        let square = dot::dot(self.space.gram().arch(), &self.a, &self.margins);
        (square, self.a.iter().sum())
    }

    /// Relative duality gap at the dual point and at `w / (smallest margin)`; infinite while w is outside.
    fn gap(&self) -> f64 {
        let (square, total) = self.norms();
        let smallest = self.smallest_margin();
        if smallest <= 0.0 {
            return f64::INFINITY;
        }
        let primal = 0.5 * square / (smallest * smallest);
        (primal - (total - 0.5 * square)) / primal
    }

    /// By weak duality no margin exceeds `|w| / Σ a`; relative to the longest feature vector.
    fn margin_bound(&self) -> f64 {
        let gram = self.space.gram();
        let longest = (0..gram.len()).map(|i| gram.diagonal(i)).fold(0.0, f64::max).sqrt();
        let (square, total) = self.norms();
        if total > 0.0 { square.max(0.0).sqrt() / (total * longest) } else { 1.0 }
    }

    fn infeasible(&self, best_violations: usize) -> Error {
        let total: f64 = self.a.iter().sum();
        Error::Infeasible {
            examples: self.a.len(),
            violations: best_violations,
            margin_bound: self.margin_bound(),
            certificate: self.a.iter().map(|a| a / total).collect(),
        }
    }

    fn violations(&self) -> usize {
        self.margins.iter().filter(|&&margin| margin <= 0.0).count()
    }

    /// Unit dual coefficients with the labels inside, and the smallest margin of the unit vector.
    fn solution(&self) -> (Vec<f64>, f64) {
        let length = self.norms().0.sqrt();
        let dual = (0..self.a.len()).map(|i| self.space.sign(i) * self.a[i] / length).collect();
        (dual, self.smallest_margin() / length)
    }
}

/// How often, in steps, the ascent looks at its gap, at its bound and at the stop flag.
fn look_every(m: usize) -> usize {
    m.clamp(16, 256)
}

/// Steps that the search for a feasible point may take.
fn feasible_budget(m: usize) -> usize {
    20_000 + 200 * m
}

/// Maximizes the margin to a relative duality gap `tol`.
///
/// Stops at `max_iter` coordinate steps with `converged = false` and the gap reached.
///
/// # Errors
///
/// [`Error::Infeasible`] when the data are not separable, or no feasible point was found in `max_iter` steps;
/// [`Error::Interrupted`].
pub fn max_margin(
    space: &VersionSpace<'_>,
    tol: f64,
    max_iter: usize,
    control: &Control,
) -> Result<MaxMargin> {
    if !(tol > 0.0 && tol < 1.0) {
        return Err(Error::invalid("tol", tol, "in (0, 1)"));
    }
    let mut ascent = Ascent::new(space);
    let mut fewest = space.len();
    let look = look_every(space.len());
    let mut gap = f64::INFINITY;
    while gap > tol && ascent.iterations < max_iter {
        for _ in 0..look.min(max_iter - ascent.iterations) {
            let Some((i, step)) = ascent.best_step() else { break };
            ascent.step(i, step);
        }
        control.check()?;
        fewest = fewest.min(ascent.violations());
        gap = ascent.gap();
        if gap.is_infinite() && ascent.margin_bound() < SMALLEST_MARGIN {
            return Err(ascent.infeasible(fewest));
        }
        if ascent.best_step().is_none() {
            break;
        }
    }
    if gap.is_infinite() {
        return Err(ascent.infeasible(fewest));
    }
    let (dual, margin) = ascent.solution();
    Ok(MaxMargin { dual, margin, gap, iterations: ascent.iterations, converged: gap <= tol })
}

/// A point inside version space, of unit length.
///
/// Dual ascent until every example is satisfied; where its patience ends, as on ill-conditioned matrices, and
/// K has full rank, the solution of `K c = y`, which satisfies every example by the same margin.
///
/// # Errors
///
/// As [`max_margin`], and [`Error::Breakdown`] for a matrix that is not positive semi-definite.
pub(crate) fn interior_point(space: &VersionSpace<'_>, control: &Control) -> Result<Vec<f64>> {
    let error = match max_margin(space, 0.99, feasible_budget(space.len()), control) {
        Ok(found) => return Ok(found.dual),
        Err(error @ Error::Infeasible { .. }) => error,
        Err(error) => return Err(error),
    };
    let factor = Factor::new(space.gram(), control)?;
    if factor.rank() < space.len() {
        return Err(error);
    }
    let labels: Vec<f64> = (0..space.len()).map(|i| space.sign(i)).collect();
    let mut dual = factor.solve(&labels);
    // |c|² in the norm of K is cᵀ K c = cᵀ y.
    let scale = dot::dot(space.gram().arch(), &dual, &labels).sqrt().recip();
    dual.iter_mut().for_each(|c| *c *= scale);
    if space.contains(&dual)? { Ok(dual) } else { Err(error) }
}
