//! Balls with soft walls, on great circles about a normal distribution.
//!
//! With `w = μ + R z` a posterior is a t density of z times a residual that becomes flat as examples are added. Given a scale s,
//! drawn with each direction, flight on the circle `z cos θ + v sin θ` for a normal v of variance s² leaves it invariant.
//!
//! The residual is a soft wall: a ball bounces off its gradient, as on a mirror, when the sum of all ascents of the potential U,
//! minus the logarithm of the residual, passes an exponential variate (the Boomerang sampler; Bierkens, Grazzi, Kamatani and
//! Roberts, 2020). A step is a quarter of a circle, bounces included; where the residual is flat, to an independent draw.
//!
//! Between nodes U is interpolated, by the same polynomials on the path flown backwards. So a step is a proposal whose density
//! is known both ways, and it is accepted or refused by Metropolis and Hastings: the law does not rest on the interpolation Ũ.
//! Of bounces at a rate that is the positive part of the slope of Ũ, path and path backwards have the densities
//!
//! ```text
//! Π_bounces Ũ'₊(before) exp(-∫ Ũ'₊)    and    Π_bounces (-Ũ')₊(after) exp(-∫ (-Ũ')₊),
//! ```
//!
//! and their ratio is `Π (-Ũ'(after)) / Ũ'(before)` times `exp(Σ_flights Ũ(end) - Ũ(start))`. Where Ũ is U this is
//! `exp(U(end) - U(start))` of the step, which is the inverse of the ratio of the law, and no step is refused.
//!
//! Its tails are heavier than the prior's: the residual is bounded, as about a normal density with label noise it is not.
//!
//! The last weights may have to rise, as the thresholds of ordered classes: a ball bounces off hard walls between each two.
//!
//! The values of all examples on the circle are combinations of those for μ, z and v: an angle needs no product with the
//! features, a new direction one, a bounce two. Those of all balls are computed together.

mod flight;

use std::f64::consts::TAU;

use rand::RngExt;
use rand_distr::{ChiSquared, Distribution, Exp1, StandardNormal};

use crate::base::random::{Stream, stream};
use crate::laws::Trial;
use crate::simd::dot::{add, dot, scale};
use crate::simd::tall::Tall;
use flight::{End, Flight, Node, Reason};

/// Bounces of a step beyond which it is refused: the path backwards has as many.
const MOST_BOUNCES: usize = 1000;

/// The examples, as balls meet them: their log likelihood for functions on circles.
pub trait SoftWalls {
    /// Why a call failed.
    type Error;

    /// Computes the values of all examples for vectors: the mean, then place and direction of each ball.
    fn start(&mut self, vectors: Vec<f64>) -> Result<(), Self::Error>;

    /// Gives balls new places and directions.
    fn turn(&mut self, turns: Turns) -> Result<(), Self::Error>;

    /// Returns for each trial the log likelihood, and its derivatives by the two factors.
    fn log_likelihoods(&mut self, trials: &[Trial]) -> Result<Vec<[f64; 3]>, Self::Error>;

    /// Returns for each trial the derivatives of the log likelihood by the weight vector, one after the other.
    fn slopes(&mut self, trials: &[Trial]) -> Result<Vec<f64>, Self::Error>;
}

/// Turns of balls on their circles: places and directions become combinations of both.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// Numbers of the balls.
    pub balls: Vec<usize>,
    /// Factors of place and direction in the new places.
    pub places: Vec<[f64; 2]>,
    /// The same in the new directions, to which is added:
    pub directions: Vec<[f64; 2]>,
    /// A vector for each ball, one after the other.
    pub added: Vec<f64>,
}

/// A normal distribution of `μ + R z`, for standard normal z.
#[derive(Clone, Copy, Debug)]
pub struct NormalLaw<'a> {
    /// The mean μ.
    pub mean: &'a [f64],
    /// The matrix R, in row-major order.
    pub root: &'a [f64],
}

