//! The evidence: ln of the share of the sphere that version space takes, or that soft walls leave.
//!
//! The volume comes best by a [`crate::evidence::bridge`]; behind walls that let through, where the posterior has more than one mode, and a
//! whole curve over κ, from a ladder of half-silvered mirrors. `Z(κ) = E_sphere[κ^violations]` goes from 1 at κ = 1 to the volume
//! of version space at κ = 0. Trajectories start isotropically at κ = 1 and go down a ladder of transparencies, others start in
//! version space and go up, so that what lags behind on the way down lags the other way on the way up; [`crate::evidence::mbar`]
//! combines what they saw.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use crate::ball::Ball;
use crate::ball::laying;
use crate::base::control::Control;
use crate::base::error::{Error, Result};
use crate::base::memory;
use crate::base::random;
use crate::ensemble::chain;
use crate::ensemble::pool::WorkerPool;
use crate::evidence::annealing;
use crate::evidence::bridge;
use crate::evidence::ladder::{BURN_IN_PATH, Descent, Seen, Stage, Stages};
use crate::evidence::mbar::{self, Rung, Shares};
use crate::evidence::one_dimensional_evidence;
use crate::interior;
use crate::interior::conflicts;
use crate::interior::max_margin;
use crate::linalg::factor::Factor;
use crate::space::mirror::Mirror;
use crate::space::one_dimensional;
use crate::space::version_space::VersionSpace;
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::event_loop::Trajectory;
use crate::trajectory::refresh::Refresh;
use crate::trajectory::tally::{Goal, Layers};

/// Full refreshes per radian: near κ = 1 hardly anything reflects, and the refresh alone must mix.
const REFRESH_RATE: f64 = 0.5;
/// Path from the first point inside version space before it is a start, radians.
const HOME_PATH: f64 = 20.0;
/// Arrivals at walls, for each plane, at which a stretch of path in version space ends all the same.
const HOME_ARRIVALS: u64 = 100;
/// Pieces of path of a trajectory on a rung and direction.
const PIECES: usize = 4;
/// Path of a piece in the first round, radians; it grows from round to round.
const PIECE_PATH: f64 = 2.0;
const GROWTH: f64 = 1.5;
/// Standard errors that a lag may have by chance.
const CHANCE: f64 = 2.0;

/// How ln Z is estimated along the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By what trajectories in equilibrium see on every rung of a ladder of transparencies.
    Integration,
    /// By annealed importance sampling along that ladder.
    Annealing,
    /// By a bridge from a Gaussian law that was fitted to version space, for its volume alone. Its rungs are not
    /// transparencies: it tells nothing but the value.
    Bridge,
}

/// Settings of an evidence run.
#[derive(Clone, Debug)]
pub struct EvidenceSettings {
    /// Number of trajectories, each down and up the ladder.
    pub n_trajectories: usize,
    /// Standard error of every ln Z to be reached, nats.
    pub tol: f64,
    /// Path per trajectory at which to stop all the same, radians.
    pub max_length: f64,
    /// The mirrors for which ln Z is wanted; hard ones for the volume of version space. A ladder leads to one mirror, or to
    /// several that are alike for both classes.
    pub targets: Vec<Mirror>,
    /// How.
    pub method: Method,
    /// Worker threads.
    pub n_threads: usize,
    /// Seed.
    pub seed: u64,
}

impl Default for EvidenceSettings {
    fn default() -> Self {
        Self {
            n_trajectories: 4,
            tol: 0.1,
            max_length: 1e5,
            targets: vec![Mirror::HARD],
            method: Method::Bridge,
            n_threads: 1,
            seed: 0,
        }
    }
}

