"""Runs that `max_time` ends, and draws that a tolerance asks for."""

import math
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bayespoint import SampleOptions, VersionSpace
from bayespoint.results import billiard
from helpers import cone, seed, space_of


def soft_space(m=200, softness=0.5):
    rng = np.random.default_rng(seed(0))
    x = rng.standard_normal((m, 5))
    square = (x**2).sum(axis=1)
    gram = np.exp(-0.1 * (square[:, None] + square - 2 * x @ x.T))
    y = np.where(x[:, 0] + rng.standard_normal(m) > 0, 1, -1)
    return VersionSpace(gram, y, softness=softness)


def test_an_error_that_cannot_be_estimated_is_infinite():
    """One trajectory with a single piece of path."""
    space = VersionSpace(np.eye(30), np.ones(30))
    with pytest.warns(ConvergenceWarning, match="center_error is inf"):
        result = space.sample(
            options=SampleOptions(max_bounces=1), n_trajectories=1, random_state=seed(0)
        )
    assert result.center_error == math.inf


def test_time_with_a_callback_and_an_earlier_run():
    space, seen, run = soft_space(), [], None
    lengths = []
    for _ in range(2):
        with pytest.warns(ConvergenceWarning):
            run = space.sample(
                tol=1e-9,
                max_time=0.5,
                random_state=seed(0),
                callback=seen.append,
                n_jobs=2,
                options=SampleOptions(continue_from=run),
            )
        assert run.stop_reason == "max_time"
        lengths.append(run.length)
    assert seen
    assert lengths[1] > lengths[0]  # the second call goes on where the first ended


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of few draws
def test_time_alone_is_a_limit():
    result = soft_space().sample(max_time=0.5, n_draws=5, random_state=seed(0))
    assert result.stop_reason == "max_time"
    assert result.length > 1.0
    long = space_of(*cone()).sample(length=5.0, max_time=1e6, n_draws=3, random_state=seed(0))
    assert long.stop_reason == "length"


def test_no_starting_point_in_time():
    rng = np.random.default_rng(seed(0))
    x = rng.standard_normal((400, 300))
    space = VersionSpace(x @ x.T, np.sign(rng.standard_normal(400) + 10 * x[:, 0]))
    with pytest.raises(TimeoutError, match="max_time must be long enough to find a point"):
        space.sample(max_time=1e-9, random_state=seed(0))


@pytest.mark.parametrize("average", ["auto", "arc"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"n_draws": 20}, {"n_draws": 400}, {"n_trajectories": 1}],
)
def test_a_run_with_a_tolerance_ends_with_draws_that_suffice(average, settings):
    """The engine's R-hat and effective sample size are those of the result."""
    for index, space in enumerate((soft_space(40, 0.3), soft_space(100, 1.0))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = space.sample(
                tol=0.5,
                options=SampleOptions(average=average),
                random_state=seed(index),
                **settings,
            )
        assert result.stop_reason == "tol"
        t, n = result.draws.shape[:2]
        least = max(min(100.0, t * n / 2), t * n / 4)
        assert result.ess >= least
        limit = billiard.allowed_r_hat(t, least, 1.05, 1e-3)
        # The engine approximates the quantile.
        assert result.r_hat <= 1.01 * limit


def test_another_limit_that_ends_a_run_before_its_draws_suffice_is_told():
    with pytest.warns(ConvergenceWarning, match=r"when max_bounces \(.*\) ended the run"):
        result = soft_space().sample(
            tol=0.5, options=SampleOptions(max_bounces=200), random_state=seed(0)
        )
    assert result.stop_reason == "max_bounces"
    assert result.center_error < 0.5
