"""Errors that say what to write instead: the advice in each of them is followed here."""

import numpy as np
import pytest
from scipy import sparse

from bayespoint import (
    BayesPointClassifier,
    InfeasibleError,
    VersionSpace,
    kernels,
)
from bayespoint.papers.max_margin import MaxMarginClassifier
from helpers import seed

RNG = np.random.default_rng(seed(8))
CITIES = np.resize(["Rome", "Oslo", "Lima"], 40)
AGES = np.where(np.arange(40) % 7 == 3, np.nan, RNG.uniform(0, 0.1, 40))
HEIGHTS = RNG.normal(0, 0.1, 40)
Y = CITIES == "Rome"


def test_errors_of_labels_and_infinity_are_those_of_scikit_learn():
    with pytest.raises(ValueError, match=r"^Input y contains NaN"):
        BayesPointClassifier().fit(HEIGHTS[:, None], np.where(Y, np.nan, 1.0))
    with pytest.raises(ValueError, match=r"^Input X contains infinity"):
        BayesPointClassifier().fit(np.where(HEIGHTS > 0, np.inf, 0.0)[:, None], Y)


def test_sparse_rows_and_the_default_kernel():
    rows = sparse.csr_array(np.eye(40))
    with pytest.raises(TypeError, match=r'kernel=Matern.*use kernel="rbf" or kernel="linear"'):
        BayesPointClassifier(kernels.Matern()).fit(rows, Y)
    for kernel in (None, "rbf", "linear"):
        BayesPointClassifier(kernel, tol=0.3).fit(rows, Y)


def test_a_class_for_a_kernel():
    for estimator in (BayesPointClassifier(kernels.RBF), MaxMarginClassifier(kernels.RBF)):
        with pytest.raises(ValueError, match=r"RBF is a class: write RBF\(\)"):
            estimator.fit(HEIGHTS[:, None], Y)


def test_too_many_examples():
    X = np.linspace(-1, 1, 4_000_000)[:, None]
    for estimator in (BayesPointClassifier(approximation=None), MaxMarginClassifier()):
        with pytest.raises(MemoryError, match=r"landmarks.*fewer examples.*VersionSpace.*float32"):
            estimator.fit(X, X[:, 0] > 0)


def test_examples_that_are_not_separable():
    X, y = np.arange(4.0)[:, None], [0, 1, 0, 1]
    hard = BayesPointClassifier("linear", softness=0.0, random_state=0)
    with pytest.raises(InfeasibleError, match=r"Use softness > 0, or label_noise > 0$") as caught:
        hard.fit(X, y)
    assert "transparency" not in str(caught.value)
    assert caught.value.violations >= 1
    with pytest.raises(InfeasibleError, match=r"Use a finite C, or softness > 0$"):
        MaxMarginClassifier("linear", C=np.inf).fit(X, y)
    with pytest.raises(InfeasibleError, match=r"transparency > 0"):
        VersionSpace(X @ X.T + 1, [1, -1, 1, -1]).sample()
