//! The one-dimensional span: version space is a point, and there is nothing to fly through.

use rand::RngExt;

use crate::base::error::{Error, Result};
use crate::base::random;
use crate::ensemble::outcome::{Outcome, StopReason};
use crate::ensemble::settings::Settings;
use crate::evidence::integration::EvidenceOutcome;
use crate::gram::Gram;
use crate::interior::Start;
use crate::onion::{OnionMethod, OnionOutcome, OnionSettings};
use crate::space::layers::LayerRange;
use crate::space::mirror::Mirror;
use crate::space::version_space::VersionSpace;

/// Squared sine of an angle that rounding hides.
const HIDDEN: f64 = 8.0 * f64::EPSILON;

/// True when all feature vectors are parallel (m = 1 included): the sphere of the span is two points.
pub(crate) fn is_one_dimensional(gram: &Gram<'_>) -> bool {
    is_parallel(gram, HIDDEN)
}

/// Whether all feature vectors are parallel to the first, to so large a squared sine, or to the rounding of entries to singles.
fn is_parallel(gram: &Gram<'_>, squared_sine: f64) -> bool {
    let first = gram.diagonal(0);
    (1..gram.len()).all(|i| {
        let (entry, own) = (gram.entry(0, i), gram.diagonal(i));
        let product = first * own;
        let rounding = if gram.is_single() {
            // Offset and softness are added to what was rounded.
            let [a, b] =
                [(0, first), (i, own)].map(|(i, k)| k - gram.offset() - gram.softness()[i]);
            let cross = entry.abs() * (entry - gram.offset()).abs();
            f64::from(f32::EPSILON) * (cross + 0.5 * (first * b + own * a))
        } else {
            0.0
        };
        (product - entry.powi(2)).abs() <= squared_sine * product + rounding
    })
}

/// Largest margin of labels that no point of the line satisfies. None where the matrix says so exactly; sums with softness or
/// an offset may hide what the matrix says.
fn margin_bound(gram: &Gram<'_>) -> f64 {
    let is_sum = gram.offset() != 0.0 || gram.softness().iter().any(|&softness| softness > 0.0);
    if !is_sum && !gram.is_single() && is_parallel(gram, 0.0) {
        return 0.0;
    }
    let hidden = if gram.is_single() { 2.0 * f64::from(f32::EPSILON) } else { HIDDEN };
    // Of two vectors that pull both ways, the point between them is half their angle from the origin, at the most.
    0.5 * hidden.sqrt()
}

