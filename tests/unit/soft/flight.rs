//! Tests of `soft::flight` that need its private parts.

use std::f64::consts::PI;

use proptest::prelude::*;

use super::*;

/// Flies in a potential with its derivative, and returns the end.
fn fly(energy: f64, left: f64, law: impl Fn(f64) -> [f64; 2]) -> End {
    end_of(Flight::new(energy, left, None), law)
}

fn end_of(mut flight: Flight, law: impl Fn(f64) -> [f64; 2]) -> End {
    loop {
        let wanted = flight.wanted();
        if let Some(end) = flight.end {
            return end;
        }
        for angle in wanted {
            let [potential, slope] = law(angle);
            flight.take(Node { angle, potential, slope });
        }
    }
}

#[test]
fn the_clock_counts_ascents() {
    // 1 - cos(4 t) ascends by 2 up to π/4, descends, and ascends again.
    let law = |t: f64| [1.0 - (4.0 * t).cos(), 4.0 * (4.0 * t).sin()];
    for (energy, exact) in [(0.5, PI / 12.0), (1.0, PI / 8.0), (2.5, PI / 2.0 + PI / 12.0)] {
        let end = fly(energy, PI, law);
        assert!(end.bounces);
        approx::assert_abs_diff_eq!(end.angle, exact, epsilon = 1e-3);
        approx::assert_abs_diff_eq!(end.potential, energy % 2.0, epsilon = 1e-3);
    }
    let end = fly(4.5, PI, law);
    assert!(!end.bounces);
    approx::assert_abs_diff_eq!(end.angle, PI);
}

#[test]
fn logarithmic_walls_are_met_before_they_are_infinite() {
    for (wall, n) in [(0.2, 1.0), (0.9, 3.0), (1.4, 50.0)] {
        let law = |t: f64| [-n * (1.0 - t / wall).ln(), n / (wall - t)];
        for energy in [0.01, 0.7, 6.0] {
            let mut flight = Flight::new(energy, QUARTER, None);
            flight.stop_before(wall);
            let end = end_of(flight, law);
            assert!(end.bounces && !end.hits);
            approx::assert_abs_diff_eq!(law(end.angle)[0], energy, epsilon = 0.02);
        }
    }
    // A flat potential before a wall: the ball hits it.
    let mut flight = Flight::new(1.0, QUARTER, None);
    flight.stop_before(0.3);
    let end = end_of(flight, |t| [0.1 * t, 0.1]);
    assert!(end.bounces && end.hits);
    approx::assert_abs_diff_eq!(end.angle, 0.3, epsilon = 1e-8);
}

proptest! {
    #[test]
    fn bounces_are_where_the_ascents_of_a_smooth_potential_sum_up(
        waves in proptest::collection::vec((-4.0..4.0, 0.0..6.0), 4),
        energy in 0.01..8.0,
    ) {
        let law = |t: f64| {
            waves.iter().enumerate().fold([0.0; 2], |[u, slope], (k, &(size, phase))| {
                let (k, x): (f64, f64) = (k as f64, k as f64 * t + phase);
                [u + size * x.sin(), slope + size * k * x.cos()]
            })
        };
        let end = fly(energy, QUARTER, law);
        const STEPS: usize = 20_000;
        let (mut ascents, mut before) = (0.0, law(0.0)[0]);
        for k in 1..=STEPS {
            let ahead = law(end.angle * k as f64 / STEPS as f64)[0];
            ascents += (ahead - before).max(0.0);
            before = ahead;
        }
        if end.bounces {
            prop_assert!((ascents - energy).abs() < 0.02, "{ascents} instead of {energy}");
            prop_assert!((before - end.potential).abs() < 0.02);
        } else {
            prop_assert!(ascents < energy + 0.02);
        }
    }
}
