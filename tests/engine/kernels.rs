//! Loops in vector instructions beside plain ones.

/// Deterministic numbers between -1 and 1.
fn numbers(n: usize, seed: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 7_919 + seed * 104_729) % 10_007) as f64 / 5_003.0 - 1.0).collect()
}

mod pass {
    use bayespoint::pass::{Kick, NextWall, advance};
    use proptest::prelude::*;
    use pulp::Arch;

    /// Returns coordinates, with difficult values among them: zeros of either sign, ties, subnormal numbers.
    fn coordinate() -> impl Strategy<Value = f64> {
        prop_oneof![
            8 => -1.0..1.0f64,
            1 => Just(0.0),
            1 => Just(-0.0),
            1 => Just(0.5),
            1 => Just(5e-310),
            1 => -1e-200..1e-200f64,
        ]
    }

    /// Returns the instruction sets of this machine.
    fn archs() -> Vec<Arch> {
        let mut archs = vec![Arch::Scalar, Arch::new()];
        #[cfg(target_arch = "x86_64")]
        archs.extend(pulp::x86::V3::try_new().map(Arch::V3));
        archs
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        /// Rows of singles must give the bits of rows of doubles with the same values.
        #[test]
        fn advance_agrees_with_the_plain_version(
            planes in prop::collection::vec((coordinate(), coordinate(), coordinate(), coordinate()), 1..150),
            angle in 0.0..3.0f64,
            kicks in 0usize..3,
            lift in -0.5..0.5f64,
            left_out in prop::option::of(0usize..150),
        ) {
            let f: Vec<f64> = planes.iter().map(|p| p.0).collect();
            let mut g: Vec<f64> = planes.iter().map(|p| p.1).collect();
            if let Some(i) = left_out.filter(|&i| i < g.len()) {
                g[i] = f64::NAN;
            }
            #[allow(clippy::cast_possible_truncation, reason = "rounds to singles")]
            let singles: [Vec<f32>; 2] =
                [planes.iter().map(|p| p.2 as f32).collect(), planes.iter().map(|p| p.3 as f32).collect()];
            let doubles = singles.clone().map(|row| row.into_iter().map(f64::from).collect::<Vec<_>>());
            let scales = [0.7, -1.3];
            let narrow: Vec<Kick<'_, f32>> =
                singles.iter().take(kicks).zip(scales).map(|(row, scale)| (scale, row.as_slice())).collect();
            let wide: Vec<Kick<'_>> =
                doubles.iter().take(kicks).zip(scales).map(|(row, scale)| (scale, row.as_slice())).collect();
            let (mut f2, mut g2) = (f.clone(), g.clone());
            let rotation = (angle.cos(), angle.sin());
            let mut earliest = std::f64::consts::PI;
            for (i, (f, g)) in f2.iter_mut().zip(&mut g2).enumerate() {
                let side = 1f64.copysign(*f);
                let turned = (side * (*f * rotation.0 + *g * rotation.1)).max(0.0);
                let kick: f64 = wide.iter().map(|(scale, row)| scale * row[i]).sum();
                *g = *g * rotation.0 - *f * rotation.1 + kick + lift;
                *f = turned.copysign(side);
                // The least of a number and NaN is the number.
                earliest = earliest.min(turned.atan2(-side * *g));
            }
            for arch in archs() {
                let (mut f3, mut g3) = (f.clone(), g.clone());
                let of_singles = advance(arch, &mut f3, &mut g3, rotation, &narrow, lift);
                let (mut f, mut g) = (f.clone(), g.clone());
                let fast = advance(arch, &mut f, &mut g, rotation, &wide, lift);
                prop_assert_eq!(fast, of_singles);
                for i in 0..f.len() {
                    if left_out == Some(i) { continue; }
                    prop_assert_eq!([f[i], g[i]].map(f64::to_bits), [f3[i], g3[i]].map(f64::to_bits));
                    prop_assert!((f[i] - f2[i]).abs() <= 1e-15 && f[i].is_sign_negative() == f2[i].is_sign_negative());
                    prop_assert!((g[i] - g2[i]).abs() <= 1e-14);
                }
                prop_assert!(left_out.is_none() || Some(fast.plane) != left_out);
                // Cotangents distinguish walls whose arctangents are equal.
                prop_assert!((fast.angle() - earliest).abs() <= 1e-7, "{fast:?} {earliest}");
                if fast.plane != usize::MAX {
                    let own = NextWall::of(fast.plane, f[fast.plane], g[fast.plane]);
                    prop_assert_eq!(own, fast);
                }
            }
        }
    }

