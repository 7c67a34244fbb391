//! Tests of `papers::onion::pieces` that need its private parts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::base::{Control, random};
use crate::linalg::{Factor, Isotropic};
use crate::space::Mirror;
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::{Goal, Refresh, Trajectory};

/// Integrates the same path twice: by layer, and with the arc integral from arrival to arrival.
#[test]
fn arcs_are_integrated_by_layer() {
    let (m, softness) = (12, 0.3);
    let gram: Vec<f64> =
        (0..m * m).map(|k| f64::exp(-0.05 * ((k / m) as f64 - (k % m) as f64).powi(2))).collect();
    let gram = Gram::new(&gram, 0.5, vec![softness; m]).expect("a matrix");
    let labels = (0..m).map(|i| if i % 3 == 0 { -1 } else { 1 }).collect();
    let space = VersionSpace::new(gram, labels).expect("a space");
    let control = Control::new();
    let factor = Arc::new(Factor::new(space.gram(), &control).expect("a factor"));
    let range = LayerRange { most: [2, 3] };
    for refresh in
        [Refresh::Pair { rate: 3.0 }, Refresh::Full { rate: 0.5, source: Arc::clone(&factor) as _ }]
    {
        let start = || {
            let mut rng = random::stream(7, 0);
            let [position, direction] = [(); 2].map(|()| factor.draw(&mut rng).dual);
            let ball = Ball::new(space.gram(), &position, &direction, &control).expect("a ball");
            let mut trajectory = Trajectory::new(&space, Geodesic, ball, rng);
            trajectory.set_mirror(Mirror::alike(0.7));
            trajectory.set_refresh(refresh.clone());
            trajectory.reset();
            trajectory
        };
        // Long enough for many re-projections.
        let path = 500.0;
        let mut whole = start();
        let mut pieces = Pieces::new(range, m);
        whole.run_observed(Goal::path(path), &mut pieces, &control).expect("a run");
        pieces.close();
        let mut steps = start();
        let mut sums: BTreeMap<Option<usize>, (Vec<f64>, f64)> = BTreeMap::new();
        while steps.tally().path < path {
            let layer = range.index(space.layer(steps.ball().f()));
            let (from, arrivals) = (steps.tally().path, steps.tally().arrivals());
            steps.run(Goal::either(path, arrivals + 1), &control).expect("a run");
            let entry = sums.entry(layer).or_insert_with(|| (vec![0.0; m], 0.0));
            let arc = steps.ball_mut().take_arc_integral();
            entry.0.iter_mut().zip(arc).for_each(|(sum, arc)| *sum += arc);
            entry.1 += steps.tally().path - from;
        }
        assert_eq!(whole.tally().hits, steps.tally().hits, "the same path");
        let mut compared = 0;
        for (index, piece) in pieces.layers.iter().enumerate() {
            let Some((integral, path)) = sums.get(&Some(index)) else {
                assert!(piece.events == 0 && piece.path <= 0.0 && piece.batches.is_empty());
                continue;
            };
            assert!((piece.path - path).abs() < 1e-9 * (1.0 + path), "layer {index}");
            for (a, b) in piece.batches[0].integral.iter().zip(integral) {
                assert!((a - b).abs() < 1e-9 * (1.0 + path), "layer {index}: {a} {b}");
            }
            compared += 1;
        }
        assert!(compared >= 8, "{compared} layers were seen");
        // A second call finds nothing.
        pieces.close();
        assert!(pieces.layers.iter().all(|piece| piece.batches.len() <= 1));
    }
}
