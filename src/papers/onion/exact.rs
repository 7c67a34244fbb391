//! The exact onion.
//!
//! Within a layer the distribution of a half-silvered billiard is uniform for all transparencies. They are chosen such that the
//! ball spends nearly the same path in every layer of the range ([`LayerWalls`]). The weights of the layers are estimated by
//! [`mbar`] from a ladder of transparencies and from the path so far, as are the layers' shares of the sphere. In every round
//! each ball makes a trip up the ladder to κ = 1 and down, so that rounds are nearly independent.
//!
//! Below the first rung with most of its path in the range, rungs add nothing to what the layers themselves give: where a tiny
//! version space is hard to find, balls lag far behind them. These rungs are not measured, but lead down to version space. Half
//! of the path among the layers begins there and half above, so that lags have opposite signs and show in the errors.

use std::collections::BTreeSet;
use std::sync::Arc;

use ndarray::Array2;

use super::layers::{LayerRange, LayerWalls};
use super::pieces::{GROWTH, Pieces, estimate, outcome, table, watch, worst};
use super::{OnionOutcome, OnionSettings};
use crate::base::{Result, random};
use crate::ensemble::WorkerPool;
use crate::evidence::mbar::{self, Histogram, Rung, Shares, sum_by_key};
use crate::evidence::walker::{self, LadderWalker, RungSamples};
use crate::evidence::{Descent, isotropic};
use crate::linalg::Factor;
use crate::space::{Mirror, VersionSpace};
use crate::trajectory::{Goal, Layers, Observer};

/// Path to burn in on a rung of the ladder, radians.
const BURN_IN_PATH: f64 = 4.0;
/// Path on a rung in one trip of the first round, radians.
const RUNG_PATH: f64 = 4.0;
/// Path to burn in on the lowest measured rung before the trip up, radians.
const RETURN_PATH: f64 = 8.0;
/// Share of the path in the range at which a rung is the last that is measured.
const ENOUGH_INSIDE: f64 = 0.5;
/// Measured pieces of a stretch of path among the layers, after one of burn-in. There are two stretches in a round.
const PIECES: usize = 3;
/// Path for each layer in the first round, radians.
const LAYER_PATH: f64 = 2.0;
/// Path beyond the range, relative to that in it.
const BEYOND: f64 = 1.0 / 3.0;
/// Path that is added to that of each layer for its weight.
const PRIOR_PATH: f64 = 1.0;
/// Events per radian, relative to the fewest, beyond which a layer gets less path: slivers would otherwise take all the time.
const LARGEST_RATE: f64 = 10.0;
/// Largest difference of ln weight between neighboring layers: a ball leaves one after ten thousand events or so. A layer that is
/// smaller than its neighbor by a larger factor gets less path, rather than rare and very long visits.
const LARGEST_STEP: f64 = 9.0;

struct LayerWalker<'s> {
    /// The samples on the ladder, and among the walls of each round, which count as further rungs.
    on_ladder: LadderWalker<'s, Histogram>,
    pieces: Pieces,
    layers: Layers,
}

struct LadderProblem {
    range: LayerRange,
    m: usize,
    /// s = -ln κ of the rungs.
    ladder: Vec<f64>,
    /// Number of rungs that are measured, from the top.
    measured: usize,
    /// Path on each of them, radians.
    rung_path: f64,
    walls: Vec<LayerWalls>,
}

impl LadderProblem {
    /// Returns the state of a layer for [`mbar`]: each layer of the range is one, and beyond it each number of violated planes.
    fn state(&self, layer: [u32; 2]) -> usize {
        self.range.index(layer).unwrap_or(self.range.len() + (layer[0] + layer[1]) as usize)
    }

    fn violations(&self) -> Vec<f64> {
        let layers = self.range.iter().map(|layer| f64::from(layer[0] + layer[1]));
        layers.chain((0..=self.m).map(|v| v as f64)).collect()
    }

