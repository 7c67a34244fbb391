//! The bounce on every source of Gram rows, and what a computed row costs.
//!
//! `cargo bench --bench sources`; compare the groups at the same m within one run. Elements are planes for rows and sweeps,
//! bounces for trajectories.

#[path = "common/clock.rs"]
mod clock;

use std::cell::LazyCell;
use std::hint::black_box;

use bayespoint::dynamics::Geodesic;
use bayespoint::{Ball, Control, Entry, Goal, Gram, Precision, Refresh, Trajectory, VersionSpace};
use clock::Clock;
use criterion::{Bencher, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

const SIZES: [usize; 3] = [200, 1000, 4000];
const DIMENSION: usize = 20;
/// Bounces in a measurement.
const BOUNCES: u64 = 100;
/// Pairs per bounce, as they are chosen as a rule.
const PAIRS: f64 = 0.05;

fn normals(n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    StandardNormal.sample_iter(rng).take(n).collect()
}

fn benches(criterion: &mut Criterion<Clock>) {
    for m in SIZES {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let x = normals(m * DIMENSION, &mut rng);
        let labels: Vec<i8> =
            x.chunks(DIMENSION).map(|x| if x[0] > 0.0 { 1 } else { -1 }).collect();
        let softness = || vec![0.1; m];
        let features = || Gram::of_features(&x, DIMENSION, 0.0, softness()).expect("good");
        // Made when a bench that is not filtered out asks for it.
        let doubles = LazyCell::new(|| matrix(&features(), |x| x));
        #[allow(clippy::cast_possible_truncation, reason = "half the memory")]
        let singles = LazyCell::new(|| matrix(&features(), |x| x as f32));

        let mut group = criterion.benchmark_group("sources");
        group.throughput(Throughput::Elements(m as u64));
        group.bench_function(BenchmarkId::new("row_features", m), |b| {
            let (gram, mut i) = (features(), 0);
            b.iter(|| {
                i = (i + 7919) % m;
                black_box(gram.row(i));
            });
        });

        let source = |name| match name {
            "doubles" => Gram::new(&doubles[..], 0.0, softness()).expect("symmetric"),
            "singles" => Gram::new(&singles[..], 0.0, softness()).expect("symmetric"),
            _ => features(),
        };
        for name in ["doubles", "singles", "features"] {
            let space =
                LazyCell::new(|| VersionSpace::new(source(name), labels.clone()).expect("labels"));
            let control = Control::new();
            let dual = normals(m, &mut rng);
            group.throughput(Throughput::Elements((m * m) as u64));
            group.bench_function(BenchmarkId::new(format!("sweep_{name}"), m), |b| {
                let mut field = vec![0.0; m];
                b.iter(|| {
                    let precision = Precision::Compensated;
                    space.gram().multiply(&[&dual], &mut [&mut field], precision, &control)
                });
            });
            let mut trajectory = None;
            // One element is one bounce, its share of refreshes and re-projections included.
            group.throughput(Throughput::Elements(BOUNCES));
            group.bench_function(BenchmarkId::new(format!("trajectory_{name}"), m), |b| {
                let trajectory = trajectory.get_or_insert_with(|| {
                    let (start, _) = bayespoint::feasible_point(&space, 1, &control)
                        .expect("separable by softness");
                    let ball =
                        Ball::new(space.gram(), &start, &dual, &control).expect("a direction");
                    let mut trajectory =
                        Trajectory::new(&space, Geodesic, ball, ChaCha8Rng::seed_from_u64(2));
                    run(&mut trajectory, 2000);
                    let per_radian = trajectory.tally().bounces as f64 / trajectory.tally().path;
                    trajectory.set_refresh(Refresh::Pair { rate: PAIRS * per_radian });
                    run(&mut trajectory, 1000);
                    trajectory
                });
                b.iter(|| run(trajectory, BOUNCES));
            });
        }
        group.finish();
    }
}

/// Runs on for some bounces.
fn run(trajectory: &mut Trajectory<'_, Geodesic>, bounces: u64) {
    let bounces = trajectory.tally().bounces + bounces;
    trajectory.run(Goal::either(f64::INFINITY, bounces), &Control::new()).expect("runs on");
}

/// The matrix of some rows, with entries of a kind.
fn matrix<E>(rows: &Gram<'_>, of: impl Fn(f64) -> E) -> Vec<E> {
    (0..rows.len()).flat_map(|i| rows.row(i).to_vec()).map(of).collect()
}

fn dense<'a, E: Entry>(matrix: &'a [E], labels: &[i8]) -> VersionSpace<'a> {
    Gram::new(matrix, 0.0, vec![0.0; labels.len()])
        .and_then(|gram| VersionSpace::new(gram, labels.to_vec()))
        .expect("good")
}

