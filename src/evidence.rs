//! The evidence: ln of the share of the sphere that version space takes, or that soft walls leave.
//!
//! One value comes best by a [`crate::bridge`], a whole curve over κ from a ladder of half-silvered mirrors.
//! `Z(κ) = E_sphere[κ^violations]` goes from 1 at κ = 1 to the volume of version space at κ = 0. Trajectories start
//! isotropically at κ = 1 and go down a ladder of transparencies, others start in version space and go up, so that what lags
//! behind on the way down lags the other way on the way up; [`crate::reweight`] combines what they saw.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use crate::annealing;
use crate::ball::Ball;
use crate::bridge;
use crate::control::Control;
use crate::crew::Crew;
use crate::dynamics::Geodesic;
use crate::error::{Error, Result};
use crate::factor::Factor;
use crate::gas;
use crate::light_trap;
use crate::max_margin;
use crate::mirror::Mirror;
use crate::point_space;
use crate::refresh::Refresh;
use crate::reweight::{self, Histogram, Rung, Shares};
use crate::room;
use crate::tally::{Goal, Layers};
use crate::trajectory::Trajectory;
use crate::version_space::VersionSpace;

/// Full refreshes per radian: near κ = 1 hardly anything reflects, and the refresh alone must mix.
const REFRESH_RATE: f64 = 0.5;
/// Distance of neighboring rungs in standard deviations of the violations: their laws overlap well.
const RUNG_STEP: f64 = 1.0;

/// Largest distance of neighboring rungs in s = -ln κ.
const LARGEST_STEP: f64 = 1.5;
/// Mean violations at which the ladder ends: version space is then visited most of the time.
const LAST_VIOLATIONS: f64 = 0.25;
/// s at which it ends where that never happens.
pub(crate) const LAST_S: f64 = 25.0;
/// Path on a rung while the rungs are placed, and to settle on one, radians.
const PLACING_PATH: f64 = 12.0;
const SETTLE_PATH: f64 = 2.0;
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
    /// By a bridge from a Gaussian law that was fitted to the posterior, for one target. Its rungs are not transparencies:
    /// it tells nothing but the value.
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
    /// The mirrors for which ln Z is wanted; hard ones for the volume of version space. A ladder takes mirrors that are alike for
    /// both classes.
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
    /// s = -ln κ of the rungs, rising from 0; of a bridge, how far its rungs are from the prior, from 0 to 1.
    pub ladder: Vec<f64>,
    /// Mean violations on the rungs.
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
    fn check(&self) -> Result<()> {
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
        if self.method == Method::Bridge && self.targets.len() != 1 {
            let got = format!("{} of them", self.targets.len());
            return Err(Error::invalid("targets", got, "one for a bridge"));
        }
        if self.method != Method::Bridge
            && let Some(target) =
                self.targets.iter().find(|t| (t.negative - t.positive).abs() > 0.0)
        {
            let got = format!("{} and {}", target.negative, target.positive);
            return Err(Error::invalid("targets", got, "alike for both classes on a ladder"));
        }
        Ok(())
    }

    /// The targets as s = -ln κ; infinity for hard walls.
    pub(crate) fn depths(&self) -> Vec<f64> {
        // No negative zero.
        self.targets.iter().map(|target| 0.0 - target.negative.ln()).collect()
    }
}

/// What all trajectories on the ladder share.
struct Climb<'a> {
    ladder: &'a [f64],
    factor: &'a Arc<Factor>,
    n_trajectories: usize,
    seed: u64,
}

impl Climb<'_> {
    /// The random stream of a climber's next way: the first ones are the climbers' and the scout's own.
    fn stream(&self, climber: &Climber<'_>) -> ChaCha8Rng {
        let n = self.n_trajectories;
        light_trap::stream(self.seed, n * (2 + climber.ways) + 1 + climber.index)
    }
}

/// A trajectory on its way up and down.
struct Climber<'s> {
    index: usize,
    trajectory: Trajectory<'s, Geodesic>,
    /// A hard billiard in version space, where the ways up begin; none where no point of it is known or wanted.
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