/// What an evidence run found.
#[derive(Clone, Debug)]
pub struct EvidenceOutcome {
    /// ln Z at each target, nats; -∞ where version space was never entered.
    pub values: Vec<f64>,
    /// Standard errors, nats.
    pub errors: Vec<f64>,
    /// Half of what the ways up the ladder say more than the ways down, nats: trajectories that lag behind the ladder put the
    /// first too high and the second too low. NaN where there are no ways up, or one entered version space and the
    /// other did not.
    pub lags: Vec<f64>,
    /// s of the rungs, rising from 0: -ln κ, of the harder walls where the classes differ; of a bridge, how far its rungs are from
    /// the prior, from 0 to 1.
    pub ladder: Vec<f64>,
    /// Mean violations on the rungs, of the classes that go on from there: `-d ln Z / ds`. Where one class stays behind there is a
    /// rung for both and the same for the other.
    pub mean_violations: Vec<f64>,
    /// ln of the share of the sphere that violates v planes, shape (m + 1,); -∞ where none was seen.
    pub log_share: Vec<f64>,
    /// Shares of the layers (violated of label -1, of label +1) in the path that violates as many: rows of
    /// (n_-, n_+, share).
    pub layers: Vec<(u32, u32, f64)>,
    /// Path per trajectory, radians.
    pub length: f64,
    /// Whether every error reached the tolerance.
    pub converged: bool,
}

impl EvidenceSettings {
    /// Checks them, and says which way leads to the targets.
    fn check(&self) -> Result<Descent> {
        for (name, count) in
            [("n_trajectories", self.n_trajectories), ("n_threads", self.n_threads)]
        {
            if count == 0 {
                return Err(Error::invalid(name, count, "at least 1"));
            }
        }
        for (name, x) in [("tol", self.tol), ("max_length", self.max_length)] {
            if !(x > 0.0 && x.is_finite()) {
                return Err(Error::invalid(name, x, "positive and finite"));
            }
        }
        for target in &self.targets {
            Mirror::new(target.negative, target.positive)?;
        }
        if self.method == Method::Bridge && self.targets != [Mirror::HARD] {
            let got = format!("{:?}", self.targets);
            return Err(Error::invalid("targets", got, "hard walls alone for a bridge"));
        }
        Descent::to(&self.targets).ok_or_else(|| {
            let got = format!("{:?}", self.targets);
            Error::invalid("targets", got, "one, or several that are alike for both classes")
        })
    }
}

/// What all trajectories on the ladder share.
struct Climb<'a> {
    descent: Descent,
    ladder: Vec<f64>,
    factor: &'a Arc<Factor>,
    n_trajectories: usize,
    seed: u64,
}

impl Climb<'_> {
    /// The random stream of a climber's next way: the first ones are the climbers' and the scout's own.
    fn stream(&self, climber: &Climber<'_>) -> ChaCha8Rng {
        let n = self.n_trajectories;
        random::stream(self.seed, n * (2 + climber.ways) + 1 + climber.index)
    }
}

/// A trajectory on its way up and down.
struct Climber<'s> {
    index: usize,
    trajectory: Trajectory<'s, Geodesic>,
    /// A billiard at the last target from a point of version space, where the ways up begin; none where no point is known.
    home: Option<Trajectory<'s, Geodesic>>,
    /// What it saw on each rung, piece by piece, with the number of the way.
    seen: Vec<Vec<(usize, Layers)>>,
    ways: usize,
}

/// A trajectory from an isotropic position and direction, with full refresh.
pub(crate) fn isotropic<'s>(
    space: &'s VersionSpace<'s>,
    factor: &Arc<Factor>,
    mut rng: ChaCha8Rng,
    control: &Control,
) -> Result<Trajectory<'s, Geodesic>> {
    let (position, direction) = (factor.draw(&mut rng).dual, factor.draw(&mut rng).dual);
    let ball = Ball::new(space.gram(), &position, &direction, control)?;
    Ok(refreshed(space, ball, rng, factor))
}

/// A trajectory from a ball, with full refresh.
fn refreshed<'s>(
    space: &'s VersionSpace<'s>,
    ball: Ball,
    rng: ChaCha8Rng,
    factor: &Arc<Factor>,
) -> Trajectory<'s, Geodesic> {
    let mut trajectory = Trajectory::new(space, Geodesic, ball, rng);
    trajectory.set_refresh(Refresh::Full { rate: REFRESH_RATE, source: Arc::clone(factor) as _ });
    trajectory
}

