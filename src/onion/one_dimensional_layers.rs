//! The layers of a one-dimensional span, which is two points: they are known exactly.

use crate::base::{Error, Result};
use crate::onion::outcome::OnionOutcome;
use crate::onion::settings::{OnionMethod, OnionSettings};
use crate::space::{LayerRange, VersionSpace, one_dimensional};

/// The layers of the two points, each known exactly and without a path; of version space alone for the projected onion,
/// as there are no rays. A layer that holds both points has no center.
pub(super) fn onion(
    space: &VersionSpace<'_>,
    settings: &OnionSettings,
    range: LayerRange,
) -> Result<OnionOutcome> {
    let (n, m) = (range.len(), space.len());
    let gram = space.gram();
    let length = gram.diagonal(0).sqrt();
    let field = gram.shifted_row(0);
    let layers = one_dimensional::violated(space, &field);
    let projected = settings.method == OnionMethod::Projected;
    if projected && !layers.contains(&[0, 0]) {
        let counts = layers.map(|[negative, positive]| negative + positive);
        return Err(Error::Infeasible {
            examples: m,
            violations: counts[0].min(counts[1]) as usize,
            margin_bound: one_dimensional::margin_bound(gram),
            certificate: one_dimensional::certificate(space, &field),
        });
    }
    let together = layers[0] == layers[1];
    let mut found = OnionOutcome {
        range,
        centers: vec![f64::NAN; n * m],
        norms: vec![f64::NAN; n],
        errors: vec![f64::NAN; n],
        paths: vec![0.0; n],
        log_volumes: if projected { Vec::new() } else { vec![f64::NEG_INFINITY; n] },
        log_volume_errors: if projected { Vec::new() } else { vec![f64::INFINITY; n] },
        layers: Vec::new(),
        log_shares: Vec::new(),
        length: 0.0,
        converged: true,
    };
    for (layer, sign) in layers.into_iter().zip([1.0, -1.0]) {
        let share = if together { 0.0 } else { 0.5f64.ln() };
        if let Some(index) = range.index(layer) {
            if !together && (!projected || layer == [0, 0]) {
                let center = &mut found.centers[index * m..(index + 1) * m];
                center.fill(0.0);
                center[0] = sign / length;
                (found.norms[index], found.errors[index]) = (1.0, 0.0);
            }
            if !projected {
                (found.log_volumes[index], found.log_volume_errors[index]) = (share, 0.0);
            }
        }
        if !projected && !found.layers.contains(&layer) {
            found.layers.push(layer);
            found.log_shares.push(share);
        }
    }
    if settings.n_trajectories > 1 {
        found.log_shares = found.log_shares.repeat(1 + settings.n_trajectories);
    }
    Ok(found)
}
