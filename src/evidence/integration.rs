//! Z by samples in equilibrium on every rung of a ladder of half-silvered mirrors, combined by [`mbar`].
//!
//! `Z(κ) = E_sphere[κ^violations]` falls from 1 at κ = 1 to the volume of version space at κ = 0. Trips down the ladder begin
//! isotropically, trips up in version space. Where trajectories lag behind the ladder, their errors have opposite signs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::ladder::{BURN_IN_PATH, Descent, Stage, StageEstimate, log_z};
use super::mbar::{self, Rung, sum_by_key};
use super::walker::{self, LadderWalker, bias_of_lag, isotropic, refreshed};
use super::{EvidenceOutcome, EvidenceSettings};
use crate::ball::laying;
use crate::base::{Control, Error, Result, memory, random};
use crate::ensemble::{WorkerPool, chain};
use crate::interior::{self, conflicts, max_margin};
use crate::linalg::Factor;
use crate::space::{Mirror, VersionSpace};
use crate::trajectory::{Geodesic, Goal, Layers, Trajectory};

/// Path from the first point in version space to the first start of a trip up, radians.
const HOME_PATH: f64 = 20.0;
/// Arrivals at walls, for each plane, that end a stretch of path in version space earlier.
const HOME_ARRIVALS: u64 = 100;
/// Pieces of path on a rung in one trip.
const PIECES: usize = 4;
/// Path of a piece in the first round, radians, and its growth from round to round.
const PIECE_PATH: f64 = 2.0;
const GROWTH: f64 = 1.5;

struct Integration<'a> {
    descent: Descent,
    ladder: Vec<f64>,
    factor: &'a Arc<Factor>,
    n_trajectories: usize,
    seed: u64,
    control: &'a Control,
}

/// A walker, and a billiard at the last target, where its trips up begin; none if no point of version space is known.
type TripWalker<'s> = (LadderWalker<'s, Layers>, Option<Trajectory<'s, Geodesic>>);

pub fn evidence(
    space: &VersionSpace,
    settings: &EvidenceSettings,
    descent: Descent,
    pool: &WorkerPool,
    control: &Control,
) -> Result<EvidenceOutcome> {
    let (n, seed) = (settings.n_trajectories, settings.seed);
    let inside = point_inside(space, &settings.targets, control)?;
    let factor = &Arc::new(Factor::new(space.gram(), control)?);
    let ladder = descent.place_rungs(space, factor, random::stream(seed, n), control)?;
    chain::check_memory(space, n, false, pool)?;
    let home = |point: &Vec<f64>, i: usize| {
        let mut rng = random::stream(seed, stream_of_turn(n, 1, i));
        let ball = laying::ball_at(space.gram(), point, &mut rng, control)?;
        let mut home = refreshed(space, ball, rng, factor);
        home.set_mirror(descent.mirror(descent.end()));
        home.run(Goal::either(HOME_PATH, HOME_ARRIVALS * space.len() as u64), control)?;
        Ok(home)
    };
    let mut walkers = pool.each(&mut vec![(); n], |i, ()| {
        let trajectory = isotropic(space, factor, random::stream(seed, i), control)?;
        let home = match &inside {
            Some(point) => optional(home(point, i), &settings.targets)?,
            None => None,
        };
        Ok((LadderWalker::new(trajectory, control), home))
    })?;
    let shared = Integration { descent, ladder, factor, n_trajectories: n, seed, control };
    let rungs = shared.ladder.len() as f64;
    let (mut unit, mut length) = (PIECE_PATH, 0.0);
    loop {
        let round = 2.0 * rungs * (BURN_IN_PATH + PIECES as f64 * unit);
        pool.each(&mut walkers, |index, walker| shared.round_trip(index, walker, unit))?;
        length += round;
        // For three copies of all samples, and the next round: a number and its key in a tree have 64 bytes.
        let samples = walkers.iter().flat_map(|(walker, _)| walker.samples.all());
        memory::check(5 * 64 * samples.map(|layers| layers.len() + 1).sum::<usize>())?;
        let stages = shared.combine(&walkers, |_| true);
        let lags = shared.lags(&walkers);
        let estimates = log_z(&stages, &shared.descent.targets);
        let (values, errors): (Vec<f64>, Vec<f64>) = estimates
            .into_iter()
            .zip(&lags)
            .map(|((value, error), &lag)| (value, error.hypot(bias_of_lag(lag, error))))
            .unzip();
        let worst = errors.iter().copied().fold(0.0, f64::max);
        control.report(length, worst);
        let converged = worst <= settings.tol;
        // The last round takes the rest of the path, if that is at least half of the present one.
        let rest = (settings.max_length - length) / (2.0 * rungs);
        let next = (unit * GROWTH).min((rest - BURN_IN_PATH) / PIECES as f64);
        if converged || next < 0.5 * unit {
            let (ladder, mean_violations) = shared.profile(&walkers);
            let (layers, layer_shares) = shared.layers(&walkers);
            // On the first stage the violations of both classes count alike.
            let (_, counts, shares) = &stages[0];
            let mut log_share = vec![f64::NEG_INFINITY; space.examples() + 1];
            for (&count, share) in counts.iter().zip(&shares.log_share) {
                log_share[count as usize] = *share;
            }
            return Ok(EvidenceOutcome {
                values,
                errors,
                lags,
                ladder,
                mean_violations,
                log_share,
                layers,
                layer_shares,
                length,
                converged,
            });
        }
        unit = next;
    }
}

