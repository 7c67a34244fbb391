//! The bounce against the least that it could cost: a bare pass that reads three arrays and writes two.
//!
//! `cargo bench --bench bounce`; compare the groups at the same m within one run.

use std::hint::black_box;

use bayespoint::dynamics::Geodesic;
use bayespoint::pass::{self, Kick};
use bayespoint::{Ball, Control, Goal, Gram, Refresh, Trajectory, VersionSpace};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pulp::Arch;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

const SIZES: [usize; 7] = [17, 100, 200, 1000, 2000, 4000, 10_000];
const DIMENSION: usize = 20;

fn normals(n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    StandardNormal.sample_iter(rng).take(n).collect()
}

/// An RBF Gram matrix of normal points, its labels by a plane, softness 0.1: a version space like a user's.
fn problem(m: usize) -> (Vec<f64>, Vec<i8>) {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let x: Vec<Vec<f64>> = (0..m).map(|_| normals(DIMENSION, &mut rng)).collect();
    let gram = x
        .iter()
        .flat_map(|a| x.iter().map(move |b| (a, b)))
        .map(|(a, b)| {
            let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
            (-square / (2.0 * DIMENSION as f64)).exp()
        })
        .collect();
    let labels = x.iter().map(|x| if x[0] > 0.0 { 1 } else { -1 }).collect();
    (gram, labels)
}

/// Reads three arrays, writes two.
fn bare(arch: Arch, f: &mut [f64], g: &mut [f64], row: &[f64], c: f64) {
    arch.dispatch(
        #[inline(always)]
        || {
            for ((f, g), k) in f.iter_mut().zip(g.iter_mut()).zip(row) {
                *f += c * k;
                *g -= c * k;
            }
        },
    );
}

fn benches(criterion: &mut Criterion) {
    for m in SIZES {
        let (gram, labels) = problem(m);
        let arch = Arch::new();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut group = criterion.benchmark_group("bounce");
        group.throughput(Throughput::Elements(m as u64));

        // Rows in the order of a billiard: all over the matrix.
        let order: Vec<usize> = (0..4096).map(|k| (k * 7919) % m).collect();
        let row = |k: usize| &gram[order[k % 4096] * m..][..m];

        let (mut f, mut g) = (normals(m, &mut rng), normals(m, &mut rng));
        let mut k = 0;
        group.bench_function(BenchmarkId::new("bare", m), |b| {
            b.iter(|| {
                k += 1;
                bare(arch, black_box(&mut f), black_box(&mut g), row(k), 1e-9);
            });
        });
        group.bench_function(BenchmarkId::new("pass", m), |b| {
            b.iter(|| {
                k += 1;
                let kick = Kick { scale: 1e-9, row: row(k) };
                pass::advance(arch, black_box(&mut f), black_box(&mut g), (0.8, 0.6), &[kick], 0.0)
            });
        });
        group.bench_function(BenchmarkId::new("plain", m), |b| {
            b.iter(|| {
                k += 1;
                let kick = Kick { scale: 1e-9, row: row(k) };
                pass::advance_plain(black_box(&mut f), black_box(&mut g), (0.8, 0.6), &[kick], 0.0)
            });
        });
        #[allow(clippy::cast_possible_truncation, reason = "half the memory")]
        let singles: Vec<f32> = gram.iter().map(|&x| x as f32).collect();
        group.bench_function(BenchmarkId::new("pass_over_singles", m), |b| {
            b.iter(|| {
                k += 1;
                let kick = Kick { scale: 1e-9, row: &singles[order[k % 4096] * m..][..m] };
                pass::advance(arch, black_box(&mut f), black_box(&mut g), (0.8, 0.6), &[kick], 0.0)
            });
        });

        let space = Gram::new(&gram, 0.0, vec![0.1; m])
            .and_then(|gram| VersionSpace::new(gram, labels))
            .expect("a good problem");
        let control = Control::new();
        let (start, _) =
            bayespoint::feasible_point(&space, 1, &control).expect("separable by softness");
        for (name, rate) in [("trajectory", 0.0), ("trajectory_with_pairs", 0.05)] {
            let ball = Ball::new(space.gram(), &start, &normals(m, &mut rng), &control)
                .expect("a direction");
            let mut trajectory =
                Trajectory::new(&space, Geodesic, ball, ChaCha8Rng::seed_from_u64(2));
            let run = |trajectory: &mut Trajectory<'_, Geodesic>, bounces: u64| {
                let bounces = trajectory.tally().bounces + bounces;
                trajectory.run(Goal::either(f64::INFINITY, bounces), &control).expect("runs on");
            };
            run(&mut trajectory, 5000);
            let per_radian = trajectory.tally().bounces as f64 / trajectory.tally().path;
            if rate > 0.0 {
                trajectory.set_refresh(Refresh::Pair { rate: rate * per_radian });
            }
            // One element is one bounce, its share of refreshes and re-projections included.
            group.throughput(Throughput::Elements(100));
            group.bench_function(BenchmarkId::new(name, m), |b| {
                b.iter(|| run(&mut trajectory, 100));
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = bounce;
    config = Criterion::default().sample_size(30).measurement_time(std::time::Duration::from_secs(2));
    targets = benches
}
criterion_main!(bounce);