/// Bounces of a ball on explicit features that uses a neighbor list, against all walls: with the matrix in memory, of doubles and
/// of singles, and with its rows computed. A teacher's version space of about a thousandth of a radian.
fn near_walls(criterion: &mut Criterion<Clock>) {
    for (m, r) in [(2_000, 20), (20_000, 20), (20_000, 100)] {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let x = normals(m * r, &mut rng);
        let teacher = normals(r, &mut rng);
        let labels: Vec<i8> =
            x.chunks(r)
                .map(|x| {
                    if x.iter().zip(&teacher).map(|(x, w)| x * w).sum::<f64>() > 0.0 {
                        1
                    } else {
                        -1
                    }
                })
                .collect();
        let control = Control::new();
        let features = LazyCell::new(|| {
            Gram::of_features(&x, r, 0.0, vec![0.0; m])
                .and_then(|gram| VersionSpace::new(gram, labels.clone()))
                .expect("good")
        });
        let start = LazyCell::new(|| {
            bayespoint::feasible_point(&features, 1, &control).expect("separable").0
        });
        let direction = normals(m, &mut rng);
        let mut group = criterion.benchmark_group("near_walls");
        group.throughput(Throughput::Elements(BOUNCES));
        let bounces = |b: &mut Bencher<'_, Clock>, space: &VersionSpace<'_>, near: bool| {
            let mut ball =
                Ball::new(space.gram(), &start, &direction, &control).expect("a direction");
            if near {
                ball.use_neighbors(space.gram());
            }
            let mut trajectory =
                Trajectory::new(space, Geodesic, ball, ChaCha8Rng::seed_from_u64(2));
            run(&mut trajectory, 2000);
            let per_radian = trajectory.tally().bounces as f64 / trajectory.tally().path;
            trajectory.set_refresh(Refresh::Pair { rate: PAIRS * per_radian });
            b.iter(|| run(&mut trajectory, BOUNCES));
        };
        let id = |name| BenchmarkId::new(name, format!("{m}x{r}"));
        group.bench_function(id("near"), |b| bounces(b, &features, true));
        group.bench_function(id("all_features"), |b| bounces(b, &features, false));
        // 3.2 GB at 20 000, and then half of it.
        let doubles = LazyCell::new(|| matrix(features.gram(), |x| x));
        let space = LazyCell::new(|| dense(&doubles, &labels));
        group.bench_function(id("all_doubles"), |b| bounces(b, &space, false));
        drop(space);
        drop(doubles);
        #[allow(clippy::cast_possible_truncation, reason = "half the memory")]
        let singles = LazyCell::new(|| matrix(features.gram(), |x| x as f32));
        let space = LazyCell::new(|| dense(&singles, &labels));
        group.bench_function(id("all_singles"), |b| bounces(b, &space, false));
        group.finish();
    }
}

criterion_group! {
    name = sources;
    config = Criterion::default().with_measurement(Clock::new()).sample_size(20).measurement_time(std::time::Duration::from_secs(2));
    targets = benches, near_walls
}
criterion_main!(sources);
