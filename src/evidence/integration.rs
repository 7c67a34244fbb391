//! Z by samples in equilibrium on every rung of a ladder of half-silvered mirrors, combined by [`mbar`].
//!
//! `Z(κ) = E_sphere[κ^violations]` falls from 1 at κ = 1 to the volume of version space at κ = 0. Trips down the ladder begin
//! isotropically at κ = 1, trips up begin in version space. Where trajectories lag behind the ladder, the errors of the two
//! have opposite signs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use crate::ball::laying;
use crate::base::{Control, Result, memory, random};
use crate::ensemble::{WorkerPool, chain};
use crate::evidence::inside;
use crate::evidence::ladder::{BURN_IN_PATH, Descent, Stage, StageEstimate, log_z};
use crate::evidence::launch::{isotropic, refreshed};
use crate::evidence::mbar::{self, Rung, sum_by_key};
use crate::evidence::outcome::EvidenceOutcome;
use crate::evidence::settings::EvidenceSettings;
use crate::evidence::walker::{self, LadderWalker, bias_of_lag};
use crate::linalg::Factor;
use crate::space::VersionSpace;
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::{Goal, Layers, Trajectory};

/// Path from the first point in version space to the first start of a trip up, radians.
const HOME_PATH: f64 = 20.0;
/// Arrivals at walls, for each plane, that end a stretch of path in version space earlier.
const HOME_ARRIVALS: u64 = 100;
/// Pieces of path on a rung in one trip.
const PIECES: usize = 4;
/// Path of a piece in the first round, radians, and its growth from round to round.
const PIECE_PATH: f64 = 2.0;
const GROWTH: f64 = 1.5;

/// What the walkers have in common.
struct Integration<'a> {
    descent: Descent,
    ladder: Vec<f64>,
    factor: &'a Arc<Factor>,
    n_trajectories: usize,
    seed: u64,
}

struct Walker<'s> {
    index: usize,
    on_ladder: LadderWalker<'s, Layers>,
    /// A billiard at the last target, where the trips up begin; none if no point of version space is known.
    home: Option<Trajectory<'s, Geodesic>>,
}

impl Walker<'_> {
    /// Makes a trip down and a trip up, with `PIECES` pieces of `unit` radians on each rung.
    fn round_trip(&mut self, shared: &Integration<'_>, unit: f64, control: &Control) -> Result<()> {
        let Some(home) = &mut self.home else {
            self.trip(shared, false, unit, control)?;
            return self.trip(shared, true, unit, control);
        };
        // Each trip begins in equilibrium at its own end. A trip up from where the trip down ended would miss the same parts of
        // version space.
        home.reset(None);
        let arrivals = HOME_ARRIVALS * home.space().len() as u64;
        home.run(Goal::either(BURN_IN_PATH + PIECES as f64 * unit, arrivals), control)?;
        let inside = home.ball().clone();
        let space = home.space();
        self.on_ladder.trajectory = isotropic(space, shared.factor, self.stream(shared), control)?;
        self.trip(shared, false, unit, control)?;
        self.on_ladder.trajectory = refreshed(space, inside, self.stream(shared), shared.factor);
        self.trip(shared, true, unit, control)
    }

    /// The random stream of the next trip. The first streams belong to the walkers and the pilot.
    fn stream(&self, shared: &Integration<'_>) -> ChaCha8Rng {
        let n = shared.n_trajectories;
        random::stream(shared.seed, n * (2 + self.on_ladder.samples.trip) + 1 + self.index)
    }

    fn trip(
        &mut self,
        shared: &Integration<'_>,
        up: bool,
        unit: f64,
        control: &Control,
    ) -> Result<()> {
        let last = shared.ladder.len() - 1;
        for k in 0..=last {
            let k = if up { last - k } else { k };
            self.on_ladder.enter(shared.descent.mirror(shared.ladder[k]), BURN_IN_PATH, control)?;
            for _ in 0..PIECES {
                let layers = self.on_ladder.count(unit, control)?;
                self.on_ladder.samples.push(k, layers);
            }
        }
        self.on_ladder.samples.trip += 1;
        Ok(())
    }
}

