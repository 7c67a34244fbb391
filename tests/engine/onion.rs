//! The layers of the onion against brute force, and the bias of the projected onion.

use std::collections::BTreeMap;

use bayespoint::papers::onion::{LayerRange, OnionMethod, OnionOutcome, OnionSettings, onion};
use bayespoint::{Control, Error, Gram, VersionSpace};
use ndarray::{Array2, s};

use crate::common::{Problem, angle, dot, noisily_taught, normals, rng, seed, size, taught, unit};

fn outcome_of(space: &VersionSpace<'_>, settings: &OnionSettings) -> OnionOutcome {
    onion(space, settings, &Control::new()).expect("a good run")
}

/// Settings for a comparison with brute force: enough trajectories for a good estimate of their errors.
fn precise(max_errors: [u32; 2], index: u64) -> OnionSettings {
    OnionSettings {
        max_errors,
        n_trajectories: 8,
        tol: 0.03,
        volume_tol: Some(0.04),
        n_threads: 2,
        seed: seed(index),
        ..OnionSettings::default()
    }
}

type Layer = [u32; 2];

/// The center of a layer with its standard error, and ln of its share of the sphere with its own.
#[derive(Clone, Debug)]
struct Estimate {
    center: Vec<f64>,
    error: f64,
    log_volume: (f64, f64),
}

/// Returns estimates of all layers from isotropic draws.
fn brute_force(problem: &Problem, index: u64) -> BTreeMap<Layer, Estimate> {
    let n = size(1_000_000, 10_000_000);
    let sums = problem.layers(n, &mut rng(index)).into_iter();
    sums.map(|(layer, (sum, count))| {
        let norm = dot(&sum, &sum).sqrt() / count;
        // The variance orthogonal to the mean is at most the whole variance.
        let error = ((1.0 - norm * norm) / count).sqrt() / norm;
        let log_volume = ((count / f64::from(n)).ln(), count.sqrt().recip());
        (layer, Estimate { center: unit(sum), error, log_volume })
    })
    .collect()
}

/// Returns the index of a layer in a table.
fn place([a, b]: Layer) -> [usize; 2] {
    [a as usize, b as usize]
}

fn center(outcome: &OnionOutcome, [a, b]: Layer) -> Vec<f64> {
    outcome.centers.slice(s![a as usize, b as usize, ..]).to_vec()
}

fn volumes(outcome: &OnionOutcome) -> (&Array2<f64>, &Array2<f64>) {
    let (values, errors) = (&outcome.log_volumes, &outcome.log_volume_errors);
    (values.as_ref().expect("exact"), errors.as_ref().expect("exact"))
}

/// Returns the estimates of an onion.
fn found(problem: &Problem, outcome: &OnionOutcome) -> BTreeMap<Layer, Estimate> {
    let mut seen = BTreeMap::new();
    for layer in outcome.range.iter() {
        let at = place(layer);
        if outcome.norms[at].is_nan() {
            continue;
        }
        let volume = |values: &Option<Array2<f64>>| values.as_ref().map_or(f64::NAN, |v| v[at]);
        seen.insert(
            layer,
            Estimate {
                center: problem.weight(&center(outcome, layer)),
                error: outcome.errors[at],
                log_volume: (volume(&outcome.log_volumes), volume(&outcome.log_volume_errors)),
            },
        );
    }
    seen
}

/// Returns the distance of two centers in standard errors.
fn distance(a: &Estimate, b: &Estimate) -> f64 {
    angle(&a.center, &b.center) / a.error.hypot(b.error)
}

/// True if all layers of a range with a hundred draws have the center of these draws, within 5.5 errors: of 20 000 layers in a
/// trial run, two were off by more than 5.
fn centers_agree(
    found: &BTreeMap<Layer, Estimate>,
    truth: &BTreeMap<Layer, Estimate>,
    range: LayerRange,
) -> bool {
    let mut compared = 0;
    for (layer, exact) in truth.iter().filter(|(layer, seen)| {
        range.index(**layer).is_some() && seen.log_volume.1 < 0.1 && seen.error < 0.1
    }) {
        compared += 1;
        match found.get(layer) {
            Some(seen) if distance(seen, exact) < 5.5 => {}
            other => {
                println!("layer {layer:?}: {other:?}, brute force {exact:?}");
                return false;
            }
        }
    }
    compared > 0
}

