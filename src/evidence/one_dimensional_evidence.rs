//! The evidence of a one-dimensional span, which is two points: it is known exactly.

use crate::evidence::outcome::EvidenceOutcome;
use crate::space::{Mirror, VersionSpace, one_dimensional};

/// ln Z at each target: half of the sphere is either point.
pub(super) fn evidence(space: &VersionSpace<'_>, targets: &[Mirror]) -> EvidenceOutcome {
    let gram = space.gram();
    let field = gram.shifted_row(0);
    let layers = one_dimensional::violated(space, &field);
    let counts = layers.map(|[negative, positive]| negative + positive);
    let mut shares = vec![0.0; space.len() + 1];
    for n in counts {
        shares[n as usize] += 0.5;
    }
    let log_z = |target: &Mirror| {
        layers.map(|layer| 0.5 * target.log_weight(layer).exp()).iter().sum::<f64>().ln()
    };
    let distinct = if layers[0] == layers[1] { &layers[..1] } else { &layers[..] };
    EvidenceOutcome {
        lags: vec![0.0; targets.len()],
        values: targets.iter().map(log_z).collect(),
        errors: vec![0.0; targets.len()],
        ladder: vec![0.0],
        mean_violations: vec![0.5 * f64::from(counts[0] + counts[1])],
        log_share: shares.iter().map(|share: &f64| share.ln()).collect(),
        layers: distinct
            .iter()
            .map(|&[negative, positive]| {
                let same = distinct.iter().filter(|l| l[0] + l[1] == negative + positive).count();
                (negative, positive, 1.0 / same as f64)
            })
            .collect(),
        length: 0.0,
        converged: true,
    }
}
