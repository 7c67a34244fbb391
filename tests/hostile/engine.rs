//! The engine's functions on hostile problems.

use bayespoint::papers::correlation::{CorrelationSettings, Pair, correlation};
use bayespoint::papers::light_trap::one_way;
use bayespoint::papers::motions::{Motion, MotionSettings, Points, Radius, fly};
use bayespoint::papers::onion::{OnionMethod, OnionSettings, onion};
use bayespoint::papers::perceptron::{PerceptronSettings, perceptron};
use bayespoint::{
    Average, Error, EvidenceSettings, MarginSettings, Mirror, Outcome, RefreshChoice, Result,
    Settings, VersionSpace, evidence, feasible_point, max_margin, run,
};

use super::{Bytes, Problem, long_deadline, short_deadline, trace};
use crate::common::{draws, each, total};

/// Largest violation of a wall by rounding, relative to the length of the feature vector.
const ROUNDING: f64 = 1e-6;

/// Calls a function of the engine on a problem, both chosen by the bytes.
///
/// # Panics
///
/// If an answer is wrong, an error is not documented, or the call takes too long.
pub fn engine(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let choice = bytes.byte();
    let in_singles = bytes.rarely(8);
    let problem = Problem::from_bytes(&mut bytes);
    trace(&(&problem, in_singles));
    // Rounded entries need not be of a kernel.
    let done = if in_singles {
        problem.with_singles(|space| check(space, choice, false, &mut bytes))
    } else {
        problem.with(|space| check(space, choice, problem.is_kernel, &mut bytes))
    };
    if let Err(error) = done {
        documented(&error, None);
    }
}

/// Checks that an error is documented and its numbers are right.
fn documented(error: &Error, space: Option<&VersionSpace<'_>>) {
    match error {
        Error::Invalid { name, got, wanted } => {
            assert!(!name.is_empty() && !got.is_empty() && !wanted.is_empty(), "{error:?}");
        }
        Error::Breakdown { what, .. } => assert!(!what.is_empty()),
        Error::Infeasible { examples, violations, margin_bound, certificate } => {
            assert!(violations <= examples, "{error:?}");
            let Some(space) = space else { return };
            assert_eq!(certificate.len(), space.len());
            assert!(certificate.iter().all(|a| *a >= 0.0), "{error:?}");
            let total: f64 = certificate.iter().sum();
            assert!((total - 1.0).abs() < 1e-6, "weights of sum {total}: {error:?}");
            let dual: Vec<f64> =
                certificate.iter().zip(space.labels()).map(|(a, y)| a * f64::from(*y)).collect();
            let (square, rounding) = square(space, &dual);
            let gram = space.gram();
            let longest = (0..gram.len()).map(|i| gram.diagonal(i)).fold(0.0, f64::max).sqrt();
            let bound = square.max(0.0).sqrt() / longest;
            let slack = 1e-7 + (rounding.sqrt() / longest).max(1e-6 * margin_bound.abs());
            assert!(bound <= margin_bound + slack, "{bound} and {error}");
        }
        Error::Interrupted | Error::Time => panic!("it takes too long"),
        Error::Memory { .. } => panic!("small problems have room"),
    }
}

/// Returns |w|² of dual coefficients, and a bound of its rounding error.
fn square(space: &VersionSpace<'_>, dual: &[f64]) -> (f64, f64) {
    let (mut sum, mut size) = (0.0, 0.0);
    for (i, a) in dual.iter().enumerate() {
        for (j, b) in dual.iter().enumerate() {
            let term = a * space.gram().entry(i, j) * b;
            sum += term;
            size += term.abs();
        }
    }
    (sum, 1e-13 * size)
}