fn volumes_agree(outcome: &OnionOutcome, truth: &BTreeMap<Layer, Estimate>) {
    let (values, errors) = volumes(outcome);
    for layer in outcome.range.iter() {
        let (value, error) = (values[place(layer)], errors[place(layer)]);
        match truth.get(&layer) {
            Some(exact) if exact.log_volume.1 < 0.1 => {
                let (known, spread) = exact.log_volume;
                let off = (value - known).abs();
                assert!(
                    off < 5.0 * error.hypot(spread),
                    "layer {layer:?}: ln volume {value} ± {error}, brute force {known} ± {spread}"
                );
            }
            Some(_) => {}
            // Less than twenty draws in a million.
            None => assert!(value < -10.8, "layer {layer:?}: ln volume {value}, but no draws"),
        }
    }
}

/// Compares an onion with brute force, and returns both.
fn compared(
    problem: &Problem,
    space: &VersionSpace<'_>,
    settings: &OnionSettings,
) -> (OnionOutcome, BTreeMap<Layer, Estimate>) {
    let outcome = outcome_of(space, settings);
    let truth = brute_force(problem, 400 + settings.seed);
    assert!(centers_agree(&found(problem, &outcome), &truth, outcome.range), "{settings:?}");
    volumes_agree(&outcome, &truth);
    (outcome, truth)
}

/// Normal examples in three dimensions, labeled by a teacher, some of them wrongly.
fn polygon(m: usize, noise: f64, index: u64) -> Problem {
    noisily_taught(m, 3, noise, 300 + index)
}

#[test]
fn exact_centers_and_volumes_are_those_of_brute_force() {
    for (index, (m, noise, max_errors)) in
        [(7, 0.0, [5, 5]), (8, 0.3, [5, 5]), (6, 0.0, [1, 2]), (8, 0.0, [3, 0])]
            .into_iter()
            .enumerate()
    {
        let problem = polygon(m, noise, index as u64);
        let settings = precise(max_errors, index as u64);
        let (outcome, _) = compared(&problem, &problem.space(), &settings);
        // The run ends at the maximum path or at the tolerances.
        let (values, errors) = volumes(&outcome);
        let visible = values.iter().zip(errors).filter(|(v, _)| **v > -8.0).map(|(_, e)| *e);
        let converged = outcome.errors.iter().copied().fold(0.0, f64::max) <= 0.03
            && visible.fold(0.0, f64::max) <= 0.04;
        assert!(converged || outcome.length > 0.9e5, "problem {index}: {outcome:?}");
    }
}

/// Coinciding planes of both orientations and labels, so that no vector satisfies all: the exact onion has the layers that exist,
/// the projected one fails.
#[test]
fn coinciding_planes() {
    let base = polygon(4, 0.0, 20);
    let (mut x, mut labels) = (base.x.clone(), base.labels.clone());
    for (i, scale, flip) in [(0, 2.0, 1), (1, -1.0, -1), (2, 1.0, -1), (3, -0.5, 1), (0, 1.0, 1)] {
        x.push(base.x[i].iter().map(|x| x * scale).collect());
        labels.push(base.labels[i] * flip);
    }
    let problem = Problem::new(x, labels);
    let (outcome, truth) = compared(&problem, &problem.space(), &precise([9, 9], 21));
    for layer in outcome.range.iter() {
        if !truth.contains_key(&layer) {
            assert!(outcome.paths[place(layer)] <= 0.0, "layer {layer:?} is empty");
        }
    }
    assert!(outcome.layers.iter().all(|layer| truth.contains_key(layer)), "{:?}", outcome.layers);
    assert!(!truth.contains_key(&[0, 0]) && outcome.norms[[0, 0]].is_nan());
    let settings = OnionSettings { method: OnionMethod::Projected, ..OnionSettings::default() };
    let error = onion(&problem.space(), &settings, &Control::new());
    assert!(matches!(error, Err(Error::Infeasible { .. })));
}

