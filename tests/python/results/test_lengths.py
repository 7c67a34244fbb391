"""The law of the length of a weight vector."""

import pytest
from scipy import stats

from bayespoint.results.lengths import chi_mean


def test_mean_lengths_are_those_of_the_chi_distribution():
    for n in (1, 2, 3, 17, 200):
        assert chi_mean(n) == pytest.approx(stats.chi(n).mean(), rel=1e-12)
    for n in (200, 201, 5000, 10**6):  # a_n a_(n+1) = n, across both formulas
        product = chi_mean(n) * chi_mean(n + 1)
        assert product == pytest.approx(n, rel=1e-12)
