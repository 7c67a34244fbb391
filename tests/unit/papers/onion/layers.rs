//! Tests of `papers::onion::layers` that need its private parts.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn arcs_lie_in_their_layers(
        planes in prop::collection::vec((0.0..1.0f64, -1.0..1.0f64, any::<bool>()), 1..30),
        most in (0u32..4, 0u32..4),
    ) {
        let labels: Vec<i8> = planes.iter().map(|p| if p.2 { 1 } else { -1 }).collect();
        let f: Vec<f64> = planes.iter().zip(&labels).map(|(p, y)| p.0 * f64::from(*y)).collect();
        let g: Vec<f64> = planes.iter().map(|p| p.1).collect();
        let range = LayerRange { most: [most.0, most.1] };
        let mut ray = RaysBeyond::new(range);
        let arcs = ray.trace((&f, &g), &labels);
        // The layer at an angle, counted plane by plane.
        let layer_at = |t: f64| {
            let mut layer = [0; 2];
            for i in 0..f.len() {
                let at = f[i] * t.cos() + g[i] * t.sin();
                layer[usize::from(labels[i] > 0)] += u32::from(at * f64::from(labels[i]) < 0.0);
            }
            layer
        };
        let mut end = arcs.first().map_or(0.0, |(_, [from, _])| *from);
        prop_assert!(arcs.is_empty() || layer_at(end * (1.0 - 1e-9)) == [0, 0]);
        for &(layer, [from, to]) in arcs {
            prop_assert!((from - end).abs() <= 0.0);
            prop_assert!(to >= from && to <= std::f64::consts::PI);
            if to > from + 1e-9 {
                let middle = layer_at(0.5 * (from + to));
                prop_assert_eq!(range.index(middle), Some(layer));
            }
            end = to;
        }
        // The arcs end with the range or after half a turn.
        if !arcs.is_empty() && end < std::f64::consts::PI - 1e-6 {
            prop_assert_eq!(range.index(layer_at(end + 1e-9)), None);
        }
    }
}

#[test]
fn a_wall_at_the_start_is_met_after_half_a_turn() {
    let mut ray = RaysBeyond::new(LayerRange { most: [0, 2] });
    // The ball has just left plane 0, moves within plane 1 and approaches plane 2 at a right angle.
    let (f, g) = ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0]);
    let arcs = ray.trace((&f, &g), &[1, 1, 1]);
    let (half, pi) = (std::f64::consts::FRAC_PI_2, std::f64::consts::PI);
    assert_eq!(arcs[0], (1, [half, pi]));
    assert_eq!(arcs[1].1.map(f64::to_bits), [pi.to_bits(); 2]);
}

#[test]
fn values_spread_and_flatten() {
    let range = LayerRange { most: [1, 2] };
    assert_eq!(range.iter().collect::<Vec<_>>(), [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
    for (index, layer) in range.iter().enumerate() {
        assert_eq!(range.index(layer), Some(index));
    }
    assert_eq!(range.index([2, 0]), None);
    let mut values = range.spread(vec![Some(20.0), None, None, Some(1.0), None, Some(-30.0)]);
    assert_eq!(values, [20.0, 20.0, -30.0, 1.0, 1.0, -30.0]);
    range.flatten(&mut values, 9.0);
    assert_eq!(values, [-12.0, -21.0, -30.0, -12.0, -21.0, -30.0]);
}
