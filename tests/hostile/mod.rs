//! Hostile problems made of bytes: every call must soon return a typed error or a right answer.
//!
//! The bytes are random (`tests/engine/fuzz.rs`), or from the coverage-guided fuzzer (`fuzz/`) or the corpus of earlier failures
//! (`tests/hostile/corpus`).
#![allow(dead_code, reason = "every driver uses its own part")]

pub mod engine;
pub mod states;

use std::time::{Duration, Instant};

use bayespoint::{Control, Entry, Error, Gram, VersionSpace};

/// For calls with bounded work: stops only one that hangs.
pub fn long_deadline() -> Control {
    stopping_after(Duration::from_secs(10))
}

/// For calls with unbounded work, which must stop when interrupted.
pub fn short_deadline() -> Control {
    stopping_after(Duration::from_millis(50))
}

fn stopping_after(limit: Duration) -> Control {
    let began = Instant::now();
    Control::listening(limit / 10, move || began.elapsed() > limit)
}

/// Prints an input if `BAYESPOINT_FUZZ_TRACE` is set.
pub fn trace(what: &dyn std::fmt::Debug) {
    if std::env::var_os("BAYESPOINT_FUZZ_TRACE").is_some() {
        eprintln!("{what:?}");
    }
}

/// Bytes to choose from, followed by zeros.
#[derive(Clone, Debug)]
pub struct Bytes<'a> {
    rest: &'a [u8],
}

/// Numbers at the edges of the range of doubles, and of the ranges that the engine accepts.
#[rustfmt::skip]
const EDGES: [f64; 24] = [
    0.0, -0.0, 1.0, -1.0, f64::EPSILON, 1.0 + f64::EPSILON, f64::MIN_POSITIVE, 5e-324,
    f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-150, 1e150, -1e150,
    1e-75, 1e75, 1e-300, 1e300, 1e-8, 1e-16, 9_007_199_254_740_993.0, 1e18,
];

impl<'a> Bytes<'a> {
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        first
    }

    /// One of `0..n`.
    pub fn below(&mut self, n: usize) -> usize {
        if n <= 256 { usize::from(self.byte()) % n } else { usize::from(self.short()) % n }
    }

    pub fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    pub fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// True for one byte in `n`, but not for zero.
    pub fn rarely(&mut self, n: u8) -> bool {
        self.byte() % n == n - 1
    }

    /// A number of moderate size.
    pub fn tame(&mut self) -> f64 {
        f64::from(self.short().cast_signed()) / 8192.0
    }

    /// Any number.
    pub fn wild(&mut self) -> f64 {
        match self.below(4) {
            0 => f64::from_bits(self.word()),
            1 => EDGES[self.below(EDGES.len())],
            2 => 10f64.powi(i32::from(self.byte().cast_signed())) * (1.0 + self.tame()),
            _ => self.tame(),
        }
    }

    /// Mostly `usual`.
    pub fn mostly(&mut self, usual: f64) -> f64 {
        if self.rarely(16) { self.wild() } else { usual }
    }
}

/// The matrix of a problem, its labels and its shifts.
#[derive(Clone, Debug)]
pub struct Problem {
    pub gram: Vec<f64>,
    pub labels: Vec<i8>,
    pub offset: f64,
    pub softness: Vec<f64>,
    /// True if the matrix is positive semi-definite up to rounding. Only then must an answer be right.
    pub is_kernel: bool,
}

impl Problem {
    pub fn from_bytes(bytes: &mut Bytes<'_>) -> Self {
        let m = 1 + bytes.below(12);
        let kind = bytes.below(8);
        let (gram, is_kernel) = match kind {
            0 => (wild_matrix(m, bytes), false),
            _ => (of_features(m, kind, bytes), true),
        };
        let all_equal = bytes.rarely(8);
        let labels = (0..m)
            .map(|_| match bytes.byte() {
                _ if all_equal => 1,
                255 if bytes.rarely(8) => bytes.byte().cast_signed(),
                byte if byte % 2 == 0 => 1,
                _ => -1,
            })
            .collect();
        let scale = gram.iter().step_by(m + 1).copied().fold(0.0, f64::max);
        let offset = match bytes.below(8) {
            6 => scale,
            7 => bytes.wild(),
            _ => 0.0,
        };
        let softness = match bytes.below(8) {
            5 => vec![0.1 * scale; m],
            6 => (0..m).map(|_| scale * bytes.tame().abs()).collect(),
            7 => (0..m).map(|_| bytes.wild()).collect(),
            _ => vec![0.0; m],
        };
        Self { gram, labels, offset, softness, is_kernel }
    }

