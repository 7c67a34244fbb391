//! The samplers of the engine on a target, Gibbs' sampler, and three wrong samplers.

use std::sync::Arc;

use bayespoint::dynamics::{Arrival, Dynamics, Geodesic};
use bayespoint::papers::motions::Motion;
use bayespoint::{
    Ball, Control, Draw, Factor, Goal, Gram, Isotropic, Outcome, Recorder, Refresh, Result,
    Settings, Trajectory, VersionSpace,
};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{ChiSquared, Distribution};

use crate::common::{Inverted, dot, draws, fly, normals, rng, seed, unit};
use crate::targets::{Sample, Target};

/// The source of the rows of the Gram matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    Doubles,
    Singles,
}

impl Target {
    /// Calls `with` with the version space.
    pub fn space<T>(&self, source: Source, with: impl FnOnce(&VersionSpace<'_>) -> T) -> T {
        let m = self.problem.x.len();
        let d = self.base.len() / m;
        let row = |i: usize| &self.base[i * d..(i + 1) * d];
        let softness = vec![self.softness; m];
        let dense = || -> Vec<f64> {
            (0..m).flat_map(|i| (0..m).map(move |j| dot(row(i), row(j)))).collect()
        };
        let (doubles, singles): (Vec<f64>, Vec<f32>);
        let gram = match source {
            Source::Doubles => {
                doubles = dense();
                Gram::new(&doubles, self.offset, softness)
            }
            Source::Singles => {
                #[allow(clippy::cast_possible_truncation, reason = "the source in singles")]
                let rounded = dense().iter().map(|&x| x as f32).collect();
                singles = rounded;
                Gram::new(&singles, self.offset, softness)
            }
        };
        let labels = self.problem.labels.clone();
        with(&VersionSpace::new(gram.expect("a good matrix"), labels).expect("good labels"))
    }

    /// Returns the sample with given dual coefficients.
    fn sample(&self, dual: &[f64], rng: &mut ChaCha8Rng) -> Sample {
        let weight = unit(self.problem.weight(dual));
        let violations: u32 =
            if self.mirror.is_hard() { 0 } else { self.problem.violations(&weight).iter().sum() };
        let square: f64 = ChiSquared::new(self.rank as f64).expect("positive").sample(rng);
        Sample { weight, length: square.sqrt(), violations: violations.into() }
    }
}

/// Runs the engine on a target.
pub fn run(target: &Target, source: Source, settings: &Settings) -> Result<Outcome> {
    let settings = Settings { mirror: target.mirror, ..settings.clone() };
    target.space(source, |space| bayespoint::run(space, &settings, &Control::new()))
}

/// Returns the draws of a run, trajectory by trajectory.
pub fn chains(target: &Target, outcome: &Outcome, index: u64) -> Vec<Vec<Sample>> {
    let mut rng = rng(index ^ 0x5eed);
    let mut samples = draws(outcome).map(|dual| target.sample(dual, &mut rng));
    let (trajectories, n, _) = outcome.draws.dim();
    (0..trajectories).map(|_| samples.by_ref().take(n).collect()).collect()
}

/// Runs the engine on a target and returns the draws.
pub fn engine(target: &Target, source: Source, settings: &Settings) -> Vec<Vec<Sample>> {
    chains(target, &run(target, source, settings).expect("a good run"), settings.seed)
}

/// Runs a motion of the papers on a target and returns the draws.
pub fn flown(target: &Target, motion: Motion, settings: &Settings) -> Vec<Vec<Sample>> {
    let settings = Settings { mirror: target.mirror, ..settings.clone() };
    let outcome = target.space(Source::Doubles, |space| fly(space, motion, &settings).run);
    chains(target, &outcome, settings.seed)
}

/// The number and the paths of trajectories.
#[derive(Clone, Copy)]
pub struct Path {
    pub chains: u64,
    pub draws: usize,
    pub spacing: f64,
}

/// Returns the dual coefficients of draws at equal spacing, row-major.
pub fn record<D: Dynamics>(
    trajectory: &mut Trajectory<'_, D>,
    draws: usize,
    spacing: f64,
) -> Vec<f64> {
    let gram = trajectory.space().gram();
    let mut recorder = Recorder::new(spacing, &[], draws, gram).expect("room");
    let goal = Goal::path(spacing * (draws as f64 + 0.5));
    trajectory.run_observed(goal, &mut recorder, &Control::new()).expect("runs");
    recorder.last(draws).0.to_vec()
}

/// Returns draws of trajectories with any dynamics and refresh, each from an exact draw of the target in an isotropic direction.
/// They have the exact law without burn-in if the dynamics preserves it, ergodic or not.
pub fn by_hand<D: Dynamics>(
    target: &Target,
    dynamics: &D,
    refresh: &Refresh<'static>,
    path: Path,
) -> Vec<Vec<Sample>> {
    let control = Control::new();
    let m = target.problem.x.len();
    target.space(Source::Doubles, |space| {
        let factor = Factor::new(space.gram(), &control).expect("positive semi-definite");
        (0..path.chains)
            .map(|chain| {
                let mut rng = ChaCha8Rng::seed_from_u64(seed(0xabcd_0000 + chain));
                let start = target.exact.as_ref().expect("an exact law")(&mut rng);
                let direction = factor.draw(&mut rng).dual;
                let ball = Ball::new(space.gram(), &target.dual(&start), &direction, &control)
                    .expect("a direction");
                let stream = ChaCha8Rng::seed_from_u64(rng.random());
                let mut trajectory = Trajectory::new(space, dynamics.clone(), ball, stream);
                trajectory.set_mirror(target.mirror);
                trajectory.set_refresh(refresh.clone());
                trajectory.reset();
                let draws = record(&mut trajectory, path.draws, path.spacing);
                draws.chunks(m).map(|dual| target.sample(dual, &mut rng)).collect()
            })
            .collect()
    })
}

/// Returns a full refresh.
pub fn fresh(target: &Target, rate: f64) -> Refresh<'static> {
    let factor = target.space(Source::Doubles, |space| {
        Factor::new(space.gram(), &Control::new()).expect("positive semi-definite")
    });
    Refresh::Full { rate, source: Arc::new(factor) }
}

