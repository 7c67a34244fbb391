//! The volume of version space by a bridge from a Gaussian distribution, whose share inside is estimated, to the isotropic one.
//!
//! A weight vector w of the span, r dimensions, has the component `b = <c, w>` along the unit vector c of a center, and the
//! deviations `e_i = <w, φ_i> - b <c, φ_i>` of its plane coordinates from those of b c. The distributions
//!
//! ```text
//! p_t(w) ∝ Q_t(w)^(-r/2),     Q_t(w) = |w|² + t (Σ_i τ_i e_i² - γ b²),     0 ≤ t ≤ 1
//! ```
//!
//! of the directions of w are those of Gaussian vectors with inverse covariance Q_t. At t = 0 it is the prior; at t = 1 it is so
//! concentrated around c that a good part of it lies in version space. For every t the walls cut out the same region, and the
//! billiard with the Gram matrix `K_t = Φ Σ_t Φᵀ` samples the distribution there, since a linear map makes it isotropic. All
//! these distributions have a single mode, so that no part of it is discovered late, as on a ladder of transparencies. Behind
//! half-silvered walls there may be many modes, and the error would not show those that were missed: a bridge is for hard walls
//! alone. The scheme is that of Gaussian cooling (Cousins and Vempala, 2015) with the estimator of [`crate::evidence::mbar`].

mod gaussians;
mod placing;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ball::Ball;
use crate::base::{Control, Error, Result, Stream, random, require_sound};
use crate::ensemble::{Settings, WorkerPool, burn_in, chain};
use crate::evidence::mbar::{self, Rung, sum_by_key};
use crate::evidence::walker::{self, RungSamples, bias_of_lag};
use crate::evidence::{EvidenceOutcome, EvidenceSettings};
use crate::gram::Gram;
use crate::linalg::{Factor, Isotropic};
use crate::simd::dot::dot;
use crate::space::VersionSpace;
use crate::trajectory::{Geodesic, Goal, RefreshChoice, Trajectory};
use gaussians::{Drawn, Gaussians, Inner, Point};
use placing::{Level, measure, place};

/// Accepted share of draws in version space; else precisions are multiplied by `NARROWING`, up to `MAX_TRIALS` times.
const TRIAL_DRAWS: usize = 128;
const LEAST_SHARE: f64 = 0.05;
const NARROWING: f64 = 2.5;
const MAX_TRIALS: usize = 40;
/// Burn-in of a trip on a rung, in samples.
const BURN_IN_SAMPLES: usize = 10;
/// Pieces of path of a trip on a rung, and samples in a piece of the first round; they grow by half from round to round.
const PIECES: usize = 4;
const PIECE_SAMPLES: usize = 8;
/// Draws at t = 1 for every sample of a piece.
const DRAWS: usize = 4;
/// Width of the bins of -ln p_1, nats. Each is represented by its mean: the error is at most half the variance in a bin.
const BIN: f64 = 0.05;
/// Numbers in memory for each sample.
const COPIES: usize = 8;

/// Relative distance of a ball from its start: beyond `NEAR` dual coefficients are recomputed, beyond `OFF` it is an error.
const NEAR: f64 = 1e-8;
const OFF: f64 = 1e-3;

/// The trip of a piece of path, and the statistics x of its samples.
type Piece = (usize, Vec<f64>);

struct BridgeWalker<'s> {
    /// The billiard of the prior, where the trips up begin.
    home: Trajectory<'s, Geodesic>,
    /// Where the next trip down begins.
    start: Point,
    /// Statistics of the samples on each rung.
    samples: RungSamples<Vec<f64>>,
    /// Statistics of the draws at t = 1 that were in version space, piece by piece.
    draws: Vec<Vec<f64>>,
    streams: usize,
}

/// Returns the distance of plane coordinates from a multiple of others, relative to the largest of them.
fn distance(field: &[f64], other: &[f64]) -> f64 {
    let scale = dot(field, other) / dot(other, other);
    let largest = field.iter().fold(0.0, |most: f64, f| most.max(f.abs()));
    let parts = field.iter().zip(other).map(|(f, g)| (f - scale * g).abs());
    parts.fold(0.0, f64::max) / largest
}

struct Bridge<'a> {
    space: &'a VersionSpace<'a>,
    gaussians: &'a Gaussians,
    inner: &'a Inner,
    factor: &'a Factor,
    /// The levels, with the version spaces of their billiards.
    rungs: &'a [(Level, VersionSpace<'a>)],
    n_trajectories: usize,
    seed: u64,
    control: &'a Control,
}

