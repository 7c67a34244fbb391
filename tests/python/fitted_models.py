"""What good calls (hostile_calls.py) are made of: data, fitted objects, checks of results."""

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayespoint import (
    BayesPointClassifier,
    BayesPointOrdinalClassifier,
    BayesPointRanker,
    SampleOptions,
    VersionSpace,
    kernels,
)
from bayespoint.papers.onion import onion
from bayespoint.posterior import Mixture


@dataclass
class Call:
    """A call with good arguments."""

    covers: tuple[str, ...]
    function: Any
    arguments: dict[str, Any]
    names: tuple[str, ...] = field(default=())
    """What errors may name beside the arguments."""
    check: Any = None
    """Called with the result and the arguments, where the call succeeds."""

    @property
    def id(self):
        return self.covers[0]


RNG = np.random.default_rng(12)
X = RNG.standard_normal((12, 3))
Y = np.where(X @ [1.0, 0.5, -0.2] > 0, 1, -1)
LEVELS = np.digitize(X @ [1.0, 0.5, -0.2], [-0.4, 0.6])
CHOICES = np.array([[0, 1, 2], [3, 4, -1], [5, 1, 0], [7, 9, 11]])
NEW = RNG.standard_normal((4, 3))
GRAM = X @ X.T
RBF = kernels.RBF(1.5)
GROWING = (kernels.Linear(), kernels.Polynomial(2, 1.0))
"""Kernels whose values are as large as the inputs are."""
QUICK = {"softness": 0.2, "tol": 0.5, "n_draws": 8, "random_state": 0}

TEXTS = np.array(["abba", "ab", "cab", "bbb"], dtype=object)
SETS = np.array([{1, 2}, {2}, frozenset({3, 1}), {4}], dtype=object)


@functools.cache
def space(softness=0.3):
    return VersionSpace(GRAM, Y, softness=softness)


@functools.cache
def result():
    return space().sample(options=SampleOptions(max_bounces=50), random_state=0)


@functools.cache
def fitted(kind=BayesPointClassifier, kernel=RBF):
    of_points = issubclass(kind, (BayesPointClassifier, BayesPointRanker))
    model = kind(kernel, **QUICK) if of_points else kind()
    labels = {BayesPointOrdinalClassifier: LEVELS, BayesPointRanker: CHOICES}
    return model.fit(X, labels.get(kind, Y))


@functools.cache
def table():
    return onion(
        VersionSpace(GRAM, Y),
        max_errors=(1, 1),
        tol=0.5,
        max_length=20.0,
        n_trajectories=1,
        random_state=0,
    )


def posterior(kernel=RBF):
    return fitted(kernel=kernel).posterior_


def flat(margins):
    return np.ones(len(margins))


def method(owner, name):
    """Return a method of an object that is made when it is first called."""

    def call(**arguments):
        return getattr(owner(), name)(**arguments)

    return call


def fit_of(kind):
    def fit(X, y, sample_weight=None, groups=None, **parameters):
        more = {"sample_weight": sample_weight, "groups": groups}
        more = {name: value for name, value in more.items() if value is not None}
        return kind(**parameters).fit(X, y, **more)

    return fit


def chances(p, _):
    p = np.asarray(p)
    assert ((p >= 0) & (p <= 1)).all()
    if p.ndim == 2:
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-9)


def shares(x, _):
    assert ((np.asarray(x) >= 0) & (np.asarray(x) <= 1)).all()


def finite(x, _):
    assert np.isfinite(x).all()


def of_the_center(model):
    """Return a check of decision values by the classes that the center predicts."""

    def check(values, arguments):
        finite(values, arguments)
        known = model()
        classes = known.classes if isinstance(known, Mixture) else known.classes_
        second = known.predict(**arguments) == classes[1]
        np.testing.assert_array_equal(values > 0, second)

    return check


def not_nan(x, _):
    assert not np.isnan(x).any()


def run_is_right(run, arguments):
    assert np.isfinite(run.center).all()
    assert np.isfinite(run.draws).all()
    assert 0 <= run.center_norm <= 1 + 1e-6


def classifies(model, arguments):
    labels = model.predict(arguments["X"])
    assert set(np.unique(labels)) <= set(model.classes_)
    if hasattr(model, "predict_proba"):
        chances(model.predict_proba(arguments["X"]), arguments)


RUN = {"max_bounces": 40, "n_trajectories": 2, "n_draws": 4, "random_state": 0}
SHORT = {"tol": 0.5, "max_length": 4.0, "n_trajectories": 1, "random_state": 0}
