"""R-hat and effective sample size against published forms, references and known laws."""

import numpy as np
import pytest

from bayespoint.results import diagnostics
from helpers import seed


def walk(coefficient, shape=(4, 60), index=5):
    """Chains of an autoregressive process."""
    x = np.random.default_rng(index).standard_normal(shape)
    for t in range(1, shape[1]):
        x[:, t] += coefficient * x[:, t - 1]
    return x


def shifted(x):
    return x + np.arange(len(x))[:, None]


def wide(x):
    return np.concatenate([3 * x[:1], x[1:]])


# (draws of a fixed seed, R-hat, bulk effective sample size), as computed by ArviZ 0.23.4.
REFERENCES = {
    "independent": (walk(0.0), 1.0033266213274679, 248.16037387385344),
    "correlated": (walk(0.5), 1.0487064567984463, 53.99724681980518),
    "sticky": (walk(0.9), 1.4577562127578825, 8.903102925620502),
    "alternating": (walk(-0.5), 0.9946828388248753, 571.2506980107854),
    "shifted": (shifted(walk(0.0)), 1.6657124912144436, 7.322210188938065),
    "of two widths": (wide(walk(0.5)), 1.2287036636911857, 44.35759524393066),
    "with ties": (np.round(walk(0.5)), 1.0486521737816377, 54.856059105816584),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_references(name):
    draws, r_hat, ess = REFERENCES[name]
    assert diagnostics.r_hat(draws) == pytest.approx(r_hat, rel=1e-9)
    assert diagnostics.ess_bulk(draws) == pytest.approx(ess, rel=1e-9)


@pytest.mark.parametrize("shape", [(4, 100), (2, 5), (3, 8), (2, 13), (8, 250)])
def test_against_arviz(shape):
    arviz = pytest.importorskip("arviz")
    for index, coefficient in enumerate([0.0, 0.5, 0.95, -0.7]):
        draws = walk(coefficient, shape, seed(index))
        for x in (draws, shifted(draws), np.round(draws)):
            expected = float(np.asarray(arviz.rhat(x, method="rank")))
            assert diagnostics.r_hat(x) == pytest.approx(expected, rel=1e-6, nan_ok=True)
            expected = float(np.asarray(arviz.ess(x, method="bulk")))
            assert diagnostics.ess_bulk(x) == pytest.approx(expected, rel=1e-6, nan_ok=True)


def test_quantities_are_independent_of_one_another():
    rng = np.random.default_rng(seed(0))
    draws = rng.standard_normal((3, 41, 5, 2)).cumsum(axis=1)
    for function in (diagnostics.r_hat, diagnostics.ess_bulk):
        together = function(draws)
        assert together.shape == (5, 2)
        alone = [[function(draws[:, :, i, j]) for j in range(2)] for i in range(5)]
        np.testing.assert_allclose(together, alone, rtol=1e-12)


@pytest.mark.parametrize(
    "draws",
    [
        np.zeros((4, 50)),
        np.full((4, 50), np.nan),
        np.where(np.arange(50) == 3, np.inf, np.ones((4, 50))),
        np.random.default_rng(seed(0)).standard_normal((4, 3)),
        np.empty((4, 0)),
        np.empty((0, 10)),
    ],
    ids=["constant", "nan", "inf", "three draws", "no draws", "no chains"],
)
def test_nothing_to_say(draws):
    assert np.isnan(diagnostics.r_hat(draws))
    assert np.isnan(diagnostics.ess_bulk(draws))


def test_one_bad_quantity_does_not_spoil_the_others():
    draws = np.random.default_rng(seed(0)).standard_normal((4, 50, 3))
    draws[:, :, 1] = 2.0
    draws[0, 0, 2] = np.nan
    for function in (diagnostics.r_hat, diagnostics.ess_bulk):
        values = function(draws)
        assert np.isfinite(values).tolist() == [True, False, False]
        assert values[0] == function(draws[:, :, 0])


def test_one_dimension_is_refused():
    with pytest.raises(ValueError, match=r"draws must have shape .*; got \(5,\)"):
        diagnostics.r_hat(np.arange(5.0))
