//! What the engine does besides bounces: refreshes, re-projection, whole runs, maximal margins, steps of balls with soft walls.
//!
//! `cargo bench --bench engine`. The evidence has a bench of its own.

#[path = "common/clock.rs"]
mod clock;
mod common;

use std::cell::LazyCell;
use std::convert::Infallible;
use std::hint::black_box;
use std::sync::Arc;

use bayespoint::tall::Tall;
use bayespoint::{
    Ball, Control, Factor, Isotropic, Law, MarginSettings, NormalLaw, Observed, Paths, Settings,
    SoftBalls, SoftWalls, Trial, Turns, feasible_point, max_margin, run,
};
use clock::Clock;
use common::{Problem, normals};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

const SIZES: [usize; 5] = [17, 100, 1000, 4000, 10_000];
/// Examples beyond which the O(m³) of a factor takes minutes, and so does a run with pairs, until its draws suffice.
const FACTORED: usize = 4000;

fn benches(criterion: &mut Criterion<Clock>) {
    let mut group = criterion.benchmark_group("engine");
    for m in SIZES {
        let problem = LazyCell::new(|| Problem::new(m));
        let (control, mut rng) = (Control::new(), ChaCha8Rng::seed_from_u64(1));
        let direction = normals(m, &mut rng);
        group.bench_function(BenchmarkId::new("refresh_pair", m), |b| {
            let space = problem.space();
            let gram = space.gram();
            let mut ball = Ball::new(gram, &problem.start, &direction, &control).expect("a ball");
            let mut k = 0;
            b.iter(|| {
                k += 1;
                let first = (k * 7919) % m;
                // No flight, so that no wall comes in between.
                ball.refresh_pair(gram, 0.0, (first, (first + 1 + k % (m - 1)) % m))
            });
        });
        if m <= FACTORED {
            let source = LazyCell::new(|| -> Arc<dyn Isotropic> {
                Arc::new(Factor::new(problem.space().gram(), &control).expect("a factor"))
            });
            group.bench_function(BenchmarkId::new("refresh_full", m), |b| {
                let space = problem.space();
                let gram = space.gram();
                let mut ball =
                    Ball::new(gram, &problem.start, &direction, &control).expect("a ball");
                b.iter(|| ball.refresh_full(gram, 0.0, || source.draw(&mut rng)));
            });
        }
        group.bench_function(BenchmarkId::new("re-projection", m), |b| {
            let space = problem.space();
            let gram = space.gram();
            let mut ball = Ball::new(gram, &problem.start, &direction, &control).expect("a ball");
            b.iter(|| ball.reproject(gram, &control).expect("no drift"));
        });
    }
    group.sample_size(10);
    for m in SIZES {
        let problem = LazyCell::new(|| Problem::new(m));
        let control = Control::new();
        group.bench_function(BenchmarkId::new("feasible_point", m), |b| {
            let space = problem.space();
            b.iter(|| black_box(feasible_point(&space, 1, &control).expect("separable")));
        });
        group.bench_function(BenchmarkId::new("max_margin", m), |b| {
            let space = problem.space();
            let settings = MarginSettings::default();
            b.iter(|| black_box(max_margin(&space, &settings, &control).expect("separable")));
        });
        if m <= FACTORED {
            group.bench_function(BenchmarkId::new("run", m), |b| {
                let space = problem.space();
                let settings = Settings { tol: Some(0.1), n_threads: 1, ..Settings::default() };
                b.iter(|| black_box(run(&space, &settings, &control).expect("runs")));
            });
            group.bench_function(BenchmarkId::new("factor", m), |b| {
                let space = problem.space();
                b.iter(|| black_box(Factor::new(space.gram(), &control).expect("a factor")));
            });
        }
    }
    group.finish();
}

/// Landmarks of the soft walls.
const LANDMARKS: usize = 50;
/// Balls that fly together.
const BALLS: usize = 16;

/// Probit likelihoods of examples whose features, times their labels, are normal.
struct Examples {
    features: Vec<f64>,
    mean: Vec<f64>,
    /// Values of place and direction.
    balls: Vec<[Vec<f64>; 2]>,
}

impl Examples {
    fn observed() -> Observed<'static> {
        Observed { law: Law::OneWall, n_contrasts: 1, noise: [&[]; 2] }
    }

    fn tall(&self) -> Tall<'_, f64> {
        Tall { entries: &self.features, width: LANDMARKS }
    }

    fn values(&self, vectors: &[f64]) -> Vec<Vec<f64>> {
        let values = self.tall().values(vectors, vectors.len() / LANDMARKS);
        values.chunks(self.features.len() / LANDMARKS).map(<[f64]>::to_vec).collect()
    }

    fn paths(&self) -> Paths<'_, f64> {
        let balls = self.balls.iter().map(|[place, direction]| [&place[..], direction]).collect();
        Paths { mean: &self.mean, balls }
    }
}

impl SoftWalls for Examples {
    type Error = Infallible;

    fn start(&mut self, vectors: Vec<f64>) -> Result<(), Infallible> {
        let mut values = self.values(&vectors).into_iter();
        self.mean = values.next().expect("the mean");
        self.balls.clear();
        while let (Some(place), Some(direction)) = (values.next(), values.next()) {
            self.balls.push([place, direction]);
        }
        Ok(())
    }

    fn turn(&mut self, turns: Turns) -> Result<(), Infallible> {
        let added = self.values(&turns.added);
        for (k, &ball) in turns.balls.iter().enumerate() {
            let ([a, b], [c, d]) = (turns.places[k], turns.directions[k]);
            let [places, directions] = &mut self.balls[ball];
            for ((place, direction), added) in places.iter_mut().zip(directions).zip(&added[k]) {
                (*place, *direction) =
                    (a * *place + b * *direction, c * *place + d * *direction + added);
            }
        }
        Ok(())
    }

    fn log_likelihoods(&mut self, trials: &[Trial]) -> Result<Vec<[f64; 3]>, Infallible> {
        Ok(Self::observed().sums(&self.paths(), trials))
    }

    fn slopes(&mut self, trials: &[Trial]) -> Result<Vec<f64>, Infallible> {
        let by_value = Self::observed().slopes(&self.paths(), trials).concat();
        Ok(self.tall().sums(&by_value, trials.len()))
    }
}

/// A quarter of a circle, bounces included, of each ball.
fn soft(criterion: &mut Criterion<Clock>) {
    let mut group = criterion.benchmark_group("engine");
    for m in [1000, 10_000] {
        group.bench_function(BenchmarkId::new("soft_step", m), |b| {
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            // Together the labels say as much as the prior.
            let scale = (m as f64).sqrt().recip();
            let features = normals(m * LANDMARKS, &mut rng).iter().map(|x| scale * x).collect();
            let mut walls = Examples { features, mean: Vec::new(), balls: Vec::new() };
            let mut root = vec![0.0; LANDMARKS * LANDMARKS];
            root.iter_mut().step_by(LANDMARKS + 1).for_each(|x| *x = 1.0);
            let normal = NormalLaw { mean: &[0.0; LANDMARKS], root: &root };
            let mut balls = SoftBalls::new(LANDMARKS, BALLS, 3.0, 1, 0);
            b.iter(|| balls.steps(1, &normal, &mut walls).expect("no error"));
        });
    }
    group.finish();
}

criterion_group! {
    name = engine;
    config = Criterion::default().with_measurement(Clock::new()).sample_size(20).measurement_time(std::time::Duration::from_secs(2));
    targets = benches, soft
}
criterion_main!(engine);