impl NormalLaw<'_> {
    fn root(&self) -> Tall<'_, f64> {
        Tall { entries: self.root, width: self.mean.len() }
    }

    fn times(&self, vectors: &[f64]) -> Vec<f64> {
        self.root().values(vectors, vectors.len() / self.mean.len())
    }

    fn transposed(&self, vectors: &[f64]) -> Vec<f64> {
        self.root().sums(vectors, vectors.len() / self.mean.len())
    }

    /// Returns the differences between each two of the last weights, of the mean, and of R times place and direction.
    fn gaps(&self, n_rising: usize, of: &[Vec<f64>; 2]) -> impl Iterator<Item = [f64; 3]> {
        let d = self.mean.len();
        (d - n_rising + 1..d)
            .map(move |k| [self.mean, &of[0], &of[1]].map(|weights| weights[k] - weights[k - 1]))
    }

    /// Returns the derivatives by z of the smallest difference between two of the last weights.
    fn nearest_wall(&self, n_rising: usize, of: &[Vec<f64>; 2]) -> Vec<f64> {
        let (d, gaps) = (self.mean.len(), self.gaps(n_rising, of));
        let gaps = gaps.map(|[mean, place, _]| mean + place).enumerate();
        let nearest = gaps.min_by(|one, other| one.1.total_cmp(&other.1));
        let k = d - n_rising + nearest.map_or(0, |(k, _)| k);
        let [below, above] = [k, k + 1].map(|k| &self.root[k * d..][..d]);
        below.iter().zip(above).map(|(below, above)| above - below).collect()
    }
}

/// What some steps of n balls found, of a ball one after the other.
#[derive(Clone, Debug)]
pub struct SoftDraws {
    /// The places z after each step.
    pub places: Vec<f64>,
    /// Their log residuals, up to a constant.
    pub residuals: Vec<f64>,
    /// Those of independent draws of the t distribution.
    pub reference: Vec<f64>,
    /// Number of angles tried.
    pub trials: usize,
    /// Number of bounces.
    pub bounces: usize,
    /// Number of steps that were refused.
    pub refused: usize,
}

/// Balls that sample a posterior on circles, each from a draw of a normal distribution.
pub struct SoftBalls {
    balls: Vec<SoftBall>,
    freedom: f64,
    n_rising: usize,
}

struct SoftBall {
    rng: Stream,
    /// Place and direction.
    at: [Vec<f64>; 2],
    /// R times these.
    of: [Vec<f64>; 2],
    /// The scale of the direction.
    scale: f64,
    products: Products,
    flight: Flight,
    step: Step,
}

/// What the acceptance of a step needs.
#[derive(Default)]
struct Step {
    /// The place where it began, and R times it.
    from: [Vec<f64>; 2],
    /// The potential there.
    potential: f64,
    /// The logarithm of the density of the path backwards, relative to that of the path.
    log_ratio: f64,
    /// Whether the last flight ended in a bounce, and with which slope of the potential.
    bounced: Option<f64>,
    n_bounces: usize,
}

/// The number of a ball, and the potential at an independent draw of the t distribution.
type Reference = (usize, f64);

/// Inner products of the place z and the direction v.
#[derive(Clone, Copy, Default)]
struct Products {
    /// `z·z`, `z·v` and `v·v`.
    own: [f64; 3],
    /// The same of R z and R v.
    of: [f64; 3],
    /// Of the mean with R z and R v.
    mean: [f64; 2],
}

impl SoftBalls {
    /// Puts balls at draws of the normal distribution; `freedom` is that of the t distribution, the last `n_rising` weights rise.
    pub fn new(dimension: usize, n_balls: usize, freedom: f64, seed: u64, n_rising: usize) -> Self {
        let ball = |index| {
            let mut rng = stream(seed, index);
            let place = (0..dimension).map(|_| rng.sample(StandardNormal)).collect();
            SoftBall {
                rng,
                at: [place, vec![0.0; dimension]],
                of: [vec![0.0; dimension], vec![0.0; dimension]],
                scale: 1.0,
                products: Products::default(),
                flight: Flight::new(0.0, 0.0),
                step: Step::default(),
            }
        };
        Self { balls: (0..n_balls).map(ball).collect(), freedom, n_rising }
    }

    /// Number of balls.
    pub fn len(&self) -> usize {
        self.balls.len()
    }

    /// Number of dimensions, 0 without a ball.
    pub fn dimension(&self) -> usize {
        self.balls.first().map_or(0, |ball| ball.at[0].len())
    }