    #[test]
    fn rounding_does_not_change_sides() {
        let (mut f, mut g) = (vec![1e-17, -1e-17, 0.3], vec![-1.0, 1.0, 0.1]);
        let wall = advance::<f64>(Arch::new(), &mut f, &mut g, (1.0, 1e-16), &[], 0.0);
        assert!(f[0] == 0.0 && f[0].is_sign_positive() && f[1] == 0.0 && f[1].is_sign_negative());
        assert!(wall.plane < 2 && wall.angle() == 0.0);
    }

    #[test]
    fn short_arctangent_agrees_with_the_library() {
        for k in 0..10_000 {
            let x = f64::from(k) / 10_000.0 / 16.0;
            let (exact, wall) = (x.atan(), NextWall { plane: 0, n: 1.0, d: x });
            assert!((wall.angle() - exact).abs() <= 4e-16 * exact, "{x}");
        }
        // Both sides of the threshold, and numbers whose squares underflow or overflow.
        for (n, d) in [(16.1, 1.0), (15.9, 1.0), (-1.0, 1e-3), (3e-170, 4e-170), (3e170, 4e170)] {
            let wall = NextWall { plane: 0, n, d };
            let exact = f64::atan2(d, n);
            assert!((wall.angle() - exact).abs() <= 4e-16 * exact);
            let (cos, sin, speed) = wall.rotation();
            assert!(
                (sin.atan2(cos) - exact).abs() <= 1e-15
                    && (speed / n.hypot(d) - 1.0).abs() <= 1e-15
            );
        }
    }

    #[test]
    fn a_plane_just_left_is_not_the_next_wall() {
        let (mut f, mut g) = (vec![0.0], vec![1.0]);
        let wall = advance::<f64>(Arch::new(), &mut f, &mut g, (1.0, 0.0), &[], 0.0);
        assert_eq!(wall, NextWall::NONE);
    }

    #[test]
    fn planes_at_the_position_are_met_if_approached() {
        for speed in [1.0, 1e-20, 1e-75, 1e-100] {
            assert!(NextWall::of(0, 0.0, -speed).before(&NextWall::NONE), "{speed:e}");
            assert!(!NextWall::of(0, 0.0, speed).before(&NextWall::NONE), "{speed:e}");
            assert!(NextWall::of(0, -0.0, speed).before(&NextWall::NONE), "{speed:e}");
        }
    }
}

mod distance {
    use approx::assert_relative_eq;
    use bayespoint::distance::{Columns, Radial};

    use super::numbers;

    #[test]
    fn values_and_slopes_agree_with_plain_sums() {
        let of = Radial { rate: 1.5, terms: [[1.0, 0.5, 0.25], [0.5, 0.0, -2.0]] };
        for (rows, n, d) in
            [(1, 1, 1), (3, 7, 2), (4, 8, 5), (5, 9, 3), (64, 33, 11), (0, 5, 2), (2, 0, 2)]
        {
            let (x, y) = (numbers(rows * d, 1), numbers(n * d, 2));
            let weights = [numbers(rows * n, 3), numbers(rows * n, 4)];
            let limits = numbers(d, 5).iter().map(|x| x.abs()).collect::<Vec<_>>();
            for (city_block, limited) in
                [(true, 0), (false, 0), (true, 1), (false, 1), (true, d), (false, d)]
            {
                let numbers = d - limited;
                let columns = Columns::new(&y, n, d, &limits[numbers..]);
                let apart = |i: usize, j: usize, k: usize| {
                    let apart = (x[i * d + k] - y[j * d + k]).abs();
                    let apart = if k < numbers { apart } else { apart.min(limits[k]) };
                    if city_block { apart } else { apart * apart }
                };
                let (mut found, mut others) = (vec![f64::NAN; rows * n], vec![f64::NAN; rows * n]);
                let mut slopes = vec![1.0; d];
                columns.values(&x, n, city_block, of, [&mut found, &mut others]);
                let pair = weights.each_ref().map(Vec::as_slice);
                columns.add_slopes(&x, city_block, pair, &mut slopes);
                let mut plain_slopes = vec![1.0; d];
                for (place, (found, other)) in found.iter().zip(&others).enumerate() {
                    let (i, j) = (place / n, place % n);
                    let sum: f64 = (0..d).map(|k| apart(i, j, k)).sum();
                    let r = if city_block { sum } else { sum.sqrt() };
                    let plain = (1.0 + 0.5 * r + 0.25 * r * r) * (-1.5 * r).exp();
                    assert_relative_eq!(*found, plain, max_relative = 1e-14);
                    let plain = (0.5 - 2.0 * r * r) * (-1.5 * r).exp();
                    assert_relative_eq!(*other, plain, max_relative = 1e-13, epsilon = 1e-15);
                    for k in 0..d {
                        plain_slopes[k] += weights[0][place] * weights[1][place] * apart(i, j, k);
                    }
                }
                for (found, plain) in slopes.iter().zip(&plain_slopes) {
                    assert_relative_eq!(*found, *plain, max_relative = 1e-12, epsilon = 1e-12);
                }
            }
        }
    }

