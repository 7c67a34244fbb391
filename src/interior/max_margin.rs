//! The maximal margin: hard, or with multipliers bounded by C (hinge loss); without bias, or with a free one.

use serde::Deserialize;

use crate::base::{Control, Error, Result, SMALLEST_MARGIN, check_count, count};
use crate::interior::active_set::{ActiveSet, Bounds, End};
use crate::interior::coordinate_ascent::Ascent;
use crate::interior::perceptron;
use crate::interior::unit_diagonal::UnitDiagonal;
use crate::simd::{Precision, dot};
use crate::space::VersionSpace;

/// Coordinate steps per example that suggest which examples matter.
const ASCENT_STEPS: usize = 1;
/// Times that the margins are recomputed in twice the precision and the search goes on from there.
const ROUNDS: usize = 10;
/// Share of the tolerance to which the margins of free examples are corrected.
const POLISHED: f64 = 1e-3;
/// Relative duality gap that is near enough for a point inside version space.
const INSIDE: f64 = 0.9;

/// What margin to look for.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MarginSettings {
    /// C, the largest multiplier and the price of a unit of hinge loss; infinite for a hard margin.
    #[serde(rename = "C")]
    pub cost: f64,
    /// Whether there is a bias b with no price of its own, so that `Σ a_i y_i = 0`.
    pub free_bias: bool,
    /// Largest violation of a condition for the optimum, in units of the margin. What rounding of the multipliers explains is
    /// no violation.
    pub tol: f64,
    /// Coordinate steps and changes of the active set at most.
    #[serde(deserialize_with = "count")]
    pub max_iter: usize,
}

impl Default for MarginSettings {
    fn default() -> Self {
        Self { cost: f64::INFINITY, free_bias: false, tol: 1e-8, max_iter: 10_000_000 }
    }
}

impl MarginSettings {
    /// Makes sure that a search can have them.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for the first that is out of its range.
    pub fn check(&self) -> Result<()> {
        if !(self.tol > 0.0 && self.tol < 1.0) {
            return Err(Error::invalid("tol", self.tol, "in (0, 1)"));
        }
        if self.cost.is_nan() || self.cost <= 0.0 {
            return Err(Error::invalid(
                "C",
                self.cost,
                "a positive number, or inf for a hard margin",
            ));
        }
        check_count("max_iter", self.max_iter as u64)
    }
}

/// The weight vector of the largest margin: `min ½ |w|² + C Σ max(0, 1 - y_i (<w, φ_i> + b))`.
///
/// Hard and without bias, it is the center of the largest ball inscribed in version space when all feature vectors are
/// equally long.
#[derive(Clone, Debug)]
pub struct MaxMargin {
    /// Dual coefficients scaled to unit length, `y_i c_i ≥ 0`, shape (m,).
    pub dual: Vec<f64>,
    /// Multipliers `a_i` in [0, C], shape (m,): `w = Σ a_i y_i φ_i`.
    pub multipliers: Vec<f64>,
    /// b beside the w of the multipliers; 0 without a free bias.
    pub bias: f64,
    /// |w|.
    pub norm: f64,
    /// `min_i y_i (<w, φ_i> + b) / |w|`.
    pub margin: f64,
    /// `|w| / Σ a_i`: no hard margin is larger (weak duality). Twice that is the length of the minimal connector between the
    /// convex hulls of the classes where the bias is free.
    pub bound: f64,
    /// Relative duality gap `(P - D) / P` reached; for a hard margin with P and D scaled to their best, `1 - (margin / bound)²`.
    pub gap: f64,
    /// Largest violation of a condition, in units of the margin.
    pub kkt: f64,
    /// Coordinate steps and changes of the active set.
    pub iterations: usize,
    /// Whether the conditions hold to the tolerance, or to rounding.
    pub converged: bool,
}

/// The square root of the longest diagonal entry.
fn longest(space: &VersionSpace<'_>) -> f64 {
    let gram = space.gram();
    (0..gram.len()).map(|i| gram.diagonal(i)).fold(0.0, f64::max).sqrt()
}

/// `|w| / Σ a` from `|w|²` and `Σ a`; no hard margin exceeds it.
fn bound((square, total): (f64, f64)) -> f64 {
    if total > 0.0 { square.sqrt() / total } else { f64::INFINITY }
}

/// `min_i y_i f_i + y_i b` of a hard margin, with the bias in the middle if it is free.
fn smallest_margin(set: &ActiveSet<'_>, space: &VersionSpace<'_>, free_bias: bool) -> f64 {
    let smallest = |label: i8| {
        let pairs = set.margins().iter().zip(space.labels());
        pairs.filter(|(_, y)| **y == label).map(|(m, _)| *m).fold(f64::INFINITY, f64::min)
    };
    let (negative, positive) = (smallest(-1), smallest(1));
    if free_bias { 0.5 * (negative + positive) } else { negative.min(positive) }
}