    /// Returns the path on the ladder in a round, radians.
    fn ladder_path(&self) -> f64 {
        let unmeasured = (self.ladder.len() - self.measured) as f64 * BURN_IN_PATH;
        2.0 * self.measured as f64 * (BURN_IN_PATH + self.rung_path) + unmeasured + RETURN_PATH
    }

    /// Returns the number of rungs down to the first with most of its path in the range, or of all rungs.
    fn rungs_outside(&self, walkers: &[LayerWalker]) -> usize {
        let n = self.range.len();
        let inside = |k: usize| {
            let pieces = walkers.iter().flat_map(|walker| walker.on_ladder.samples.on(k));
            let visits = pieces.flat_map(|(_, histogram)| histogram);
            let (part, all) = visits.fold((0.0, 0.0), |(part, all), &(state, path)| {
                (if state < n { part + path } else { part }, all + path)
            });
            part >= ENOUGH_INSIDE * all
        };
        (0..self.ladder.len()).find(|&k| inside(k)).map_or(self.ladder.len(), |k| k + 1)
    }

    /// Combines the samples of all walkers, or of all but one.
    fn combine(&self, walkers: &[LayerWalker], skipped: Option<usize>) -> Shares {
        let violations = self.violations();
        let ladder = &self.ladder[..self.measured];
        let mirrors =
            ladder.iter().map(|s| -> Vec<f64> { violations.iter().map(|v| -s * v).collect() });
        let walls = self.walls.iter().map(|walls| -> Vec<f64> {
            let beyond = (0..=self.m).map(|v| walls.log_weight_beyond(v as f64));
            walls.log_weights.iter().copied().chain(beyond).collect()
        });
        let rung = |(k, log_weights)| {
            let samples = walkers.iter().map(|walker| &walker.on_ladder.samples);
            let pieces = walker::pieces(samples, k, |i, _| skipped != Some(i), Vec::clone);
            Rung { log_weights, pieces }
        };
        let rungs = mirrors.chain(walls).enumerate().map(rung).collect();
        mbar::combine(ladder, rungs, |_, state| violations[state])
    }

    /// Returns walls among which a ball spends nearly the same path in every layer, by the estimates so far.
    fn level(&self, shares: &Shares, walkers: &[LayerWalker]) -> LayerWalls {
        let n = self.range.len();
        let rates: Vec<f64> = (0..n)
            .map(|layer| {
                let pieces = walkers.iter().map(|walker| &walker.pieces);
                let (events, path) = pieces.fold((0, 0.0), |(events, path), pieces| {
                    let piece = &pieces.layers[layer];
                    (events + piece.events, path + piece.path)
                });
                // One event more than counted gives an upper bound if there was none.
                if path > 0.0 { (events + 1) as f64 / path } else { f64::NAN }
            })
            .collect();
        // `min` ignores NaN.
        let fewest = rates.iter().copied().fold(f64::NAN, f64::min);
        let parts: Vec<f64> =
            rates.iter().map(|rate| (LARGEST_RATE * fewest / rate).min(1.0)).collect();
        let slope = self.ladder[self.measured - 1];
        let outside = (0..=self.m).map(|v| shares.log_share[n + v] - slope * v as f64);
        let mass = mbar::log_sum_exp(outside);
        // The weight does not matter if no path is beyond the range.
        let beyond = if mass > f64::NEG_INFINITY { BEYOND.ln() - mass } else { 0.0 };
        let mut walls = LayerWalls { range: self.range, log_weights: Vec::new(), beyond, slope };
        let is_found = |layer: usize| shares.paths[layer] > 0.0;
        let total: f64 = (0..n).filter(|&layer| is_found(layer)).map(|layer| parts[layer]).sum();
        walls.log_weights = if total > 0.0 {
            let known = (0..n).map(|layer| {
                let path = shares.paths[layer] + parts[layer] * PRIOR_PATH;
                let log_share = path.ln() - shares.log_exposure[layer];
                is_found(layer).then(|| (parts[layer] / total).ln() - log_share)
            });
            self.range.spread(known.collect())
        } else {
            self.violations()[..n].iter().map(|v| walls.log_weight_beyond(*v)).collect()
        };
        self.range.flatten(&mut walls.log_weights, LARGEST_STEP);
        walls
    }
}

