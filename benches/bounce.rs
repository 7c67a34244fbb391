//! The bounce against the least that it could cost: a bare pass that reads three arrays and writes two.
//!
//! `cargo bench --bench bounce`; compare the groups at the same m within one run.

#[path = "common/clock.rs"]
mod clock;
mod common;

use std::cell::LazyCell;
use std::hint::black_box;

use bayespoint::dynamics::Geodesic;
use bayespoint::pass;
use bayespoint::{Ball, Control, Goal, Gram, Refresh, Trajectory, VersionSpace, feasible_point};
use clock::Clock;
use common::{Problem, normals};
use criterion::{Bencher, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pulp::Arch;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

const SIZES: [usize; 7] = [17, 100, 200, 1000, 2000, 4000, 10_000];
/// Bounces in a measurement.
const BOUNCES: u64 = 100;
/// Pairs per bounce, as they are chosen as a rule.
const PAIRS: f64 = 0.05;

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

fn benches(criterion: &mut Criterion<Clock>) {
    for m in SIZES {
        // Made when a bench that is not filtered out asks for it.
        let problem = LazyCell::new(|| Problem::new(m));
        let arch = Arch::new();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut group = criterion.benchmark_group("bounce");
        group.throughput(Throughput::Elements(m as u64));

        // Rows in the order of a billiard: all over the matrix.
        let order: Vec<usize> = (0..4096).map(|k| (k * 7919) % m).collect();
        let row = |k: usize| &problem.gram[order[k % 4096] * m..][..m];

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
                let kick = (1e-9, row(k));
                pass::advance(arch, black_box(&mut f), black_box(&mut g), (0.8, 0.6), &[kick], 0.0)
            });
        });
        #[allow(clippy::cast_possible_truncation, reason = "half the memory")]
        let singles =
            LazyCell::new(|| problem.gram.iter().map(|&x| x as f32).collect::<Vec<f32>>());
        group.bench_function(BenchmarkId::new("pass_over_singles", m), |b| {
            b.iter(|| {
                k += 1;
                let kick = (1e-9, &singles[order[k % 4096] * m..][..m]);
                pass::advance(arch, black_box(&mut f), black_box(&mut g), (0.8, 0.6), &[kick], 0.0)
            });
        });

        // One element is one bounce, its share of refreshes and re-projections included.
        group.throughput(Throughput::Elements(BOUNCES));
        for (name, pairs) in [("trajectory", 0.0), ("trajectory_with_pairs", PAIRS)] {
            let direction = normals(m, &mut rng);
            group.bench_function(BenchmarkId::new(name, m), |b| {
                let (space, control) = (problem.space(), Control::new());
                let ball = Ball::new(space.gram(), &problem.start, &direction, &control)
                    .expect("a direction");
                let mut trajectory =
                    Trajectory::new(&space, Geodesic, ball, ChaCha8Rng::seed_from_u64(2));
                let run = |trajectory: &mut Trajectory<'_, Geodesic>, bounces: u64| {
                    let bounces = trajectory.tally().bounces + bounces;
                    let goal = Goal::either(f64::INFINITY, bounces);
                    trajectory.run(goal, &control).expect("runs on");
                };
                run(&mut trajectory, 5000);
                let per_radian = trajectory.tally().bounces as f64 / trajectory.tally().path;
                if pairs > 0.0 {
                    trajectory.set_refresh(Refresh::Pair { rate: pairs * per_radian });
                }
                b.iter(|| run(&mut trajectory, BOUNCES));
            });
        }
        group.finish();
    }
}

/// The version space of several classes: which of the first points is the nearest, in the order of the points.
fn joint_space(gram: &[f64], m: usize, n_classes: usize) -> VersionSpace<'_> {
    let nearest =
        |row: &[f64]| (0..n_classes).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or_default();
    let labels: Vec<usize> = gram.chunks_exact(m).map(nearest).collect();
    Gram::new(gram, 0.0, vec![0.1; m])
        .and_then(|gram| VersionSpace::of_classes(gram, &labels, n_classes))
        .expect("a good problem")
}

/// A bounce among the walls of C classes against one of two, with the same m: at most 1.3 C times as long.
fn classes(criterion: &mut Criterion<Clock>) {
    for m in [400, 1000] {
        let problem = LazyCell::new(|| Problem::new(m));
        let mut group = criterion.benchmark_group("classes");
        group.throughput(Throughput::Elements(BOUNCES));
        let control = Control::new();
        let bounces = |space: &VersionSpace<'_>, b: &mut Bencher<'_, Clock>| {
            let (start, _) = feasible_point(space, 1, &control).expect("separable by softness");
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let direction = normals(start.len(), &mut rng);
            let ball = Ball::new(space.gram(), &start, &direction, &control).expect("a direction");
            let mut trajectory = Trajectory::new(space, Geodesic, ball, rng);
            let mut run = |bounces: u64| {
                let bounces = trajectory.tally().bounces + bounces;
                trajectory.run(Goal::either(f64::INFINITY, bounces), &control).expect("runs on");
            };
            run(5000);
            b.iter(|| run(BOUNCES));
        };
        group.bench_function(BenchmarkId::new("2", m), |b| bounces(&problem.space(), b));
        for n in [3, 10] {
            group.bench_function(BenchmarkId::new(n.to_string(), m), |b| {
                bounces(&joint_space(&problem.gram, m, n), b);
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = bounce;
    config = Criterion::default().with_measurement(Clock::new()).sample_size(30).measurement_time(std::time::Duration::from_secs(2));
    targets = benches, classes
}
criterion_main!(bounce);