/// The exact posterior on the two points ±φ_0/|φ_0|: weights κ^violations, independent draws.
pub(crate) fn outcome(
    space: &VersionSpace<'_>,
    settings: &Settings,
    watched: Vec<usize>,
) -> Result<Outcome> {
    let gram = space.gram();
    let m = space.len();
    let length = gram.diagonal(0).sqrt();
    // The plane coordinates of +φ_0/|φ_0|; those of the other point have the opposite signs.
    let field: Vec<f64> = gram.shifted_row(0).iter().map(|k| k / length).collect();
    let layers = violated(space, &field);
    let violations = layers.map(|[negative, positive]| negative + positive);
    let log_weight = layers.map(|layer| settings.mirror.log_weight(layer));
    let largest = log_weight[0].max(log_weight[1]);
    if largest == f64::NEG_INFINITY {
        return Err(Error::Infeasible {
            examples: m,
            violations: violations[0].min(violations[1]) as usize,
            margin_bound: margin_bound(gram),
            certificate: certificate(space, &field),
        });
    }
    let weights = log_weight.map(|w| (w - largest).exp());
    let plus = weights[0] / (weights[0] + weights[1]);
    let (t, n) = (settings.n_trajectories, settings.n_draws);
    let sign_of_center = if plus >= 0.5 { 1.0 } else { -1.0 };
    let point = |sign: f64| {
        let mut dual = vec![0.0; m];
        dual[0] = sign / length;
        dual
    };
    let (mut draws, mut functionals) = (Vec::new(), Vec::new());
    for trajectory in 0..t {
        let mut rng = random::stream(settings.seed, trajectory);
        for _ in 0..n {
            let sign = if rng.random::<f64>() < plus { 1.0 } else { -1.0 };
            draws.extend(point(sign));
            functionals.extend(watched.iter().map(|&i| sign * field[i] / gram.diagonal(i).sqrt()));
        }
    }
    Ok(Outcome {
        center: point(sign_of_center),
        center_norm: (2.0 * plus - 1.0).abs(),
        running_center: settings.motion.is_straight().then(|| point(sign_of_center)),
        impulse_center: vec![0.0; m],
        // Two points that weigh the same have no center.
        center_error: if (plus - 0.5).abs() < f64::EPSILON { f64::NAN } else { 0.0 },
        draws,
        n_draws: n,
        spacing: 0.0,
        watched,
        functionals,
        bounces: vec![0; t],
        crossings: vec![0; t],
        refreshes: vec![0; t],
        escapes: vec![0; t],
        scatterings: vec![0; t],
        scatterer: None,
        lengths: vec![0.0; t],
        settled: 0.0,
        cycles: vec![0; t],
        missed: vec![0.0; t],
        hits: vec![0; m],
        mean_violations: plus * f64::from(violations[0]) + (1.0 - plus) * f64::from(violations[1]),
        stop_reason: match settings {
            Settings { tol: Some(_), .. } => StopReason::Tol,
            _ if settings.weight_tol().is_some() => StopReason::WeightTol,
            Settings { length: Some(_), .. } => StopReason::Length,
            _ => StopReason::MaxBounces,
        },
        refresh: "none",
        refresh_rate: 0.0,
        loses_softness: false,
        drift: 0.0,
        start: vec![if settings.start.is_some() { Start::Given } else { Start::LightTrap }; t],
        state: None,
    })
}

/// Two examples that pull the only axis both ways, in the proportion that cancels.
fn certificate(space: &VersionSpace<'_>, field: &[f64]) -> Vec<f64> {
    let mut a = vec![0.0; field.len()];
    let towards =
        |positive: bool| (0..field.len()).find(|&i| (space.sign(i) * field[i] > 0.0) == positive);
    if let (Some(i), Some(j)) = (towards(true), towards(false)) {
        let (x, y) = (field[i].abs(), field[j].abs());
        a[i] = y / (x + y);
        a[j] = x / (x + y);
    }
    a
}

/// Examples of labels -1 and +1 that the points +φ_0 and -φ_0 violate.
fn violated(space: &VersionSpace<'_>, field: &[f64]) -> [[u32; 2]; 2] {
    let mut violated = [[0; 2]; 2];
    for (i, f) in field.iter().enumerate() {
        let against = usize::from(space.sign(i) * f > 0.0);
        violated[against][usize::from(space.sign(i) > 0.0)] += 1;
    }
    violated
}

/// ln Z at each target: half of the sphere is either point.
pub(crate) fn evidence(space: &VersionSpace<'_>, targets: &[Mirror]) -> EvidenceOutcome {
    let gram = space.gram();
    let field = gram.shifted_row(0);
    let layers = violated(space, &field);
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

/// The layers of the two points, each known exactly and without a path; of version space alone for the projected onion,
/// as there are no rays. A layer that holds both points has no center.
pub(crate) fn onion(
    space: &VersionSpace<'_>,
    settings: &OnionSettings,
    range: LayerRange,
) -> Result<OnionOutcome> {
    let (n, m) = (range.len(), space.len());
    let gram = space.gram();
    let length = gram.diagonal(0).sqrt();
    let field = gram.shifted_row(0);
    let layers = violated(space, &field);
    let projected = settings.method == OnionMethod::Projected;
    if projected && !layers.contains(&[0, 0]) {
        let counts = layers.map(|[negative, positive]| negative + positive);
        return Err(Error::Infeasible {
            examples: m,
            violations: counts[0].min(counts[1]) as usize,
            margin_bound: margin_bound(gram),
            certificate: certificate(space, &field),
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
