//! Tests of `evidence::bridge::law` that need its private parts.

use super::may_be_log_share;

#[test]
fn shares_exceed_one_by_their_error_at_most() {
    assert!(may_be_log_share(-3.0, 0.1));
    assert!(may_be_log_share(0.4, 0.1));
    assert!(may_be_log_share(4.9, 1e3));
    assert!(!may_be_log_share(0.6, 0.1));
    assert!(!may_be_log_share(5.1, 1e3));
    assert!(!may_be_log_share(f64::NAN, 0.1));
}
