//! What trajectories in equilibrium see on every rung of a ladder of half-silvered mirrors, combined by [`mbar`].
//!
//! `Z(κ) = E_sphere[κ^violations]` goes from 1 at κ = 1 to the volume of version space at κ = 0. Trajectories start
//! isotropically at κ = 1 and go down a ladder of transparencies, others start in version space and go up, so that what lags
//! behind on the way down lags the other way on the trip up.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use crate::ball::laying;
use crate::base::{Control, Result, memory, random};
use crate::ensemble::{WorkerPool, chain};
use crate::evidence::inside::found;
use crate::evidence::ladder::{BURN_IN_PATH, Descent, Seen, Stage, Stages};
use crate::evidence::lag::beyond_chance;
use crate::evidence::launch::{isotropic, refreshed};
use crate::evidence::mbar;
use crate::evidence::outcome::EvidenceOutcome;
use crate::evidence::settings::EvidenceSettings;
use crate::evidence::walker;
use crate::evidence::walker::LadderWalker;
use crate::linalg::Factor;
use crate::space::VersionSpace;
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::{Goal, Layers, Trajectory};

/// Path from the first point inside version space before it is a start, radians.
const HOME_PATH: f64 = 20.0;
/// Arrivals at walls, for each plane, at which a stretch of path in version space ends all the same.
const HOME_ARRIVALS: u64 = 100;
/// Pieces of path of a trajectory on a rung and direction.
const PIECES: usize = 4;
/// Path of a piece in the first round, radians; it grows from round to round.
const PIECE_PATH: f64 = 2.0;
const GROWTH: f64 = 1.5;

/// What all trajectories on the ladder share.
struct Integration<'a> {
    descent: Descent,
    ladder: Vec<f64>,
    factor: &'a Arc<Factor>,
    n_trajectories: usize,
    seed: u64,
}

/// A trajectory on its trips down and up.
struct Walker<'s> {
    index: usize,
    on_ladder: LadderWalker<'s, Layers>,
    /// A billiard at the last target from a point of version space, where the trips up begin; none where no point is known.
    home: Option<Trajectory<'s, Geodesic>>,
}

impl Walker<'_> {
    /// Once down and once up the ladder, with `PIECES` pieces of `unit` radians on each rung and trip.
    fn round_trip(&mut self, shared: &Integration<'_>, unit: f64, control: &Control) -> Result<()> {
        let Some(home) = &mut self.home else {
            self.trip(shared, false, unit, control)?;
            return self.trip(shared, true, unit, control);
        };
        // What the ball met on its way down is no start for a trip up: where it did not find version space, neither would
        // know of it. So every trip begins in equilibrium at its own end.
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

    /// The random stream of the next trip: the first ones are the walkers' and the pilot's own.
    fn stream(&self, shared: &Integration<'_>) -> ChaCha8Rng {
        let n = shared.n_trajectories;
        random::stream(shared.seed, n * (2 + self.on_ladder.seen.trips) + 1 + self.index)
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
                self.on_ladder.seen.keep(k, layers);
            }
        }
        self.on_ladder.seen.trips += 1;
        Ok(())
    }
}

/// ln Z at the targets by what walkers see on the rungs. Trips up begin at a point `inside`, if there is one.
pub(super) fn evidence(
    space: &VersionSpace<'_>,
    settings: &EvidenceSettings,
    inside: Option<&Vec<f64>>,
    factor: &Arc<Factor>,
    (descent, ladder): (Descent, Vec<f64>),
    pool: &WorkerPool,
    control: &Control,
) -> Result<EvidenceOutcome> {
    let n = settings.n_trajectories;
    chain::check_memory(space, n, false, pool)?;
    let home = |point: &Vec<f64>, i: usize| {
        let mut rng = random::stream(settings.seed, n + 1 + i);
        let ball = laying::ball_at(space.gram(), point, &mut rng, control)?;
        let mut home = refreshed(space, ball, rng, factor);
        home.set_mirror(descent.last());
        home.run(Goal::either(HOME_PATH, HOME_ARRIVALS * space.len() as u64), control)?;
        Ok(home)
    };
    let mut walkers = pool.each(&mut vec![(); n], |i, ()| {
        let rng = random::stream(settings.seed, i);
        let trajectory = isotropic(space, factor, rng, control)?;
        let home = match inside {
            Some(point) => found(home(point, i), &settings.targets)?,
            None => None,
        };
        Ok(Walker { index: i, on_ladder: LadderWalker::new(trajectory), home })
    })?;
    let shared = Integration { descent, ladder, factor, n_trajectories: n, seed: settings.seed };
    let m = space.len();
    let rungs = shared.ladder.len() as f64;
    let (mut unit, mut length) = (PIECE_PATH, 0.0);
    loop {
        let round = 2.0 * rungs * (BURN_IN_PATH + PIECES as f64 * unit);
        pool.each(&mut walkers, |_, walker| walker.round_trip(&shared, unit, control))?;
        length += round;
        check_memory(&walkers)?;
        let seen = shared.combine(&walkers, |_| true);
        let lags = shared.lags(&walkers);
        let found: Vec<(f64, f64)> = seen
            .log_z(&shared.descent.targets)
            .into_iter()
            .zip(&lags)
            .map(|((value, error), &lag)| (value, error.hypot(beyond_chance(lag, error))))
            .collect();
        let worst = found.iter().map(|x| x.1).fold(0.0, f64::max);
        control.report(length, worst);
        let converged = worst <= settings.tol;
        // The last round takes what is left, if that is worth while.
        let rest = (settings.max_length - length) / (2.0 * rungs);
        let next = (unit * GROWTH).min((rest - BURN_IN_PATH) / PIECES as f64);
        if converged || next < 0.5 * unit {
            let (ladder, mean_violations) = shared.profile(&walkers);
            let (layers, layer_shares) = shared.layers(&walkers);
            return Ok(EvidenceOutcome {
                values: found.iter().map(|x| x.0).collect(),
                errors: found.iter().map(|x| x.1).collect(),
                lags,
                mean_violations,
                log_share: seen.log_share(m),
                layers,
                layer_shares,
                ladder,
                length,
                converged,
            });
        }
        unit = next;
    }
}