/// Wrong: turns round short of the wall.
#[derive(Clone)]
pub struct ShortOfWall;

impl Dynamics for ShortOfWall {
    fn flight(&mut self, ball: &Ball) -> Option<f64> {
        Geodesic.flight(ball).map(|angle| 0.6 * angle)
    }

    fn arrive(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace<'_>,
        _transparency: f64,
        _rng: &mut impl Rng,
    ) -> Arrival {
        let angle = self.flight(ball).expect("a great circle meets a wall");
        ball.fly(space.gram(), angle);
        ball.reverse(space.gram());
        Arrival::Turn
    }
}

/// Wrong: every flight that is not short is reflected half way by the normal of the first plane, which is not tangent to the
/// sphere there; the direction is projected to the tangent space.
#[derive(Clone, Default)]
pub struct SinglePlane {
    reflected: bool,
}

impl Dynamics for SinglePlane {
    fn flight(&mut self, ball: &Ball) -> Option<f64> {
        let angle = ball.to_wall();
        Some(if self.reflected || angle < 0.1 { angle } else { 0.5 * angle })
    }

    fn arrive(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace<'_>,
        transparency: f64,
        rng: &mut impl Rng,
    ) -> Arrival {
        let angle = self.flight(ball).expect("a great circle meets a wall");
        if angle >= ball.to_wall() {
            self.reflected = false;
            return Geodesic.arrive(ball, space, transparency, rng);
        }
        self.reflected = true;
        let gram = space.gram();
        ball.fly(gram, angle);
        let mut direction = ball.direction();
        direction[0] -= 2.0 * ball.g()[0] / gram.diagonal(0);
        *ball = Ball::new(gram, &ball.position(0.0), &direction, &Control::new()).expect("tangent");
        Arrival::Turn
    }
}

/// Wrong: a full refresh biased towards the first wall.
#[derive(Debug)]
pub struct LeaningRefresh {
    factor: Factor,
    /// Dual coefficients and plane coordinates of the bias.
    push: (Vec<f64>, Vec<f64>),
}

impl LeaningRefresh {
    pub fn refresh(target: &Target, rate: f64) -> Refresh<'static> {
        target.space(Source::Doubles, |space| {
            let gram = space.gram();
            let factor = Factor::new(gram, &Control::new()).expect("positive semi-definite");
            let step = -2.0 * f64::from(space.labels()[0]) / gram.diagonal(0).sqrt();
            let mut dual = vec![0.0; gram.len()];
            dual[0] = step;
            let field = (0..gram.len()).map(|i| step * gram.entry(i, 0)).collect();
            Refresh::Full { rate, source: Arc::new(Self { factor, push: (dual, field) }) }
        })
    }
}

impl Isotropic for LeaningRefresh {
    fn draw(&self, rng: &mut dyn Rng) -> Draw {
        let mut draw = self.factor.draw(rng);
        for (x, push) in draw.dual.iter_mut().zip(&self.push.0) {
            *x += push;
        }
        for (x, push) in draw.field.iter_mut().zip(&self.push.1) {
            *x += push;
        }
        draw.square = dot(&draw.dual, &draw.field);
        draw
    }
}

/// Gibbs' sampler of the plane coordinates `f ~ N(0, K)` truncated to the labels. Returns dual coefficients of unit vectors, one
/// after every `sweeps` sweeps.
pub fn gibbs(
    gram: &[f64],
    labels: &[i8],
    start: &[f64],
    (draws, sweeps): (usize, usize),
    rng: &mut ChaCha8Rng,
) -> Vec<Vec<f64>> {
    let m = labels.len();
    let precision = Inverted::new(gram, 0.0).rows();
    let mut f = start.to_vec();
    let mut out = Vec::with_capacity(draws);
    for _ in 0..draws {
        for _ in 0..sweeps {
            for i in 0..m {
                let row = &precision[i];
                let variance = row[i].recip();
                let mean = f[i] - dot(row, &f) * variance;
                let y = f64::from(labels[i]);
                f[i] = y * positive_normal(y * mean, variance.sqrt(), rng);
            }
        }
        let solved: Vec<f64> = precision.iter().map(|row| dot(row, &f)).collect();
        let norm = dot(&solved, &f).sqrt();
        out.push(solved.iter().map(|c| c / norm).collect());
    }
    out
}

/// Draws a normal value truncated to positive ones (Robert, 1995).
fn positive_normal(mean: f64, deviation: f64, rng: &mut ChaCha8Rng) -> f64 {
    let low = -mean / deviation;
    if low < 0.5 {
        loop {
            let z = normals(1, rng)[0];
            if z > low {
                return mean + deviation * z;
            }
        }
    }
    let rate = 0.5 * (low + (low * low + 4.0).sqrt());
    loop {
        let z = low - (1.0 - rng.random::<f64>()).ln() / rate;
        if rng.random::<f64>() <= (-0.5 * (z - rate).powi(2)).exp() {
            // It may be rounded to zero.
            return (mean + deviation * z).max(f64::MIN_POSITIVE);
        }
    }
}
