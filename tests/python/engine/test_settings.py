"""Settings: types are checked in Python, ranges by the compiled engine."""

import math

import numpy as np
import pytest

from bayespoint import VersionSpace, _core
from bayespoint.engine.settings import (
    EvidenceSettings,
    MarginSettings,
    SampleOptions,
    SampleSettings,
)
from helpers import seed

GOOD = {
    EvidenceSettings: {"tol": 0.1, "max_length": 1.0, "n_trajectories": 2},
    MarginSettings: {"tol": 1e-8, "max_iter": 9},
}


def made(kind, **settings):
    return kind(**GOOD.get(kind, {}) | settings)


COUNT = "an integer of at least 1"
NUMBER = r"a finite number in \(0, inf\)"


@pytest.mark.parametrize(
    ("kind", "settings", "wanted"),
    [
        (SampleSettings, {"n_trajectories": 0}, COUNT),
        (SampleSettings, {"n_draws": -3}, COUNT),
        (SampleSettings, {"length": 9e-7}, r"in \[1e-6, inf\)"),
        (SampleSettings, {"length": math.inf}, r"in \[1e-6, inf\)"),
        (SampleSettings, {"tol": math.nan}, NUMBER),
        (SampleSettings, {"tol": 10**400}, NUMBER),
        (SampleSettings, {"max_time": 0.0}, NUMBER),
        (SampleSettings, {"transparency": (0.1, 1.5)}, r"in \[0, 1\]"),
        (SampleSettings, {"refresh_rate": 2e9, "refresh": "pair"}, r"in \(0, 1e9\]"),
        (SampleSettings, {"average": "midpoints"}, "one of 'auto', 'arc', 'impulse'"),
        (SampleOptions, {"max_bounces": 0}, COUNT),
        (SampleOptions, {"transparency": 1.5}, r"in \[0, 1\]"),
        (EvidenceSettings, {"tol": -1.0}, NUMBER),
        (EvidenceSettings, {"max_length": 0.0}, NUMBER),
        (EvidenceSettings, {"n_trajectories": -7}, COUNT),
        (MarginSettings, {"tol": 1.0}, r"in \(0, 1\)"),
        (MarginSettings, {"max_iter": 0}, COUNT),
    ],
)
def test_a_range_is_told_with_the_name_and_what_came(kind, settings, wanted):
    name = next(iter(settings))
    with pytest.raises(ValueError, match=rf"^{name} must be {wanted}.*; got "):
        made(kind, **settings)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (SampleSettings, {"n_draws": 1.5}),
        (SampleSettings, {"n_draws": True}),
        (SampleSettings, {"length": "long"}),
        (SampleSettings, {"tol": np.bool_(1)}),
        (SampleSettings, {"transparency": "glass"}),
        (SampleOptions, {"max_bounces": 1.5}),
        (EvidenceSettings, {"tol": 1j}),
        (MarginSettings, {"tol": True}),
    ],
)
def test_a_type_is_told_with_the_name(kind, settings):
    with pytest.raises(TypeError, match=f"^{next(iter(settings))} must be .*; got "):
        made(kind, **settings)


def test_numbers_of_numpy_are_as_good():
    settings = SampleSettings(
        n_draws=np.int32(7), length=np.float32(2.0), transparency=np.array([0.25, 0.5])
    )
    assert settings == SampleSettings(n_draws=7, length=2.0, transparency=(0.25, 0.5))
    assert type(settings.n_draws) is int
    assert type(settings.length) is float


@pytest.mark.parametrize(
    ("kind", "values", "error", "text"),
    [
        ("sample", {"n_drawz": 3}, ValueError, "unknown field `n_drawz`"),
        ("motion", {"name": "pinball"}, ValueError, "unknown variant `pinball`"),
        ("flight", {"run": {"n_drawz": 3}}, ValueError, "^run.* unknown field `n_drawz`"),
        ("onion", {"max_errors": [1]}, ValueError, "^max_errors .*length 2, got 1"),
        ("margin", {"tol": "dear"}, TypeError, "^tol .*str"),
        ("walk", {}, ValueError, "kind must be 'sample', .*; got walk"),
    ],
)
def test_what_the_engine_does_not_know_is_refused(kind, values, error, text):
    with pytest.raises(error, match=text):
        _core.check_settings(kind, values)


# --- the settings of `VersionSpace.sample` ---


def test_options_are_those_of_the_run():
    space = VersionSpace(np.eye(3), [1, 1, -1])
    plain = space.sample(length=300.0, random_state=seed(0))
    given = space.sample(length=300.0, random_state=seed(0), options=SampleOptions())
    np.testing.assert_array_equal(plain.draws, given.draws)
    options = SampleOptions(
        start=np.array([1.0, 2.0, -3.0]), max_bounces=2000, transparency=0.1, average="impulse"
    )
    run = space.sample(options=options, n_trajectories=2, random_state=seed(0))
    assert run.start == ("given", "given")
    assert run.stop_reason == "max_bounces"
    assert (run.bounces + run.crossings).tolist() == [2000, 2000]
    np.testing.assert_array_equal(run.center, run.impulse_center)


@pytest.mark.parametrize("options", [{"max_bounces": 3}, "fast", SampleSettings()], ids=type)
def test_options_are_an_object(options):
    with pytest.raises(TypeError, match=r"^options must be a SampleOptions or None; got "):
        VersionSpace(np.eye(2), [1, -1]).sample(options=options)