    /// Takes a number of steps of each ball.
    ///
    /// The normal distribution and the walls are the same in all calls.
    pub fn steps<W: SoftWalls>(
        &mut self,
        n_steps: usize,
        normal: &NormalLaw,
        walls: &mut W,
    ) -> Result<SoftDraws, W::Error> {
        let (n, d) = (self.balls.len(), normal.mean.len());
        let mut draws = SoftDraws {
            places: vec![0.0; n * n_steps * d],
            residuals: vec![0.0; n * n_steps],
            reference: vec![0.0; n * n_steps],
            trials: 0,
            bounces: 0,
            refused: 0,
        };
        // Products with R are computed anew: errors of rounding do not add up.
        let places: Vec<f64> = self.balls.iter().flat_map(|ball| &ball.at[0]).copied().collect();
        for (ball, of) in self.balls.iter_mut().zip(normal.times(&places).chunks_exact(d)) {
            ball.of[0].copy_from_slice(of);
            // The first place may be behind a wall; the mean is not.
            while normal.gaps(self.n_rising, &ball.of).any(|[gap, place, _]| gap + place <= 0.0) {
                ball.at[0].iter_mut().chain(&mut ball.of[0]).for_each(|x| *x *= 0.5);
            }
        }
        let mut flying: Vec<usize> = (0..n).collect();
        let mut first = Turns::default();
        for ball in 0..n {
            self.next_step(ball, &mut first);
        }
        self.turn(first, normal);
        let pairs = self.balls.iter().flat_map(|ball| ball.of.iter().flatten());
        walls.start(normal.mean.iter().chain(pairs).copied().collect())?;
        let mut taken = vec![0; n];
        while !flying.is_empty() {
            let (references, trials) = self.find_ends(&flying, normal, walls)?;
            draws.trials += trials;
            for (ball, potential) in references {
                draws.reference[ball * n_steps + taken[ball]] = -potential;
            }
            let (mut turns, mut back) = (Turns::default(), Turns::default());
            for &ball in &flying {
                self.balls[ball].fly();
            }
            let (done, bounced): (Vec<_>, Vec<_>) =
                flying.iter().partition(|&&ball| self.balls[ball].is_done());
            if !bounced.is_empty() {
                draws.bounces += bounced.len();
                self.reflect(&bounced, normal, walls, &mut turns)?;
            }
            for ball in done {
                let row = ball * n_steps + taken[ball];
                let (potential, accepted) = self.balls[ball].end_step();
                draws.refused += usize::from(!accepted);
                draws.places[row * d..][..d].copy_from_slice(&self.balls[ball].at[0]);
                draws.residuals[row] = -potential;
                taken[ball] += 1;
                if taken[ball] == n_steps {
                    continue;
                }
                if accepted {
                    turns.places.push(self.balls[ball].turned()[0]);
                } else {
                    // The place where the step began, as a direction that becomes the place.
                    back.balls.push(ball);
                    back.places.push([1.0, 0.0]);
                    back.directions.push([0.0; 2]);
                    back.added.extend_from_slice(&self.balls[ball].of[0]);
                    turns.places.push([0.0, 1.0]);
                }
                self.next_step(ball, &mut turns);
            }
            if !back.balls.is_empty() {
                walls.turn(back)?;
            }
            flying.retain(|&ball| taken[ball] < n_steps);
            if !flying.is_empty() {
                walls.turn(self.turn(turns, normal))?;
            }
        }
        Ok(draws)
    }

    /// Tries angles until the ends of all flights are known.
    ///
    /// Returns references for balls that begin a step, and the number of trials.
    fn find_ends<W: SoftWalls>(
        &mut self,
        flying: &[usize],
        normal: &NormalLaw,
        walls: &mut W,
    ) -> Result<(Vec<Reference>, usize), W::Error> {
        let freedom = self.freedom;
        let tail = ChiSquared::new(freedom).expect("a positive number of degrees of freedom");
        let mut elsewhere = Vec::new();
        for &index in flying {
            let ball = &mut self.balls[index];
            if ball.flight.begins_step() && ball.flight.is_fresh() {
                let along = (freedom / tail.sample(&mut ball.rng)).sqrt() / ball.scale;
                elsewhere.push(Trial { ball: index, along: [0.0, along] });
            }
        }
        let (mut references, mut n_trials) = (Vec::new(), 0);
        let mean_square = dot(normal.mean, normal.mean);
        loop {
            let mut angles = Vec::new();
            for &ball in flying {
                let flight = &mut self.balls[ball].flight;
                angles.extend(flight.wanted().into_iter().map(|angle| (ball, angle)));
            }
            if angles.is_empty() {
                return Ok((references, n_trials));
            }
            let on_circles =
                angles.iter().map(|&(ball, angle)| Trial { ball, along: rotation(angle)[0] });
            let trials: Vec<Trial> = on_circles.chain(elsewhere.iter().copied()).collect();
            n_trials += trials.len();
            let found = walls.log_likelihoods(&trials)?;
            let node = |ball: &SoftBall, factors, log_p| {
                ball.products.node(factors, log_p, mean_square, freedom, normal.mean.len())
            };
            for (&(index, angle), &log_p) in angles.iter().zip(&found) {
                let ball = &mut self.balls[index];
                let [potential, slope] = node(ball, rotation(angle), log_p);
                ball.flight.take(Node { angle, potential, slope });
            }
            for (Trial { ball, along }, &log_p) in elsewhere.drain(..).zip(&found[angles.len()..]) {
                let [potential, _] = node(&self.balls[ball], [along, [0.0; 2]], log_p);
                references.push((ball, potential));
            }
        }
    }