    #[test]
    fn exponentials_agree_with_the_library() {
        let of = Radial { rate: 1.0, terms: [[1.0, 0.0, 0.0]] };
        let value = |x: f64| {
            let mut found = [f64::NAN];
            Columns::new(&[0.0], 1, 1, &[]).values(&[x], 1, true, of, [&mut found]);
            found[0].to_bits()
        };
        for i in 0..=200_000 {
            let x = -708.0 * (f64::from(i) / 2e5).powi(3);
            let error = f64::from_bits(value(x)) / x.exp() - 1.0;
            assert!(error.abs() <= 1e-15, "{x} {error:e}");
        }
        assert_eq!([0.0, -0.0, -1e-300].map(value), [1f64.to_bits(); 3]);
        assert_eq!([-708.1, -750.0, -1e150].map(value), [0; 3]);
    }
}

mod tall {
    use approx::assert_relative_eq;
    use bayespoint::tall::Tall;

    use super::numbers;

    #[test]
    fn products_agree_with_plain_sums() {
        for (n, r, k) in
            [(1, 1, 1), (7, 5, 2), (8, 33, 16), (21, 40, 17), (50, 3, 33), (0, 4, 2), (4, 3, 0)]
        {
            let [entries, vectors, factors] = [n * r, k * r, k * n].map(|size| numbers(size, size));
            let tall = Tall { entries: &entries, width: r };
            let (values, sums) = (tall.values(&vectors, k), tall.sums(&factors, k));
            #[allow(clippy::cast_possible_truncation, reason = "singles")]
            let [e, v] =
                [&entries, &vectors].map(|x| x.iter().map(|&x| x as f32).collect::<Vec<_>>());
            let singles = Tall { entries: &e, width: r }.values(&v, k);
            for v in 0..k {
                for i in 0..n {
                    let plain: f64 = (0..r).map(|p| entries[i * r + p] * vectors[v * r + p]).sum();
                    assert_relative_eq!(values[v * n + i], plain, epsilon = 1e-13);
                    assert_relative_eq!(f64::from(singles[v * n + i]), plain, epsilon = 1e-5);
                }
                for p in (0..r).filter(|_| n > 0) {
                    let plain: f64 = (0..n).map(|i| entries[i * r + p] * factors[v * n + i]).sum();
                    assert_relative_eq!(sums[v * r + p], plain, epsilon = 1e-13);
                }
            }
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "singles")]
mod laws {
    use approx::assert_relative_eq;
    use bayespoint::{Law, Observed, Paths, Trial};

    use crate::common::normal;

    /// Observations of more than one block.
    const N: usize = 2 * 512 + 37;

    fn ln_normal(z: f64) -> f64 {
        if z > 0.0 { (-normal(-z)).ln_1p() } else { normal(z).ln() }
    }

    const TRIALS: [Trial; 3] = [
        Trial { ball: 0, along: [0.5, -0.25] },
        Trial { ball: 1, along: [0.0, 2.0] },
        Trial { ball: 1, along: [0.7, 0.1] },
    ];

    /// Deterministic numbers between -3 and 3.
    fn numbers(n: usize, seed: usize) -> Vec<f64> {
        super::numbers(n, seed).iter().map(|x| 3.0 * x).collect()
    }

