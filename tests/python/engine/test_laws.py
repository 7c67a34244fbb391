"""Laws of labels: probabilities against quadrature, and their derivatives."""

import math

import numpy as np
import pytest

from bayespoint.engine.laws import Observed, sums_of_rows, values_of_rows
from helpers import seed
from plain_laws import largest, log_probabilities, log_probability

WIDTHS = {"one wall": 1, "interval": 2, "largest": 3}
LAWS = pytest.mark.parametrize("law", WIDTHS)
MIXED = pytest.mark.parametrize("is_mixed", [False, True], ids=["plain", "noise"])
TRIALS = np.array([0, 1, 1, 0]), np.random.default_rng(seed(1)).standard_normal((4, 2))


def observed(law, n, *, is_mixed=False):
    if not is_mixed:
        return Observed(law, WIDTHS[law])
    rng = np.random.default_rng(seed(2))
    floors = rng.uniform(0.01, 0.1, n)
    floors[::3] = 0.0  # labels that are never wrong
    return Observed(law, WIDTHS[law], floors, 1 - 3 * floors)


def contrasts_of(law, n, scale=1.5):
    """Return contrasts, some of which are missing; an interval has room."""
    rng = np.random.default_rng(seed(3))
    found = scale * rng.standard_normal((WIDTHS[law], n))
    if law == "interval":
        found[1] = rng.exponential(size=n) + 0.5 - found[0]
    if law != "one wall":
        found[0, ::5], found[1, 2::5] = np.inf, np.inf
    return found


@LAWS
@MIXED
def test_probabilities_are_integrals(law, is_mixed):
    contrasts = contrasts_of(law, 60, 3.0)
    labels = observed(law, 60, is_mixed=is_mixed)
    found = labels.derivatives(contrasts)[0]
    np.testing.assert_allclose(found, log_probabilities(labels, contrasts), rtol=1e-6, atol=1e-7)


@LAWS
@MIXED
def test_derivatives_are_differences(law, is_mixed):
    contrasts, labels = contrasts_of(law, 30), observed(law, 30, is_mixed=is_mixed)
    _, slopes, curvatures = labels.derivatives(contrasts)
    for j, unit in enumerate(np.eye(len(contrasts))[..., None]):
        ahead, behind = contrasts + 1e-4 * unit, contrasts - 1e-4 * unit
        by_one = log_probabilities(labels, ahead) - log_probabilities(labels, behind)
        np.testing.assert_allclose(slopes[j], by_one / 2e-4, rtol=1e-6, atol=1e-6)
        by_one = labels.derivatives(ahead)[1] - labels.derivatives(behind)[1]
        np.testing.assert_allclose(curvatures[j], -by_one / 2e-4, rtol=1e-5, atol=1e-5)
    assert (np.abs(slopes[~np.isfinite(contrasts)]) < 1e-300).all()


TAILS = {
    "one wall": [[-30.0], [-8.0], [9.0], [-1e3]],
    "interval": [[-30.0, np.inf], [np.inf, -30.0], [-30.0, 30.5], [-9.0, 9.0 + 1e-7]]
    + [[c - h, h - c] for c in (-35.0, -3.0, 0.2, 30.0) for h in (0.0,)]
    + [[h - c, h + c] for c in (-35.0, -3.0, 0.2, 30.0) for h in (5e-8, 1e-5, 0.01, 0.3, 3.0)],
    "largest": [[-behind, 0.0, other] for behind in (20, 60, 140) for other in (-5.0, 1.0, np.inf)]
    + [[-20.0] * 3, [-60.0] * 3, [-140.0] * 3, [5.0, 9.0, 40.0], [np.inf, -20.0, np.inf]],
}


@LAWS
def test_tails_are_relatively_exact(law):
    tails = np.array(TAILS[law])
    found, slopes, _ = Observed(law, WIDTHS[law]).derivatives(np.ascontiguousarray(tails.T))
    noise = np.zeros(len(tails)), np.full(len(tails), 0.9)  # without a floor
    noisy = Observed(law, WIDTHS[law], *noise).derivatives(np.ascontiguousarray(tails.T))
    np.testing.assert_allclose(noisy.log_p, found + math.log(0.9), rtol=1e-12)
    np.testing.assert_allclose(noisy.slopes, slopes, rtol=1e-12)
    exact = [log_probability(law, one) for one in tails]
    np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-6)
    assert np.isfinite(slopes[:, np.isfinite(found)]).all()