    /// Reflects directions of balls at the ends of their flights, and starts the next flights.
    fn reflect<W: SoftWalls>(
        &mut self,
        bounced: &[usize],
        normal: &NormalLaw,
        walls: &mut W,
        turns: &mut Turns,
    ) -> Result<(), W::Error> {
        let off_potential = bounced.iter().copied().filter(|&ball| !self.balls[ball].is_at_wall());
        let trials: Vec<Trial> =
            off_potential.map(|ball| Trial { ball, along: self.balls[ball].turned()[0] }).collect();
        let d = normal.mean.len();
        let mut by_w = if trials.is_empty() { Vec::new() } else { walls.slopes(&trials)? };
        for (trial, slopes) in trials.iter().zip(by_w.chunks_exact_mut(d)) {
            for ((slope, mean), of) in
                slopes.iter_mut().zip(normal.mean).zip(&self.balls[trial.ball].of[0])
            {
                *slope = mean + of - *slope;
            }
        }
        let by_z = normal.transposed(&by_w);
        let mut gradients = by_z.chunks_exact(d);
        for &index in bounced {
            let ball = &mut self.balls[index];
            let [place, direction] = &ball.at;
            let mut off = if ball.is_at_wall() {
                normal.nearest_wall(self.n_rising, &ball.of)
            } else {
                let tail = (self.freedom + d as f64) / (self.freedom + dot(place, place));
                let gradient = gradients.next().expect("a row for each trial");
                gradient.iter().zip(place).map(|(g, z)| g - tail * z).collect()
            };
            let factor = -2.0 * dot(&off, direction) / dot(&off, &off);
            scale(&mut off, factor);
            turns.added.append(&mut off);
            let [place, direction] = ball.turned();
            turns.balls.push(index);
            turns.places.push(place);
            turns.directions.push(direction);
            ball.flight = ball.flight.next(ball.rng.sample(Exp1), &ball.end());
        }
        Ok(())
    }

    /// Draws a new direction, of the law given the place and a scale drawn afresh, and starts a flight.
    fn next_step(&mut self, index: usize, turns: &mut Turns) {
        let ball = &mut self.balls[index];
        let [place, direction] = &mut ball.at;
        let degrees = self.freedom + place.len() as f64;
        let tail = ChiSquared::new(degrees).expect("a positive number of degrees of freedom");
        let square = dot(place, place);
        ball.scale = ((self.freedom + square) / tail.sample(&mut ball.rng)).sqrt();
        let draw = || ball.scale * ball.rng.sample::<f64, _>(StandardNormal);
        turns.added.extend(std::iter::repeat_with(draw).take(place.len()));
        direction.fill(0.0);
        ball.of[1].fill(0.0);
        ball.flight = Flight::new(ball.rng.sample(Exp1), 0.0);
        ball.step = Step { from: [ball.at[0].clone(), ball.of[0].clone()], ..Step::default() };
        turns.balls.push(index);
        turns.directions.push([0.0; 2]);
    }

    /// Adds to the directions of balls that have flown, and computes the products that potentials need.
    ///
    /// Returns the turns of weight vectors for those of z.
    fn turn(&mut self, turns: Turns, normal: &NormalLaw) -> Turns {
        let d = normal.mean.len();
        let of_added = normal.times(&turns.added);
        let added = turns.added.chunks_exact(d).zip(of_added.chunks_exact(d));
        for (&ball, (added, of_added)) in turns.balls.iter().zip(added) {
            let SoftBall { at, of, products, flight, .. } = &mut self.balls[ball];
            add(&mut at[1], added);
            add(&mut of[1], of_added);
            let squares = |[z, v]: &[Vec<f64>; 2]| [(z, z), (z, v), (v, v)].map(|(a, b)| dot(a, b));
            let mean = [0, 1].map(|k| dot(normal.mean, &of[k]));
            *products = Products { own: squares(at), of: squares(of), mean };
            if self.n_rising > 1 {
                let nearest = |sign: f64| {
                    let gaps = normal.gaps(self.n_rising, of);
                    gaps.map(|[mean, place, direction]| {
                        descent_to_zero([mean, place, sign * direction])
                    })
                    .fold(f64::INFINITY, f64::min)
                };
                flight.keep_within([-nearest(-1.0), nearest(1.0)]);
            }
        }
        Turns { added: of_added, ..turns }
    }
}

