//! The maximal margin: hard, and without a bias.

use serde::Deserialize;

use super::active_set::ActiveSet;
use super::coordinate_ascent::Ascent;
use super::unit_diagonal::UnitDiagonal;
use super::{lengths, longest, perceptron};
use crate::base::{Control, Error, Result, SMALLEST_MARGIN, check_count, count, require};
use crate::simd::{Precision, dot};
use crate::space::VersionSpace;

/// Steps of coordinate ascent per example before the active set starts.
const ASCENT_STEPS: usize = 1;
/// Most restarts of the active set with margins recomputed in twice the precision.
const ROUNDS: usize = 10;
/// Fraction of the tolerance to which the margins of free examples are refined.
const REFINED: f64 = 1e-3;
/// Relative duality gap at which the search for a point inside version space stops.
const INTERIOR_GAP: f64 = 0.9;

/// Settings of the maximal-margin search.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MarginSettings {
    /// Largest violation of an optimality condition beyond the rounding of the multipliers, in units of the margin, in (0, 1).
    pub tol: f64,
    /// Most coordinate steps and changes of the active set together.
    #[serde(deserialize_with = "count")]
    pub max_iter: usize,
}

impl Default for MarginSettings {
    fn default() -> Self {
        Self { tol: 1e-8, max_iter: 10_000_000 }
    }
}

impl MarginSettings {
    /// Checks the ranges. [`Error::Invalid`] for the first setting out of range.
    pub fn check(&self) -> Result<()> {
        require(self.tol > 0.0 && self.tol < 1.0, "tol", self.tol, "in (0, 1)")?;
        check_count("max_iter", self.max_iter as u64)
    }
}

/// The weight vector of the largest margin: `min ½ |w|²` for `y_i <w, φ_i> ≥ 1`.
///
/// For vectors of equal length, the center of the largest ball inscribed in version space.
#[derive(Clone, Debug)]
pub struct MaxMargin {
    /// Dual coefficients scaled to unit length, `y_i c_i ≥ 0`, shape (m,).
    pub dual: Vec<f64>,
    /// Multipliers `a_i ≥ 0`, shape (m,): `w = Σ a_i y_i φ_i`.
    pub multipliers: Vec<f64>,
    /// |w|.
    pub norm: f64,
    /// `min_i y_i <w, φ_i> / |w|`.
    pub margin: f64,
    /// `|w| / Σ a_i`, an upper bound of any margin.
    pub bound: f64,
    /// Relative duality gap `(P - D) / P` of w scaled to make it smallest: `1 - (margin / bound)²`.
    pub gap: f64,
    /// Largest violation of an optimality condition, in units of the margin.
    pub kkt: f64,
    /// Number of coordinate steps and changes of the active set.
    pub iterations: usize,
    /// Whether the conditions hold up to the tolerance or rounding.
    pub converged: bool,
}

/// `|w| / Σ a` from `|w|²` and `Σ a`: no margin exceeds it.
fn bound((square, total): (f64, f64)) -> f64 {
    if total > 0.0 { square.sqrt() / total } else { f64::INFINITY }
}

fn smallest_margin(set: &ActiveSet) -> f64 {
    set.margins.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Relative duality gap; infinite if an example is violated.
fn gap(set: &ActiveSet) -> f64 {
    let ((square, total), smallest) = (set.norms(), smallest_margin(set));
    if smallest <= 0.0 {
        return f64::INFINITY;
    }
    let share = total * smallest / square;
    (1.0 - share * share).max(0.0)
}

/// |w|² of a weight vector, in twice the precision.
fn squared_length(space: &VersionSpace, dual: &[f64], control: &Control) -> Result<f64> {
    let field = space.gram().product(dual, Precision::Compensated, control)?;
    Ok(dot::dot_compensated(dual, &field))
}

/// The error of an empty version space. The certificate is the better one of the multipliers and `direction`.
fn infeasible(
    set: &ActiveSet,
    direction: Option<&[f64]>,
    fewest_violations: usize,
    control: &Control,
) -> Result<Error> {
    let space = set.space;
    let mut best: Option<(f64, Vec<f64>)> = None;
    for a in [Some(&set.a[..]), direction].into_iter().flatten() {
        if a.iter().all(|&a| a == 0.0) {
            continue;
        }
        let total: f64 = a.iter().sum();
        let weights: Vec<f64> = a.iter().map(|a| a / total).collect();
        let square = squared_length(space, &space.signed(&weights), control)?;
        let length = square.max(0.0).sqrt() / longest(space.gram());
        if best.as_ref().is_none_or(|(shortest, _)| length < *shortest) {
            best = Some((length, weights));
        }
    }
    let m = space.len();
    let (margin_bound, certificate) = best.unwrap_or((1.0, vec![1.0 / m as f64; m]));
    let found = perceptron::fewest_violations(space, control)?;
    let violations = set.fewest_violations.min(fewest_violations).min(found);
    Ok(Error::Infeasible { examples: space.examples(), violations, margin_bound, certificate })
}

/// Runs the active set from the result of some steps of coordinate ascent. If `stop_gap` is positive, stops once the relative
/// duality gap is that small. Returns the last state and the number of iterations.
fn search<'s>(
    space: &'s VersionSpace<'s>,
    settings: &MarginSettings,
    stop_gap: f64,
    control: &Control,
) -> Result<(ActiveSet<'s>, usize)> {
    let mut ascent = Ascent::new(space);
    let steps = ascent.run((ASCENT_STEPS * space.len()).min(settings.max_iter), control)?;
    let mut set = ActiveSet::new(space);
    set.start_from(&ascent.a, control)?;
    let limit = settings.max_iter - steps;
    let least = SMALLEST_MARGIN * longest(space.gram());
    let is_enough = |set: &ActiveSet, norms: (f64, f64)| {
        bound(norms) < least || stop_gap > 0.0 && gap(set) <= stop_gap
    };
    for _ in 0..ROUNDS {
        let before = set.changes;
        let is_stopped = match set.run(settings.tol, limit, is_enough, control)? {
            Ok(is_stopped) => is_stopped,
            Err(direction) => {
                let fewest = ascent.fewest_violations;
                return Err(infeasible(&set, Some(&direction), fewest, control)?);
            }
        };
        set.polish(REFINED * settings.tol, control)?;
        let (worst, rounding) = set.residual();
        let idle = set.changes == before;
        if is_stopped || worst <= settings.tol.max(rounding) || idle {
            break;
        }
    }
    let smallest = smallest_margin(&set);
    if smallest <= 0.0 || smallest.is_nan() || bound(set.norms()) < least {
        return Err(infeasible(&set, None, ascent.fewest_violations, control)?);
    }
    let iterations = steps + set.changes;
    Ok((set, iterations))
}

