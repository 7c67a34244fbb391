//! The volume of version space by a bridge: from a Gaussian law that was fitted to it, and whose part inside plain draws tell,
//! to the isotropic one.
//!
//! A weight vector w of the span, r dimensions, has beside the unit vector c of a center the part `b = <c, w>` along it and the
//! deviations `e_i = <w, φ_i> - b <c, φ_i>` of its plane coordinates from what that part alone would give. The laws
//!
//! ```text
//! p_t(w) ∝ Q_t(w)^(-r/2),     Q_t(w) = |w|² + t (Σ_i τ_i e_i² - γ b²),     0 ≤ t ≤ 1
//! ```
//!
//! on the directions of w are those of Gaussian vectors with inverse covariance Q_t. At t = 0 it is the prior, at t = 1 it is
//! drawn together around c so far that a good part of it lies in version space. For every t the walls cut the same region from
//! it, and the billiard of the Gram matrix `K_t = Φ Σ_t Φᵀ` samples what they cut: a Gaussian law of another covariance is a
//! linear map away from the isotropic one. All these laws have one mode, so nothing is there to be found late on the way, as there
//! is on a ladder of transparencies. Behind walls that let through they may have many, of which the trajectories find some and
//! an error tells nothing of the others: a bridge is for hard walls alone. The scheme is that of Gaussian cooling (Cousins and
//! Vempala, 2015) with the multi-histogram estimator of [`crate::evidence::mbar`].

mod draws;
mod law;
mod placing;
mod ratio;
mod spacing;

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use crate::ball::Ball;
use crate::base::{Control, Error, Result, random};
use crate::ensemble::{Settings, WorkerPool, burn_in, chain};
use crate::evidence::lag::beyond_chance;
use crate::evidence::outcome::EvidenceOutcome;
use crate::evidence::settings::EvidenceSettings;
use crate::evidence::walker;
use crate::evidence::walker::Seen;
use crate::gram::Gram;
use crate::linalg::{Factor, Isotropic};
use crate::space::VersionSpace;
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::{Goal, Refresh, RefreshChoice, Trajectory};
use draws::Draw;
use law::{Inner, Law, Point};
use placing::Place;
use ratio::{Piece, log_ratio};
use spacing::Spacing;

/// Draws of the law at t = 1 by which it is judged, the part of them that has to be in version space, and how much closer they are
/// drawn together if less is.
const TRIAL: usize = 128;
const LEAST_SHARE: f64 = 0.05;
const CLOSER: f64 = 2.5;
const MOST_TRIALS: usize = 40;
/// Samples of a trip on a rung before the first that counts.
const BURN_IN_SAMPLES: usize = 10;
/// Pieces of path of a trip on a rung, and samples in a piece of the first round; they grow by half from round to round.
const PIECES: usize = 4;
const PIECE_SAMPLES: usize = 8;
/// Draws of the law at t = 1, in a piece, for every sample of a piece.
const DRAWS: usize = 4;
/// Of what was seen, with numbers beside numbers: as it is kept, and by trips as the ratio is made of it.
const COPIES: usize = 8;

/// How far a ball may be from where it was put, in its plane coordinates: to leave it there, and at all.
const NEAR: f64 = 1e-8;
const OFF: f64 = 1e-3;
/// Standard errors, of a nat at most, by which ln of a share may be above 0.
const ABOVE: f64 = 5.0;

/// A rung: a law between the fitted one and the prior, with the space in which its billiard is played.
struct Rung<'a> {
    t: f64,
    space: VersionSpace<'a>,
    spacing: Spacing,
    source: Arc<dyn Isotropic>,
}

impl Rung<'_> {
    fn refresh(&self) -> Refresh<'static> {
        Refresh::Full { rate: self.spacing.rate, source: Arc::clone(&self.source) }
    }
}

/// A walker between the fitted law and the prior.
struct Walker<'s> {
    index: usize,
    home: Trajectory<'s, Geodesic>,
    start: Point,
    /// Statistics of the samples on each rung.
    seen: Seen<Vec<f64>>,
    /// Statistics of the draws at t = 1 that were in version space, piece by piece.
    draws: Vec<Vec<f64>>,
    /// The number of all draws.
    drawn: usize,
    streams: usize,
}