/// Returns the plane that a unit vector violates most, and its margin, if that is beyond rounding.
fn outside(space: &VersionSpace<'_>, dual: &[f64]) -> Option<(usize, f64)> {
    let gram = space.gram();
    let margins = space.margins(dual).expect("as many coefficients as examples");
    let relative = (0..space.len()).filter_map(|i| {
        let size: f64 = dual.iter().enumerate().map(|(j, c)| (c * gram.entry(i, j)).abs()).sum();
        let length = gram.diagonal(i).sqrt();
        let is_inside = margins[i] >= -(ROUNDING * length + 1e-13 * size);
        (!is_inside).then_some((i, margins[i] / length))
    });
    relative.min_by(|a, b| a.1.total_cmp(&b.1))
}

fn is_unit(space: &VersionSpace<'_>, dual: &[f64]) -> bool {
    let (square, rounding) = square(space, dual);
    (square - 1.0).abs() <= ROUNDING + rounding
}

fn finite(x: &[f64]) -> bool {
    x.iter().all(|x| x.is_finite())
}

/// A problem, and whether an answer must be right: for a matrix that is not positive semi-definite any will do, but not a panic.
struct Judged<'a> {
    space: &'a VersionSpace<'a>,
    is_kernel: bool,
}

impl Judged<'_> {
    /// Returns an answer that must be right. A call that may be `endless` may be interrupted.
    fn answer<T>(&self, found: Result<T>, endless: bool) -> Option<T> {
        match found {
            Ok(answer) => self.is_kernel.then_some(answer),
            Err(Error::Interrupted) if endless => None,
            Err(error) => {
                documented(&error, self.is_kernel.then_some(self.space));
                None
            }
        }
    }
}