/// Relative duality gap; infinite while a hard margin has no point inside.
fn gap(set: &ActiveSet<'_>, space: &VersionSpace<'_>, bounds: Bounds) -> f64 {
    let (square, total) = set.norms();
    if bounds.cost.is_infinite() {
        let smallest = smallest_margin(set, space, bounds.free_bias);
        if smallest <= 0.0 {
            return f64::INFINITY;
        }
        let share = total * smallest / square;
        return (1.0 - share * share).max(0.0);
    }
    let loss: f64 = set.margins().iter().map(|margin| (1.0 - margin).max(0.0)).sum();
    let primal = 0.5 * square + bounds.cost * loss;
    if primal > 0.0 { ((primal - (total - 0.5 * square)) / primal).max(0.0) } else { 0.0 }
}

/// The error for hard margins: the better of two certificates.
fn infeasible(
    set: &ActiveSet<'_>,
    space: &VersionSpace<'_>,
    direction: Option<&[f64]>,
    fewest_violations: usize,
    control: &Control,
) -> Result<Error> {
    let scaled = |a: &[f64]| -> Vec<f64> {
        let total: f64 = a.iter().sum();
        a.iter().map(|a| a / total).collect()
    };
    let mut best: Option<(f64, Vec<f64>)> = None;
    for a in [Some(set.multipliers()), direction].into_iter().flatten() {
        if a.iter().all(|&a| a == 0.0) {
            continue;
        }
        let weights = scaled(a);
        let dual: Vec<f64> =
            weights.iter().zip(space.labels()).map(|(a, y)| a * f64::from(*y)).collect();
        let mut f = vec![0.0; dual.len()];
        let gram = space.gram();
        gram.multiply(&[&dual], &mut [&mut f], Precision::Compensated, control)?;
        let square = dot::dot_compensated(gram.arch(), &dual, &f);
        let length = square.max(0.0).sqrt() / longest(space);
        if best.as_ref().is_none_or(|(shortest, _)| length < *shortest) {
            best = Some((length, weights));
        }
    }
    let m = space.len();
    let (margin_bound, certificate) = best.unwrap_or((1.0, vec![1.0 / m as f64; m]));
    let found = perceptron::fewest_violations(space, control)?;
    let violations = set.fewest_violations().min(fewest_violations).min(found);
    Ok(Error::Infeasible { examples: m, violations, margin_bound, certificate })
}

/// The search: an active set that starts where some steps of coordinate ascent have led. Stops early at a relative gap
/// `near`, if positive. Returns the last state and the iterations.
fn search<'s>(
    space: &'s VersionSpace<'s>,
    settings: &MarginSettings,
    near: f64,
    control: &Control,
) -> Result<(ActiveSet<'s>, usize)> {
    let bounds = Bounds { cost: settings.cost, free_bias: settings.free_bias };
    let hard = settings.cost.is_infinite();
    let mut ascent = Ascent::new(space, bounds);
    let steps = ascent.run((ASCENT_STEPS * space.len()).min(settings.max_iter), control)?;
    let mut set = ActiveSet::new(space, bounds);
    set.start_from(ascent.multipliers(), control)?;
    let limit = settings.max_iter - steps;
    let least = SMALLEST_MARGIN * longest(space);
    let enough = |set: &ActiveSet<'_>, norms: (f64, f64)| {
        hard && (bound(norms) < least || near > 0.0 && gap(set, space, bounds) <= near)
    };
    for _ in 0..ROUNDS {
        let before = set.changes();
        let end = set.run(settings.tol, limit, enough, control)?;
        if let End::Unbounded(direction) = end {
            let fewest = ascent.fewest_violations();
            return Err(infeasible(&set, space, Some(&direction), fewest, control)?);
        }
        set.polish(POLISHED * settings.tol, control)?;
        let (worst, rounding) = set.residual();
        let idle = set.changes() == before;
        if matches!(end, End::Stopped) || worst <= settings.tol.max(rounding) || idle {
            break;
        }
    }
    let smallest = smallest_margin(&set, space, settings.free_bias);
    if hard && (smallest <= 0.0 || smallest.is_nan() || bound(set.norms()) < least) {
        return Err(infeasible(&set, space, None, ascent.fewest_violations(), control)?);
    }
    let iterations = steps + set.changes();
    Ok((set, iterations))
}