/// What is in version space behind walls that let through, if it is found: where double precision or memory give out the ways
/// down see what there is. With hard walls they may not, and that is an error.
fn found<T>(inside: Result<T>, targets: &[Mirror]) -> Result<Option<T>> {
    match inside {
        Ok(inside) => Ok(Some(inside)),
        Err(Error::Infeasible { .. }) => Ok(None),
        Err(Error::Breakdown { .. } | Error::Memory { .. })
            if targets.iter().all(|target| target.negative.min(target.positive) > 0.0) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A point from which ways up begin: inside version space if that is found, and where the walls of one class alone are hard,
/// on its side of them.
///
/// # Errors
///
/// [`Error::Infeasible`] where that class alone leaves nothing.
fn inside(
    space: &VersionSpace<'_>,
    settings: &EvidenceSettings,
    control: &Control,
) -> Result<Option<Vec<f64>>> {
    let [negative, positive] = space.class_counts();
    let is_hard = |target: Mirror| {
        [target.negative == 0.0 && negative > 0, target.positive == 0.0 && positive > 0]
    };
    if let [target] = settings.targets[..]
        && let [true, false] | [false, true] = is_hard(target)
        && !target.is_hard()
    {
        conflicts::check(space, target, control)?;
        return interior::hard_point(space, target, control).map(Some);
    }
    match settings.method {
        Method::Integration => found(max_margin::interior_point(space, control), &settings.targets),
        _ => Ok(None),
    }
}

/// Rungs in the order of a way down or up.
fn order(ladder: &[f64], up: bool) -> Vec<usize> {
    let down = 0..ladder.len();
    if up { down.rev().collect() } else { down.collect() }
}

impl Climber<'_> {
    /// Once down and once up the ladder, with `PIECES` pieces of `unit` radians on each rung and way.
    fn climb(&mut self, climb: &Climb<'_>, unit: f64, control: &Control) -> Result<()> {
        let Some(home) = &mut self.home else {
            self.follow(climb, false, unit, control)?;
            return self.follow(climb, true, unit, control);
        };
        // What the ball met on its way down is no start for a way up: where it did not find version space, neither would
        // know of it. So every way begins in equilibrium at its own end.
        home.reset(None);
        let arrivals = HOME_ARRIVALS * home.space().len() as u64;
        home.run(Goal::either(BURN_IN_PATH + PIECES as f64 * unit, arrivals), control)?;
        let inside = home.ball().clone();
        let space = home.space();
        self.trajectory = isotropic(space, climb.factor, climb.stream(self), control)?;
        self.follow(climb, false, unit, control)?;
        self.trajectory = refreshed(space, inside, climb.stream(self), climb.factor);
        self.follow(climb, true, unit, control)
    }

    fn follow(&mut self, climb: &Climb<'_>, up: bool, unit: f64, control: &Control) -> Result<()> {
        for k in order(&climb.ladder, up) {
            self.trajectory.set_mirror(climb.descent.mirror(climb.ladder[k]));
            self.trajectory.reset(None);
            self.trajectory.run(Goal::path(BURN_IN_PATH), control)?;
            for _ in 0..PIECES {
                self.trajectory.reset_counting();
                self.trajectory.run(Goal::path(unit), control)?;
                let seen = self.trajectory.take_layers().unwrap_or_default();
                self.seen[k].push((self.ways, seen));
            }
        }
        self.ways += 1;
        Ok(())
    }
}

/// ln Z(κ) at the targets, with one ladder for all.
///
/// # Errors
///
/// [`Error::Invalid`] for settings out of range, [`Error::Breakdown`] for a matrix that is not positive semi-definite,
/// [`Error::Interrupted`].
pub fn evidence(
    space: &VersionSpace<'_>,
    settings: &EvidenceSettings,
    control: &Control,
) -> Result<EvidenceOutcome> {
    let descent = settings.check()?;
    space.gram().check_in_memory()?;
    let inside = inside(space, settings, control)?;
    if one_dimensional::is_one_dimensional(space.gram()) {
        return Ok(one_dimensional_evidence::evidence(space, &settings.targets));
    }
    let pool = WorkerPool::new(settings.n_threads.min(settings.n_trajectories), control)?;
    if settings.method == Method::Bridge {
        return bridge::evidence(space, settings, &pool, control);
    }
    let factor = Arc::new(Factor::new(space.gram(), control)?);
    let ladder = {
        let scout = random::stream(settings.seed, settings.n_trajectories);
        descent.place_rungs(&mut isotropic(space, &factor, scout, control)?, control)?
    };
    if settings.method == Method::Annealing {
        return annealing::evidence(space, settings, &factor, (descent, ladder), &pool, control);
    }
    let n = settings.n_trajectories;
    chain::check_memory(space, n, false, &pool)?;
    let home = |point: &Vec<f64>, i: usize| {
        let mut rng = random::stream(settings.seed, n + 1 + i);
        let ball = laying::ball_at(space.gram(), point, &mut rng, control)?;
        let mut home = refreshed(space, ball, rng, &factor);
        home.set_mirror(descent.last());
        home.run(Goal::either(HOME_PATH, HOME_ARRIVALS * space.len() as u64), control)?;
        Ok(home)
    };
    let mut climbers = pool.each(&mut vec![(); n], |i, ()| {
        let rng = random::stream(settings.seed, i);
        let trajectory = isotropic(space, &factor, rng, control)?;
        let home = match &inside {
            Some(point) => found(home(point, i), &settings.targets)?,
            None => None,
        };
        Ok(Climber { index: i, trajectory, home, seen: vec![Vec::new(); ladder.len()], ways: 0 })
    })?;
    let climb = Climb { descent, ladder, factor: &factor, n_trajectories: n, seed: settings.seed };
    let m = space.len();
    let rungs = climb.ladder.len() as f64;
    let (mut unit, mut length) = (PIECE_PATH, 0.0);
    loop {
        let round = 2.0 * rungs * (BURN_IN_PATH + PIECES as f64 * unit);
        pool.each(&mut climbers, |_, climber| climber.climb(&climb, unit, control))?;
        length += round;
        check_memory(&climbers)?;
        let seen = climb.combine(&climbers, |_| true);
        let lags = climb.lags(&climbers);
        let found: Vec<(f64, f64)> = seen
            .log_z(&climb.descent.targets)
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
            let (ladder, mean_violations) = climb.profile(&climbers);
            return Ok(EvidenceOutcome {
                values: found.iter().map(|x| x.0).collect(),
                errors: found.iter().map(|x| x.1).collect(),
                lags,
                mean_violations,
                log_share: seen.log_share(m),
                layers: climb.layers(&climbers),
                ladder,
                length,
                converged,
            });
        }
        unit = next;
    }
}

