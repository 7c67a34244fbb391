//! The bounce and the product with a vector, on matrices of doubles and of singles.
//!
//! `cargo bench --bench sources`; compare the groups at the same m within one run. Elements are entries for sweeps, bounces for
//! trajectories.

#[path = "common/clock.rs"]
mod clock;

use std::cell::LazyCell;

use bayespoint::dynamics::Geodesic;
use bayespoint::{Ball, Control, Goal, Gram, Precision, Refresh, Trajectory, VersionSpace};
use clock::Clock;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
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
        // Made when a bench that is not filtered out asks for it.
        let doubles = LazyCell::new(|| matrix(&x, |x| x));
        #[allow(clippy::cast_possible_truncation, reason = "half the memory")]
        let singles = LazyCell::new(|| matrix(&x, |x| x as f32));

        let mut group = criterion.benchmark_group("sources");
        let source = |name| match name {
            "doubles" => Gram::new(&doubles[..], 0.0, softness()).expect("symmetric"),
            _ => Gram::new(&singles[..], 0.0, softness()).expect("symmetric"),
        };
        for name in ["doubles", "singles"] {
            let space =
                LazyCell::new(|| VersionSpace::new(source(name), labels.clone()).expect("labels"));
            let control = Control::new();
            let dual = normals(m, &mut rng);
            group.throughput(Throughput::Elements((m * m) as u64));
            group.bench_function(BenchmarkId::new(format!("sweep_{name}"), m), |b| {
                b.iter(|| space.gram().multiply(&[&dual], Precision::Compensated, &control));
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

/// The matrix of inner products of points, with entries of a kind.
fn matrix<E>(x: &[f64], of: impl Fn(f64) -> E) -> Vec<E> {
    let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum();
    x.chunks(DIMENSION)
        .flat_map(|a| x.chunks(DIMENSION).map(move |b| inner(a, b)))
        .map(of)
        .collect()
}

criterion_group! {
    name = sources;
    config = Criterion::default().with_measurement(Clock::new()).sample_size(20).measurement_time(std::time::Duration::from_secs(2));
    targets = benches
}
criterion_main!(sources);