/// Slivers between nearly coinciding planes take no more than their share of the work.
#[test]
fn planes_that_nearly_coincide() {
    let (base, mut rng) = (taught(15, 4, 22), rng(23));
    let (mut x, mut labels) = (base.x.clone(), base.labels.clone());
    for (row, label) in base.x.iter().zip(&base.labels) {
        let shift = normals(4, &mut rng);
        x.push(row.iter().zip(&shift).map(|(x, s)| x + 1e-6 * s).collect());
        labels.push(*label);
    }
    let problem = Problem::new(x, labels);
    let control = Control::new();
    let settings = OnionSettings { max_errors: [3, 3], max_length: 5e3, ..precise([3, 3], 22) };
    let outcome = onion(&problem.space(), &settings, &control).expect("a good run");
    let path = outcome.length * settings.n_trajectories as f64;
    // A great circle meets each of 30 planes twice: about 30/π events per radian, and up to ten times as many in slivers.
    assert!((control.bounces() as f64) < 300.0 * path, "{} in {path} rad", control.bounces());
    assert!(outcome.errors[[0, 0]] < 0.03);
}

#[test]
fn one_class_alone_and_layers_that_are_their_own_opposites() {
    // If all labels are equal, the layer that violates half of them contains w and -w.
    let mut x = polygon(6, 0.0, 30);
    x.labels.fill(1);
    let (outcome, _) = compared(&x, &x.space(), &precise([4, 9], 30));
    assert_eq!(outcome.range.most, [0, 6]);
    assert!(outcome.norms[[0, 3]].is_nan() && outcome.paths[[0, 3]] > 0.0);
    // Opposite layers are mirror images of one another.
    for a in 0..3 {
        let of = |n| (x.weight(&center(&outcome, [0, n])), outcome.errors[place([0, n])]);
        let ((w, e), (opposite, f)) = (of(a), of(6 - a));
        if !e.is_nan() && !f.is_nan() {
            let back: Vec<f64> = opposite.iter().map(|x| -x).collect();
            assert!(angle(&w, &back) < 5.5 * e.hypot(f));
        }
    }
}

/// Rays beyond the walls are not uniform: only the center of version space itself is right.
#[test]
fn projected_centers_are_biased_but_for_version_space() {
    let mut worst = 0f64;
    for index in 0..3 {
        let problem = polygon(7, 0.0, index);
        let settings = OnionSettings {
            method: OnionMethod::Projected,
            volume_tol: None,
            ..precise([5, 5], index)
        };
        let outcome = outcome_of(&problem.space(), &settings);
        let (seen, truth) = (found(&problem, &outcome), brute_force(&problem, 400 + index));
        assert!(outcome.converged && outcome.log_volumes.is_none() && outcome.layers.is_empty());
        let off = angle(&seen[&[0, 0]].center, &problem.polygon_centroid());
        assert!(off < 5.0 * seen[&[0, 0]].error, "version space: {off}");
        for (layer, seen) in seen.iter().filter(|(layer, _)| **layer != [0, 0]) {
            worst = worst.max(distance(seen, &truth[layer]));
        }
    }
    println!("largest distance of a projected center: {worst:.1} errors");
    assert!(worst > 10.0);
}

/// Softness adds m dimensions and an offset one: the layers against draws with explicit features for both.
#[test]
fn softness_and_offset_count() {
    let base = polygon(5, 0.2, 70);
    let (offset, softness) = (1.0f64, 0.5f64);
    let x: Vec<Vec<f64>> = base
        .x
        .iter()
        .enumerate()
        .map(|(i, row)| {
            let own = (0..base.x.len()).map(|j| if i == j { softness.sqrt() } else { 0.0 });
            row.iter().copied().chain([offset.sqrt()]).chain(own).collect()
        })
        .collect();
    let explicit = Problem::new(x, base.labels.clone());
    let gram = Gram::new(&base.gram, offset, vec![softness; 5]).expect("a matrix");
    let space = VersionSpace::new(gram, base.labels.clone()).expect("a space");
    // The feature vectors span five of the nine dimensions of the draws.
    compared(&explicit, &space, &precise([2, 2], 70));
}
