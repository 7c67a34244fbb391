//! Checks of positive settings, and of counts that arrive as signed integers.

use std::fmt::Display;
use std::ops::Range;

use serde::{Deserialize, Deserializer};

use super::error::{Error, Result};

const COUNT: &str = "an integer of at least 1";

/// Returns the ranges of blocks of n numbers; the last one may be smaller.
pub fn blocks(n: usize, size: usize) -> impl DoubleEndedIterator<Item = Range<usize>> {
    (0..n).step_by(size).map(move |first| first..n.min(first + size))
}

/// Returns [`Error::Invalid`] unless a condition on an argument holds.
pub fn require(
    holds: bool,
    name: &'static str,
    got: impl Display,
    wanted: &'static str,
) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::invalid(name, got, wanted)) }
}

/// Returns [`Error::Breakdown`] unless a condition on a computed quantity holds.
pub fn require_sound(holds: bool, what: &'static str, value: f64) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::Breakdown { what, value }) }
}

/// As [`require`], for the length of an array.
pub fn check_length(name: &'static str, length: usize, wanted: usize) -> Result<()> {
    let got = format_args!("length {length} in place of {wanted}");
    require(length == wanted, name, got, "as long as the problem asks")
}

pub fn check_count(name: &'static str, count: u64) -> Result<()> {
    require(count > 0, name, count, COUNT)
}

pub fn check_positive(name: &'static str, x: f64) -> Result<()> {
    let holds = x > 0.0 && x.is_finite();
    require(holds, name, format_args!("{x:?}"), "a finite number in (0, inf)")
}

/// Deserializes a count. A negative one is refused with the text of [`check_count`].
pub fn count<'de, T: TryFrom<i64>, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<T, D::Error> {
    unsigned(i64::deserialize(deserializer)?)
}

/// As [`count`], for a count that may be missing.
pub fn some_count<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<u64>, D::Error> {
    Option::<i64>::deserialize(deserializer)?.map(unsigned).transpose()
}

fn unsigned<T: TryFrom<i64>, E: serde::de::Error>(number: i64) -> std::result::Result<T, E> {
    T::try_from(number).map_err(|_| E::custom(format!("must be {COUNT}; got {number}")))
}