impl Bridge<'_> {
    /// The next random stream of a walker. The first streams belong to the walkers and the pilot.
    fn stream(&self, index: usize, walker: &mut BridgeWalker) -> Stream {
        walker.streams += 1;
        random::stream(self.seed, self.n_trajectories * (walker.streams + 1) + 1 + index)
    }

    /// Returns a trajectory on rung k that begins at a point; [`Error::Breakdown`] if the ball is not there.
    ///
    /// The dual coefficients of a point from another rung are as accurate as the variances there, which are differences of
    /// entries of the Gram matrix. Where these cancel, on the rung of the prior, they are recomputed from plane coordinates.
    fn launch(
        &self,
        k: usize,
        (dual, field): &Point,
        mut rng: Stream,
    ) -> Result<Trajectory<'_, Geodesic>> {
        let ((level, space), control) = (&self.rungs[k], self.control);
        let mut dual = dual.clone();
        self.gaussians.carry(&mut dual, field, 0.0, level.t);
        let direction = level.source.draw(&mut rng).dual;
        let gram = space.gram();
        let mut ball = Ball::new(gram, &dual, &direction, control)?;
        if k == 0 && distance(ball.f(), field) > NEAR {
            let coordinates = self.factor.coordinates(field);
            ball = Ball::new(gram, &self.factor.vector(coordinates).dual, &direction, control)?;
        }
        let off = distance(ball.f(), field);
        require_sound(off <= OFF, "distance of a ball from its start", off)?;
        let mut trajectory = Trajectory::new(space, Geodesic, ball, rng);
        trajectory.set_refresh(level.refresh());
        Ok(trajectory)
    }

    fn sample(
        &self,
        k: usize,
        trajectory: &mut Trajectory<Geodesic>,
        samples: &mut RungSamples<Vec<f64>>,
        piece_samples: usize,
    ) -> Result<Point> {
        let (&Level { t, path, .. }, control) = (&self.rungs[k].0, self.control);
        trajectory.reset();
        trajectory.run(Goal::path(BURN_IN_SAMPLES as f64 * path), control)?;
        trajectory.reset();
        for piece in 0..PIECES {
            let numbers = piece * piece_samples + 1..=(piece + 1) * piece_samples;
            let statistics = numbers.map(|number| {
                trajectory.run(Goal::path(number as f64 * path), control)?;
                Ok(self.gaussians.statistic(t, trajectory.ball().f()))
            });
            samples.push(k, statistics.collect::<Result<_>>()?);
        }
        let ball = trajectory.ball();
        let (mut dual, field) = (ball.position(0.0), ball.f().to_vec());
        self.gaussians.carry(&mut dual, &field, t, 0.0);
        Ok((dual, field))
    }

    /// Draws at t = 1, then makes a trip down from one of the draws and a trip up from home.
    fn round_trip(&self, index: usize, walker: &mut BridgeWalker, count: usize) -> Result<()> {
        let mut rng = self.stream(index, walker);
        for _ in 0..PIECES {
            self.control.check()?;
            let n = count * DRAWS;
            let draws = gaussians::draw(n, self.space, self.gaussians, self.inner, &mut rng);
            if let Some(point) = gaussians::choose(&draws, &mut rng) {
                walker.start = point;
            }
            walker.draws.push(gaussians::inside(&draws));
        }
        let visit = |walker: &mut BridgeWalker, k: usize, point: &Point| {
            let mut trajectory = self.launch(k, point, self.stream(index, walker))?;
            self.sample(k, &mut trajectory, &mut walker.samples, count)
        };
        let top = self.rungs.len();
        let mut point = walker.start.clone();
        for k in (0..top).rev() {
            point = visit(walker, k, &point)?;
        }
        walker.samples.trip += 1;
        point = self.sample(0, &mut walker.home, &mut walker.samples, count)?;
        for k in 1..top {
            point = visit(walker, k, &point)?;
        }
        walker.samples.trip += 1;
        Ok(())
    }

    /// Returns the pieces on each rung of the trips that `keep` selects, and at last the draws at t = 1, as trips of their own.
    fn pieces(&self, walkers: &[BridgeWalker], keep: impl Fn(usize) -> bool) -> Vec<Vec<Piece>> {
        let on_rung = |k| {
            let samples = walkers.iter().map(|walker| &walker.samples);
            walker::pieces(samples, k, |_, trip| keep(trip), Vec::clone)
        };
        let mut pieces: Vec<Vec<Piece>> = (0..self.rungs.len()).map(on_rung).collect();
        let trips = walkers.len() * walkers[0].samples.trip;
        let draws = walkers.iter().flat_map(|walker| &walker.draws).cloned().enumerate();
        pieces.push(draws.map(|(number, piece)| (trips + number, piece)).collect());
        pieces
    }
}

