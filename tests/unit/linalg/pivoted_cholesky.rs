//! Tests of `linalg::pivoted_cholesky` that need its private parts.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::*;
use crate::gram::Gram;
use crate::simd::Entry;

/// The factor for given pivots, column by column.
fn plain(gram: &[f64], m: usize, pivots: &[usize]) -> Vec<Vec<f64>> {
    let mut rows = vec![Vec::new(); m];
    for (column, &pivot) in pivots.iter().enumerate() {
        let head: Vec<f64> = rows[pivot].clone();
        let root = (gram[pivot * m + pivot] - inner(&head, &head)).sqrt();
        for i in 0..m {
            let entry = if pivots[..column].contains(&i) {
                0.0
            } else {
                (gram[pivot * m + i] - inner(&rows[i], &head)) / root
            };
            rows[i].push(entry);
        }
    }
    rows
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Feature vectors, with the k-th entries of a scale.
fn features(m: usize, scales: &[f64]) -> Vec<Vec<f64>> {
    let entry = |i: usize, k: usize| ((1 + i * (k + 3)) as f64 * 0.7).sin() * scales[k];
    (0..m).map(|i| (0..scales.len()).map(|k| entry(i, k)).collect()).collect()
}

fn products(x: &[Vec<f64>]) -> Vec<f64> {
    x.iter().flat_map(|a| x.iter().map(move |b| inner(a, b))).collect()
}

fn matrix(m: usize, rank: usize) -> Vec<f64> {
    products(&features(m, &(0..rank).map(|k| ((k + 1) as f64).recip()).collect::<Vec<_>>()))
}

#[allow(clippy::cast_possible_truncation, reason = "a matrix of singles")]
fn singles(m: usize, rank: usize) -> Vec<f32> {
    matrix(m, rank).iter().map(|&x| x as f32).collect()
}

fn hard<E: Entry>(matrix: &[E], offset: f64) -> Gram<'_> {
    Gram::new(matrix, offset, vec![0.0; matrix.len().isqrt()]).expect("a matrix")
}

fn truncated(gram: &Gram<'_>, least: f64) -> Factor {
    Factor::truncated(gram, least, &Control::new()).expect("semi-definite")
}

#[test]
fn batches_agree_with_single_columns() {
    for (m, rank) in [(1, 1), (5, 5), (40, 3), (90, 33), (100, 64), (130, 90)] {
        let matrix = matrix(m, rank);
        let gram = hard(&matrix, 0.0);
        let mut pivoted = Pivoted::new(&gram, 0.0);
        assert!(pivoted.run(m, &Control::new()).expect("semi-definite"));
        let factor = pivoted.factor(&gram, &Control::new()).expect("complete");
        assert_eq!(factor.rank(), rank, "{m}");
        let rows = plain(&matrix, m, &factor.pivots);
        for i in 0..m {
            let row = &factor.rows[i * rank..][..rank];
            let scale = gram.diagonal(i).sqrt();
            for (a, b) in row.iter().zip(&rows[i]) {
                assert!((a - b).abs() < 1e-8 * scale, "{m} {rank}: {a} {b}");
            }
            for j in 0..m {
                let other = &factor.rows[j * rank..][..rank];
                assert!(
                    (inner(row, other) - matrix[i * m + j]).abs() < 1e-12 * scale,
                    "{m} {rank}"
                );
            }
        }
    }
}

#[test]
fn stops_at_the_wanted_rank() {
    let matrix = matrix(90, 33);
    let gram = hard(&matrix, 0.0);
    for (most, all) in [(0, false), (2, false), (32, false), (33, true), (34, true)] {
        let mut pivoted = Pivoted::new(&gram, 0.0);
        assert_eq!(pivoted.run(most, &Control::new()), Ok(all), "{most}");
        assert_eq!(pivoted.rank(), (most + 1).min(33), "{most}");
    }
}

