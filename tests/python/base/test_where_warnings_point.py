"""Warnings refer to the user's line, also through pipelines."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import (
    BayesPointClassifier,
    SampleOptions,
    VersionSpace,
    kernels,
)
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.perceptron import KernelPerceptron
from helpers import SHIFT as SEED

RNG = np.random.default_rng(SEED)
X = RNG.standard_normal((60, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(60) > 0, 1, -1)
SPACE = VersionSpace(X @ X.T, Y, softness=0.1)
MODEL = BayesPointClassifier("linear", softness=0.1, random_state=SEED).fit(X, Y)
SEVERAL = BayesPointClassifier(
    kernels.RBF(2.0), n_models=3, max_iter=300, tol=1e-6, random_state=SEED
)
PIPELINE = make_pipeline(StandardScaler(), KernelPerceptron("linear", max_epochs=2))

CALLS = {
    "KernelPerceptron": lambda: KernelPerceptron("linear", max_epochs=2).fit(X, Y),
    "MaxMarginClassifier": lambda: MaxMarginClassifier("linear", C=10.0, max_iter=1).fit(X, Y),
    "in a pipeline": lambda: PIPELINE.fit(X, Y),
    "models in threads": lambda: SEVERAL.set_params(n_jobs=2).fit(X, Y),
    "sample": lambda: SPACE.sample(
        options=SampleOptions(max_bounces=200), tol=1e-4, random_state=SEED
    ),
    "VersionSpace.evidence": lambda: SPACE.evidence(tol=1e-3, max_length=1.0, random_state=SEED),
    "evidence": lambda: MODEL.evidence(tol=1e-3, max_length=1.0, random_state=SEED),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_here(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    warned = [one for one in caught if one.category is ConvergenceWarning]
    assert warned
    assert {one.filename for one in warned} == {__file__}
    assert {one.lineno for one in warned} == {call.__code__.co_firstlineno}


def test_models_in_threads_warn_as_one_after_another():
    def texts(n_jobs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            SEVERAL.set_params(n_jobs=n_jobs).fit(X, Y)
        return [str(one.message) for one in caught]

    assert texts(2) == texts(1)
    assert len(SEVERAL.models_) > 1
    assert sum(text.startswith("the estimated center_error") for text in texts(2)) == len(
        SEVERAL.models_
    )
