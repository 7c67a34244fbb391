//! What rounding does: many bounces, ill-conditioned matrices, softness of any size, and version spaces that are hardly there. A
//! right law, a right center, or an error that says what is wrong; never a wrong number.

use std::f64::consts::{PI, TAU};
use std::sync::Arc;

use bayespoint::dynamics::Geodesic;
use bayespoint::{
    Ball, Control, Error, EvidenceSettings, Factor, Goal, Method, Outcome, Precision, Refresh,
    RefreshChoice, Settings, Trajectory, VersionSpace, evidence, feasible_point, run,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::common::{
    Problem, angle, dot, draws, each, ill_conditioned, normals, rng, seed, size, space, taught,
    unit,
};
use crate::comparisons::Comparisons;
use crate::samplers::{self, Source, chains, engine};
use crate::targets::{Cone, Target, wedge};

/// How far the running coordinates are from those of the dual coefficients, relative to the feature vectors' lengths, or the
/// norms and the product of position and direction from what they should be.
fn drift(ball: &Ball, space: &VersionSpace<'_>) -> f64 {
    let m = space.len();
    let (position, direction) = (ball.position(0.0), ball.direction());
    let (mut f, mut g) = (vec![0.0; m], vec![0.0; m]);
    let (duals, mut out) = ([&position[..], &direction], [&mut f[..], &mut g]);
    let control = Control::new();
    space.gram().multiply(&duals, &mut out, Precision::Compensated, &control).expect("ok");
    let coordinates = (0..m).map(|i| {
        let off = (f[i] - ball.f()[i]).abs().max((g[i] - ball.g()[i]).abs());
        off / space.gram().diagonal(i).sqrt()
    });
    let products = [dot(&position, &f) - 1.0, dot(&direction, &g) - 1.0, dot(&position, &g)];
    coordinates.chain(products.map(f64::abs)).fold(0.0, f64::max)
}

/// Checks that nothing drifts further than `allowed` over so many bounces.
fn check_drift(space: &VersionSpace<'_>, refresh: Refresh<'_>, bounces: u64, allowed: f64) {
    let control = Control::new();
    let (start, _) = feasible_point(space, seed(1), &control).expect("separable");
    let direction = normals(space.len(), &mut rng(60_000));
    let ball = Ball::new(space.gram(), &start, &direction, &control).expect("ok");
    let mut trajectory = Trajectory::new(space, Geodesic, ball, ChaCha8Rng::seed_from_u64(seed(2)));
    trajectory.set_refresh(refresh);
    let mut worst = 0f64;
    // Between two re-projections as well as behind one.
    for k in 1..=100 {
        let goal = Goal::either(f64::INFINITY, bounces / 100 * k + 37 * (k % 2));
        trajectory.run(goal, &control).expect("no breakdown");
        worst = worst.max(drift(trajectory.ball(), space));
        assert_eq!(trajectory.violated(), 0);
    }
    let (bounces, own) = (trajectory.tally().bounces, trajectory.tally().drift);
    println!("{} planes, {bounces} bounces: off by {worst:.1e}, reported {own:.1e}", space.len());
    assert!(worst <= allowed && own <= allowed, "{worst:e}, reported {own:e}");
}

/// 1e6 bounces, 1e8 at full length, off a hundred planes.
#[test]
fn nothing_drifts() {
    let problem = taught(100, 20, 60_000);
    check_drift(&problem.space(), Refresh::Pair { rate: 5.0 }, size(1_000_000, 100_000_000), 1e-10);
}

/// The same on a Gram matrix of condition 1e8.
#[test]
fn nothing_drifts_on_an_ill_conditioned_matrix() {
    for (m, bounces) in [(30, 1_000_000), (200, 150_000)] {
        let mut random = rng(15);
        let gram = ill_conditioned(m, 8.0, &mut random);
        let labels: Vec<i8> = (0..m).map(|_| if random.random() { 1 } else { -1 }).collect();
        let space = space(&gram, &labels, 0.0);
        let bounces = size(bounces, 10 * bounces);
        check_drift(&space, Refresh::Pair { rate: 5.0 }, bounces, 1e-10);
        // A fresh direction has dual coefficients of up to the root of the condition, and their rounding: that does not grow
        // with the number of events, nor shrink where the ball is re-projected more often.
        let source = Arc::new(Factor::new(space.gram(), &Control::new()).expect("definite"));
        check_drift(&space, Refresh::Full { rate: 0.3, source }, bounces, 1e-13 * 1e8f64.sqrt());
    }
}

/// Below this margin, relative to the longest feature vector, rounding of the Gram matrix hides version space, and a refusal says that the data are not separable.
const HIDDEN: f64 = 3e-8;

/// The smallest margin of a weight vector, relative to the longest feature vector: no more than the largest there is.
fn margin(problem: &Problem, weight: &[f64]) -> f64 {
    let longest = problem.x.iter().map(|x| dot(x, x).sqrt()).fold(0.0, f64::max);
    let margins =
        problem.x.iter().zip(&problem.labels).map(|(x, y)| f64::from(*y) * dot(x, weight));
    margins.fold(f64::INFINITY, f64::min) / (longest * dot(weight, weight).sqrt())
}

/// An error about the arithmetic or the data, true of a version space with this margin.
fn check_refusal(error: &Error, problem: &Problem, margin: f64, label: &str) {
    println!("{label}: {error}");
    match error {
        Error::Breakdown { .. } => {}
        // Planes whose angles rounding hides are those of one dimension.
        Error::Invalid { name: "gram", .. } => assert!(margin < HIDDEN, "{label}: {margin:e}"),
        Error::Infeasible { margin_bound, certificate, .. } => {
            let proven = problem.check_certificate(certificate);
            assert!(
                proven <= margin_bound + HIDDEN,
                "{label}: {proven:e}, reported {margin_bound:e}"
            );
            assert!(
                margin_bound + HIDDEN >= margin,
                "{label}: {margin:e}, reported {margin_bound:e}"
            );
        }
        other => panic!("{label}: {other}"),
    }
}

/// Condition 1e14, random labels: the draws are where they say, the norms hold, or a breakdown is reported.
#[test]
fn condition_of_1e14() {
    for (m, decades) in [(20, 10.0), (20, 14.0), (60, 12.0), (60, 14.0)] {
        let mut random = rng(61_000 + m as u64);
        let gram = ill_conditioned(m, decades, &mut random);
        let labels: Vec<i8> = (0..m).map(|_| if random.random() { 1 } else { -1 }).collect();
        let space = space(&gram, &labels, 0.0);
        let settings = Settings {
            tol: None,
            max_bounces: Some(size(20_000, 200_000)),
            seed: seed(3),
            ..Settings::default()
        };
        match run(&space, &settings, &Control::new()) {
            Ok(outcome) => {
                let mut worst = 0f64;
                for draw in draws(&outcome) {
                    let margins = space.margins(draw).expect("fits");
                    for (i, margin) in margins.iter().enumerate() {
                        worst = worst.max(-margin / space.gram().diagonal(i).sqrt());
                    }
                    // |w|² to the rounding of the dual coefficients and of the matrix.
                    let (mut norm, mut terms) = (0.0, 0.0);
                    for (row, c) in gram.chunks(m).zip(draw) {
                        norm += c * dot(row, draw);
                        terms += row.iter().zip(draw).map(|(k, d)| (c * k * d).abs()).sum::<f64>();
                    }
                    let rounding = m as f64 * f64::EPSILON * terms;
                    assert!((norm - 1.0).abs() < rounding, "m = {m}: |w|² = {norm}");
                }
                println!(
                    "m = {m}, condition 1e{decades}: violated by {worst:.1e}, drift {:.1e}",
                    outcome.drift
                );
                assert!(worst < 1e-10, "m = {m}: draws are outside by {worst:e}");
                // What rounding does to a matrix of this condition at first order, however carefully it is handled.
                let bound = f64::EPSILON * 10f64.powf(decades);
                assert!(outcome.drift <= bound, "m = {m}: {:e}", outcome.drift);
                assert!(space.contains(&outcome.center.dual).expect("fits"), "m = {m}: the center");
            }
            // Only where the matrix itself has no version space to show, to rounding.
            Err(Error::Infeasible { margin_bound, certificate, .. }) => {
                println!("m = {m}, condition 1e{decades}: a margin of at most {margin_bound:e}");
                let dual: Vec<f64> =
                    certificate.iter().zip(&labels).map(|(a, y)| a * f64::from(*y)).collect();
                let square: f64 =
                    gram.chunks(m).zip(&dual).map(|(row, c)| c * dot(row, &dual)).sum();
                let longest = (0..m).map(|i| gram[i * m + i]).fold(0.0, f64::max);
                let rounding = m as f64 * f64::EPSILON * longest;
                assert!(margin_bound < HIDDEN && square <= HIDDEN * HIDDEN * longest + rounding);
            }
            Err(error) => panic!("m = {m}, condition 1e{decades}: {error}"),
        }
    }
}

/// Condition 1e13 and 1e14 and closed forms: the right law, and the right center within its error.
#[test]
#[ignore = "long: make test-all"]
fn condition_of_1e14_has_the_law() {
    let mut comparisons = Comparisons::default();
    let mut check = |label: &str, target: &Target, index: u64, must: bool| {
        let settings = settings(650 + index);
        match samplers::run(target, Source::Doubles, &settings) {
            Ok(outcome) => {
                comparisons.check(label, target, &chains(target, &outcome, settings.seed));
            }
            Err(error) => {
                println!("{label}: {error}");
                assert!(!must && matches!(error, Error::Breakdown { .. }), "{label}: {error}");
            }
        }
        if must {
            has_center(target, label, 0.3);
        }
    };
    // Dual coefficients of 1e6 and more leave three digits of |w|²: at 1e14 the engine may refuse.
    for (k, own) in [2e-12, 2e-13].into_iter().enumerate() {
        let (index, must) = (10 * k as u64, own > 1e-12);
        // Two planes that are nearly one, and ask for the same side: condition 4 / angle².
        let angle = f64::sqrt(0.2 * own);
        for n in [3, 8] {
            let label = format!("two planes that are one but for {angle:.1e} rad, n = {n}");
            check(&label, &wedge(n, PI - angle), index + n as u64, must);
        }
        let parts = Cone { m: 20, negative: 0, own, shared: 1.0, softness: 0.0, kappa: (0.0, 0.0) }
            .target();
        check(&format!("cone, own part {own:e}"), &parts, index, must);
        // The matrix itself instead of what it is made of.
        let mut rounded = parts;
        (rounded.base, rounded.offset) = (rounded.problem.x.concat(), 0.0);
        check(&format!("cone, own part {own:e}, rounded"), &rounded, index + 1, must);
    }
    comparisons.assert_right();
}

fn settings(index: u64) -> Settings {
    Settings {
        n_trajectories: 24,
        n_draws: size(60, 600),
        length: Some(size(180.0, 1800.0)),
        refresh: RefreshChoice::Full(Some(0.7)),
        seed: seed(index),
        tol: None,
        ..Settings::default()
    }
}

/// A cone of ten planes with so much softness and so many labels -1.
fn soft_cone(softness: f64, negative: usize) -> (String, Target) {
    // Without softness the matrix has a part of its own.
    let own = if softness == 0.0 { 1.0 } else { softness };
    let cone = Cone { m: 10, negative, own, shared: 1.0, softness, kappa: (0.0, 0.0) };
    (format!("λ = {softness:e}, {negative} of 10 labels -"), cone.target())
}

/// The law of a cone whose own part is softness, of every size; from the condition 1 to 1e13.
#[test]
fn softness_of_every_size() {
    let mut comparisons = Comparisons::default();
    let labels_of_one_class = [0.0, 1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6].map(|x| (x, 0));
    let of_both = [0.0, 1e-3, 1.0, 1e3, 1e6].map(|x| (x, 4));
    for (k, &(softness, negative)) in labels_of_one_class.iter().chain(&of_both).enumerate() {
        let (case, target) = soft_cone(softness, negative);
        let chains = engine(&target, Source::Doubles, &settings(600 + k as u64));
        comparisons.check(&case, &target, &chains);
    }
    comparisons.assert_right();
}

/// Mixed labels leave a gap of √λ between two walls, which takes as many bounces as it is narrow: too many for a law, but not
/// for a center.
#[test]
#[ignore = "long: make test-all"]
fn gaps_of_little_softness() {
    for softness in [1e-12, 1e-9, 1e-6] {
        let (case, target) = soft_cone(softness, 4);
        center_in_a_gap(&target, softness, &case);
    }
}

/// The right center, of which the error says something, or from 1e-10 on a clear error.
fn center_in_a_gap(target: &Target, softness: f64, case: &str) {
    let exact = target.center.as_ref().expect("a center");
    let settings = Settings { tol: Some(0.1), seed: seed(7), ..Settings::default() };
    target.space(Source::Doubles, |space| match run(space, &settings, &Control::new()) {
        Ok(outcome) => {
            let off = angle(&target.problem.weight(&outcome.center.dual), exact);
            println!("{case}: center off by {off:.1e}, reported {:.1e}", outcome.center.error);
            assert!(off <= 6.0 * outcome.center.error && outcome.center.error <= 0.1, "{case}");
            assert!(space.contains(&outcome.center.dual).expect("fits"), "{case}: the center");
        }
        Err(error) => {
            assert!(softness < 1e-9, "{case}: {error}");
            check_refusal(&error, &target.problem, margin(&target.problem, exact), case);
        }
    });
}

/// A run to the default tolerance, or to as many bounces.
fn short(index: u64) -> Settings {
    Settings { max_bounces: Some(100_000), seed: seed(index), ..Settings::default() }
}

/// The center is the exact one, within an error of at most `largest`.
fn has_center(target: &Target, label: &str, largest: f64) {
    let exact = target.center.as_ref().expect("a center");
    let found = target.space(Source::Doubles, |space| run(space, &short(5), &Control::new()));
    let outcome = found.unwrap_or_else(|error| panic!("{label}: {error}"));
    let (off, reported) =
        (angle(&target.problem.weight(&outcome.center.dual), exact), outcome.center.error);
    println!("{label}: center off by {off:.1e}, reported {reported:.1e}");
    assert!(reported <= largest, "{label}: an error of {reported:e}");
    // Four trajectories: the error itself is known to a factor of two.
    assert!(off <= 6.0 * reported + 1e-12, "{label}: {off:e}, reported {reported:e}");
}

/// Draws and a center inside, of an error that may be infinite but no less than it is.
fn is_inside(target: &Target, label: &str, outcome: &Outcome) {
    let weight = target.problem.weight(&outcome.center.dual);
    let off = angle(&weight, target.center.as_ref().expect("a center"));
    let (reported, found) = (outcome.center.error, margin(&target.problem, &weight));
    println!("{label}: center off by {off:.1e}, reported {reported:.1e}, margin {found:.1e}");
    assert!(off <= 6.0 * reported + 1e-12, "{label}: {off:e}, reported {reported:e}");
    // Dual coefficients of 1e6 leave ten digits of a margin, a mean over a path that is hardly any fewer.
    let path: f64 = each(outcome, |tally| tally.path).iter().sum();
    assert!(found > -1e-9 - 1e3 * f64::EPSILON / path, "{label}: outside by {found:e}");
    for draw in draws(outcome) {
        let drawn = margin(&target.problem, &target.problem.weight(draw));
        // Of the sum of terms that cancel: dual coefficients of a slit of 1e-6 are that large.
        let rounding = f64::EPSILON * draw.iter().map(|x| x.abs()).sum::<f64>();
        assert!(drawn > -1e-12 - 10.0 * rounding, "{label}: a draw is outside by {drawn:e}");
    }
}

/// The same, or an error that is clear and true.
fn is_inside_or_refused(target: &Target, label: &str) {
    let most = margin(&target.problem, target.center.as_ref().expect("a center"));
    let found = target.space(Source::Doubles, |space| run(space, &short(5), &Control::new()));
    match found {
        Ok(outcome) => is_inside(target, label, &outcome),
        Err(error) => check_refusal(&error, &target.problem, most, label),
    }
}

/// Narrow in every direction.
#[test]
fn arcs_and_needles() {
    for width in [1e-2, 1e-4, 1e-5] {
        has_center(&wedge(2, width), &format!("arc of {width:e} rad"), 0.5 * width);
    }
    // |w|² of dual coefficients of 1e6 keeps four digits, and often enough less than is taken for sound.
    for width in [1e-6, 1e-7, 1e-8, 1e-9] {
        is_inside_or_refused(&wedge(2, width), &format!("arc of {width:e} rad"));
    }
    for width in [1e-2, 1e-4, 1e-6, 1e-8] {
        needle(width);
    }
}

/// Narrow in one direction or in all but one, and wide in the others.
fn slits(width: f64) -> Vec<(String, Target)> {
    let own = width * width;
    let cone = Cone { m: 8, negative: 3, own, shared: 1.0, softness: own, kappa: (0.0, 0.0) };
    let wedges =
        [3, 8].map(|n| (format!("wedge of {width:e} rad in {n} dimensions"), wedge(n, width)));
    wedges.into_iter().chain([(format!("cone, own part {own:e}"), cone.target())]).collect()
}

#[test]
fn narrow_slits() {
    for (label, target) in [1e-2, 1e-3, 1e-4].into_iter().flat_map(slits) {
        has_center(&target, &label, 0.6);
    }
}

/// A ball in a corner of 1e-6 rad needs three million bounces to get out: the error of a shorter run is infinite.
#[test]
fn narrower_slits() {
    for (label, target) in [1e-5, 1e-6].into_iter().flat_map(slits) {
        let found = target.space(Source::Doubles, |space| run(space, &short(5), &Control::new()));
        is_inside(&target, &label, &found.unwrap_or_else(|error| panic!("{label}: {error}")));
    }
    for (label, target) in slits(1e-8) {
        is_inside_or_refused(&target, &label);
    }
}

/// Sixty planes that all pass nearly through one direction.
fn needle(width: f64) {
    let mut random = rng(62_000);
    let axis = unit(normals(4, &mut random));
    let x: Vec<Vec<f64>> = (0..60)
        .map(|_| {
            let normal = normals(4, &mut random);
            let along = dot(&normal, &axis);
            normal.iter().zip(&axis).map(|(n, a)| n - along * a + width * a).collect()
        })
        .collect();
    let problem = Problem::new(x, vec![1; 60]);
    let label = format!("needle of {width:e} rad");
    match run(&problem.space(), &short(6), &Control::new()) {
        Ok(outcome) => {
            let w = problem.weight(&outcome.center.dual);
            let (off, reported) = (angle(&w, &axis), outcome.center.error);
            let worst = margin(&problem, &w);
            println!(
                "{label}: {off:.1e} from its axis, reported {reported:.1e}, smallest margin {worst:.1e}"
            );
            assert!(off < 10.0 * width && worst > 0.0, "{label}: {off:e}, margin {worst:e}");
            // Narrower than the tolerance in all directions: the error is less than the needle is wide, as long as rounding of
            // the norms, which is squared and divided by the width, leaves something to see of it.
            let largest = if width < 1e-5 { 1e-2 } else { width };
            assert!(reported <= largest, "{label}: an error of {reported:e}");
        }
        Err(error) => {
            assert!(width < 1e-6, "{label}: {error}");
            check_refusal(&error, &problem, margin(&problem, &axis), &label);
        }
    }
}

/// The bridge of Gaussian laws gives the volume of a slit, or says why it cannot; the ladder of mirrors can.
#[test]
#[ignore = "long: make test-all"]
fn volumes_of_slits() {
    for width in [1e-2, 1e-3, 1e-4, 1e-6] {
        for (n, method) in [
            (2, Method::Bridge),
            (4, Method::Bridge),
            (2, Method::Integration),
            (4, Method::Integration),
        ] {
            // The ladder has to find the slit, and along it a ball bounces a million times for each radian.
            let narrowest = size(1e-3, 1e-6);
            let least = if n == 2 { 1e-6 } else { narrowest };
            if width < if method == Method::Integration { 1e-4 } else { least } {
                continue;
            }
            let target = wedge(n, width);
            let exact = (width / TAU).ln() - (n as f64 - 2.0) * 2f64.ln();
            let settings =
                EvidenceSettings { method, seed: seed(8), ..EvidenceSettings::default() };
            let found =
                target.space(Source::Doubles, |space| evidence(space, &settings, &Control::new()));
            let name = format!("{method:?}, wedge of {width:e} rad, n = {n}");
            match found {
                Ok(found) => {
                    println!(
                        "{name}: {:.3} ± {:.3}, exact {exact:.3}",
                        found.values[0], found.errors[0]
                    );
                    assert!((found.values[0] - exact).abs() < 5.0 * found.errors[0], "{name}");
                    assert!(width < 1e-4 || found.errors[0] <= 0.2, "{name}: {}", found.errors[0]);
                }
                Err(error) => {
                    println!("{name}: {error}");
                    assert!(method == Method::Bridge && width < 1e-3, "{name}: {error}");
                    // Or the Gram matrix itself has no digits left: then nothing else can.
                    let text = error.to_string();
                    assert!(
                        text.contains("integration") || text.contains("too ill-conditioned"),
                        "{name}: {error}"
                    );
                }
            }
        }
    }
}

/// Where nearly all arrivals are at the two walls of a slit, samples of the bridge are as far apart as it takes to get along it:
/// no bias in the mean of many runs, and true errors.
#[test]
fn bridges_along_slits() {
    for width in [1e-2, 1e-3] {
        let target = wedge(4, width);
        let exact = (width / TAU).ln() - 2.0 * 2f64.ln();
        let z: Vec<f64> = (0..16)
            .map(|k| {
                let method = Method::Bridge;
                let seed = seed(90 + k);
                let settings = EvidenceSettings { method, seed, ..EvidenceSettings::default() };
                let found = target
                    .space(Source::Doubles, |space| evidence(space, &settings, &Control::new()))
                    .expect("an evidence");
                (found.values[0] - exact) / found.errors[0]
            })
            .collect();
        let mean = z.iter().sum::<f64>() / z.len() as f64;
        let square = z.iter().map(|z| z * z).sum::<f64>() / z.len() as f64;
        println!(
            "wedge of {width:e} rad: mean {mean:.2}, square {square:.2} of the errors reported"
        );
        // Sixteen standard normal numbers: four standard errors of the mean, and as many of the square.
        assert!(mean.abs() < 1.0, "{width:e}: {mean}");
        assert!(square < 1.0 + 4.0 * (2.0f64 / 16.0).sqrt(), "{width:e}: {square}");
    }
}
