//! Tests of `soft::flight` that need its private parts.

use std::f64::consts::PI;

use proptest::prelude::*;

use super::*;

/// Flies in a potential with its derivative until the end is known.
fn fly(mut flight: Flight, law: impl Fn(f64) -> [f64; 2]) -> Flight {
    loop {
        let wanted = flight.wanted();
        if flight.end.is_some() {
            return flight;
        }
        for angle in wanted {
            let [potential, slope] = law(angle);
            flight.take(Node { angle, potential, slope });
        }
    }
}

fn end_of(flight: Flight, law: impl Fn(f64) -> [f64; 2]) -> End {
    fly(flight, law).end.expect("a flight that has ended")
}

/// A sum of waves, with its derivative.
fn sum(waves: &[(f64, f64)], t: f64) -> [f64; 2] {
    waves.iter().enumerate().fold([0.0; 2], |[u, slope], (k, &(size, phase))| {
        let (k, x): (f64, f64) = (k as f64, k as f64 * t + phase);
        [u + size * x.sin(), slope + size * k * x.cos()]
    })
}

#[test]
fn the_clock_counts_ascents() {
    // 1 - cos(6 t) ascends by 2 up to π/6, descends, and ascends again.
    let law = |t: f64| [1.0 - (6.0 * t).cos(), 6.0 * (6.0 * t).sin()];
    for (energy, exact) in [(0.5, PI / 18.0), (1.0, PI / 12.0), (2.5, PI / 3.0 + PI / 18.0)] {
        let end = end_of(Flight::new(energy, 0.0), law);
        assert_eq!(end.reason, Reason::Energy);
        approx::assert_abs_diff_eq!(end.angle, exact, epsilon = 5e-3);
        approx::assert_abs_diff_eq!(end.climb, energy % 2.0, epsilon = 0.02);
    }
    let end = end_of(Flight::new(4.5, 0.0), law);
    assert_eq!(end.reason, Reason::Done);
    approx::assert_abs_diff_eq!(end.angle, QUARTER);
}

#[test]
fn logarithmic_walls_are_met_before_they_are_infinite() {
    for (wall, n) in [(0.2, 1.0), (0.9, 3.0), (1.4, 50.0)] {
        let law = |t: f64| [-n * (1.0 - t / wall).ln(), n / (wall - t)];
        for energy in [0.01, 0.7, 6.0] {
            let mut flight = Flight::new(energy, 0.0);
            flight.keep_within([-1.0, wall]);
            let end = end_of(flight, law);
            assert_eq!(end.reason, Reason::Energy);
            approx::assert_abs_diff_eq!(law(end.angle)[0], energy, epsilon = 0.05);
        }
    }
    // A flat potential before a wall: the ball hits it.
    let mut flight = Flight::new(1.0, 0.0);
    flight.keep_within([-1.0, 0.3]);
    let end = end_of(flight, |t| [0.1 * t, 0.1]);
    assert_eq!(end.reason, Reason::Wall);
    approx::assert_abs_diff_eq!(end.angle, 0.3, epsilon = 1e-8);
}

#[test]
fn narrow_steps_are_met_where_they_are() {
    for width in [1e-2, 1e-3, 1e-4] {
        let law = |t: f64| {
            let x = ((t - 0.7) / width).tanh();
            [1.5 * x, 1.5 * (1.0 - x * x) / width]
        };
        for energy in [0.3, 1.5, 2.7] {
            let end = end_of(Flight::new(energy, 0.0), law);
            assert_eq!(end.reason, Reason::Energy);
            approx::assert_abs_diff_eq!(law(end.angle)[0] + 1.5, energy, epsilon = 0.1);
        }
    }
}

/// Asserts that the path backwards has the same interpolation: nodes, climb and slopes.
fn assert_same_backwards(energy: f64, before: f64, walls: [f64; 2], law: impl Fn(f64) -> [f64; 2]) {
    let mut flight = Flight::new(energy, before);
    flight.keep_within(walls);
    let flight = fly(flight, &law);
    let End { angle, slopes, climb, .. } = flight.end.expect("a flight that has ended");
    let mut back = Flight::new(f64::INFINITY, QUARTER - before - angle);
    back.keep_within([angle - walls[1], angle - walls[0]]);
    let back = fly(back, |t| {
        let [potential, slope] = law(angle - t);
        [potential, -slope]
    });
    // The nodes of the intervals between start and end.
    let between = |nodes: Vec<f64>| -> Vec<f64> {
        let first = nodes.partition_point(|&t| t < -1e-9).saturating_sub(1);
        let last = nodes.partition_point(|&t| t < angle + 1e-9).min(nodes.len() - 1);
        nodes[first..=last]
            .iter()
            .copied()
            .filter(|t| t.abs() > 1e-8 && (t - angle).abs() > 1e-8)
            .collect()
    };
    let ahead = between(flight.nodes.iter().map(|node| node.angle).collect());
    let behind = between(back.nodes.iter().rev().map(|node| angle - node.angle).collect());
    assert_eq!(ahead.len(), behind.len(), "{ahead:?} {behind:?}");
    for (one, other) in ahead.iter().zip(&behind) {
        approx::assert_abs_diff_eq!(one, other, epsilon = 1e-8);
    }
    let end = back.end.expect("a flight that has ended");
    if (before - 0.0).abs() < 1e-12 {
        approx::assert_relative_eq!(end.climb, -climb, epsilon = 1e-4, max_relative = 1e-4);
        approx::assert_relative_eq!(end.slopes[1], -slopes[0], epsilon = 1e-3, max_relative = 1e-4);
    }
    approx::assert_relative_eq!(end.slopes[0], -slopes[1], epsilon = 1e-3, max_relative = 1e-4);
}

proptest! {
    #[test]
    fn bounces_are_where_the_ascents_of_a_smooth_potential_sum_up(
        waves in proptest::collection::vec((-4.0..4.0, 0.0..6.0), 4),
        energy in 0.01..8.0,
        before in 0.0..1.5,
    ) {
        let law = |t: f64| sum(&waves, t);
        let end = end_of(Flight::new(energy, before), law);
        const STEPS: usize = 20_000;
        let (mut ascents, start) = (0.0, law(0.0)[0]);
        let mut last = start;
        for k in 1..=STEPS {
            let ahead = law(end.angle * k as f64 / STEPS as f64)[0];
            ascents += (ahead - last).max(0.0);
            last = ahead;
        }
        prop_assert!((last - start - end.climb).abs() < 0.05);
        if end.reason == Reason::Energy {
            prop_assert!((ascents - energy).abs() < 0.05, "{ascents} instead of {energy}");
        } else {
            prop_assert!(ascents < energy + 0.05);
        }
    }

    #[test]
    fn the_path_backwards_has_the_same_interpolation(
        waves in proptest::collection::vec((-4.0..4.0, 0.0..6.0), 12),
        step in 1e-4..0.1,
        energy in 0.01..8.0,
        before in 0.0..1.5,
        (behind, ahead) in (-2.0..-0.01_f64, 0.01..2.0_f64),
    ) {
        let law = |t: f64| {
            let ([u, slope], x) = (sum(&waves, t), f64::tanh((t - 0.4) / step));
            [u + x, slope + (1.0 - x * x) / step]
        };
        for before in [0.0, before] {
            assert_same_backwards(energy, before, [f64::NEG_INFINITY, f64::INFINITY], law);
            assert_same_backwards(energy, before, [behind, ahead], law);
        }
    }
}
