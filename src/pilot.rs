//! The pilot: chooses kind and rate of the refresh by the error of the center per unit of work.

use std::sync::Arc;

use crate::control::Control;
use crate::crew::Crew;
use crate::error::{Error, Result};
use crate::factor::{Factor, Isotropic};
use crate::gas::{Runner, estimate};
use crate::gram::Gram;
use crate::refresh::Refresh;
use crate::settings::{RefreshChoice, Settings};
use crate::trajectory::Goal;

/// Pair refreshes per arrival at a wall: good everywhere, best or near best but for nearly orthogonal planes.
const PAIRS_PER_ARRIVAL: f64 = 0.3;
const PAIR_CANDIDATES: [f64; 3] = [0.1, 0.3, 1.5];
/// Full refreshes per radian.
const FULL_PER_RADIAN: f64 = 1.0;
const FULL_CANDIDATES: [f64; 2] = [0.3, 1.0];
/// Path of a trajectory under one candidate: the work in bounces, and where full refreshes are tried, the radians that
/// show what they do; and the radians that are always enough.
const PILOT_WORK: f64 = 1_500.0;
const PILOT_PATH: f64 = 12.0;
const LONGEST_PILOT_PATH: f64 = 300.0;
/// Sum of the squared cosines between a feature vector and all others, on average over the feature vectors, below which
/// planes count as nearly orthogonal: the billiard alone is then close to integrable, and full refreshes may win.
const NEARLY_ORTHOGONAL: f64 = 3.0;
/// Examples up to which full refreshes cost so little that they are always tried.
const SMALL: usize = 100;
/// Examples beyond which their factor, at O(m³), costs more than they could gain.
const LARGE: usize = 3_000;

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
            source: Arc::new(Factor::new(gram, control)?),
        },
    })
}

/// Whether full refreshes are worth a trial.
fn full_may_win(gram: &Gram<'_>) -> bool {
    let m = gram.len();
    if m > LARGE || !gram.is_in_memory() {
        return false;
    }
    // The offset is one direction that all feature vectors share; the rest decides.
    let own: Vec<f64> = (0..m).map(|i| gram.diagonal(i) - gram.offset()).collect();
    let cosines: f64 = (0..m)
        .map(|i| {
            let row = gram.row(i).to_vec();
            let terms = row.iter().zip(&own);
            let all: f64 = terms.map(|(k, d)| if *d > 0.0 { k * k / d } else { 0.0 }).sum();
            if own[i] > 0.0 { all / own[i] - row[i].powi(2) / own[i].powi(2) } else { 0.0 }
        })
        .sum();
    m <= SMALL || cosines < NEARLY_ORTHOGONAL * m as f64
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
    let only_full = matches!(settings.refresh, RefreshChoice::Full(_));
    let with_full =
        only_full || (!matches!(settings.refresh, RefreshChoice::Pair(_)) && full_may_win(gram));
    let mut candidates: Vec<Refresh> = Vec::new();
    if !only_full {
        candidates.extend(PAIR_CANDIDATES.map(|share| Refresh::Pair { rate: share * rate }));
    }
    if with_full {
        let source: Result<Arc<dyn Isotropic>> = match first {
            Refresh::Full { source, .. } => Ok(Arc::clone(source)),
            _ => Factor::new(gram, control).map(|factor| Arc::new(factor) as _),
        };
        match source {
            Ok(source) => candidates.extend(
                FULL_CANDIDATES.map(|rate| Refresh::Full { rate, source: Arc::clone(&source) }),
            ),
            // Rounding of a singular matrix that was computed in low precision: pairs need no factor.
            Err(Error::Breakdown { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    // In many dimensions few pieces tell the spread well, and each costs O(m²).
    let total = if gram.len() < 300 { 32 } else { 8 };
    let pieces = (total / runners.len()).max(if runners.len() == 1 { total } else { 1 });
    let mut flown = 0.0;
    let mut best: Option<(f64, Refresh)> = None;
    for candidate in candidates {
        let per_radian = rate + candidate.rate() * candidate.cost(gram);
        let path = (PILOT_WORK / per_radian).min(LONGEST_PILOT_PATH);
        // Where bounces are so dense that the path would never end, the work decides.
        let path = if with_full { path.max(PILOT_PATH.min(20.0 * path)) } else { path };
        let unit = path / pieces as f64;
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
