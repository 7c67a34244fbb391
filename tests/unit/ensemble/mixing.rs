//! Tests of `ensemble::mixing` that need its private parts.

use super::*;
use approx::assert_relative_eq;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::gram::Gram;

/// Returns whether n draws of four trajectories suffice, whose only functional has this value from two normal sequences, the
/// first of which keeps `memory` of its last value.
fn enough(n: usize, memory: f64, value: impl Fn(usize, f64, f64) -> f64) -> bool {
    let one = [1.0];
    let gram = Gram::new(&one, 0.0, vec![0.0]).expect("valid");
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let records: Vec<Recorder> = (0..4)
        .map(|chain| {
            let mut slow = normal();
            let values: Vec<f64> = (0..n)
                .map(|_| {
                    slow = memory * slow + (1.0 - memory * memory).sqrt() * normal();
                    value(chain, slow, normal())
                })
                .collect();
            let schedule = (1.0, n as u64 + 1);
            Recorder::restored(schedule, &[0], &gram, (&values, &values), n as f64)
                .expect("a record")
        })
        .collect();
    shortfall(&records.iter().collect::<Vec<_>>(), n).is_none()
}

#[test]
fn independent_draws_suffice() {
    for n in [3, 20, 25, 100, 250, 1000, 2500] {
        assert!(enough(n, 0.0, |_, x, _| x), "{n}");
        assert!(enough(n, 0.0, |_, x, _| x.exp()), "{n}");
        assert!(enough(n, 0.0, |_, _, _| 0.5), "{n}");
    }
}

/// Their effective sample size is that of independent draws, or nearly.
#[test]
fn trajectories_that_disagree_do_not_suffice() {
    for n in [25, 100, 1000] {
        let wide = |chain, x| if chain == 3 { 4.0 * x } else { x };
        assert!(!enough(n, 0.0, |chain, x, _| 20.0 + wide(chain, x)), "{n}");
    }
    for (shift, expected) in [(0.2, true), (0.8, false)] {
        let shifted = |chain: usize, x, _| x + if chain == 3 { shift } else { 0.0 };
        assert_eq!(enough(1000, 0.0, shifted), expected, "{shift}");
    }
}

/// R-hat is below 1.05.
#[test]
fn few_effective_draws_do_not_suffice() {
    for (memory, expected) in [(0.3, true), (0.9, false)] {
        assert_eq!(enough(1000, memory, |_, x, _| x), expected, "{memory}");
    }
}

/// A coordinate of random sign, whose square moves slowly.
#[test]
fn squares_count_where_signs_change() {
    for (memory, expected) in [(0.3, true), (0.9, false)] {
        let value = |_, slow: f64, x: f64| slow.exp().copysign(x);
        assert_eq!(enough(1000, memory, value), expected, "{memory}");
    }
}

/// Of fewer than eighty draws nothing can be told.
#[test]
fn too_few_draws_to_tell_are_enough() {
    let apart = |chain: usize, x, _| x + 9.0 * chain as f64;
    assert!(enough(19, 0.0, apart) && !enough(20, 0.0, apart));
}

#[test]
fn limits_of_r_hat_rise_where_draws_are_few() {
    assert_relative_eq!(r_hat_limit(4, 400.0), MAX_R_HAT);
    assert_relative_eq!(r_hat_limit(4, 100_000.0), MAX_R_HAT);
    // The quantiles of chi-square for a chance of 1e-3.
    for (t, quantile) in [(1, 10.83), (2, 16.27 / 3.0), (4, 24.32 / 7.0)] {
        let limit = r_hat_limit(t, 4.0 * t as f64);
        let ratio = (limit * limit - 1.0) * 2.0 + 1.0;
        assert_relative_eq!(ratio, quantile, max_relative = 0.05);
    }
}
