//! Tests of `evidence::integration` that need its private parts.

use super::*;

#[test]
fn no_two_turns_have_the_same_random_stream() {
    let n = 4;
    let turns = (1..5).flat_map(|turn| (0..n).map(move |i| stream_of_turn(n, turn, i)));
    let mut numbers: Vec<usize> = (0..=n).chain(turns).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), n + 1 + 4 * n);
}