/// Makes sure that there is room for three copies of all that was seen, and for as much again to see.
fn check_memory(climbers: &[Climber<'_>]) -> Result<()> {
    // Of a number and its key in a tree, with the tree's own.
    const ENTRY: usize = 64;
    let seen = climbers.iter().flat_map(|climber| climber.seen.iter().flatten());
    memory::check(5 * ENTRY * seen.map(|(_, layers)| layers.len() + 1).sum::<usize>())
}

/// The bias that a lag leaves in ln Z, as far as its standard error does not explain it.
///
/// Lags of both ways cancel to first order. But the ways down are further off than those up, and more so the harder
/// version space is to find: of the lag, a third was left on teacher problems and half where an example stood alone among
/// the other class.
pub(crate) fn beyond_chance(lag: f64, error: f64) -> f64 {
    if lag.is_nan() { f64::INFINITY } else { (lag.abs() - CHANCE * error).max(0.0) }
}

impl Climb<'_> {
    /// Half of what the ways up say of ln Z at the targets more than the ways down.
    fn lags(&self, climbers: &[Climber<'_>]) -> Vec<f64> {
        let [down, up] = [0, 1].map(|parity| {
            self.combine(climbers, |way| way % 2 == parity).log_z(&self.descent.targets)
        });
        let lag =
            |up: f64, down: f64| if (up - down).is_finite() { 0.5 * (up - down) } else { f64::NAN };
        up.iter().zip(down).map(|(up, down)| lag(up.0, down.0)).collect()
    }

    /// What was seen on the ways that are to be kept.
    fn combine(&self, climbers: &[Climber<'_>], keep: impl Fn(usize) -> bool) -> Stages {
        let seen = |stage| self.combine_stage(stage, climbers, &keep);
        Stages(self.descent.stages().into_iter().map(seen).collect())
    }

    fn combine_stage(
        &self,
        stage: Stage,
        climbers: &[Climber<'_>],
        keep: &impl Fn(usize) -> bool,
    ) -> Seen {
        let kept: Vec<Vec<(usize, BTreeMap<u32, f64>)>> = stage
            .rungs(&self.ladder)
            .map(|k| {
                let of_rung = climbers.iter().enumerate().flat_map(|(i, climber)| {
                    let number = move |way: usize| way * climbers.len() + i;
                    let pieces = climber.seen[k].iter().filter(|(way, _)| keep(*way));
                    pieces.map(move |(way, seen)| (number(*way), stage.by_count(seen)))
                });
                of_rung.collect()
            })
            .collect();
        let counts: BTreeSet<u32> =
            kept.iter().flatten().flat_map(|(_, paths)| paths.keys().copied()).collect();
        let counts: Vec<u32> = counts.into_iter().collect();
        let index = |count: &u32| counts.binary_search(count).expect("all counts are there");
        let ladder = &self.ladder[stage.rungs(&self.ladder)];
        let mut rungs: Vec<Rung> = ladder
            .iter()
            .zip(kept)
            .map(|(&s, pieces)| Rung {
                log_weights: counts.iter().map(|&count| -stage.loss(count, s)).collect(),
                theta: 0.0,
                pieces: pieces
                    .into_iter()
                    .map(|(way, paths)| {
                        (way, paths.iter().map(|(count, &path)| (index(count), path)).collect())
                    })
                    .collect(),
            })
            .collect();
        let means: Vec<f64> =
            rungs.iter().map(|rung| rung.mean(|state| f64::from(counts[state]))).collect();
        for (rung, theta) in rungs.iter_mut().zip(mbar::integrate(ladder, &means)) {
            rung.theta = theta;
        }
        Seen { stage, counts, shares: Shares::new(rungs) }
    }

    /// The rungs with the mean violations on them.
    fn profile(&self, climbers: &[Climber<'_>]) -> (Vec<f64>, Vec<f64>) {
        self.descent.profile(&self.ladder, |k, stage| {
            let paths = stage.by_count(&paths_by_layer(climbers, k..k + 1));
            let violated = paths.iter().map(|(count, path)| f64::from(*count) * path);
            violated.sum::<f64>() / paths.values().sum::<f64>()
        })
    }

    /// Given v violations the layers have the same law on every rung where both classes are alike: their shares are path over
    /// path.
    fn layers(&self, climbers: &[Climber<'_>]) -> Vec<(u32, u32, f64)> {
        let paths = paths_by_layer(climbers, self.descent.stages()[0].rungs(&self.ladder));
        let mut totals = BTreeMap::new();
        for (layer, path) in &paths {
            *totals.entry(layer[0] + layer[1]).or_insert(0.0) += path;
        }
        let share = |(layer, path): ([u32; 2], f64)| {
            (layer[0], layer[1], path / totals[&(layer[0] + layer[1])])
        };
        paths.into_iter().map(share).collect()
    }
}

/// Path by layer on some rungs.
fn paths_by_layer(climbers: &[Climber<'_>], rungs: Range<usize>) -> Layers {
    let mut paths = Layers::new();
    let seen = climbers.iter().flat_map(|climber| climber.seen[rungs.clone()].iter().flatten());
    for (layer, path) in seen.flat_map(|(_, seen)| seen) {
        *paths.entry(*layer).or_insert(0.0) += path;
    }
    paths
}