/// Narrows the distribution at t = 1 until a good part of it is in version space; returns the last draws too.
fn narrow(
    space: &VersionSpace,
    gaussians: &mut Gaussians,
    rng: &mut Stream,
    control: &Control,
) -> Result<(Inner, Vec<Drawn>)> {
    let mut share = 0.0;
    for _ in 0..MAX_TRIALS {
        let inner = gaussians.inner(1.0, control)?;
        let draws = gaussians::draw(TRIAL_DRAWS, space, gaussians, &inner, rng);
        share = gaussians::inside(&draws).len() as f64 / TRIAL_DRAWS as f64;
        if share >= LEAST_SHARE {
            return Ok((inner, draws));
        }
        gaussians.tighten(NARROWING);
    }
    let what = "share of a Gaussian distribution in the version space it was fitted to";
    Err(Error::Breakdown { what, value: share })
}

/// Converts an error on a rung, where the Gram matrix itself is good. The variances of a distribution that is 1e4 or more times
/// narrower across some plane than the prior are differences that lose their digits.
fn too_narrow(error: Error) -> Error {
    let value = match error {
        Error::Breakdown { value, .. } => value,
        Error::Invalid { .. } => f64::NAN,
        other => return other,
    };
    let what = "squared length of a vector under a Gaussian distribution of the bridge, for which version space is too narrow \
                (a ladder of transparencies, as for label_noise=[0, 0.4], needs no bridge)";
    Error::Breakdown { what, value }
}

/// Returns ln of the volume of version space.
pub fn evidence(
    space: &VersionSpace,
    settings: &EvidenceSettings,
    pool: &WorkerPool,
    control: &Control,
) -> Result<EvidenceOutcome> {
    let n = settings.n_trajectories;
    let run = Settings {
        n_trajectories: n,
        refresh: RefreshChoice::Pair(Some(1.0)),
        seed: settings.seed,
        ..Settings::default()
    };
    chain::check_memory(space, n, false, pool)?;
    let mut homes = burn_in::trajectories(space, &run, pool)?;
    let factor = Arc::new(Factor::new(space.gram(), control)?);
    let isotropic: Arc<dyn Isotropic> = Arc::clone(&factor) as _;
    let spacings = pool.each(&mut homes, |_, home| measure(home, &isotropic, control))?;
    // The longest path: a ball in a corner meets only the walls there.
    let longest = spacings.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let (path, rate) = longest.expect("at least one");
    // Declared before the rungs, which borrow their matrices from it.
    let places;
    let prior = Level { t: 0.0, path, rate, source: isotropic };
    for home in &mut homes {
        home.set_refresh(prior.refresh());
    }
    let mut rungs = vec![(prior, space.clone())];
    let mut gaussians = Gaussians::fit(space.gram(), &factor, &mut homes, path, pool)?;
    let mut rng = random::stream(settings.seed, n);
    let (inner, draws) = narrow(space, &mut gaussians, &mut rng, control)?;
    let gaussians = Arc::new(gaussians);
    let mut start = || gaussians::choose(&draws, &mut rng).expect("their share is positive");
    let starts: Vec<Point> = (0..=n).map(|_| start()).collect();
    let first = starts[n].clone();
    places = place(space, &gaussians, &draws, first, &mut rng, pool).map_err(too_narrow)?;
    for (level, matrix) in places.iter().rev() {
        let gram = Gram::new(matrix, 0.0, vec![0.0; space.len()]).map_err(too_narrow)?;
        rungs.push((level.clone(), space.mapped(gram)));
    }
    let bridge = Bridge {
        space,
        gaussians: &gaussians,
        inner: &inner,
        factor: &factor,
        rungs: &rungs,
        n_trajectories: n,
        seed: settings.seed,
        control,
    };
    let mut walkers: Vec<BridgeWalker> = homes
        .into_iter()
        .zip(starts)
        .map(|(home, start)| BridgeWalker {
            home,
            start,
            samples: RungSamples::default(),
            draws: Vec::new(),
            streams: 0,
        })
        .collect();
    let scale = gaussians.log_scale(&inner);
    let ladder: Vec<f64> = rungs.iter().map(|(level, _)| level.t).chain([1.0]).collect();
    let spacings: f64 = rungs.iter().map(|(level, _)| level.path).sum();
    let round = |samples: usize| 2.0 * spacings * (BURN_IN_SAMPLES + PIECES * samples) as f64;
    let (mut samples, mut drawn, mut length) = (PIECE_SAMPLES, 0, 0.0);
    loop {
        let more = 2 * PIECES * samples * (rungs.len() + DRAWS);
        let pieces = walkers.iter().flat_map(|walker| walker.samples.all().chain(&walker.draws));
        let so_far: usize = pieces.map(Vec::len).sum();
        pool.check_memory(COPIES, n * more + so_far, 1)?;
        chain::check_memory(space, n, false, pool)?;
        pool.each(&mut walkers, |index, walker| bridge.round_trip(index, walker, samples))
            .map_err(too_narrow)?;
        drawn += n * PIECES * samples * DRAWS;
        length += round(samples);
        let inside = walkers.iter().flat_map(|walker| &walker.draws).map(Vec::len).sum();
        let (inside, inside_error) = gaussians::log_share(inside, drawn);
        let ratio = |keep: &dyn Fn(usize) -> bool| {
            log_ratio(&ladder, &bridge.pieces(&walkers, keep), gaussians.dimension())
        };
        let [down, up] = [0, 1].map(|parity| ratio(&|trip| trip % 2 == parity).0);
        let (ratio, ratio_error) = ratio(&|_| true);
        let lag = 0.5 * (down - up);
        let error = inside_error.hypot(ratio_error);
        let error = error.hypot(bias_of_lag(lag, error));
        control.report(length, error);
        let converged = error <= settings.tol;
        // The last round takes the rest of the path, if that is enough for half the samples.
        let rest = settings.max_length - length;
        let next = (samples.div_ceil(2)..=samples * 3 / 2).rev().find(|&next| round(next) <= rest);
        let Some(next) = next.filter(|_| !converged) else {
            let value = inside + scale - ratio;
            if !gaussians::may_be_log_share(value, error) {
                return Err(too_narrow(Error::Breakdown { what: "ln of a share", value }));
            }
            return Ok(EvidenceOutcome {
                values: vec![value],
                errors: vec![error],
                lags: vec![lag],
                ladder,
                length,
                converged,
                ..EvidenceOutcome::default()
            });
        };
        samples = next;
    }
}