impl LayerWalker<'_> {
    /// Makes a trip down and up the measured rungs, with a stretch among the newest walls from the last and from the bottom.
    fn round_trip(&mut self, problem: &LadderProblem, unit: f64) -> Result<()> {
        let measured = problem.measured;
        for k in 0..measured {
            self.rung(problem, k)?;
        }
        self.stretch(problem, unit)?;
        self.on_ladder.samples.trip += 1;
        for &s in &problem.ladder[measured..] {
            self.on_ladder.enter(Mirror::alike(s), BURN_IN_PATH)?;
        }
        self.stretch(problem, unit)?;
        let lowest = Mirror::alike(problem.ladder[measured - 1]);
        self.on_ladder.enter(lowest, RETURN_PATH)?;
        for k in (0..measured).rev() {
            self.rung(problem, k)?;
        }
        self.on_ladder.samples.trip += 1;
        Ok(())
    }

    /// Notes the path by layer of a piece on a rung.
    fn note(&mut self, problem: &LadderProblem, k: usize, layers: Layers) {
        let visits = layers.iter().map(|(&layer, &path)| (problem.state(layer), path));
        self.on_ladder.samples.push(k, sum_by_key(visits).into_iter().collect());
        for (layer, path) in layers {
            *self.layers.entry(layer).or_insert(0.0) += path;
        }
    }

    fn rung(&mut self, problem: &LadderProblem, k: usize) -> Result<()> {
        self.on_ladder.enter(Mirror::alike(problem.ladder[k]), BURN_IN_PATH)?;
        let layers = self.on_ladder.count(problem.rung_path)?;
        self.note(problem, k, layers);
        Ok(())
    }

    /// Runs for a stretch of path among the newest walls.
    fn stretch(&mut self, problem: &LadderProblem, unit: f64) -> Result<()> {
        let newest = problem.walls.len() - 1;
        let walls = &problem.walls[newest];
        fly(&mut self.on_ladder, walls, unit, &mut ())?;
        for _ in 0..PIECES {
            fly(&mut self.on_ladder, walls, unit, &mut self.pieces)?;
            let layers = self.pieces.close();
            self.note(problem, problem.measured + newest, layers);
        }
        Ok(())
    }
}

fn fly(
    walker: &mut LadderWalker<Histogram>,
    walls: &LayerWalls,
    path: f64,
    observer: &mut impl Observer,
) -> Result<()> {
    walker.trajectory.reset();
    walker.trajectory.run_among(walls, Goal::path(path), observer, walker.control)?;
    walker.length += path;
    Ok(())
}