def test_an_interval_without_room_is_impossible_whatever_the_noise():
    contrasts = np.array([[0.3, -1.0], [-0.3, 0.9]])
    labels = Observed("interval", 2, np.full(2, 0.1), np.full(2, 0.8))
    log_p, slopes, _ = labels.derivatives(contrasts)
    assert (log_p == -np.inf).all()
    assert (slopes == 0).all()


@pytest.mark.parametrize("n_others", [1, 2, 3, 4, 5, 20])
def test_the_largest_is_exact_however_far_behind(n_others):
    """Ties, others near and far and contrasts that are missing, on all sides of every change."""
    near = [*np.arange(0.0, 7.0, 0.5), 6.5 - 1e-9, 7.0 - 1e-9, 10.9, 11.0, 11.1]
    contrasts = np.array(
        [
            [-behind, min(other, -3.0), *[other] * 19][:n_others]
            for behind in [*near, 14.0, 20.0, 60.0, 141.0]
            for other in (-behind, 0.0, 4.0, 11 - behind, 140.0, np.inf)
        ]
    )
    log_p, slopes, bends = Observed("largest", n_others).derivatives(contrasts.T.copy())
    for i, case in enumerate(contrasts):
        parts = zip((log_p[i], slopes[:, i], bends[..., i]), largest(case), strict=True)
        for (part, exact), tol in zip(parts, (1e-9, 1e-8, 1e-7), strict=True):
            assert np.abs(part - exact).max() <= tol * max(1.0, np.abs(exact).max()), case
    deeper = np.linspace(150.0, -5.0, 3001)[None] * -np.ones((n_others, 1))
    assert (np.diff(Observed("largest", n_others).derivatives(deeper)[0]) > 0).all()


@pytest.mark.parametrize("wrong", ["sign", "slope", "floor", "noise"])
def test_a_wrong_law_fails(wrong):
    """The checks above notice a wrong sign, noise or second derivative."""
    contrasts, labels = contrasts_of("interval", 30), observed("interval", 30, is_mixed=True)
    exact = log_probabilities(labels, contrasts)
    if wrong == "sign":
        found = labels.derivatives(contrasts[::-1] * [[-1.0], [1.0]])[0]
    elif wrong == "slope":
        exact, found = labels.derivatives(contrasts)[1][::-1], labels.derivatives(contrasts)[1]
    elif wrong == "floor":
        found = Observed("interval", 2, labels.floors / 2, labels.spans)
        found = found.derivatives(contrasts)[0]
    else:
        found = Observed("interval", 2).derivatives(contrasts)[0]
    assert not np.allclose(found, exact, rtol=1e-3)


VALUES = list(np.random.default_rng(seed(6)).standard_normal((5, 1, 70)))


@pytest.mark.parametrize(
    ("name", "values", "trials"),
    [
        ("along", VALUES, (TRIALS[0], TRIALS[1][:3])),
        ("balls", VALUES[:3], TRIALS),
        ("balls", VALUES, (-TRIALS[0], TRIALS[1])),
        ("values", [*VALUES[:4], VALUES[4][:, :9]], TRIALS),
        ("values", [], TRIALS),
    ],
)
def test_shapes_that_do_not_fit_are_named(name, values, trials):
    with pytest.raises(ValueError, match=name):
        Observed("one wall", 1).log_likelihoods(values, trials)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("law", Observed("two walls", 1)),
        ("n_contrasts", Observed("one wall", 2)),
        ("values", Observed("largest", 4)),
        ("spans", Observed("one wall", 1, np.ones(70))),
        ("floors", Observed("one wall", 1, np.ones(7), np.ones(7))),
    ],
)
def test_labels_that_are_none_of_a_law_are_named(name, wrong):
    with pytest.raises(ValueError, match=name):
        wrong.derivatives(VALUES[0])


def test_products_with_rows_have_their_precision():
    rng = np.random.default_rng(seed(7))
    rows, vectors, factors = (rng.standard_normal(shape) for shape in ((70, 5), (3, 5), (2, 70)))
    np.testing.assert_allclose(values_of_rows(rows, vectors), vectors @ rows.T, rtol=1e-12)
    np.testing.assert_allclose(sums_of_rows(rows, factors), factors @ rows, rtol=1e-12)
    singles = rows.astype(np.float32)
    found = values_of_rows(singles, vectors)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, vectors @ rows.T, rtol=1e-4, atol=1e-5)
