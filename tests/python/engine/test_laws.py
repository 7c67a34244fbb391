"""Laws of labels: probabilities against quadrature, and their derivatives."""

import math

import numpy as np
import pytest
from scipy import special

from bayespoint.engine.laws import Observed, sums_of_rows, values_of_rows
from helpers import seed
from plain_laws import log_probabilities, log_probability

WIDTHS = {"one wall": 1, "interval": 2, "largest": 3}
LAWS = pytest.mark.parametrize("law", WIDTHS)
MIXED = pytest.mark.parametrize("is_mixed", [False, True], ids=["plain", "noise and counts"])
TRIALS = np.array([0, 1, 1, 0]), np.random.default_rng(seed(1)).standard_normal((4, 2))


def observed(law, n, *, is_mixed=False):
    if not is_mixed:
        return Observed(law, WIDTHS[law])
    rng = np.random.default_rng(seed(2))
    floors, counts = rng.uniform(0.01, 0.1, n), rng.uniform(0.5, 3.0, n)
    return Observed(law, WIDTHS[law], floors, 1 - 3 * floors, counts)


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
    exact = [log_probability(law, one) for one in tails]
    np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-6)
    assert np.isfinite(slopes[:, np.isfinite(found)]).all()


def test_an_interval_without_room_is_impossible_whatever_the_noise():
    contrasts = np.array([[0.3, -1.0], [-0.3, 0.9]])
    labels = Observed("interval", 2, np.full(2, 0.1), np.full(2, 0.8))
    log_p, slopes, _ = labels.derivatives(contrasts)
    assert (log_p == -np.inf).all()
    assert (slopes == 0).all()


@pytest.mark.parametrize("others", [[], [0.0], [-3.0, 2.0]])
def test_the_largest_is_smooth_where_the_integral_changes(others):
    """From 7 deviations behind the integral is about its own mode."""
    behind = np.linspace(6.9, 7.1, 401)
    contrasts = np.stack([-behind, *(np.full(401, d) for d in others)])
    log_p, slopes, _ = Observed("largest", len(contrasts)).derivatives(contrasts)
    exact = [log_probability("largest", column) for column in contrasts.T[::50]]
    np.testing.assert_allclose(log_p[::50], exact, rtol=0, atol=1e-6)
    assert (np.diff(log_p) < 0).all()
    np.testing.assert_allclose(np.diff(log_p) / 0.0005, -slopes[0, 1:], rtol=0, atol=5e-3)
    wide = -np.linspace(0.0, 150.0, 3001)
    contrasts = np.stack([wide, *(np.full(3001, d) for d in others)])
    assert (np.diff(Observed("largest", len(contrasts)).derivatives(contrasts)[0]) < 0).all()


@pytest.mark.parametrize("n_others", [1, 3, 9, 25])
def test_the_largest_of_many_is_exact_far_behind(n_others):
    rng = np.random.default_rng(seed(4))
    contrasts = rng.standard_normal((n_others, 12)) - np.linspace(7.0, 40.0, 12)
    found = Observed("largest", n_others).derivatives(contrasts)[0]
    exact = [log_probability("largest", column) for column in contrasts.T]
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6)
    if n_others == 1:
        np.testing.assert_allclose(found, special.log_ndtr(contrasts[0] / math.sqrt(2)), atol=1e-8)


@LAWS
@MIXED
def test_sums_along_paths_are_those_of_each_observation(law, is_mixed):
    n = 700  # more than one block
    labels, rng = observed(law, n, is_mixed=is_mixed), np.random.default_rng(seed(5))
    paths = [contrasts_of(law, n), *(0.03 * rng.standard_normal((4, WIDTHS[law], n)))]
    sums = labels.log_likelihoods(paths, TRIALS)
    by_contrast = labels.log_likelihoods(paths, TRIALS, by_contrast=True)
    for ball, (a, b), row, slopes in zip(*TRIALS, sums, by_contrast, strict=True):
        place, direction = paths[1 + 2 * ball : 3 + 2 * ball]
        log_p, expected, _ = labels.derivatives(paths[0] + a * place + b * direction)
        by_factors = (expected * place).sum(), (expected * direction).sum()
        np.testing.assert_allclose(row, [log_p.sum(), *by_factors], rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(slopes, expected, rtol=1e-12, atol=1e-15)
    singles = [part.astype(np.float32) for part in paths]
    found = labels.log_likelihoods(singles, TRIALS)
    np.testing.assert_allclose(found, sums, rtol=1e-4, atol=1e-2)
    part = labels.part(slice(600, 700))
    of_part = part.log_likelihoods([np.ascontiguousarray(one[:, 600:]) for one in paths], TRIALS)
    rest = labels.part(slice(600)).log_likelihoods([one[:, :600] for one in paths], TRIALS)
    np.testing.assert_allclose(of_part + rest, sums, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("wrong", ["sign", "slope", "floor", "count"])
def test_a_wrong_law_fails(wrong):
    """The checks above notice a wrong sign, noise, count or second derivative."""
    contrasts, labels = contrasts_of("interval", 30), observed("interval", 30, is_mixed=True)
    exact = log_probabilities(labels, contrasts)
    if wrong == "sign":
        found = labels.derivatives(contrasts[::-1] * [[-1.0], [1.0]])[0]
    elif wrong == "slope":
        exact, found = labels.derivatives(contrasts)[1][::-1], labels.derivatives(contrasts)[1]
    elif wrong == "floor":
        found = Observed("interval", 2, labels.floors / 2, labels.spans, labels.counts)
        found = found.derivatives(contrasts)[0]
    else:
        found = Observed("interval", 2, labels.floors, labels.spans).derivatives(contrasts)[0]
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
        ("counts", Observed("one wall", 1, counts=np.ones(69))),
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
