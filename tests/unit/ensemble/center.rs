//! Tests of `ensemble::center` that need its private parts.

use super::*;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Returns a piece of path between orthogonal planes.
fn piece(integral: Vec<f64>, length: f64) -> Batch {
    Batch { field: Some(integral.clone()), integral, length, densities: None }
}

/// Pieces of four paths across a fixed direction; on a path each step keeps `memory` of the last one and adds a drift.
fn mixed(memory: f64, drift: f64, seed: u64) -> bool {
    const DIMENSIONS: usize = 6;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let identity: Vec<f64> = (0..DIMENSIONS * DIMENSIONS)
        .map(|k| if k / DIMENSIONS == k % DIMENSIONS { 1.0 } else { 0.0 })
        .collect();
    let gram = Gram::new(&identity, 0.0, vec![0.0; DIMENSIONS]).expect("valid");
    let paths: Vec<Vec<Batch>> = (0..4)
        .map(|_| {
            let mut place = [0.0; DIMENSIONS];
            (0..8)
                .map(|_| {
                    for x in &mut place[1..] {
                        let step: f64 = StandardNormal.sample(&mut rng);
                        *x = memory * *x + 0.001 * (step + drift);
                    }
                    place[0] = 1.0;
                    piece(place.to_vec(), 1.0)
                })
                .collect()
        })
        .collect();
    let paths: Vec<&[Batch]> = paths.iter().map(Vec::as_slice).collect();
    center(&gram, &paths, 0.0).mixed
}

/// Three balls that a limit of arrivals stopped in a corner, and one whose path is a thousand times longer.
#[test]
fn short_paths_far_away_count() {
    let identity = [1.0, 0.0, 0.0, 1.0];
    let gram = Gram::new(&identity, 0.0, vec![0.0; 2]).expect("valid");
    let far = vec![piece(vec![1.0, 0.0], 1.0); 4];
    let stuck = vec![piece(vec![0.0, 1e-3], 1e-3); 4];
    let error =
        |burn_in_length| center(&gram, &[&far, &stuck, &stuck, &stuck], burn_in_length).error;
    // The burn-in must have been long enough to get there.
    assert!(error(0.9).is_infinite());
    let error = error(2.0);
    assert!(error > 0.4 && error.is_finite(), "{error}");
}

/// Independent pieces are mixed. Random walks from a common start are not, with or without a common drift.
#[test]
fn walks_are_not_mixed() {
    let share = |memory: f64, drift: f64| {
        (0..200).filter(|&seed| mixed(memory, drift, seed)).count() as f64 / 200.0
    };
    assert!(share(0.0, 0.0) > 0.99);
    assert!(share(0.3, 0.0) > 0.9);
    assert!(share(1.0, 0.0) < 0.02);
    assert!(share(1.0, 2.0) < 0.01);
}