    fn paths<E>(rows: &[Vec<E>]) -> Paths<'_, E> {
        Paths { mean: &rows[0], balls: vec![[&rows[1], &rows[2]], [&rows[3], &rows[4]]] }
    }

    /// The log likelihoods are those of `plain` at the contrasts of each trial, and the derivatives are differences of them.
    fn assert_law(observed: &Observed<'_>, rows: &[Vec<f64>], plain: impl Fn([f64; 2]) -> f64) {
        let paths = paths(rows);
        let found = observed.sums(&paths, &TRIALS);
        let slopes = observed.slopes(&paths, &TRIALS);
        for ((trial, found), slopes) in TRIALS.iter().zip(found).zip(slopes) {
            let [place, direction] = paths.balls[trial.ball];
            let value = |[a, b]: [f64; 2]| -> f64 {
                let at = |i: usize| paths.mean[i] + a * place[i] + b * direction[i];
                let each = (0..N).map(|i| {
                    let log_p =
                        plain([at(i), if observed.n_contrasts > 1 { at(N + i) } else { 0.0 }]);
                    let [floors, spans] = observed.noise;
                    let noisy = |floor: &f64| (floor + spans[i] * log_p.exp()).ln();
                    floors.get(i).map_or(log_p, noisy)
                });
                each.sum()
            };
            assert_relative_eq!(found[0], value(trial.along), max_relative = 1e-9);
            for (k, row) in [place, direction].into_iter().enumerate() {
                let beside = |by: f64| {
                    let mut moved = trial.along;
                    moved[k] += by;
                    value(moved)
                };
                let difference = (beside(1e-5) - beside(-1e-5)) / 2e-5;
                assert_relative_eq!(found[k + 1], difference, max_relative = 1e-6, epsilon = 1e-4);
                let by_contrast: f64 = slopes.iter().zip(row).map(|(a, b)| a * b).sum();
                assert_relative_eq!(
                    found[k + 1],
                    by_contrast,
                    max_relative = 1e-10,
                    epsilon = 1e-9
                );
            }
        }
    }

    #[test]
    fn sums_along_paths_agree_with_the_plain_ones() {
        let floors: Vec<f64> = (0..N).map(|i| if i % 2 == 0 { 0.1 } else { 0.02 }).collect();
        let spans: Vec<f64> = floors.iter().map(|floor| 0.98 - floor).collect();
        for noise in [[&[][..]; 2], [&floors, &spans]] {
            let of = |law, n_contrasts| Observed { law, n_contrasts, noise };
            let rows: Vec<Vec<f64>> = (0..5).map(|k| numbers(N, k)).collect();
            assert_law(&of(Law::OneWall, 1), &rows, |[u, _]| ln_normal(u));
            // The larger of two, and of three of which one is missing.
            assert_law(&of(Law::LargestOf, 1), &rows, |[d, _]| ln_normal(d / 2f64.sqrt()));
            let mut rows: Vec<Vec<f64>> = (0..5).map(|k| numbers(2 * N, k)).collect();
            rows[0][N..].fill(f64::INFINITY);
            assert_law(&of(Law::LargestOf, 2), &rows, |[d, _]| ln_normal(d / 2f64.sqrt()));
            // Intervals with room.
            rows.iter_mut().skip(1).flatten().for_each(|x| *x *= 0.3);
            rows[0] = numbers(N, 0);
            rows[0].extend(numbers(N, 0).iter().map(|a| 8.0 - a));
            assert_law(&of(Law::Interval, 2), &rows, |[a, b]| (1.0 - normal(-a) - normal(-b)).ln());
        }
    }

    #[test]
    fn singles_are_near_doubles() {
        let observed = Observed { law: Law::OneWall, n_contrasts: 1, noise: [&[]; 2] };
        let rows: Vec<Vec<f64>> = (0..5).map(|k| numbers(N, k)).collect();
        let singles: Vec<Vec<f32>> =
            rows.iter().map(|row| row.iter().map(|&x| x as f32).collect()).collect();
        let exact = observed.sums(&paths(&rows), &TRIALS);
        let found = observed.sums(&paths(&singles), &TRIALS);
        for (found, exact) in found.iter().flatten().zip(exact.iter().flatten()) {
            assert_relative_eq!(*found, exact, max_relative = 1e-5, epsilon = 1e-3);
        }
    }
}
