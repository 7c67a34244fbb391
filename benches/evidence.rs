//! The evidence of a teacher problem to a standard error of 0.3 nats, on one core: by the bridge, and on the ladder of
//! transparencies that label noise takes.
//!
//! `cargo bench --bench evidence` prints the time of a run and, before it, what sixteen runs found: their mean, the
//! spread between them and the errors they reported.

#[path = "common/clock.rs"]
mod clock;

use std::hint::black_box;

use bayespoint::{
    Control, EvidenceOutcome, EvidenceSettings, Gram, Mirror, VersionSpace, evidence,
};
use clock::Clock;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

const SIZES: [(usize, usize); 3] = [(100, 20), (200, 50), (300, 100)];
const TOL: f64 = 0.3;
const RUNS: u64 = 16;

/// Inner products of m normal points in r dimensions, and labels by a random plane through the origin.
fn teacher(m: usize, r: usize) -> (Vec<f64>, Vec<i8>) {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut normals =
        |n: usize| -> Vec<f64> { StandardNormal.sample_iter(&mut rng).take(n).collect() };
    let x: Vec<Vec<f64>> = (0..m).map(|_| normals(r)).collect();
    let plane = normals(r);
    let inner = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let gram = x.iter().flat_map(|a| x.iter().map(move |b| inner(a, b))).collect();
    let labels = x.iter().map(|x| if inner(x, &plane) > 0.0 { 1 } else { -1 }).collect();
    (gram, labels)
}

fn run(space: &VersionSpace<'_>, targets: &[Mirror], seed: u64) -> EvidenceOutcome {
    let targets = targets.to_vec();
    let settings = EvidenceSettings { tol: TOL, targets, seed, ..EvidenceSettings::default() };
    evidence(space, &settings, &Control::new()).expect("the problem is well posed")
}

/// Prints what some runs found.
fn report(space: &VersionSpace<'_>, targets: &[Mirror], what: &str) {
    let found: Vec<_> = (0..RUNS).map(|seed| run(space, targets, seed)).collect();
    let values: Vec<f64> = found.iter().map(|one| one.values[0]).collect();
    let mean = values.iter().sum::<f64>() / RUNS as f64;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (RUNS - 1) as f64;
    let squares = found.iter().map(|one| one.errors[0].powi(2)).sum::<f64>();
    println!(
        "{what}: ln volume {mean:.2} nats, spread {:.3}, reported {:.3}, {} of {RUNS} converged",
        variance.sqrt(),
        (squares / RUNS as f64).sqrt(),
        found.iter().filter(|one| one.converged).count(),
    );
}

fn benches(criterion: &mut Criterion<Clock>) {
    let mut group = criterion.benchmark_group("evidence");
    group.sample_size(10);
    for (m, r) in SIZES {
        let (gram, labels) = teacher(m, r);
        let space = VersionSpace::new(Gram::new(&gram, 0.0, vec![0.0; m]).expect("finite"), labels)
            .expect("valid");
        // Hard walls with transparent ones are on a ladder.
        let transparent = Mirror([1.0, 1.0]);
        let both = [Mirror::HARD, transparent];
        for (name, targets) in [("bridge", &both[..1]), ("integration", &both)] {
            let mut reported = false;
            group.bench_with_input(BenchmarkId::new(name, format!("{m}x{r}")), &m, |bencher, _| {
                if !reported {
                    reported = true;
                    report(&space, targets, &format!("{name} {m} x {r}"));
                }
                // The same seeds in every measurement.
                let mut seed = RUNS;
                bencher.iter(|| {
                    seed += 1;
                    black_box(run(&space, targets, seed))
                });
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = all;
    config = Criterion::default().with_measurement(Clock::new());
    targets = benches
}
criterion_main!(all);