impl SoftBall {
    fn end(&self) -> End {
        self.flight.end.expect("a flight whose end is known")
    }

    /// Returns the rotation by the angle that was flown.
    fn turned(&self) -> [[f64; 2]; 2] {
        rotation(self.end().angle)
    }

    fn is_at_wall(&self) -> bool {
        self.end().reason == Reason::Wall
    }

    /// Whether the step ends here: all radians are flown, or it will be refused.
    fn is_done(&self) -> bool {
        self.end().reason == Reason::Done || self.step.log_ratio == f64::NEG_INFINITY
    }

    /// Moves to the end of the flight; the direction turns with the circle.
    fn fly(&mut self) {
        let (turned, End { slopes: [first, last], climb, reason, .. }) =
            (self.turned(), self.end());
        for pair in [&mut self.at, &mut self.of] {
            combine(pair, turned);
        }
        let step = &mut self.step;
        if self.flight.begins_step() {
            step.potential = self.flight.potentials()[0];
        }
        step.log_ratio += climb;
        if let Some(before) = step.bounced {
            step.log_ratio += (-first / before).max(0.0).ln();
        }
        step.bounced = (reason == Reason::Energy).then_some(last);
        step.n_bounces += 1;
        if step.n_bounces > MOST_BOUNCES {
            step.log_ratio = f64::NEG_INFINITY;
        }
    }

    /// Accepts the step or goes back to where it began. Returns the potential at the place, and whether it is accepted.
    fn end_step(&mut self) -> (f64, bool) {
        let [_, ahead] = self.flight.potentials();
        let log_ratio = self.step.log_ratio + self.step.potential - ahead;
        let accepted = self.rng.sample::<f64, _>(Exp1) > -log_ratio;
        if accepted {
            return (ahead, true);
        }
        let [place, of] = std::mem::take(&mut self.step.from);
        (self.at[0], self.of[0]) = (place, of);
        (self.step.potential, false)
    }
}

impl Products {
    /// Returns the potential and its derivative on a circle, given the log likelihood with its derivatives by the factors.
    ///
    /// `factors` are those of place and direction, with derivatives. The potential is minus the log density by the t density.
    fn node(
        &self,
        [[a, b], [da, db]]: [[f64; 2]; 2],
        [log_p, by_a, by_b]: [f64; 3],
        mean_square: f64,
        freedom: f64,
        dimension: usize,
    ) -> [f64; 2] {
        let square = |[zz, zv, vv]: [f64; 3]| {
            let half = a * da * zz + (a * db + b * da) * zv + b * db * vv;
            [a * a * zz + 2.0 * a * b * zv + b * b * vv, half]
        };
        let ([own, half_own], [of, half_of]) = (square(self.own), square(self.of));
        let [by_z, by_v] = self.mean;
        let of_w = of + mean_square + 2.0 * (a * by_z + b * by_v);
        let half_w = half_of + da * by_z + db * by_v;
        let (degrees, scaled) = (freedom + dimension as f64, freedom + own);
        let tail = 0.5 * degrees * (scaled / freedom).ln();
        let slope = half_w - da * by_a - db * by_b - degrees / scaled * half_own;
        [0.5 * of_w - tail - log_p, slope]
    }
}

/// Returns the factors of place and direction at an angle of a circle, and their derivatives.
fn rotation(angle: f64) -> [[f64; 2]; 2] {
    let (sin, cos) = angle.sin_cos();
    [[cos, sin], [-sin, cos]]
}

/// Returns the first angle at which `mean + place cos θ + direction sin θ` falls to 0 from above; infinity if it does not.
fn descent_to_zero([mean, place, direction]: [f64; 3]) -> f64 {
    let size = place.hypot(direction);
    if size <= mean.abs() {
        return f64::INFINITY;
    }
    (direction.atan2(place) + (-mean / size).acos()).rem_euclid(TAU)
}

fn combine([one, other]: &mut [Vec<f64>; 2], [[a, b], [c, d]]: [[f64; 2]; 2]) {
    for (x, y) in one.iter_mut().zip(other) {
        (*x, *y) = (a * *x + b * *y, c * *x + d * *y);
    }
}
