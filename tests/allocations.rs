//! The event loop allocates nothing: not for bounces, crossings, pairs, or the arcs of layers.

mod common;

use bayespoint::dynamics::Geodesic;
use bayespoint::{Ball, Control, Goal, Gram, Refresh, Trajectory, VersionSpace, feasible_point};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Fewer events than between two re-projections, which do allocate.
const EVENTS: u64 = 200;

#[test]
fn bounces_crossings_and_pairs_allocate_nothing() {
    let problem = common::taught(100, 10, 1);
    check(&problem.space());
    // The same labels as two of three classes, in no order.
    let labels: Vec<usize> = problem.labels.iter().map(|y| usize::from(*y > 0) * 2).collect();
    let gram = Gram::new(&problem.gram, 0.0, vec![0.0; 100]).expect("a matrix");
    check(&VersionSpace::of_classes(gram, &labels, 3).expect("classes"));
}

fn check(space: &VersionSpace<'_>) {
    let control = Control::new();
    let (start, _) = feasible_point(space, 1, &control).expect("separable");
    let ball =
        Ball::new(space.gram(), &start, &start.iter().rev().copied().collect::<Vec<_>>(), &control)
            .expect("a direction");
    let mut trajectory = Trajectory::new(space, Geodesic, ball, ChaCha8Rng::seed_from_u64(1));
    trajectory.set_refresh(Refresh::Pair { rate: 10.0 });
    trajectory.run(Goal::either(f64::INFINITY, 100), &control).expect("runs");
    for kappa in [0.0, 0.5] {
        trajectory.set_mirror(common::alike(kappa));
        trajectory.reproject(&control).expect("no drift");
        let profiler = dhat::Profiler::builder().testing().build();
        let before = dhat::HeapStats::get().total_blocks;
        let events = trajectory.tally().arrivals() + EVENTS;
        trajectory.run(Goal::either(f64::INFINITY, events), &control).expect("runs");
        let during = dhat::HeapStats::get().total_blocks - before;
        // The counter counts.
        drop(std::hint::black_box(vec![1.0; 10]));
        let after = dhat::HeapStats::get().total_blocks - before;
        drop(profiler);
        assert_eq!((during, after), (0, 1), "κ = {kappa}");
    }
    let tally = trajectory.tally();
    assert!(tally.bounces > 0 && tally.crossings > 0 && tally.refreshes > 0);
}
