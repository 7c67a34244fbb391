//! Random bytes and modified inputs of a corpus: the engine must soon return a typed error or a right answer.
//!
//! `BAYESPOINT_FUZZ=1000000` sets the number of executions of each target, as `make ci-slow` does, and `fuzz/` has the same
//! targets for the coverage-guided fuzzer. Inputs that either finds go into `tests/hostile/corpus`, which runs here first.
//! `BAYESPOINT_FUZZ_HEX=engine:03a1...` runs one input alone, and with `BAYESPOINT_FUZZ_TRACE=1` it is printed as it is read.

use std::path::Path;
use std::time::Instant;

use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt};

use crate::common::{rng, size};
use crate::hostile::{engine, states};

/// Longest input.
const LONGEST: usize = 256;

fn executions(short: u64) -> u64 {
    let long = size(short, 100 * short);
    std::env::var("BAYESPOINT_FUZZ")
        .map_or(long, |text| text.parse().expect("BAYESPOINT_FUZZ must be a whole number"))
}

/// Returns the inputs of the corpus, by file name.
fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/corpus").join(name);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("a corpus")
        .map(|entry| {
            let entry = entry.expect("a file");
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(entry.path()).expect("bytes"))
        })
        .collect();
    files.sort();
    files
}

/// Returns random bytes, or an input of the corpus with a few changes.
fn input(seeds: &[(String, Vec<u8>)], rng: &mut ChaCha8Rng) -> Vec<u8> {
    if seeds.is_empty() || rng.random_range(0..2) == 0 {
        let mut bytes = vec![0; rng.random_range(1..=LONGEST)];
        rng.fill_bytes(&mut bytes);
        return bytes;
    }
    let mut bytes = seeds[rng.random_range(0..seeds.len())].1.clone();
    for _ in 0..rng.random_range(1..6) {
        if bytes.is_empty() {
            break;
        }
        let at = rng.random_range(0..bytes.len());
        match rng.random_range(0..5) {
            0 => bytes[at] ^= 1 << rng.random_range(0..8),
            1 => bytes[at] = rng.random(),
            2 if bytes.len() < LONGEST => bytes.insert(at, rng.random()),
            3 => drop(bytes.remove(at)),
            _ => bytes[at] = bytes[at].wrapping_add(1),
        }
    }
    bytes
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits = |k: usize| u8::from_str_radix(&text[2 * k..2 * k + 2], 16);
    (0..text.len() / 2).map(|k| digits(k).expect("hexadecimal digits")).collect()
}

/// Failures after which the driver stops.
const ENOUGH: usize = 20;

/// Runs the corpus and then new inputs, and fails with a list of those that failed.
fn drive(name: &str, index: u64, short: u64, target: fn(&[u8])) {
    if let Ok(one) = std::env::var("BAYESPOINT_FUZZ_HEX") {
        return one.strip_prefix(&format!("{name}:")).map_or((), |hex| target(&from_hex(hex)));
    }
    let seeds = corpus(name);
    // This file keeps the input of an execution that hangs or ends the process.
    let last = std::env::var_os("BAYESPOINT_FUZZ_LAST");
    let mut failed = Vec::new();
    let mut slowest = 0.0_f64;
    let mut run = |what: String, bytes: &[u8]| {
        let start = Instant::now();
        let hex = || hexadecimal(bytes);
        if let Some(file) = &last {
            std::fs::write(file, format!("{name}:{}", hex())).expect("a file");
        }
        if std::panic::catch_unwind(|| target(bytes)).is_err() {
            eprintln!("{name}, {what}: {}", hex());
            failed.push(what);
        }
        slowest = slowest.max(start.elapsed().as_secs_f64());
        failed.len() < ENOUGH
    };
    for (file, bytes) in &seeds {
        run(file.clone(), bytes);
    }
    let mut rng = rng(index);
    let (n, began) = (executions(short), Instant::now());
    for k in 0..n {
        if !run(format!("execution {k}"), &input(&seeds, &mut rng)) {
            break;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    eprintln!(
        "{name}: {n} executions and {} of the corpus in {seconds:.1} s, {:.0} a second, the slowest {slowest:.2} s",
        seeds.len(),
        n as f64 / seconds
    );
    assert!(failed.is_empty(), "{name}: failures at {failed:?}");
}

#[test]
fn engine_on_any_bytes() {
    drive("engine", 901, 3_000, engine::engine);
}

#[test]
fn states_that_were_tampered_with() {
    drive("states", 902, 2_000, states::states);
}
