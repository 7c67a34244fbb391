//! Tests of `propagation::triangle` that need its private parts.

use super::*;

#[test]
fn factors_and_inverses_multiply_to_the_matrix_and_to_one() {
    for n in [1, 2, 15, 16, 17, 48, 50, 130] {
        let a = Array2::from_shape_fn((7, n), |(i, j)| ((i * n + j * j) as f64).sin());
        let (mut upper, mut inverse) = (Array2::zeros((n, n)), Array2::ones((n, n)));
        product(&a.view(), &a.view(), &mut upper);
        upper.diag_mut().map_inplace(|x| *x += 1.0);
        factor(&mut upper).expect("positive definite");
        invert(&upper, &mut inverse);
        upper.indexed_iter_mut().filter(|((i, j), _)| i > j).for_each(|(_, x)| *x = 0.0);
        let squares = times_own_transpose(&inverse) - inverse.dot(&inverse.t());
        assert!(squares.iter().all(|x| x.abs() < 1e-12), "{n}");
        let mut one = Array2::zeros((n, n));
        times_upper(&upper.view(), &inverse, &mut one.view_mut());
        let rest = upper.t().dot(&upper) - a.t().dot(&a);
        for matrix in [one, rest] {
            let error = (matrix - Array2::<f64>::eye(n)).map(|x| x.abs());
            assert!(error.iter().all(|&x| x < 1e-12), "{n} {error}");
        }
    }
}

#[test]
fn what_is_not_positive_definite_has_no_factor() {
    for bad in [0.0, -1e-9, f64::NAN] {
        let mut matrix = Array2::eye(40);
        matrix[[33, 33]] = bad;
        assert!(factor(&mut matrix).is_err(), "{bad}");
    }
}
