"""Errors that say what to write instead: the advice in each of them is followed here."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from bayespoint import (
    BayesPointClassifier,
    InfeasibleError,
    VersionSpace,
    kernels,
)
from bayespoint.base import memory
from bayespoint.papers.max_margin import MaxMarginClassifier
from helpers import seed

RNG = np.random.default_rng(seed(8))
CITIES = np.resize(["Rome", "Oslo", "Lima"], 40)
AGES = np.where(np.arange(40) % 7 == 3, np.nan, RNG.uniform(0, 0.1, 40))
HEIGHTS = RNG.normal(0, 0.1, 40)
Y = CITIES == "Rome"


def refused(fit, *names):
    """Return the error of a fit, which names the columns."""
    with pytest.raises((TypeError, ValueError)) as caught:
        fit()
    text = str(caught.value)
    for name in names:
        assert re.search(rf"columns? [^.]*{name!r}", text), text
    return text


def cured(text):
    """Return the model of the two lines in a message."""
    lines = re.search(r"^columns = .*\nmodel = .*$", text, re.MULTILINE)
    assert lines is not None, text
    known = {
        each.__name__: each
        for each in (
            make_column_transformer,
            make_pipeline,
            OneHotEncoder,
            SimpleImputer,
            BayesPointClassifier,
            MaxMarginClassifier,
        )
    }
    exec(lines[0], known)
    return known["model"]


def frame(library):
    module = pytest.importorskip(library)
    return module.DataFrame({"city": CITIES, "age": AGES, "height": HEIGHTS})


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("estimator", [BayesPointClassifier(tol=0.3), MaxMarginClassifier(C=1.0)])
def test_a_frame_with_text_and_missing_values(library, estimator):
    data = frame(library)
    text = refused(lambda: estimator.fit(data, Y), "city", "age")
    assert "could not convert string to float" in text
    assert "height" not in text
    model = cured(text)
    assert type(model[-1]) is type(estimator)
    assert model.fit(data, Y).score(data, Y) > 0.9


def test_missing_values_alone():
    data = frame("pandas")[["age", "height"]]
    text = refused(lambda: BayesPointClassifier().fit(data, Y), "age")
    assert "Input X contains NaN" in text
    assert "OneHotEncoder" not in text
    cured(text).fit(data, Y)
    fitted = BayesPointClassifier(tol=0.3).fit(data.fillna(0.0), Y)
    refused(lambda: fitted.predict(data), "age")


def test_nullable_columns_of_pandas():
    pandas = pytest.importorskip("pandas")
    data = pandas.DataFrame({"n": pandas.array([1, None] * 20, dtype="Int64"), "h": HEIGHTS})
    data["when"] = pandas.Timestamp("2020-01-01")
    text = refused(lambda: BayesPointClassifier().fit(data, Y), "when")
    assert "'h'" not in text


def test_arrays_name_columns_by_number():
    mixed = np.column_stack([HEIGHTS, CITIES]).astype(object)
    text = refused(lambda: BayesPointClassifier().fit(mixed, Y), 1)
    cured(text).fit(mixed, Y)
    rows = [[1.0, "a"], [2.0, "b"]]
    refused(lambda: BayesPointClassifier().fit(rows, [0, 1]), 1)
    lacking = np.column_stack([HEIGHTS, AGES])
    cured(refused(lambda: BayesPointClassifier().fit(lacking, Y), 1)).fit(lacking, Y)


def test_of_many_columns_some_are_named():
    wide = np.full((4, 200), np.nan)
    with pytest.raises(ValueError, match="columns 0, 1, 2, 3, 4, 5 and 194 more of X must not"):
        BayesPointClassifier().fit(wide, [0, 1, 0, 1])


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


def test_too_many_examples(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 2**30)
    X = np.linspace(-1, 1, 30_000)[:, None]
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
