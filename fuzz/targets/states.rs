//! The target `states` of tests/engine/fuzz.rs under libFuzzer.
#![no_main]

#[path = "../../tests/common/mod.rs"]
mod common;
#[path = "../../tests/hostile/mod.rs"]
mod hostile;

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostile::states::states(data));