/// Returns ln of the mean of `(1 + x)^(-r/2)` in version space, and its standard error, from samples at every t.
fn log_ratio(ladder: &[f64], pieces: &[Vec<Piece>], dimension: f64) -> (f64, f64) {
    let half = 0.5 * dimension;
    let height = |x: f64| half * x.ln_1p();
    #[allow(clippy::cast_possible_truncation, reason = "nats over a twentieth")]
    let bin = |x: f64| (height(x) / BIN).floor() as i64;
    // For each bin its number, and the count and the sum of the heights in it.
    let mut states: BTreeMap<i64, (usize, f64, f64)> = BTreeMap::new();
    for &x in pieces.iter().flatten().flat_map(|(_, piece)| piece) {
        let state = states.entry(bin(x)).or_default();
        state.1 += 1.0;
        state.2 += height(x);
    }
    for (number, state) in states.values_mut().enumerate() {
        state.0 = number;
    }
    let centers: Vec<f64> =
        states.values().map(|&(_, count, sum)| (sum / count / half).exp_m1()).collect();
    let log_weights =
        |t: f64| -> Vec<f64> { centers.iter().map(|&x| -half * (t * x).ln_1p()).collect() };
    let histogram = |(trip, piece): &Piece| {
        let histogram = sum_by_key(piece.iter().map(|&x| (states[&bin(x)].0, 1.0)));
        (*trip, histogram.into_iter().collect())
    };
    let rung = |(&t, pieces): (&f64, &Vec<Piece>)| Rung {
        log_weights: log_weights(t),
        pieces: pieces.iter().map(histogram).collect(),
    };
    let rungs = ladder.iter().zip(pieces).map(rung).collect();
    let shares = mbar::combine(ladder, rungs, |t, v| half * centers[v] / (1.0 + t * centers[v]));
    let last = log_weights(1.0);
    shares.log_z(|v| last[v])
}

#[cfg(test)]
#[path = "../../../tests/unit/evidence/bridge/mod.rs"]
mod tests;
