//! The posterior of a one-dimensional span, which is two points: nothing flies.

use rand::RngExt;

use crate::base::{Error, Result, random};
use crate::ensemble::outcome::{Outcome, StopReason};
use crate::ensemble::settings::Settings;
use crate::interior::Start;
use crate::space::VersionSpace;
use crate::space::one_dimensional;

/// The exact posterior on the two points ±φ_0/|φ_0|: weights κ^violations, independent draws.
pub(super) fn outcome(
    space: &VersionSpace<'_>,
    settings: &Settings,
    watched: Vec<usize>,
) -> Result<Outcome> {
    let gram = space.gram();
    let m = space.len();
    let length = gram.diagonal(0).sqrt();
    // The plane coordinates of +φ_0/|φ_0|; those of the other point have the opposite signs.
    let field: Vec<f64> = gram.shifted_row(0).iter().map(|k| k / length).collect();
    let layers = one_dimensional::violated(space, &field);
    let violations = layers.map(|[negative, positive]| negative + positive);
    let log_weight = layers.map(|layer| settings.mirror.log_weight(layer));
    let largest = log_weight[0].max(log_weight[1]);
    if largest == f64::NEG_INFINITY {
        return Err(Error::Infeasible {
            examples: m,
            violations: violations[0].min(violations[1]) as usize,
            margin_bound: one_dimensional::margin_bound(gram),
            certificate: one_dimensional::certificate(space, &field),
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