/// Makes sure that there is room for three copies of all that was seen, and for as much again to see.
fn check_memory(walkers: &[Walker<'_>]) -> Result<()> {
    // Of a number and its key in a tree, with the tree's own.
    const ENTRY: usize = 64;
    let seen = walkers.iter().flat_map(|walker| walker.on_ladder.seen.all());
    memory::check(5 * ENTRY * seen.map(|layers| layers.len() + 1).sum::<usize>())
}

impl Integration<'_> {
    /// Half of what the trips up say of ln Z at the targets more than the trips down.
    fn lags(&self, walkers: &[Walker<'_>]) -> Vec<f64> {
        let [down, up] = [0, 1].map(|parity| {
            self.combine(walkers, |trip| trip % 2 == parity).log_z(&self.descent.targets)
        });
        let lag =
            |up: f64, down: f64| if (up - down).is_finite() { 0.5 * (up - down) } else { f64::NAN };
        up.iter().zip(down).map(|(up, down)| lag(up.0, down.0)).collect()
    }

    /// What was seen on the trips that are to be kept.
    fn combine(&self, walkers: &[Walker<'_>], keep: impl Fn(usize) -> bool) -> Stages {
        let seen = |stage| self.combine_stage(stage, walkers, &keep);
        Stages(self.descent.stages().into_iter().map(seen).collect())
    }

    fn combine_stage(
        &self,
        stage: Stage,
        walkers: &[Walker<'_>],
        keep: &impl Fn(usize) -> bool,
    ) -> Seen {
        let kept: Vec<Vec<(usize, BTreeMap<u32, f64>)>> = stage
            .rungs(&self.ladder)
            .map(|k| {
                let seen = walkers.iter().map(|walker| &walker.on_ladder.seen);
                let pieces = walker::pieces(seen, k, |_, trip| keep(trip));
                pieces.into_iter().map(|(trip, seen)| (trip, stage.by_count(seen))).collect()
            })
            .collect();
        let counts: BTreeSet<u32> =
            kept.iter().flatten().flat_map(|(_, paths)| paths.keys().copied()).collect();
        let counts: Vec<u32> = counts.into_iter().collect();
        let index = |count: &u32| counts.binary_search(count).expect("all counts are there");
        let ladder = &self.ladder[stage.rungs(&self.ladder)];
        let histogram = |(trip, paths): (usize, BTreeMap<u32, f64>)| {
            (trip, paths.iter().map(|(count, &path)| (index(count), path)).collect())
        };
        let rungs = ladder.iter().zip(kept).map(|(&s, pieces)| {
            let log_weights = counts.iter().map(|&count| -stage.loss(count, s)).collect();
            (log_weights, pieces.into_iter().map(histogram).collect())
        });
        let shares = mbar::combine(ladder, rungs, |_, state| f64::from(counts[state]));
        Seen { stage, counts, shares }
    }

    /// The rungs with the mean violations on them.
    fn profile(&self, walkers: &[Walker<'_>]) -> (Vec<f64>, Vec<f64>) {
        self.descent.profile(&self.ladder, |k, stage| {
            let paths = stage.by_count(&paths_by_layer(walkers, k..k + 1));
            let violated = paths.iter().map(|(count, path)| f64::from(*count) * path);
            violated.sum::<f64>() / paths.values().sum::<f64>()
        })
    }

    /// Given v violations the layers have the same law on every rung where both classes are alike: their shares are path over
    /// path.
    fn layers(&self, walkers: &[Walker<'_>]) -> (Vec<[u32; 2]>, Vec<f64>) {
        let paths = paths_by_layer(walkers, self.descent.stages()[0].rungs(&self.ladder));
        let mut totals = BTreeMap::new();
        for (layer, path) in &paths {
            *totals.entry(layer[0] + layer[1]).or_insert(0.0) += path;
        }
        let share = |(layer, path): ([u32; 2], f64)| (layer, path / totals[&(layer[0] + layer[1])]);
        paths.into_iter().map(share).unzip()
    }
}

/// Path by layer on some rungs.
fn paths_by_layer(walkers: &[Walker<'_>], rungs: Range<usize>) -> Layers {
    let mut paths = Layers::new();
    let seen = walkers
        .iter()
        .flat_map(|walker| rungs.clone().flat_map(|k| walker.on_ladder.seen.pieces(k)));
    for (layer, path) in seen.flatten() {
        *paths.entry(*layer).or_insert(0.0) += path;
    }
    paths
}