impl Walker<'_> {
    /// How many numbers it keeps.
    fn numbers(&self) -> usize {
        self.seen.all().chain(&self.draws).map(Vec::len).sum()
    }

    /// Keeps what was seen on rung k on the present trip.
    fn keep(&mut self, k: usize, pieces: Vec<Vec<f64>>) {
        pieces.into_iter().for_each(|piece| self.seen.keep(k, piece));
    }
}

/// How far plane coordinates are from a multiple of others, relative to the largest of them.
fn off(field: &[f64], other: &[f64]) -> f64 {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let scale = product(field, other) / product(other, other);
    let largest = field.iter().fold(0.0, |most: f64, f| most.max(f.abs()));
    let parts = field.iter().zip(other).map(|(f, g)| (f - scale * g).abs());
    parts.fold(0.0, f64::max) / largest
}

/// What all walkers share.
struct Bridge<'a> {
    space: &'a VersionSpace<'a>,
    law: &'a Law,
    inner: &'a Inner,
    factor: &'a Factor,
    rungs: &'a [Rung<'a>],
    n_trajectories: usize,
    seed: u64,
}

impl Bridge<'_> {
    fn stream(&self, walker: &mut Walker<'_>) -> ChaCha8Rng {
        walker.streams += 1;
        let n = self.n_trajectories;
        random::stream(self.seed, n * (walker.streams + 1) + 1 + walker.index)
    }

    /// Puts a ball at a point of rung k.
    ///
    /// A point that comes from another rung has dual coefficients as good as the variances there, which are differences of
    /// entries of the Gram matrix. Where these are nearly equal the coefficients cancel, and what is left of a point inside
    /// may be outside: on the rung of the prior they are then found anew from the plane coordinates.
    ///
    /// # Errors
    ///
    /// [`Error::Breakdown`] where the ball is not at the point.
    fn launch(
        &self,
        k: usize,
        point: &Point,
        mut rng: ChaCha8Rng,
        control: &Control,
    ) -> Result<Trajectory<'_, Geodesic>> {
        let rung = &self.rungs[k];
        let mut dual = point.dual.clone();
        self.law.carry(&mut dual, &point.field, 0.0, rung.t);
        let direction = rung.source.draw(&mut rng).dual;
        let gram = rung.space.gram();
        let mut ball = Ball::new(gram, &dual, &direction, control)?;
        if k == 0 && off(ball.f(), &point.field) > NEAR {
            let coordinates = self.factor.coordinates(&point.field);
            ball = Ball::new(gram, &self.factor.vector(coordinates).dual, &direction, control)?;
        }
        let value = off(ball.f(), &point.field);
        if value.is_nan() || value > OFF {
            return Err(Error::Breakdown { what: "distance of a ball from its start", value });
        }
        let mut trajectory = Trajectory::new(&rung.space, Geodesic, ball, rng);
        trajectory.set_refresh(rung.refresh());
        Ok(trajectory)
    }

    /// Where a ball on rung k is.
    fn point(&self, t: f64, trajectory: &Trajectory<'_, Geodesic>) -> Point {
        let ball = trajectory.ball();
        let (mut dual, field) = (ball.position(0.0), ball.f().to_vec());
        self.law.carry(&mut dual, &field, t, 0.0);
        Point { dual, field }
    }

    /// Samples a rung; returns the statistics by piece.
    fn sample(
        &self,
        k: usize,
        trajectory: &mut Trajectory<'_, Geodesic>,
        samples: usize,
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        let Rung { t, spacing, .. } = &self.rungs[k];
        trajectory.reset(None);
        trajectory.run(Goal::path(BURN_IN_SAMPLES as f64 * spacing.path), control)?;
        trajectory.reset(None);
        let mut taken = 0;
        (0..PIECES)
            .map(|_| {
                (0..samples)
                    .map(|_| {
                        taken += 1;
                        trajectory.run(Goal::path(f64::from(taken) * spacing.path), control)?;
                        Ok(self.law.statistic(*t, trajectory.ball().f()))
                    })
                    .collect()
            })
            .collect()
    }

    /// Draws, one trip down from one of them and one trip up from home.
    fn round_trip(&self, walker: &mut Walker<'_>, samples: usize, control: &Control) -> Result<()> {
        let mut rng = self.stream(walker);
        for _ in 0..PIECES {
            control.check()?;
            let draws: Vec<Draw> = (0..samples * DRAWS)
                .map(|_| Draw::new(self.space, self.law, self.inner, &mut rng))
                .collect();
            if let Some(point) = draws::choose(&draws, &mut rng) {
                walker.start = point;
            }
            walker.draws.push(draws::inside(&draws));
            walker.drawn += draws.len();
        }
        let top = self.rungs.len();
        let mut point = walker.start.clone();
        for k in (0..top).rev() {
            let rng = self.stream(walker);
            let mut trajectory = self.launch(k, &point, rng, control)?;
            walker.keep(k, self.sample(k, &mut trajectory, samples, control)?);
            point = self.point(self.rungs[k].t, &trajectory);
        }
        walker.seen.trips += 1;
        let seen = self.sample(0, &mut walker.home, samples, control)?;
        walker.keep(0, seen);
        point = self.point(0.0, &walker.home);
        for k in 1..top {
            let rng = self.stream(walker);
            let mut trajectory = self.launch(k, &point, rng, control)?;
            walker.keep(k, self.sample(k, &mut trajectory, samples, control)?);
            point = self.point(self.rungs[k].t, &trajectory);
        }
        walker.seen.trips += 1;
        Ok(())
    }

    /// What the trips that are to be kept saw on each rung, and all draws.
    fn pieces(&self, walkers: &[Walker<'_>], keep: impl Fn(usize) -> bool) -> Vec<Vec<Piece>> {
        let on_rung = |k| {
            let seen = walkers.iter().map(|walker| &walker.seen);
            let pieces = walker::pieces(seen, k, |_, trip| keep(trip));
            pieces.into_iter().map(|(trip, piece)| (trip, piece.clone())).collect()
        };
        let mut pieces: Vec<Vec<Piece>> = (0..self.rungs.len()).map(on_rung).collect();
        let trips = walkers.len() * walkers.iter().map(|c| c.seen.trips).max().unwrap_or(0);
        let draws = walkers.iter().flat_map(|walker| &walker.draws).cloned().enumerate();
        pieces.push(draws.map(|(number, piece)| (trips + number, piece)).collect());
        pieces
    }
}

