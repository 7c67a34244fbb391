//! What the engine does besides bounces: refreshes, re-projection, whole runs, maximal margins.
//!
//! `cargo bench --bench engine`. The evidence has a bench of its own.

mod common;

use std::cell::LazyCell;
use std::hint::black_box;
use std::sync::Arc;

use bayespoint::{
    Ball, Control, Factor, Isotropic, MarginSettings, Settings, feasible_point, max_margin, run,
};
use common::{Problem, normals};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

const SIZES: [usize; 5] = [17, 100, 1000, 4000, 10_000];
/// Examples beyond which the O(m³) of a factor takes minutes.
const FACTORED: usize = 4000;

fn benches(criterion: &mut Criterion) {
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
            group.bench_function(BenchmarkId::new("refresh_full", m), |b| {
                let space = problem.space();
                let gram = space.gram();
                let mut ball =
                    Ball::new(gram, &problem.start, &direction, &control).expect("a ball");
                let source: Arc<dyn Isotropic> =
                    Arc::new(Factor::new(gram, &control).expect("a factor"));
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
        group.bench_function(BenchmarkId::new("run", m), |b| {
            let space = problem.space();
            let settings = Settings { tol: Some(0.1), n_threads: 1, ..Settings::default() };
            b.iter(|| black_box(run(&space, &settings, &control).expect("runs")));
        });
        group.bench_function(BenchmarkId::new("max_margin", m), |b| {
            let space = problem.space();
            let settings = MarginSettings::default();
            b.iter(|| black_box(max_margin(&space, &settings, &control).expect("separable")));
        });
        if m <= FACTORED {
            group.bench_function(BenchmarkId::new("factor", m), |b| {
                let space = problem.space();
                b.iter(|| black_box(Factor::new(space.gram(), &control).expect("a factor")));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = engine;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(2));
    targets = benches
}
criterion_main!(engine);