/// Returns ln Z at the targets.
pub(super) fn evidence(
    space: &VersionSpace<'_>,
    settings: &EvidenceSettings,
    descent: Descent,
    pool: &WorkerPool,
    control: &Control,
) -> Result<EvidenceOutcome> {
    let (n, seed) = (settings.n_trajectories, settings.seed);
    let inside = inside::point(space, &settings.targets, control)?;
    let factor = &Arc::new(Factor::new(space.gram(), control)?);
    let ladder = descent.place_rungs(space, factor, random::stream(seed, n), control)?;
    chain::check_memory(space, n, false, pool)?;
    let home = |point: &Vec<f64>, i: usize| {
        let mut rng = random::stream(seed, n + 1 + i);
        let ball = laying::ball_at(space.gram(), point, &mut rng, control)?;
        let mut home = refreshed(space, ball, rng, factor);
        home.set_mirror(descent.mirror(descent.end()));
        home.run(Goal::either(HOME_PATH, HOME_ARRIVALS * space.len() as u64), control)?;
        Ok(home)
    };
    let mut walkers = pool.each(&mut vec![(); n], |i, ()| {
        let trajectory = isotropic(space, factor, random::stream(seed, i), control)?;
        let home = match &inside {
            Some(point) => inside::optional(home(point, i), &settings.targets)?,
            None => None,
        };
        Ok(Walker { index: i, on_ladder: LadderWalker::new(trajectory), home })
    })?;
    let shared = Integration { descent, ladder, factor, n_trajectories: n, seed };
    let rungs = shared.ladder.len() as f64;
    let (mut unit, mut length) = (PIECE_PATH, 0.0);
    loop {
        let round = 2.0 * rungs * (BURN_IN_PATH + PIECES as f64 * unit);
        pool.each(&mut walkers, |_, walker| walker.round_trip(&shared, unit, control))?;
        length += round;
        check_memory(&walkers)?;
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
            let StageEstimate { counts, shares, .. } = &stages[0];
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

/// Checks that three copies of all samples fit into memory, and the next round.
fn check_memory(walkers: &[Walker<'_>]) -> Result<()> {
    // Bytes of a number and its key in a tree.
    const ENTRY: usize = 64;
    let samples = walkers.iter().flat_map(|walker| walker.on_ladder.samples.all());
    memory::check(5 * ENTRY * samples.map(|layers| layers.len() + 1).sum::<usize>())
}

impl Integration<'_> {
    /// Returns half the difference of ln Z at the targets between the trips up and down.
    fn lags(&self, walkers: &[Walker<'_>]) -> Vec<f64> {
        let [down, up] = [0, 1].map(|parity| {
            let stages = self.combine(walkers, |trip| trip % 2 == parity);
            log_z(&stages, &self.descent.targets)
        });
        let lag =
            |up: f64, down: f64| if (up - down).is_finite() { 0.5 * (up - down) } else { f64::NAN };
        up.iter().zip(down).map(|(up, down)| lag(up.0, down.0)).collect()
    }

    /// Combines the samples of the trips that `keep` selects, stage by stage.
    fn combine(&self, walkers: &[Walker<'_>], keep: impl Fn(usize) -> bool) -> Vec<StageEstimate> {
        let stages = self.descent.stages().into_iter();
        stages.map(|stage| self.combine_stage(stage, walkers, &keep)).collect()
    }

    fn combine_stage(
        &self,
        stage: Stage,
        walkers: &[Walker<'_>],
        keep: &impl Fn(usize) -> bool,
    ) -> StageEstimate {
        let on_rung = |k| {
            let samples = walkers.iter().map(|walker| &walker.on_ladder.samples);
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
        StageEstimate { stage, counts, shares }
    }

    /// Returns the rungs and the mean violations on them, stage by stage.
    fn profile(&self, walkers: &[Walker<'_>]) -> (Vec<f64>, Vec<f64>) {
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
    fn layers(&self, walkers: &[Walker<'_>]) -> (Vec<[u32; 2]>, Vec<f64>) {
        let first = self.descent.stages()[0];
        let paths = paths_by_layer(walkers, first.rungs(&self.ladder));
        let totals = first.by_count(&paths);
        let share = |(layer, path)| (layer, path / totals[&first.count(layer)]);
        paths.into_iter().map(share).unzip()
    }
}

/// Returns the path by layer on some rungs.
fn paths_by_layer(walkers: &[Walker<'_>], rungs: Range<usize>) -> Layers {
    let pieces = walkers
        .iter()
        .flat_map(|walker| rungs.clone().flat_map(|k| walker.on_ladder.samples.on(k)));
    sum_by_key(pieces.flat_map(|(_, layers)| layers.iter().map(|(&layer, &path)| (layer, path))))
}