/// Draws the law at t = 1 closer together around its center until a good part of it is in version space, with the draws
/// that tell so.
fn draw_together(
    space: &VersionSpace<'_>,
    law: &mut Law,
    rng: &mut ChaCha8Rng,
    control: &Control,
) -> Result<(Inner, Vec<Draw>)> {
    let mut share = 0.0;
    for _ in 0..MOST_TRIALS {
        let inner = law.inner(1.0, control)?;
        let draws: Vec<Draw> = (0..TRIAL).map(|_| Draw::new(space, law, &inner, rng)).collect();
        share = draws::inside(&draws).len() as f64 / TRIAL as f64;
        if share >= LEAST_SHARE {
            return Ok((inner, draws));
        }
        law.tighten(CLOSER);
    }
    let what = "share of a Gaussian law in the version space it was fitted to";
    Err(Error::Breakdown { what, value: share })
}

/// What goes wrong on a rung, where the Gram matrix itself is good: the variances of a law that is narrower across some plane
/// than the prior by 1e4 or more are differences that lose their digits, and with them the length of its balls.
fn too_narrow(error: Error) -> Error {
    let value = match error {
        Error::Breakdown { value, .. } => value,
        Error::Invalid { .. } => f64::NAN,
        other => return other,
    };
    let what = "squared length of a vector under a Gaussian law of the bridge, which version space is too narrow for \
                (method=\"integration\" needs none)";
    Error::Breakdown { what, value }
}

