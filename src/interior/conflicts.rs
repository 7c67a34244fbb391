//! Conflicts: hard walls that coincide but have their satisfied sides opposite, so that no point satisfies both.

use super::{longest, perceptron};
use crate::base::{Control, Error, Result};
use crate::space::{Mirror, Role, VersionSpace, is_parallel};

/// Checks that no hard walls are in conflict: a region between them, if any, would be narrower than rounding.
pub fn check(space: &VersionSpace, mirror: Mirror, control: &Control) -> Result<()> {
    let is_closed = |side: [u32; 2]| mirror.log_weight(side) == f64::NEG_INFINITY;
    let conflict = space.roles().iter().enumerate().find_map(|(i, role)| match *role {
        Role::Decides(sides) if sides.into_iter().all(is_closed) => Some(i),
        _ => None,
    });
    let Some(i) = conflict else { return Ok(()) };
    let gram = space.gram();
    let is_hard = |i: usize| mirror.of(space.labels()[i]) == 0.0;
    let is_satisfied_above = |j: usize| (gram.entry(i, j) > 0.0) == (space.labels()[j] > 0);
    let coinciding = (i..space.len())
        .filter(|&j| is_hard(j) && (j == i || is_parallel(gram, i, j, gram.entry(i, j))));
    let first = |above| coinciding.clone().find(|&j| is_satisfied_above(j) == above);
    let (Some(one), Some(other)) = (first(true), first(false)) else { return Ok(()) };
    // The certificate: a combination in which the unit normals nearly cancel.
    let [a, b] = [one, other].map(|j| gram.diagonal(j).sqrt().recip());
    let mut certificate = vec![0.0; space.len()];
    (certificate[one], certificate[other]) = (a / (a + b), b / (a + b));
    let cosine = space.sign(one) * space.sign(other) * gram.entry(one, other) * a * b;
    let margin_bound = (2.0 * (1.0 + cosine)).max(0.0).sqrt() / (a + b) / longest(space.gram());
    let violations = fewest_violations(space, one, mirror, control)?;
    Err(Error::Infeasible { examples: space.examples(), violations, margin_bound, certificate })
}

/// Fewest violated examples of some weight vectors: those of a perceptron, and plus and minus the feature vector of `one`. At
/// least the smaller side of each group of coinciding planes is violated, even if rounded plane coordinates say otherwise.
fn fewest_violations(
    space: &VersionSpace,
    one: usize,
    mirror: Mirror,
    control: &Control,
) -> Result<usize> {
    let found = perceptron::fewest_violations(space, control)?;
    let count = |[negative, positive]: [u32; 2]| (negative + positive) as usize;
    let along = space.gram().shifted_row(one);
    let against: Vec<f64> = along.iter().map(|f| -f).collect();
    let fewest = [&along[..], &against].map(|f| count(space.violations(f)));
    let hard = mirror.0.map(|kappa| u32::from(kappa == 0.0));
    let least = space.roles().iter().map(|role| match *role {
        Role::Decides(sides) => {
            let [above, below] = sides.map(|side| count([hard[0] * side[0], hard[1] * side[1]]));
            above.min(below)
        }
        _ => 0,
    });
    let fewest = fewest.into_iter().fold(found, usize::min);
    // Several planes of one example count once.
    Ok(if space.planes().is_some() { fewest.max(1) } else { fewest.max(least.sum()) })
}
