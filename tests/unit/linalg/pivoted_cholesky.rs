//! Tests of `linalg::pivoted_cholesky` that need its private parts.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::*;
use crate::gram::Gram;

/// The factor for given pivots, column by column.
fn plain(gram: &[f64], m: usize, pivots: &[usize]) -> Vec<Vec<f64>> {
    let mut rows = vec![Vec::new(); m];
    for (column, &pivot) in pivots.iter().enumerate() {
        let head: Vec<f64> = rows[pivot].clone();
        let inner = |row: &[f64]| row.iter().zip(&head).map(|(a, b)| a * b).sum::<f64>();
        let root = (gram[pivot * m + pivot] - inner(&head)).sqrt();
        for i in 0..m {
            let entry = if pivots[..column].contains(&i) {
                0.0
            } else {
                (gram[pivot * m + i] - inner(&rows[i])) / root
            };
            rows[i].push(entry);
        }
    }
    rows
}

fn matrix(m: usize, rank: usize) -> Vec<f64> {
    let x: Vec<Vec<f64>> = (0..m)
        .map(|i| {
            (0..rank).map(|k| ((1 + i * (k + 3)) as f64 * 0.7).sin() / (k + 1) as f64).collect()
        })
        .collect();
    let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum();
    x.iter().flat_map(|a| x.iter().map(move |b| inner(a, b))).collect()
}

#[test]
fn batches_agree_with_single_columns() {
    for (m, rank) in [(1, 1), (5, 5), (40, 3), (90, 33), (100, 64), (130, 90)] {
        let matrix = matrix(m, rank);
        let gram = Gram::new(&matrix, 0.0, vec![0.0; m]).expect("a matrix");
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
                let entry: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                assert!((entry - matrix[i * m + j]).abs() < 1e-12 * scale, "{m} {rank}");
            }
        }
    }
}

#[test]
fn stops_at_the_wanted_rank() {
    let matrix = matrix(90, 33);
    let gram = Gram::new(&matrix, 0.0, vec![0.0; 90]).expect("a matrix");
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
    let gram = Gram::new(&matrix, 0.0, vec![0.0; m]).expect("a matrix");
    let mut pivoted = Pivoted::new(&gram, 0.0);
    assert_eq!(pivoted.run(m, &Control::new()), Ok(true));
    assert_eq!(pivoted.rank(), 3);
}

/// The tolerance for rounded entries is relative to the diagonal without the offset, which is exact.
#[test]
fn singles_under_a_large_offset() {
    let (m, rank) = (60, 5);
    #[allow(clippy::cast_possible_truncation, reason = "a matrix of singles")]
    let matrix: Vec<f32> = matrix(m, rank).iter().map(|&x| x as f32).collect();
    let gram = Gram::new(&matrix, 1e6, vec![0.0; m]).expect("a matrix");
    let factor = Factor::truncated(&gram, 1e-4, &Control::new()).expect("semi-definite");
    assert_eq!((factor.rank(), factor.is_complete), (rank + 1, false));
}

#[test]
fn a_single_direction_is_refused() {
    let m = 40;
    let matrix = matrix(m, 5);
    let gram = Gram::new(&matrix, 1e12, vec![0.0; m]).expect("a matrix");
    let error = Factor::truncated(&gram, 1e-9, &Control::new()).expect_err("rank 1 remains");
    assert!(matches!(error, Error::Breakdown { .. }), "{error}");
    let line = Gram::new(&[1.0, -2.0, -2.0, 4.0], 0.0, vec![0.0; 2]).expect("a matrix");
    let factor = Factor::truncated(&line, 1e-9, &Control::new()).expect("rank one");
    assert_eq!((factor.rank(), factor.is_complete), (1, true));
}

#[test]
fn small_softness_is_lost() {
    let m = 40;
    let matrix = matrix(m, 3);
    let lost = |softness: &dyn Fn(usize) -> f64, least: f64| {
        let softness = (0..m).map(softness).collect();
        let gram = Gram::new(&matrix, 0.0, softness).expect("a matrix");
        let factor = Factor::truncated(&gram, least, &Control::new()).expect("semi-definite");
        (factor.rank(), factor.is_complete, factor.loses_softness)
    };
    assert_eq!(lost(&|_| 0.0, 1e-9), (3, true, false));
    assert_eq!(lost(&|i| if i < 7 { 0.1 } else { 0.0 }, 1e-9), (10, true, false));
    assert_eq!(lost(&|i| if i < 7 { 1e-12 } else { 0.0 }, 1e-9), (3, false, true));
    assert_eq!(lost(&|_| 1e-17, 0.0), (3, true, true));
    #[allow(clippy::cast_possible_truncation, reason = "a matrix of singles")]
    let singles: Vec<f32> = matrix.iter().map(|&x| x as f32).collect();
    let softness = (0..m).map(|i| if i < 7 { 0.1 } else { 0.0 }).collect();
    let gram = Gram::new(&singles, 0.0, softness).expect("a matrix");
    let factor = Factor::truncated(&gram, 1e-4, &Control::new()).expect("semi-definite");
    assert_eq!((factor.rank(), factor.is_complete, factor.loses_softness), (10, false, false));
}

/// The direction keeps its length, its angle with the position and the components of small variance.
#[test]
fn turns_keep_their_invariants() {
    let scales = [1.0, 0.3, 0.1, 1e-6, 1e-6];
    let (m, n) = (12, scales.len());
    let x: Vec<Vec<f64>> = (0..m)
        .map(|i| (0..n).map(|k| ((1 + i * (k + 3)) as f64 * 0.7).sin() * scales[k]).collect())
        .collect();
    let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let matrix: Vec<f64> = x.iter().flat_map(|a| x.iter().map(move |b| inner(a, b))).collect();
    let gram = Gram::new(&matrix, 0.0, vec![0.0; m]).expect("a matrix");
    let factor = Factor::truncated(&gram, 1e-9, &Control::new()).expect("semi-definite");
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