#[test]
fn copies_are_rejected() {
    let m = 200;
    let matrix: Vec<f64> =
        (0..m * m).map(|at| f64::from(u8::from(at / m % 3 == at % m % 3))).collect();
    let gram = hard(&matrix, 0.0);
    let mut pivoted = Pivoted::new(&gram, 0.0);
    assert_eq!(pivoted.run(m, &Control::new()), Ok(true));
    assert_eq!(pivoted.rank(), 3);
}

/// The tolerance for rounded entries is relative to the diagonal without the offset, which is exact.
#[test]
fn singles_under_a_large_offset() {
    let factor = truncated(&hard(&singles(60, 5), 1e6), 1e-4);
    assert_eq!((factor.rank(), factor.is_complete), (6, false));
}

#[test]
fn a_single_direction_is_refused() {
    let matrix = matrix(40, 5);
    let error = Factor::truncated(&hard(&matrix, 1e12), 1e-9, &Control::new());
    assert!(matches!(error, Err(crate::Error::Breakdown { .. })), "rank 1 remains");
    let factor = truncated(&hard(&[1.0, -2.0, -2.0, 4.0], 0.0), 1e-9);
    assert_eq!((factor.rank(), factor.is_complete), (1, true));
}

#[test]
fn small_softness_is_lost() {
    fn lost<E: Entry>(
        matrix: &[E],
        softness: impl Fn(usize) -> f64,
        least: f64,
    ) -> (usize, [bool; 2]) {
        let softness = (0..40).map(softness).collect();
        let factor = truncated(&Gram::new(matrix, 0.0, softness).expect("a matrix"), least);
        (factor.rank(), [factor.is_complete, factor.loses_softness])
    }
    let (doubles, few) = (matrix(40, 3), |x: f64| move |i| if i < 7 { x } else { 0.0 });
    assert_eq!(lost(&doubles, |_| 0.0, 1e-9), (3, [true, false]));
    assert_eq!(lost(&doubles, few(0.1), 1e-9), (10, [true, false]));
    assert_eq!(lost(&doubles, few(1e-12), 1e-9), (3, [false, true]));
    assert_eq!(lost(&doubles, |_| 1e-17, 0.0), (3, [true, true]));
    assert_eq!(lost(&singles(40, 3), few(0.1), 1e-4), (10, [false, false]));
}

/// The direction keeps its length, its angle with the position and the components of small variance.
#[test]
fn turns_keep_their_invariants() {
    let x = features(12, &[1.0, 0.3, 0.1, 1e-6, 1e-6]);
    let matrix = products(&x);
    let gram = hard(&matrix, 0.0);
    let factor = truncated(&gram, 1e-9);
    assert_eq!((factor.rank(), factor.is_complete), (3, false));
    let field = |w: &[f64]| x.iter().map(|x| inner(x, w)).collect::<Vec<_>>();
    let (position, direction) = ([0.6, 0.0, 0.48, 0.64, 0.0], [0.0, 0.8, 0.0, 0.0, 0.6]);
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut mean = [0.0; 5];
    for _ in 0..1000 {
        let (f, g) = (field(&position), field(&direction));
        let turn = factor.turn(&f, &g, &mut rng).expect("two dimensions remain");
        let mut new = direction;
        for (k, new) in new.iter_mut().enumerate() {
            *new += turn.iter().zip(&x).map(|(c, x)| c * x[k]).sum::<f64>();
        }
        assert!((inner(&new, &new) - 1.0).abs() < 1e-8, "{new:?}");
        assert!(inner(&new, &position).abs() < 1e-8, "{new:?}");
        assert!(new[3].abs() < 1e-4 && (new[4] - 0.6).abs() < 1e-4, "{new:?}");
        let turned = gram.combination(&turn, &Control::new()).expect("not interrupted");
        for ((turned, old), new) in turned.iter().zip(&g).zip(field(&new)) {
            assert!((old + turned - new).abs() < 1e-9);
        }
        mean.iter_mut().zip(new).for_each(|(mean, new)| *mean += new / 1000.0);
    }
    // Isotropic in the plane orthogonal to the position: independent of the old direction.
    assert!(mean[..3].iter().all(|mean| mean.abs() < 0.1), "{mean:?}");
}
