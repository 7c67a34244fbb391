//! The kernel perceptron, which corrects the worst example first.

use crate::control::Control;
use crate::dot;
use crate::error::{Error, Result};
use crate::max_margin;
use crate::version_space::VersionSpace;

/// Finds a point inside version space, of unit length, by perceptron updates `c_i ← c_i + y_i / K_ii` at the example whose
/// normalized margin is smallest. Starts at w = 0, where every margin counts as violated.
///
/// By Novikoff's theorem at most `1/Γ²` updates are needed, Γ the largest normalized margin.
///
/// # Errors
///
/// Where `max_updates` do not suffice, the error (or the point) of the maximal-margin search, which can tell
/// slow from impossible; [`Error::Interrupted`].
pub fn perceptron_point(
    space: &VersionSpace<'_>,
    max_updates: usize,
    control: &Control,
) -> Result<Vec<f64>> {
    let gram = space.gram();
    let m = space.len();
    let lengths: Vec<f64> = (0..m).map(|i| gram.diagonal(i).sqrt()).collect();
    let mut dual = vec![0.0; m];
    let mut f = vec![0.0; m];
    for update in 0..max_updates {
        if update % 64 == 0 {
            control.check()?;
        }
        let (worst, margin) = (0..m)
            .map(|i| (i, space.sign(i) * f[i] / lengths[i]))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .ok_or_else(|| Error::invalid("labels", "none", "at least one"))?;
        if margin > 0.0 {
            let scale = dot::dot(gram.arch(), &dual, &f).sqrt().recip();
            dual.iter_mut().for_each(|c| *c *= scale);
            return Ok(dual);
        }
        let step = space.sign(worst) / gram.diagonal(worst);
        dual[worst] += step;
        for (f, k) in f.iter_mut().zip(gram.row(worst)) {
            *f += step * (k + gram.offset());
        }
        f[worst] += step * gram.softness()[worst];
    }
    max_margin::interior_point(space, control)
}