/// Finds the largest margin.
///
/// # Errors
///
/// [`Error::Invalid`] for settings out of range, or labels of one class with a free bias; [`Error::Infeasible`] when a hard
/// margin is asked for and the data are not separable, or no feasible point was found in `max_iter` steps;
/// [`Error::Interrupted`].
pub fn max_margin(
    space: &VersionSpace<'_>,
    settings: &MarginSettings,
    control: &Control,
) -> Result<MaxMargin> {
    settings.check()?;
    let MarginSettings { cost, free_bias, tol, .. } = *settings;
    if free_bias && space.labels().iter().all(|y| *y == space.labels()[0]) {
        return Err(Error::invalid("labels", "one class", "of both classes for a free bias"));
    }
    let (set, iterations) = match search(space, settings, 0.0, control) {
        Err(error @ Error::Infeasible { .. }) if !free_bias => {
            return Err(lost_in_rounding(space, control)?.unwrap_or(error));
        }
        other => other?,
    };
    let bounds = Bounds { cost, free_bias };
    let norm = set.norms().0.sqrt();
    if !norm.is_finite() {
        let wanted = "infinite, or so small that the square of a sum of multipliers is finite";
        return Err(Error::invalid("C", cost, wanted));
    }
    let scale = if norm > 0.0 { norm.recip() } else { 1.0 };
    let smallest = if cost.is_infinite() {
        smallest_margin(&set, space, free_bias)
    } else {
        set.margins().iter().copied().fold(f64::INFINITY, f64::min)
    };
    let (kkt, rounding) = set.residual();
    Ok(MaxMargin {
        dual: set.dual().iter().map(|c| c * scale).collect(),
        multipliers: set.multipliers().to_vec(),
        bias: set.bias(),
        norm,
        margin: smallest * scale,
        bound: bound(set.norms()),
        gap: gap(&set, space, bounds),
        kkt,
        iterations,
        converged: kkt <= tol.max(rounding),
    })
}

/// The error for data without a margin that can be seen, where only the lengths of the feature vectors hide it.
fn lost_in_rounding(space: &VersionSpace<'_>, control: &Control) -> Result<Option<Error>> {
    let Some(unit) = UnitDiagonal::of(space, control)? else { return Ok(None) };
    match interior_point_as_it_is(&unit.space(space)?, control) {
        Ok(_) => {
            let lengths = (0..space.len()).map(|i| space.gram().diagonal(i).sqrt());
            let shortest = lengths.fold(f64::INFINITY, f64::min);
            let got = format!("some from {shortest:.1e} to {:.1e}", longest(space));
            let wanted = "a matrix of feature vectors whose lengths are nearer to each other, as of a normalized kernel: these \
                          can be separated, but rounding of the longest hides the margin";
            Ok(Some(Error::invalid("gram", got, wanted)))
        }
        Err(Error::Infeasible { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A point inside version space, of unit length: on the way to the largest margin, of unit vectors if those there are have
/// very different lengths.
///
/// # Errors
///
/// As [`max_margin`].
pub(crate) fn interior_point(space: &VersionSpace<'_>, control: &Control) -> Result<Vec<f64>> {
    let Some(unit) = UnitDiagonal::of(space, control)? else {
        return interior_point_as_it_is(space, control);
    };
    let unit_space = unit.space(space)?;
    let dual = interior_point_as_it_is(&unit_space, control).map_err(|error| unit.error(error))?;
    let mut dual = unit.back(&dual);
    // The length anew, of the matrix that the ball will fly by.
    let mut f = vec![0.0; dual.len()];
    let gram = space.gram();
    gram.multiply(&[&dual], &mut [&mut f], Precision::Compensated, control)?;
    let square = dot::dot_compensated(gram.arch(), &dual, &f);
    if square > 0.0 {
        dual.iter_mut().for_each(|c| *c *= square.sqrt().recip());
        if space.contains(&dual)? {
            return Ok(dual);
        }
    }
    interior_point_as_it_is(space, control)
}

fn interior_point_as_it_is(space: &VersionSpace<'_>, control: &Control) -> Result<Vec<f64>> {
    let settings = MarginSettings::default();
    let unit = |set: &ActiveSet<'_>| -> Vec<f64> {
        let scale = set.norms().0.sqrt().recip();
        set.dual().iter().map(|c| c * scale).collect()
    };
    let dual = unit(&search(space, &settings, INSIDE, control)?.0);
    if space.contains(&dual)? {
        return Ok(dual);
    }
    let set = search(space, &settings, 0.0, control)?.0;
    let dual = unit(&set);
    if space.contains(&dual)? {
        return Ok(dual);
    }
    // The running margins were positive, those computed anew are not: it is a matter of rounding.
    let satisfied = space.margins(&dual)?.iter().filter(|margin| **margin > 0.0).count();
    let violations = space.len() - satisfied;
    Err(infeasible(&set, space, None, violations, control)?)
}
