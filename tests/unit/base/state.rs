//! Tests of `base::state`.

use crate::base::{decode, encode};

/// Bytes that are cut, extended or changed are refused.
#[test]
fn damaged_bytes_are_refused() {
    let bytes = encode(&vec![1.0, 2.0]);
    for k in 0..bytes.len() {
        let mut other = bytes.clone();
        other[k] ^= 1;
        for wrong in [&other, &bytes[..k].to_vec(), &[&bytes[k..], &bytes].concat()] {
            assert!(decode::<Vec<f64>>(wrong).is_err(), "{k}");
        }
    }
    assert!(decode::<Vec<f64>>(&encode(&(1u8, 2u8))).is_err());
    assert!(decode::<u8>(&encode(&(1u8, 2u8))).is_err());
}
