//! Tests of `ball::frame` that need its private parts.

use super::*;

#[test]
fn sine_and_cosine_do_not_drift() {
    let mut frame = Frame::new(vec![1.0], vec![0.0]);
    let mut theta = 0.0_f64;
    for k in 0..10_000 {
        let angle = 0.3 + f64::from(k % 7) * 0.1;
        frame.turn((angle.cos(), angle.sin()));
        theta += angle;
    }
    let (sin, cos) = (frame.sin, frame.cos);
    assert!((sin * sin + cos * cos - 1.0).abs() <= 1e-15);
    // The tolerance is the rounding of the sum of the angles, which is in the thousands.
    assert!((sin - theta.sin()).abs() <= 1e-8 && (cos - theta.cos()).abs() <= 1e-8);
}