pub(super) fn onion(
    space: &VersionSpace,
    settings: &OnionSettings,
    range: LayerRange,
    pool: &WorkerPool,
) -> Result<OnionOutcome> {
    let (n, m, control) = (range.len(), space.len(), pool.control);
    let factor = Arc::new(Factor::new(space.gram(), control)?);
    let pilot = random::stream(settings.seed, settings.n_trajectories);
    let descent = Descent::to(&[Mirror::HARD]).expect("a single target");
    let ladder = descent.place_rungs(space, &factor, pilot, control)?;
    let (measured, rung_path) = (ladder.len(), RUNG_PATH);
    let mut problem = LadderProblem { range, m, ladder, measured, rung_path, walls: Vec::new() };
    let mut walkers = pool.each(&mut vec![(); settings.n_trajectories], |i, ()| {
        let rng = random::stream(settings.seed, i);
        Ok(LayerWalker {
            on_ladder: LadderWalker::new(isotropic(space, &factor, rng, control)?, control),
            pieces: Pieces::new(range, m),
            layers: Layers::new(),
        })
    })?;
    // The first trips only give a first estimate of the shares: their samples are not used again.
    pool.each(&mut walkers, |_, walker| (0..measured).try_for_each(|k| walker.rung(&problem, k)))?;
    let mut shares = problem.combine(&walkers, None);
    problem.measured = problem.rungs_outside(&walkers);
    for walker in &mut walkers {
        walker.on_ladder.samples = RungSamples::default();
        walker.layers.clear();
    }
    let stretches = 2.0 * (1 + PIECES) as f64;
    let shortest = problem.ladder_path().max(LAYER_PATH * n as f64) / stretches;
    let mut unit = shortest;
    let mut is_over = watch(space, range, settings.tol);
    loop {
        problem.walls.push(problem.level(&shares, &walkers));
        pool.each(&mut walkers, |_, walker| walker.round_trip(&problem, unit))?;
        shares = problem.combine(&walkers, None);
        let volume = |layer: usize| {
            shares.log_z(|state| if state == layer { 0.0 } else { f64::NEG_INFINITY })
        };
        let volumes: Vec<(f64, f64)> = (0..n).map(volume).collect();
        let centers = estimate(space, range, pool, &mut walkers, |walker| &mut walker.pieces)?;
        let length = walkers.iter().map(|walker| walker.on_ladder.length).sum::<f64>()
            / walkers.len() as f64;
        control.report(length, worst(&centers).0);
        let known = settings.volume_tol.is_none_or(|tol| {
            volumes.iter().all(|&(value, error)| value == f64::NEG_INFINITY || error <= tol)
        });
        let converged = is_over(&centers) && known;
        if !known {
            problem.rung_path *= GROWTH;
        }
        let room = (settings.max_length - length - problem.ladder_path()) / stretches;
        unit = (GROWTH * unit).min(room);
        if converged || unit < shortest {
            let pieces = walkers.iter().map(|walker| &walker.pieces);
            let mut found = outcome(range, m, centers, pieces, length, converged);
            let (values, errors) = volumes.into_iter().unzip();
            found.log_volumes = Some(table(range, values));
            found.log_volume_errors = Some(table(range, errors));
            return Ok(with_shares(found, &problem, &shares, &walkers));
        }
    }
}

fn with_shares(
    mut found: OnionOutcome,
    problem: &LadderProblem,
    shares: &Shares,
    walkers: &[LayerWalker],
) -> OnionOutcome {
    let all = walkers.iter().flat_map(|walker| &walker.layers);
    let layers: BTreeSet<[u32; 2]> =
        all.filter(|(_, path)| **path > 0.0).map(|(layer, _)| *layer).collect();
    found.layers = layers.into_iter().collect();
    let mut rows = log_shares(problem, shares, walkers, None, &found.layers);
    let replicates = if walkers.len() > 1 { walkers.len() } else { 0 };
    for i in 0..replicates {
        let shares = problem.combine(walkers, Some(i));
        rows.extend(log_shares(problem, &shares, walkers, Some(i), &found.layers));
    }
    found.log_shares = Array2::from_shape_vec((1 + replicates, found.layers.len()), rows)
        .expect("a share of each layer");
    found
}

/// Returns ln of the share of the sphere of each layer. Of layers of one state, alike on every rung, they are ratios of paths.
fn log_shares(
    problem: &LadderProblem,
    shares: &Shares,
    walkers: &[LayerWalker],
    skipped: Option<usize>,
    layers: &[[u32; 2]],
) -> Vec<f64> {
    let path = |layer: &[u32; 2]| -> f64 {
        let others = walkers.iter().enumerate().filter(|(i, _)| skipped != Some(*i));
        others.filter_map(|(_, walker)| walker.layers.get(layer)).sum()
    };
    let mut totals = vec![0.0; problem.range.len() + problem.m + 1];
    for layer in layers {
        totals[problem.state(*layer)] += path(layer);
    }
    layers
        .iter()
        .map(|layer| {
            let (state, path) = (problem.state(*layer), path(layer));
            if path > 0.0 {
                shares.log_share[state] + (path / totals[state]).ln()
            } else {
                f64::NEG_INFINITY
            }
        })
        .collect()
}
