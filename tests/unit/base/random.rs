//! Tests of `base::random`.

use rand::{Rng, RngExt};

use crate::base::Stream;
use crate::base::random::{restored, state, stream};

#[test]
fn generators_go_on_from_every_position() {
    for position in 0..200 {
        let mut rng = stream(3, 4);
        for _ in 0..position {
            rng.next_u32();
        }
        let mut other = restored(&state(&rng)).expect("a generator");
        let draw = |rng: &mut Stream| -> Vec<u64> {
            (0..100)
                .map(|k| if k % 3 == 0 { rng.next_u32().into() } else { rng.random() })
                .collect()
        };
        assert_eq!(draw(&mut rng), draw(&mut other), "after {position} words");
    }
}
