//! Annealed importance sampling along the transparency ladder (Neal, 2001).
//!
//! A particle starts isotropically at κ = 1 and goes down the ladder; at each step of s = -ln κ its weight takes the factor
//! `e^(-Δs · violations)`, of the violations that the step touches. The mean weight is an unbiased estimate of Z, out of
//! equilibrium too: an independent check of the estimate in equilibrium, at a larger error for the same work.

use std::sync::Arc;

use crate::base::{Control, Result, random};
use crate::ensemble::WorkerPool;
use crate::evidence::ladder::Descent;
use crate::evidence::launch::isotropic;
use crate::evidence::outcome::EvidenceOutcome;
use crate::evidence::settings::EvidenceSettings;
use crate::linalg::Factor;
use crate::space::VersionSpace;
use crate::trajectory::Goal;

/// Path on a rung, radians.
const RUNG_PATH: f64 = 1.0;
/// Largest standard deviation of ln weight to be trusted. Beyond it the mean weight hangs on a few particles, most
/// samples miss them, and both the estimate and its error come out too small: the ladder is refined instead.
const LARGEST_SPREAD: f64 = 1.2;
/// Particles of a trajectory in the first round; it doubles from round to round.
const PARTICLES: usize = 16;

/// One particle: its violations of either class on every rung.
fn particle(
    space: &VersionSpace<'_>,
    factor: &Arc<Factor>,
    (descent, ladder): (&Descent, &[f64]),
    (seed, index): (u64, usize),
    control: &Control,
) -> Result<Vec<[u32; 2]>> {
    let rng = random::stream(seed, index);
    let mut trajectory = isotropic(space, factor, rng, control)?;
    let mut violations = vec![trajectory.violated_by_class()];
    for &s in &ladder[1..] {
        trajectory.set_mirror(descent.mirror(s));
        trajectory.reset(None);
        trajectory.run(Goal::path(RUNG_PATH), control)?;
        violations.push(trajectory.violated_by_class());
    }
    Ok(violations)
}

/// ln of the mean weight at a target, its standard error, by the delta method where the weights vary little, and the standard
/// deviation of ln weight.
fn log_mean_weight(
    target: f64,
    (descent, ladder): (&Descent, &[f64]),
    particles: &[Vec<[u32; 2]>],
) -> (f64, f64, f64) {
    // The rungs above the target, and the target itself from the last of them.
    let used = ladder.iter().take_while(|s| **s < target).count().max(1);
    let log_weight = |violations: &Vec<[u32; 2]>, steps: std::ops::Range<usize>| -> f64 {
        let next = |k: usize| if k + 1 < used { ladder[k + 1] } else { target };
        steps.map(|k| -descent.loss(violations[k], ladder[k], next(k))).sum()
    };
    let logs: Vec<f64> = particles.iter().map(|v| log_weight(v, 0..used)).collect();
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return (largest, f64::INFINITY, f64::INFINITY);
    }
    let n = logs.len() as f64;
    let moments = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / n;
        (mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0))
    };
    let weights: Vec<f64> = logs.iter().map(|x| (x - largest).exp()).collect();
    let (mean, square) = moments(&weights);
    // A last step to hard walls gives some weights 0, which is no fault of the ladder.
    let before: Vec<f64> = particles.iter().map(|v| log_weight(v, 0..used - 1)).collect();
    let (_, variance) = moments(&before);
    let error = (square / n).sqrt() / mean;
    // Of log-normal weights the mean is e^(variance/2) times the typical one, between which a mean of too few lies.
    let missed = if variance > LARGEST_SPREAD.powi(2) { 0.5 * variance } else { 0.0 };
    (largest + mean.ln(), error.max(missed), variance.sqrt())
}

/// A ladder with a rung between every two.
fn refined(ladder: &[f64]) -> Vec<f64> {
    let mut fine = Vec::with_capacity(2 * ladder.len());
    for pair in ladder.windows(2) {
        fine.extend([pair[0], f64::midpoint(pair[0], pair[1])]);
    }
    fine.extend(ladder.last());
    fine
}

pub(crate) fn evidence(
    space: &VersionSpace<'_>,
    settings: &EvidenceSettings,
    factor: &Arc<Factor>,
    (descent, mut ladder): (Descent, Vec<f64>),
    pool: &WorkerPool,
    control: &Control,
) -> Result<EvidenceOutcome> {
    let mut particles: Vec<Vec<[u32; 2]>> = Vec::new();
    let mut path = 0.0;
    let mut streams = settings.n_trajectories + 1;
    let mut wanted = PARTICLES * settings.n_trajectories;
    loop {
        // Streams beyond those of the trajectories and of the ladder's scout.
        let first = streams;
        pool.check_memory(wanted, 1, ladder.len())?;
        let mut places = vec![(); wanted - particles.len()];
        particles.extend(pool.each(&mut places, |i, ()| {
            particle(space, factor, (&descent, &ladder), (settings.seed, first + i), control)
        })?);
        streams += places.len();
        path += places.len() as f64 * RUNG_PATH * (ladder.len() - 1) as f64;
        let length = path / settings.n_trajectories as f64;
        let found: Vec<(f64, f64, f64)> = descent
            .targets
            .iter()
            .map(|&s| log_mean_weight(s, (&descent, &ladder), &particles))
            .collect();
        let worst = found.iter().map(|x| x.1).fold(0.0, f64::max);
        let trusted = found.iter().all(|x| x.2 <= LARGEST_SPREAD);
        control.report(length, worst);
        let converged = worst <= settings.tol && trusted;
        if converged || 2.0 * length > settings.max_length {
            let (ladder, mean_violations) = descent.profile(&ladder, |k, stage| {
                let violated = |v: &Vec<[u32; 2]>| f64::from(stage.count(v[k]));
                particles.iter().map(violated).sum::<f64>() / particles.len() as f64
            });
            return Ok(EvidenceOutcome {
                lags: vec![f64::NAN; found.len()],
                values: found.iter().map(|x| x.0).collect(),
                errors: found.iter().map(|x| x.1).collect(),
                mean_violations,
                // Particles out of equilibrium do not tell the shares.
                log_share: Vec::new(),
                layers: Vec::new(),
                ladder,
                length,
                converged,
            });
        }
        if trusted {
            wanted *= 2;
        } else {
            ladder = refined(&ladder);
            particles.clear();
        }
    }
}