/// A point of version space, if its volume is wanted and one is found.
fn inside(
    space: &VersionSpace<'_>,
    targets: &[f64],
    control: &Control,
) -> Result<Option<Vec<f64>>> {
    if !targets.contains(&f64::INFINITY) {
        return Ok(None);
    }
    match max_margin::interior_point(space, control) {
        Ok(point) => Ok(Some(point)),
        Err(Error::Infeasible { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn mirror(s: f64) -> Mirror {
    let kappa = (-s).exp();
    Mirror { negative: kappa, positive: kappa }
}

/// Places the rungs with one trajectory on its way down: each a fixed number of standard deviations of the violations
/// from the one before, down to s = `last` or to where hardly any plane is violated.
pub(crate) fn place_rungs(
    trajectory: &mut Trajectory<'_, Geodesic>,
    last: f64,
    control: &Control,
) -> Result<Vec<f64>> {
    let mut ladder = vec![0.0];
    let mut s = 0.0;
    loop {
        trajectory.set_mirror(mirror(s));
        trajectory.reset(None);
        trajectory.run(Goal::path(SETTLE_PATH), control)?;
        trajectory.reset_counting();
        trajectory.run(Goal::path(PLACING_PATH), control)?;
        let histogram = by_violations(&trajectory.take_layers().unwrap_or_default());
        let total: f64 = histogram.iter().map(|seen| seen.1).sum();
        let mean = histogram.iter().map(|&(v, path)| v as f64 * path).sum::<f64>() / total;
        let square =
            histogram.iter().map(|&(v, path)| (v as f64 - mean).powi(2) * path).sum::<f64>()
                / total;
        if (mean <= LAST_VIOLATIONS && s > 0.0) || s >= last {
            return Ok(ladder);
        }
        // Few violations follow a law like Poisson's: a short path that saw hardly any still has that spread.
        let deviation = square.max((0.5 * mean).min(1.0)).max(0.25).sqrt();
        s = (s + (RUNG_STEP / deviation).min(LARGEST_STEP)).min(last);
        ladder.push(s);
    }
}

fn by_violations(layers: &Layers) -> Histogram {
    let mut histogram = std::collections::BTreeMap::new();
    for ([negative, positive], path) in layers {
        *histogram.entry((negative + positive) as usize).or_insert(0.0) += path;
    }
    histogram.into_iter().collect()
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
            self.follow(climb.ladder, false, unit, control)?;
            return self.follow(climb.ladder, true, unit, control);
        };
        // What the ball met on its way down is no start for a way up: where it did not find version space, neither would
        // know of it. So every way begins in equilibrium at its own end.
        home.reset(None);
        let arrivals = HOME_ARRIVALS * home.space().len() as u64;
        home.run(Goal::either(SETTLE_PATH + PIECES as f64 * unit, arrivals), control)?;
        let inside = home.ball().clone();
        let space = home.space();
        self.trajectory = isotropic(space, climb.factor, climb.stream(self), control)?;
        self.follow(climb.ladder, false, unit, control)?;
        self.trajectory = refreshed(space, inside, climb.stream(self), climb.factor);
        self.follow(climb.ladder, true, unit, control)
    }

    fn follow(&mut self, ladder: &[f64], up: bool, unit: f64, control: &Control) -> Result<()> {
        for k in order(ladder, up) {
            self.trajectory.set_mirror(mirror(ladder[k]));
            self.trajectory.reset(None);
            self.trajectory.run(Goal::path(SETTLE_PATH), control)?;
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
    settings.check()?;
    space.gram().check_in_memory()?;
    if point_space::is_one_dimensional(space.gram()) {
        return Ok(point_space::evidence(space, &settings.targets));
    }
    let crew = Crew::new(settings.n_threads.min(settings.n_trajectories), control)?;
    if settings.method == Method::Bridge {
        return bridge::evidence(space, settings.targets[0], settings, &crew, control);
    }
    let factor = Arc::new(Factor::new(space.gram(), control)?);
    let targets = settings.depths();
    let ladder = {
        let scout = light_trap::stream(settings.seed, settings.n_trajectories);
        let last = targets.iter().copied().fold(0.0, f64::max).min(LAST_S);
        place_rungs(&mut isotropic(space, &factor, scout, control)?, last, control)?
    };
    if settings.method == Method::Annealing {
        return annealing::evidence(space, settings, &factor, ladder, &crew, control);
    }
    let inside = inside(space, &targets, control)?;
    let n = settings.n_trajectories;
    gas::check_room(space, n, false, &crew)?;
    let mut climbers = crew.each(&mut vec![(); n], |i, ()| {
        let rng = light_trap::stream(settings.seed, i);
        let trajectory = isotropic(space, &factor, rng, control)?;
        let home = match &inside {
            Some(point) => {
                let mut rng = light_trap::stream(settings.seed, n + 1 + i);
                let ball = light_trap::ball_at(space, point, &mut rng, control)?;
                let mut home = refreshed(space, ball, rng, &factor);
                home.run(Goal::either(HOME_PATH, HOME_ARRIVALS * space.len() as u64), control)?;
                Some(home)
            }
            None => None,
        };
        Ok(Climber { index: i, trajectory, home, seen: vec![Vec::new(); ladder.len()], ways: 0 })
    })?;
    let climb = Climb { ladder: &ladder, factor: &factor, n_trajectories: n, seed: settings.seed };
    let m = space.len();
    let (mut unit, mut length) = (PIECE_PATH, 0.0);
    loop {
        let round = 2.0 * ladder.len() as f64 * (SETTLE_PATH + PIECES as f64 * unit);
        crew.each(&mut climbers, |_, climber| climber.climb(&climb, unit, control))?;
        length += round;
        check_room(&climbers)?;
        let shares = combine(&ladder, &climbers, m, |_| true);
        let lags = lags(&ladder, &climbers, m, &targets);
        let found: Vec<(f64, f64)> = targets
            .iter()
            .zip(&lags)
            .map(|(&s, &lag)| {
                let (value, error) = log_z(&shares, s);
                (value, error.hypot(beyond_chance(lag, error)))
            })
            .collect();
        let worst = found.iter().map(|x| x.1).fold(0.0, f64::max);
        control.report(length, worst);
        let converged = worst <= settings.tol;
        // The last round takes what is left, if that is worth while.
        let rest = (settings.max_length - length) / (2.0 * ladder.len() as f64);
        let next = (unit * GROWTH).min((rest - SETTLE_PATH) / PIECES as f64);
        if converged || next < 0.5 * unit {
            return Ok(EvidenceOutcome {
                values: found.iter().map(|x| x.0).collect(),
                errors: found.iter().map(|x| x.1).collect(),
                lags,
                mean_violations: shares.means(|v| v as f64),
                log_share: shares.log_share,
                layers: layers(&climbers),
                ladder,
                length,
                converged,
            });
        }
        unit = next;
    }
}

/// Makes sure that there is room for three copies of all that was seen, and for as much again to see.
fn check_room(climbers: &[Climber<'_>]) -> Result<()> {
    // Of a number and its key in a tree, with the tree's own.
    const ENTRY: usize = 64;
    let seen = climbers.iter().flat_map(|climber| climber.seen.iter().flatten());
    room::check(5 * ENTRY * seen.map(|(_, layers)| layers.len() + 1).sum::<usize>())
}

/// ln Z at κ = e^-s.
fn log_z(shares: &Shares, s: f64) -> (f64, f64) {
    shares.log_z(|v| if v == 0 { 0.0 } else { -s * v as f64 })
}

/// The bias that a lag leaves in ln Z, as far as its standard error does not explain it.
///
/// Lags of both ways cancel to first order. But the ways down are further off than those up, and more so the harder
/// version space is to find: of the lag, a third was left on teacher problems and half where an example stood alone among
/// the other class.
pub(crate) fn beyond_chance(lag: f64, error: f64) -> f64 {
    if lag.is_nan() { f64::INFINITY } else { (lag.abs() - CHANCE * error).max(0.0) }
}

/// Half of what the ways up say of ln Z at the targets more than the ways down.
fn lags(ladder: &[f64], climbers: &[Climber<'_>], m: usize, targets: &[f64]) -> Vec<f64> {
    let [down, up] = [0, 1].map(|parity| combine(ladder, climbers, m, |way| way % 2 == parity));
    targets.iter().map(|&s| 0.5 * (log_z(&up, s).0 - log_z(&down, s).0)).collect()
}

/// What was seen on the ways that are to be kept, in one law of the violations.
fn combine(
    ladder: &[f64],
    climbers: &[Climber<'_>],
    m: usize,
    keep: impl Fn(usize) -> bool,
) -> Shares {
    let mut rungs: Vec<Rung> = ladder
        .iter()
        .enumerate()
        .map(|(k, &s)| Rung {
            log_weights: (0..=m).map(|v| -s * v as f64).collect(),
            theta: 0.0,
            pieces: climbers
                .iter()
                .enumerate()
                .flat_map(|(i, climber)| {
                    let number = move |way: usize| way * climbers.len() + i;
                    let pieces = climber.seen[k].iter().filter(|(way, _)| keep(*way));
                    pieces.map(move |(way, seen)| (number(*way), by_violations(seen)))
                })
                .collect(),
        })
        .collect();
    let means: Vec<f64> = rungs.iter().map(|rung| rung.mean(|v| v as f64)).collect();
    for (rung, theta) in rungs.iter_mut().zip(reweight::integrate(ladder, &means)) {
        rung.theta = theta;
    }
    Shares::new(rungs)
}

/// Given v violations the layers have the same law on every rung: their shares are path over path.
fn layers(climbers: &[Climber<'_>]) -> Vec<(u32, u32, f64)> {
    let mut table = std::collections::BTreeMap::new();
    let mut totals = std::collections::BTreeMap::new();
    for (_, seen) in climbers.iter().flat_map(|climber| climber.seen.iter().flatten()) {
        for (&[negative, positive], path) in seen {
            *table.entry((negative, positive)).or_insert(0.0) += path;
            *totals.entry(negative + positive).or_insert(0.0) += path;
        }
    }
    table
        .into_iter()
        .map(|((negative, positive), path): (_, f64)| {
            let total: f64 = totals[&(negative + positive)];
            (negative, positive, path / total)
        })
        .collect()
}
