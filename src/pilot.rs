//! The pilot: chooses kind and rate of the refresh by the error of the center per unit of work.

use std::sync::Arc;

use crate::control::Control;
use crate::error::Result;
use crate::factor::Factor;
use crate::gas::{Crew, RefreshChoice, Runner, Settings, estimate};
use crate::gram::Gram;
use crate::refresh::Refresh;
use crate::trajectory::Goal;

/// Pair refreshes per arrival at a wall: good everywhere, best or near best but for nearly orthogonal planes.
const PAIRS_PER_ARRIVAL: f64 = 0.3;
/// Candidates of the pilot.
const PAIR_CANDIDATES: [f64; 3] = [0.1, 0.3, 1.5];
/// Full refreshes per radian.
const FULL_PER_RADIAN: f64 = 1.0;
const FULL_CANDIDATES: [f64; 2] = [0.3, 1.0];
/// Work of a trajectory under one candidate, in bounces.
const PILOT_WORK: f64 = 1_500.0;

/// True when the choice leaves something to a pilot.
pub(crate) fn is_needed(choice: RefreshChoice) -> bool {
    matches!(choice, RefreshChoice::Auto | RefreshChoice::Pair(None) | RefreshChoice::Full(None))
}

/// The refresh of a choice, with the usual rate where none is given. `rate` is in arrivals per radian.
pub(crate) fn default_refresh(
    gram: &Gram<'_>,
    choice: RefreshChoice,
    rate: f64,
    control: &Control,
) -> Result<Refresh> {
    Ok(match choice {
        RefreshChoice::None => Refresh::None,
        RefreshChoice::Auto => Refresh::Pair { rate: PAIRS_PER_ARRIVAL * rate },
        RefreshChoice::Pair(given) => {
            Refresh::Pair { rate: given.unwrap_or(PAIRS_PER_ARRIVAL * rate) }
        }
        RefreshChoice::Full(given) => Refresh::Full {
            rate: given.unwrap_or(FULL_PER_RADIAN),
            factor: Arc::new(Factor::new(gram, control)?),
        },
    })
}

/// Tries the candidates one after the other on the same balls and keeps the best. Returns it, set in all
/// trajectories, and the path that each has flown meanwhile (which is further settling).
pub(crate) fn choose(
    gram: &Gram<'_>,
    settings: &Settings,
    first: &Refresh,
    rate: f64,
    crew: &Crew,
    runners: &mut [Runner<'_>],
    control: &Control,
) -> Result<(Refresh, f64)> {
    let mut candidates: Vec<Refresh> = Vec::new();
    if !matches!(settings.refresh, RefreshChoice::Full(_)) {
        candidates.extend(PAIR_CANDIDATES.map(|share| Refresh::Pair { rate: share * rate }));
    }
    if !matches!(settings.refresh, RefreshChoice::Pair(_)) {
        let factor = match first {
            Refresh::Full { factor, .. } => Arc::clone(factor),
            _ => Arc::new(Factor::new(gram, control)?),
        };
        candidates.extend(
            FULL_CANDIDATES.map(|rate| Refresh::Full { rate, factor: Arc::clone(&factor) }),
        );
    }
    let pieces = (32 / runners.len()).max(2);
    let mut flown = 0.0;
    let mut best: Option<(f64, Refresh)> = None;
    for candidate in candidates {
        let per_radian = rate + candidate.rate() * candidate.cost(gram);
        let unit = PILOT_WORK / per_radian / pieces as f64;
        crew.each(runners, |_, runner| {
            runner.trajectory.set_refresh(candidate.clone());
            runner.reset(None);
            runner.extend(pieces, unit, Goal::path(f64::INFINITY), control)
        })?;
        let error = estimate(crew, runners, control)?.error;
        let tallies = || runners.iter().map(|runner| runner.trajectory.tally());
        let work: f64 = tallies()
            .map(|t| t.arrivals() as f64 + t.refreshes as f64 * candidate.cost(gram))
            .sum();
        flown += tallies().map(|t| t.path).sum::<f64>() / runners.len() as f64;
        let score = error * error * work;
        if best.as_ref().is_none_or(|(least, _)| score < *least) {
            best = Some((score, candidate));
        }
    }
    let refresh = best.map_or_else(|| first.clone(), |(_, refresh)| refresh);
    for runner in runners.iter_mut() {
        runner.trajectory.set_refresh(refresh.clone());
    }
    Ok((refresh, flown))
}