#[allow(clippy::too_many_lines, reason = "one arm for each function")]
fn check(space: &VersionSpace<'_>, choice: u8, is_kernel: bool, bytes: &mut Bytes<'_>) {
    let (control, short) = (long_deadline(), short_deadline());
    let seed = u64::from(bytes.byte());
    let judged = Judged { space, is_kernel };
    match choice {
        0..=159 => {
            let (motion, settings) = settings(space, bytes);
            trace(&(motion, &settings));
            // A given burn-in may be long.
            let has_burn_in = settings.burn_in.is_some_and(|path| path > 0.0);
            let control = if has_burn_in { &short } else { &control };
            let found = match motion {
                None => run(space, &settings, control),
                Some(motion) => {
                    let settings = MotionSettings { motion, run: settings.clone() };
                    fly(space, &settings, control).map(|flight| flight.run)
                }
            };
            if let Some(outcome) = judged.answer(found, has_burn_in) {
                check_run(space, &settings, &outcome);
            }
        }
        160..=179 => {
            let settings = MarginSettings {
                tol: bytes.mostly(1e-8),
                max_iter: if bytes.rarely(8) { bytes.below(20) } else { 10_000 },
            };
            trace(&settings);
            if let Some(found) = judged.answer(max_margin(space, &settings, &control), false) {
                assert!(finite(&found.dual) && found.norm.is_finite(), "{found:?}");
                assert!(found.multipliers.iter().all(|a| *a >= 0.0));
                assert_eq!(outside(space, &found.dual), None, "{found:?}");
                assert!(found.margin <= found.bound * (1.0 + 1e-6), "{found:?}");
            }
        }
        180..=199 => {
            let n = 1 + bytes.below(2 * space.len());
            // Sometimes an index is out of range.
            let most = space.len() + usize::from(bytes.rarely(16));
            let order: Vec<usize> = (0..n).map(|_| bytes.below(most)).collect();
            let settings = PerceptronSettings {
                learning_rate: bytes.mostly(1.0),
                max_epochs: bytes.below(30),
            };
            let found = perceptron(space, &order, &settings, &control);
            if let Some(found) = judged.answer(found, false) {
                let fits = !found.converged || space.contains(&found.dual).expect("as many");
                assert!(fits && finite(&found.dual), "{found:?}");
            }
        }
        200..=223 => {
            let found = match bytes.below(2) {
                0 => feasible_point(space, seed, &control).map(|(dual, _)| dual),
                _ => one_way(space, seed, &control)
                    .map(|found| if found.caught { found.dual } else { Vec::new() }),
            };
            if let Some(dual) = judged.answer(found, false).filter(|dual| !dual.is_empty()) {
                assert!(space.contains(&dual).expect("as many"), "{dual:?}");
                assert!(is_unit(space, &dual), "{dual:?}");
            }
        }
        224..=231 => {
            let settings = CorrelationSettings {
                angle: bytes.mostly(0.01),
                n_trajectories: 1 + bytes.below(2),
                n_pairs: bytes.below(4),
                max_bounces: u64::from(bytes.byte()),
                motion: match (bytes.rarely(3), scatterer(bytes)) {
                    (false, None) => None,
                    (cosine, scatterer) => Some(Motion::Scattered { cosine, scatterer }),
                },
                n_threads: 1,
                seed,
            };
            trace(&settings);
            if let Some(found) = judged.answer(correlation(space, &settings, &control), false) {
                let most = settings.max_bounces;
                let fits = |pair: &Pair| pair.0 <= most && pair.1.is_finite();
                assert!(found.0.iter().all(fits), "{found:?}");
            }
        }
        232..=243 => {
            let target = Mirror([bytes.mostly(0.0), bytes.mostly(0.0)]);
            let settings = EvidenceSettings {
                n_trajectories: 1 + bytes.below(2),
                tol: bytes.mostly(0.5),
                max_length: 5.0,
                targets: vec![target; 1 + usize::from(bytes.rarely(8))],
                n_threads: 1,
                seed,
            };
            trace(&settings);
            // Between planes that nearly coincide a radian takes millions of bounces.
            if let Some(found) = judged.answer(evidence(space, &settings, &short), true) {
                for (value, error) in found.values.iter().zip(&found.errors) {
                    // No share is above 1, unless the error is infinite.
                    let is_finite = error.is_finite() && value.is_finite();
                    let most = 5.0 * error.min(1.0) + 1e-9;
                    assert!(!is_finite || *value <= most, "e^({value} ± {error})");
                    assert!(*value < f64::INFINITY, "a share of e^{value}");
                }
            }
        }
        _ => {
            let settings = OnionSettings {
                max_errors: [0, 1].map(|_| u32::from(bytes.byte() % 4)),
                method: [OnionMethod::Exact, OnionMethod::Projected][bytes.below(2)],
                n_trajectories: 1 + bytes.below(2),
                tol: bytes.mostly(0.5),
                volume_tol: bytes.rarely(4).then(|| bytes.mostly(0.5)),
                max_length: 10.0,
                n_threads: 1,
                seed,
            };
            trace(&settings);
            if let Some(found) = judged.answer(onion(space, &settings, &short), true) {
                let centers = found.centers.as_slice().expect("row-major");
                for (center, norm) in centers.chunks(space.len()).zip(&found.norms) {
                    let most = 1.0 + ROUNDING + square(space, center).1;
                    assert!(norm.is_nan() || (0.0..=most).contains(norm), "{norm} > {most}");
                }
            }
        }
    }
}

fn scatterer(bytes: &mut Bytes<'_>) -> Option<Radius> {
    match bytes.below(4) {
        0 => Some(Radius::Fitted),
        1 => Some(Radius::Given(bytes.mostly(0.01))),
        _ => None,
    }
}

