//! Runs resumed from hostile states.

use std::fmt::Debug;
use std::sync::OnceLock;

use bayespoint::{Error, Mirror, RefreshChoice, Settings, State, sample};

use super::{Bytes, long_deadline, short_deadline, trace};
use crate::common::states::{complete, double, doubles, forge, set_double};
use crate::common::{Owned, dot, each};

/// A finished run with settings to resume it.
struct Base {
    case: Owned,
    settings: Settings,
    state: State,
}

/// Position of the refresh rate in the bytes of a state.
const RATE: usize = 13;

/// Five points on a spiral, no two of them parallel.
fn case(softness: f64) -> Owned {
    let x = [1.0, 2.0, 3.0, 4.0, 5.0].map(|t: f64| [t.sin(), t.cos(), 0.3 * t]);
    let gram = x.iter().flat_map(|a| x.iter().map(|b| dot(a, b))).collect();
    Owned::new(gram, vec![1, 1, -1, -1, 1], softness)
}

fn bases() -> &'static [Base] {
    static BASES: OnceLock<Vec<Base>> = OnceLock::new();
    BASES.get_or_init(|| {
        let settings = Settings {
            n_trajectories: 2,
            n_draws: 3,
            length: Some(4.0),
            max_bounces: Some(60),
            tol: None,
            burn_in: Some(0.5),
            seed: 1,
            ..Settings::default()
        };
        let grows = Settings { length: None, tol: Some(0.2), ..settings.clone() };
        let soft = Mirror([0.1, 0.2]);
        let (hard, noisy) = (case(0.0), case(0.3).inverted());
        let list = [
            (hard.clone(), settings.clone()),
            (hard.clone(), grows.clone()),
            (hard.clone(), Settings { refresh: RefreshChoice::None, ..settings.clone() }),
            (hard.clone(), Settings { refresh: RefreshChoice::Pair(None), ..settings.clone() }),
            (hard.clone(), Settings { mirror: soft, ..settings.clone() }),
            (noisy.clone(), settings.clone()),
            (noisy.clone(), Settings { mirror: soft, ..grows.clone() }),
        ];
        list.into_iter()
            .map(|(case, settings)| {
                let state = complete(&case.run(&settings));
                let longer = Settings {
                    length: settings.length.map(|length| length + 1.0),
                    max_bounces: Some(90),
                    ..settings
                };
                Base { case, settings: longer, state }
            })
            .collect()
    })
}

/// Changes a state as given by the bytes.
fn spoil(state: &mut State, bytes: &mut Bytes<'_>) {
    for _ in 0..=bytes.below(3) {
        let kind = bytes.below(16);
        match kind {
            14 | 15 => spoil_words(&mut state.kept, bytes),
            13 => spoil_numbers(&mut state.draws, bytes),
            12 => spoil_numbers(&mut state.functionals, bytes),
            _ => spoil_bytes(&mut state.bytes, bytes),
        }
    }
}

/// Changes a number or a byte of an encoding, and mostly recomputes the checksum.
fn spoil_bytes(encoded: &mut Vec<u8>, bytes: &mut Bytes<'_>) {
    if bytes.rarely(32) {
        return spoil_words(encoded, bytes);
    }
    forge(encoded, |encoded| {
        let places = doubles(encoded);
        if places.is_empty() || bytes.rarely(2) {
            return spoil_words(encoded, bytes);
        }
        let at = places[bytes.below(places.len())];
        let mut number = vec![double(encoded, at)];
        spoil_numbers(&mut number, bytes);
        set_double(encoded, at, *number.last().unwrap_or(&0.0));
    });
}

fn spoil_words<T: Copy + Debug + From<u8> + TryFrom<u64> + Into<u64>>(
    words: &mut Vec<T>,
    bytes: &mut Bytes<'_>,
) {
    trace(&(&words, &bytes));
    let byte = |word: u64| T::from((word & 255) as u8);
    let fitted = |word: u64| T::try_from(word).unwrap_or_else(|_| byte(word));
    if words.is_empty() || bytes.rarely(32) {
        words.push(fitted(bytes.word()));
        return;
    }
    let at = bytes.below(words.len());
    let old: u64 = words[at].into();
    match bytes.below(8) {
        0 => words[at] = fitted(old ^ (1 << (bytes.byte() % 64))),
        1 => words[at] = fitted(bytes.word()),
        2 => words[at] = fitted(old.wrapping_add(1)),
        3 => words[at] = fitted(old.wrapping_sub(1)),
        4 => words[at] = fitted(u64::MAX >> (bytes.byte() % 64)),
        5 => words[at] = T::from(bytes.byte()),
        6 => {
            let other = bytes.below(words.len());
            words.swap(at, other);
        }
        _ if bytes.rarely(4) => words.truncate(at),
        _ => words[at] = T::from(0),
    }
}

fn spoil_numbers(numbers: &mut Vec<f64>, bytes: &mut Bytes<'_>) {
    trace(&(&numbers, &bytes));
    if numbers.is_empty() || bytes.rarely(32) {
        numbers.push(bytes.wild());
        return;
    }
    let at = bytes.below(numbers.len());
    match bytes.below(8) {
        0..=2 => numbers[at] = bytes.wild(),
        3 => numbers[at] = -numbers[at],
        4 => numbers[at] *= 1.0 + bytes.tame() * 1e-9,
        5 => numbers[at] = f64::from_bits(numbers[at].to_bits() ^ (1 << (bytes.byte() % 64))),
        6 => {
            let other = bytes.below(numbers.len());
            numbers.swap(at, other);
        }
        _ if bytes.rarely(4) => numbers.truncate(at),
        _ => numbers[at] = 0.0,
    }
}

/// Resumes a run from a modified state.
///
/// # Panics
///
/// If the call takes too long, an error is not documented, or the outcome is not finite.
pub fn states(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let all = bases();
    let Base { case, settings, state } = &all[bytes.below(all.len())];
    let mut state = state.clone();
    spoil(&mut state, &mut bytes);
    trace(&(settings, &state));
    // High refresh rates are slow.
    let is_slow = state.bytes.len() > RATE + 8 && double(&state.bytes, RATE) > 1e4;
    let control = if is_slow { short_deadline() } else { long_deadline() };
    match sample(&case.space(), settings, case.inverse(), Some(&state), &control) {
        Ok(outcome) => {
            let paths = each(&outcome, |tally| tally.path);
            let all = outcome.center.dual.iter().chain(&outcome.draws).chain(&paths);
            assert!(all.into_iter().all(|x| x.is_finite()), "{outcome:?}");
        }
        Err(Error::Interrupted) if is_slow => {}
        Err(Error::Invalid { .. } | Error::Breakdown { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}