impl Integration<'_> {
    /// Makes a trip down and a trip up, with `PIECES` pieces of `unit` radians on each rung.
    fn round_trip(&self, i: usize, (walker, home): &mut TripWalker, unit: f64) -> Result<()> {
        let Some(home) = home else {
            self.trip(walker, false, unit)?;
            return self.trip(walker, true, unit);
        };
        let stream = |trip: usize| {
            random::stream(self.seed, stream_of_turn(self.n_trajectories, 2 + trip, i))
        };
        // Each trip begins in equilibrium at its own end: from where the trip down ended, one up would miss the same parts.
        home.reset();
        let arrivals = HOME_ARRIVALS * home.space().len() as u64;
        home.run(Goal::either(BURN_IN_PATH + PIECES as f64 * unit, arrivals), self.control)?;
        let inside = home.ball().clone();
        let space = home.space();
        let rng = stream(walker.samples.trip);
        walker.trajectory = isotropic(space, self.factor, rng, self.control)?;
        self.trip(walker, false, unit)?;
        walker.trajectory = refreshed(space, inside, stream(walker.samples.trip), self.factor);
        self.trip(walker, true, unit)
    }

    fn trip(&self, walker: &mut LadderWalker<Layers>, up: bool, unit: f64) -> Result<()> {
        let last = self.ladder.len() - 1;
        for k in 0..=last {
            let k = if up { last - k } else { k };
            walker.enter(self.descent.mirror(self.ladder[k]), BURN_IN_PATH)?;
            for _ in 0..PIECES {
                let layers = walker.count(unit)?;
                walker.samples.push(k, layers);
            }
        }
        walker.samples.trip += 1;
        Ok(())
    }

    /// Returns half the difference of ln Z at the targets between the trips up and down.
    fn lags(&self, walkers: &[TripWalker]) -> Vec<f64> {
        let [down, up] = [0, 1].map(|parity| {
            let stages = self.combine(walkers, |trip| trip % 2 == parity);
            log_z(&stages, &self.descent.targets)
        });
        let lag =
            |up: f64, down: f64| if (up - down).is_finite() { 0.5 * (up - down) } else { f64::NAN };
        up.iter().zip(down).map(|(up, down)| lag(up.0, down.0)).collect()
    }

    /// Combines the samples of the trips that `keep` selects, stage by stage.
    fn combine(&self, walkers: &[TripWalker], keep: impl Fn(usize) -> bool) -> Vec<StageEstimate> {
        let estimate = |stage: Stage| {
            let on_rung = |k| {
                let samples = walkers.iter().map(|(walker, _)| &walker.samples);
                walker::pieces(samples, k, |_, trip| keep(trip), |layers| stage.by_count(layers))
            };
            let rungs = stage.rungs(&self.ladder);
            let ladder = &self.ladder[rungs.clone()];
            let pieces: Vec<Vec<_>> = rungs.map(on_rung).collect();
            let paths = pieces.iter().flatten().map(|(_, paths)| paths);
            let counts: BTreeSet<u32> = paths.flat_map(|paths| paths.keys().copied()).collect();
            let counts: Vec<u32> = counts.into_iter().collect();
            let index = |count: &u32| counts.binary_search(count).expect("all counts are there");
            let histogram = |(trip, paths): (usize, BTreeMap<u32, f64>)| {
                (trip, paths.iter().map(|(count, &path)| (index(count), path)).collect())
            };
            let rung = |(&s, pieces): (&f64, Vec<_>)| Rung {
                log_weights: counts.iter().map(|&count| stage.log_weight(count, s)).collect(),
                pieces: pieces.into_iter().map(histogram).collect(),
            };
            let rungs = ladder.iter().zip(pieces).map(rung).collect();
            let shares = mbar::combine(ladder, rungs, |_, state| f64::from(counts[state]));
            (stage, counts, shares)
        };
        self.descent.stages().into_iter().map(estimate).collect()
    }

    /// Returns the rungs and the mean violations on them, stage by stage.
    fn profile(&self, walkers: &[TripWalker]) -> (Vec<f64>, Vec<f64>) {
        let mean = |stage: &Stage, k: usize| {
            let paths = stage.by_count(&paths_by_layer(walkers, k..k + 1));
            let violated = paths.iter().map(|(count, path)| f64::from(*count) * path);
            violated.sum::<f64>() / paths.values().sum::<f64>()
        };
        let stages = self.descent.stages();
        let rungs = stages.iter().flat_map(|stage| {
            stage.rungs(&self.ladder).map(move |k| (self.ladder[k], mean(stage, k)))
        });
        rungs.unzip()
    }

    /// Returns the layers, and the share of each in the path with the same number of violations. Given this number, layers have the
    /// same distribution on all rungs of the first stage, so that their shares are ratios of paths.
    fn layers(&self, walkers: &[TripWalker]) -> (Vec<[u32; 2]>, Vec<f64>) {
        let first = self.descent.stages()[0];
        let paths = paths_by_layer(walkers, first.rungs(&self.ladder));
        let totals = first.by_count(&paths);
        let share = |(layer, path)| (layer, path / totals[&first.count(layer)]);
        paths.into_iter().map(share).unzip()
    }
}