fn settings(space: &VersionSpace<'_>, bytes: &mut Bytes<'_>) -> (Option<Motion>, Settings) {
    let mut motion = match bytes.below(8) {
        4 => Some(Motion::Scattered { cosine: true, scatterer: scatterer(bytes) }),
        5 => Some(Motion::Scattered { cosine: false, scatterer: scatterer(bytes) }),
        6 => Some(Motion::Chord {
            tau_max: bytes.mostly(1e6),
            weight_tol: bytes.rarely(4).then(|| bytes.mostly(1e-3)),
        }),
        7 => {
            let tau_max = bytes.mostly(f64::INFINITY);
            Some(Motion::Flipper { tau_max, points: Points::Midpoints })
        }
        _ => None,
    };
    // High refresh rates are slow.
    let is_bearable = |x: &f64| !(100.0..1e10).contains(x);
    let rate =
        |bytes: &mut Bytes<'_>| bytes.rarely(4).then(|| bytes.mostly(1.0)).filter(is_bearable);
    let refresh = match bytes.below(6) {
        3 => RefreshChoice::None,
        4 => RefreshChoice::Pair(rate(bytes)),
        5 => RefreshChoice::Full(rate(bytes)),
        _ => RefreshChoice::Auto,
    };
    let mirror = match bytes.below(4) {
        2 => Mirror([0.1, 0.1]),
        3 => Mirror([bytes.mostly(0.0), bytes.mostly(1.0)]),
        _ => Mirror::HARD,
    };
    let straight = matches!(motion, Some(Motion::Chord { .. } | Motion::Flipper { .. }));
    let start = bytes.rarely(16).then(|| (0..space.len()).map(|_| bytes.wild()).collect());
    if let Some(Motion::Flipper { points, .. }) = &mut motion
        && bytes.rarely(2)
    {
        *points = Points::Bounces;
    }
    let settings = Settings {
        n_trajectories: 1 + bytes.below(2),
        n_draws: 1 + bytes.below(4),
        length: bytes.rarely(2).then(|| bytes.mostly(3.0)),
        max_bounces: Some(u64::from(bytes.byte() % 51)),
        tol: bytes.rarely(4).then(|| bytes.mostly(0.1)),
        burn_in: (!bytes.rarely(32)).then(|| if bytes.rarely(8) { bytes.mostly(0.5) } else { 0.0 }),
        refresh: if straight && !bytes.rarely(8) { RefreshChoice::Auto } else { refresh },
        mirror: if straight && !bytes.rarely(8) { Mirror::HARD } else { mirror },
        start,
        seed: u64::from(bytes.byte()),
        ..Settings::default()
    };
    let by_impulses = !straight && settings.seed % 4 == 3;
    let average = if by_impulses { Average::Impulse } else { Average::Auto };
    (motion, Settings { average, ..settings })
}

/// Checks the outcome of a run on a kernel matrix.
pub fn check_run(space: &VersionSpace<'_>, settings: &Settings, outcome: &Outcome) {
    let m = space.len();
    let functionals = outcome.functionals.as_slice().expect("row-major");
    assert!(finite(&outcome.center.dual) && finite(functionals));
    assert!(draws(outcome).all(finite));
    let slack = ROUNDING + square(space, &outcome.center.dual).1;
    assert!((0.0..=1.0 + slack).contains(&outcome.center.norm), "{}", outcome.center.norm);
    assert!(outcome.center.error >= 0.0 || outcome.center.error.is_nan());
    let length = square(space, &outcome.center.dual);
    // A mean that is zero up to rounding has no direction.
    let has_center = outcome.center.norm > ROUNDING;
    assert!(
        !has_center || is_unit(space, &outcome.center.dual),
        "a center of squared length {length:?}"
    );
    let (trajectories, n, width) = outcome.draws.dim();
    assert_eq!((trajectories, width), (settings.n_trajectories, m));
    assert!(n <= settings.n_draws);
    let hits: u64 = outcome.hits.iter().sum();
    assert_eq!(hits, total(outcome, |tally| tally.bounces));
    assert!(each(outcome, |tally| tally.path).iter().all(|x| *x >= 0.0 && x.is_finite()));
    let violations = outcome.mean_violations;
    assert!(violations >= -1e-9 && violations <= m as f64 + 1e-9, "{violations}");
    for draw in draws(outcome) {
        assert!(is_unit(space, draw), "a draw of squared length {:?}", square(space, draw));
        if settings.mirror.is_hard() {
            assert_eq!(outside(space, draw), None, "a draw is outside");
        }
    }
    if settings.mirror.is_hard() {
        assert!(violations == 0.0, "{violations} violations behind hard walls");
        // Centers are means of points of a convex cone.
        assert_eq!(outside(space, &outcome.center.dual), None, "the center is outside");
    }
}