/// ln of the volume of version space.
///
/// # Errors
///
/// [`Error::Infeasible`] where no start was found, [`Error::Breakdown`], [`Error::Interrupted`].
pub(crate) fn evidence(
    space: &VersionSpace<'_>,
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
    let mut homes = burn_in::trajectories(space, &run, pool, control)?;
    let factor = Arc::new(Factor::new(space.gram(), control)?);
    let isotropic: Arc<dyn Isotropic> = Arc::clone(&factor) as _;
    let gauged = pool.each(&mut homes, |_, home| Spacing::gauge(home, &isotropic, control))?;
    let spacing = Spacing::slowest(&gauged);
    // Lives longer than the rungs, which borrow their matrices from it.
    let places;
    let mut rungs = vec![Rung { t: 0.0, space: space.clone(), spacing, source: isotropic }];
    for home in &mut homes {
        home.set_refresh(rungs[0].refresh());
    }
    let mut law = Law::fit(space.gram(), &factor, &mut homes, &spacing, pool, control)?;
    let mut rng = random::stream(settings.seed, n);
    let (inner, draws) = draw_together(space, &mut law, &mut rng, control)?;
    let law = Arc::new(law);
    let mut start = || draws::choose(&draws, &mut rng).expect("their share is positive");
    let starts: Vec<Point> = (0..=n).map(|_| start()).collect();
    let first = starts[n].clone();
    places =
        placing::place(space, &law, &draws, first, &mut rng, pool, control).map_err(too_narrow)?;
    for Place { t, matrix, spacing, source } in places.iter().rev() {
        let gram = Gram::new(matrix, 0.0, vec![0.0; space.len()]).map_err(too_narrow)?;
        let (space, source) = (space.mapped(gram), Arc::clone(source));
        rungs.push(Rung { t: *t, space, spacing: *spacing, source });
    }
    let bridge = Bridge {
        space,
        law: &law,
        inner: &inner,
        factor: &factor,
        rungs: &rungs,
        n_trajectories: n,
        seed: settings.seed,
    };
    let mut walkers: Vec<Walker<'_>> = homes
        .into_iter()
        .zip(starts)
        .enumerate()
        .map(|(index, (home, start))| Walker {
            index,
            home,
            start,
            seen: Seen::new(),
            draws: Vec::new(),
            drawn: 0,
            streams: 0,
        })
        .collect();
    let scale = law.log_scale(&inner);
    let ladder: Vec<f64> = rungs.iter().map(|rung| rung.t).chain([1.0]).collect();
    let spacings: f64 = rungs.iter().map(|rung| rung.spacing.path).sum();
    let cost = |samples: usize| 2.0 * spacings * (BURN_IN_SAMPLES + PIECES * samples) as f64;
    let (mut samples, mut length) = (PIECE_SAMPLES, 0.0);
    loop {
        let more = 2 * PIECES * samples * (rungs.len() + DRAWS);
        let seen: usize = walkers.iter().map(Walker::numbers).sum();
        pool.check_memory(COPIES, n * more + seen, 1)?;
        chain::check_memory(space, n, false, pool)?;
        pool.each(&mut walkers, |_, walker| bridge.round_trip(walker, samples, control))
            .map_err(too_narrow)?;
        length += cost(samples);
        let inside = walkers.iter().flat_map(|walker| &walker.draws).map(Vec::len).sum();
        let drawn = walkers.iter().map(|walker| walker.drawn).sum();
        let (inside, inside_error) = draws::log_part(inside, drawn);
        let ratio = |keep: &dyn Fn(usize) -> bool| {
            log_ratio(&ladder, &bridge.pieces(&walkers, keep), law.dimension())
        };
        let [down, up] = [0, 1].map(|parity| ratio(&|trip| trip % 2 == parity).0);
        let (ratio, ratio_error) = ratio(&|_| true);
        let lag = 0.5 * (down - up);
        let error = inside_error.hypot(ratio_error);
        let error = error.hypot(beyond_chance(lag, error));
        control.report(length, error);
        let converged = error <= settings.tol;
        // The last round takes what is left, if that is worth while.
        let rest = settings.max_length - length;
        let next = (samples.div_ceil(2)..=samples * 3 / 2).rev().find(|&next| cost(next) <= rest);
        let Some(next) = next.filter(|_| !converged) else {
            let value = inside + scale - ratio;
            // No share is more than 1, and an error that would explain one explains everything.
            if value.is_nan() || value > ABOVE * error.min(1.0) {
                return Err(too_narrow(Error::Breakdown { what: "ln of a share", value }));
            }
            return Ok(outcome([value, error, lag], ladder, length, converged));
        };
        samples = next;
    }
}

/// What is told of ln Z, its error and its lag.
fn outcome(
    [value, error, lag]: [f64; 3],
    ladder: Vec<f64>,
    length: f64,
    converged: bool,
) -> EvidenceOutcome {
    EvidenceOutcome {
        values: vec![value],
        errors: vec![error],
        lags: vec![lag],
        mean_violations: Vec::new(),
        log_share: Vec::new(),
        layers: Vec::new(),
        layer_shares: Vec::new(),
        ladder,
        length,
        converged,
    }
}