fn paths_by_layer(walkers: &[TripWalker], rungs: Range<usize>) -> Layers {
    let pieces =
        walkers.iter().flat_map(|(walker, _)| rungs.clone().flat_map(|k| walker.samples.on(k)));
    sum_by_key(pieces.flat_map(|(_, layers)| layers.iter().map(|(&layer, &path)| (layer, path))))
}

/// Returns what was computed from a point inside version space, or `None` if no point can be had and the run can do without.
/// Behind half-silvered walls the trips down suffice without precision or memory; behind hard walls that is an error.
fn optional<T>(inside: Result<T>, targets: &[Mirror]) -> Result<Option<T>> {
    match inside {
        Ok(inside) => Ok(Some(inside)),
        Err(Error::Infeasible { .. }) => Ok(None),
        Err(Error::Breakdown { .. } | Error::Memory { .. })
            if targets.iter().all(|target| !target.0.contains(&0.0)) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns a point inside version space, or on the satisfied side of the hard walls of one class; [`Error::Infeasible`].
fn point_inside(
    space: &VersionSpace,
    targets: &[Mirror],
    control: &Control,
) -> Result<Option<Vec<f64>>> {
    let counts = space.class_counts();
    if let [target] = *targets
        && let [true, false] | [false, true] =
            [0, 1].map(|class| target.0[class] == 0.0 && counts[class] > 0)
        && !target.is_hard()
    {
        conflicts::check(space, target, control)?;
        return interior::hard_point(space, target, control).map(Some);
    }
    optional(max_margin::interior_point(space, control), targets)
}

/// Returns the number of the random stream of a walker's turn, from 1 on. Those up to n belong to first trips and to the pilot.
fn stream_of_turn(n: usize, turn: usize, index: usize) -> usize {
    n * turn + 1 + index
}

#[cfg(test)]
#[path = "../../tests/unit/evidence/integration.rs"]
mod tests;
