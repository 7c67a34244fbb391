//! Lags between the trips down and up a ladder.

/// Standard errors that a lag may have by chance.
const CHANCE: f64 = 2.0;

/// The bias that a lag leaves in ln Z, as far as its standard error does not explain it.
///
/// Lags of both trips cancel to first order. But the trips down are further off than those up, and more so the harder
/// version space is to find: of the lag, a third was left on teacher problems and half where an example stood alone among
/// the other class.
pub(crate) fn beyond_chance(lag: f64, error: f64) -> f64 {
    if lag.is_nan() { f64::INFINITY } else { (lag.abs() - CHANCE * error).max(0.0) }
}