/// Finds the weight vector of the largest margin.
///
/// [`Error::Invalid`] for settings out of range, or if the lengths of the feature vectors differ so much that rounding hides the
/// margin; [`Error::Infeasible`] if the data are not separable or `max_iter` steps did not suffice; [`Error::Interrupted`].
pub fn max_margin(
    space: &VersionSpace,
    settings: &MarginSettings,
    control: &Control,
) -> Result<MaxMargin> {
    settings.check()?;
    space.check_no_walls("method", "a maximal margin")?;
    let (set, iterations) = match search(space, settings, 0.0, control) {
        Err(error @ Error::Infeasible { .. }) => {
            return Err(margin_lost_in_rounding(space, control)?.unwrap_or(error));
        }
        other => other?,
    };
    let norm = set.norms().0.sqrt();
    let scale = if norm > 0.0 { norm.recip() } else { 1.0 };
    let (kkt, rounding) = set.residual();
    Ok(MaxMargin {
        dual: set.dual().iter().map(|c| c * scale).collect(),
        multipliers: set.a.clone(),
        norm,
        margin: smallest_margin(&set) * scale,
        bound: bound(set.norms()),
        gap: gap(&set),
        kkt,
        iterations,
        converged: kkt <= settings.tol.max(rounding),
    })
}

/// Returns an error for separable data whose margin is lost in the rounding of long feature vectors; None for other data.
fn margin_lost_in_rounding(space: &VersionSpace, control: &Control) -> Result<Option<Error>> {
    let Some(unit) = UnitDiagonal::new(space, control)? else { return Ok(None) };
    match unscaled_interior_point(&unit.space(space)?, control) {
        Ok(_) => {
            let shortest = lengths(space.gram()).into_iter().fold(f64::INFINITY, f64::min);
            let got = format!("some from {shortest:.1e} to {:.1e}", longest(space.gram()));
            let wanted = "a matrix of feature vectors whose lengths are nearer to each other, as of a normalized kernel: these \
                          can be separated, but rounding of the longest hides the margin";
            Ok(Some(Error::invalid("gram", got, wanted)))
        }
        Err(Error::Infeasible { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns a unit vector in version space by the maximal margin, of vectors scaled if very different. Errors as [`max_margin`].
pub fn interior_point(space: &VersionSpace, control: &Control) -> Result<Vec<f64>> {
    let Some(unit) = UnitDiagonal::new(space, control)? else {
        return unscaled_interior_point(space, control);
    };
    let found = unscaled_interior_point(&unit.space(space)?, control);
    let mut dual = unit.original(&found.map_err(|error| unit.original_error(error))?);
    // Normalize by the original matrix, with which the ball will move.
    let square = squared_length(space, &dual, control)?;
    if square > 0.0 {
        dot::scale(&mut dual, square.sqrt().recip());
        if space.contains(&dual)? {
            return Ok(dual);
        }
    }
    unscaled_interior_point(space, control)
}

fn unscaled_interior_point(space: &VersionSpace, control: &Control) -> Result<Vec<f64>> {
    let search_to = |stop_gap: f64| -> Result<(ActiveSet<'_>, Vec<f64>)> {
        let (set, _) = search(space, &MarginSettings::default(), stop_gap, control)?;
        let scale = set.norms().0.sqrt().recip();
        let dual = set.dual().iter().map(|c| c * scale).collect();
        Ok((set, dual))
    };
    let (_, dual) = search_to(INTERIOR_GAP)?;
    if space.contains(&dual)? {
        return Ok(dual);
    }
    let (set, dual) = search_to(0.0)?;
    let violated = space.violated_by(&dual)?;
    if violated == 0 {
        return Ok(dual);
    }
    // The margins of the search are positive, the recomputed ones are not: rounding decides.
    Err(infeasible(&set, None, violated, control)?)
}