    pub fn with<R>(&self, work: impl FnOnce(&VersionSpace<'_>) -> R) -> Result<R, Error> {
        self.with_matrix(&self.gram, work)
    }

    /// As [`Problem::with`], with the entries rounded to singles.
    pub fn with_singles<R>(&self, work: impl FnOnce(&VersionSpace<'_>) -> R) -> Result<R, Error> {
        #[allow(clippy::cast_possible_truncation, reason = "a matrix of singles")]
        let singles: Vec<f32> = self.gram.iter().map(|&x| x as f32).collect();
        self.with_matrix(&singles, work)
    }

    fn with_matrix<E: Entry, R>(
        &self,
        matrix: &[E],
        work: impl FnOnce(&VersionSpace<'_>) -> R,
    ) -> Result<R, Error> {
        let gram = Gram::new(matrix, self.offset, self.softness.clone())?;
        Ok(work(&VersionSpace::new(gram, self.labels.clone())?))
    }
}

/// A matrix of any numbers, mostly symmetric.
fn wild_matrix(m: usize, bytes: &mut Bytes<'_>) -> Vec<f64> {
    let mut gram = vec![0.0; m * m];
    for i in 0..m {
        for j in 0..=i {
            let value = if i == j { bytes.wild().abs() } else { bytes.wild() };
            (gram[i * m + j], gram[j * m + i]) = (value, value);
        }
    }
    if bytes.rarely(16) {
        let (i, j) = (bytes.below(m), bytes.below(m));
        gram[i * m + j] = bytes.wild();
    }
    gram
}

/// Inner products of a few feature vectors, some of them duplicates, opposites, zeros, or of extreme lengths.
fn of_features(m: usize, kind: usize, bytes: &mut Bytes<'_>) -> Vec<f64> {
    let rank = if kind == 1 { 1 } else { 1 + bytes.below(m + 2) };
    let mut x: Vec<Vec<f64>> = Vec::new();
    for i in 0..m {
        let row = match bytes.below(16) {
            13 if i > 0 => x[bytes.below(i)].clone(),
            14 if i > 0 => {
                let size = bytes.tame();
                x[bytes.below(i)].iter().map(|x| size * x).collect()
            }
            // Nearly a duplicate.
            15 if i > 0 => {
                let other = &x[bytes.below(i)];
                let nearly = 10f64.powi(-i32::from(bytes.byte() % 18));
                other.iter().map(|x| x + nearly * bytes.tame()).collect()
            }
            _ => (0..rank).map(|_| bytes.tame()).collect(),
        };
        x.push(row);
    }
    // Different lengths, then a common factor.
    if kind == 2 {
        for row in &mut x {
            let size = 10f64.powi(i32::from(bytes.byte().cast_signed() / 4));
            row.iter_mut().for_each(|x| *x *= size);
        }
    }
    let common = if kind == 3 { 10f64.powi(i32::from(bytes.byte().cast_signed())) } else { 1.0 };
    let mut gram = vec![0.0; m * m];
    for i in 0..m {
        for j in 0..=i {
            let product: f64 = x[i].iter().zip(&x[j]).map(|(a, b)| a * b).sum();
            (gram[i * m + j], gram[j * m + i]) = (common * product, common * product);
        }
    }
    // A normalized kernel, with rounding errors.
    if kind == 4 {
        let lengths: Vec<f64> = (0..m).map(|i| gram[i * m + i].sqrt().max(1e-300)).collect();
        for i in 0..m {
            for j in 0..m {
                gram[i * m + j] /= lengths[i] * lengths[j];
            }
        }
    }
    gram
}
