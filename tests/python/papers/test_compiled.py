"""Settings of runs that only the papers make: types are checked in Python, ranges by the engine."""

import math

import pytest

from bayespoint.papers.compiled import CorrelationSettings, OnionSettings, PerceptronSettings
from bayespoint.papers.dynamics import Chord, Flipper, Scattered

GOOD = {
    OnionSettings: {
        "max_errors": (1, 2),
        "method": "exact",
        "tol": 0.1,
        "volume_tol": None,
        "max_length": 10.0,
        "n_trajectories": 2,
    },
    PerceptronSettings: {"learning_rate": 1.0, "max_epochs": 9},
    CorrelationSettings: {
        "angle": 0.1,
        "n_pairs": 1,
        "n_trajectories": 1,
        "max_bounces": 9,
        "motion": None,
    },
}


def made(kind, **settings):
    return kind(**GOOD.get(kind, {}) | settings)


COUNT = "an integer of at least 1"
NUMBER = r"a finite number in \(0, inf\)"


@pytest.mark.parametrize(
    ("kind", "settings", "wanted"),
    [
        (Scattered, {"scatterer": 9e-7}, "finite and at least 1e-6"),
        (Scattered, {"scatterer": "large"}, "None, 'auto' or a radius"),
        (Scattered, {"scatterer": math.inf}, "finite and at least 1e-6"),
        (Scattered, {"scattering": "specular"}, "a radius with scattering='specular'"),
        (Chord, {"weight_tol": 1.0}, r"in \(0, 1\)"),
        (Chord, {"tau_max": 0.0}, "positive"),
        (Flipper, {"tau_max": math.nan}, "positive"),
        (OnionSettings, {"max_errors": (0, -1)}, "at least 0 and at most 1000000"),
        (OnionSettings, {"max_errors": (0, 2**40)}, "at least 0 and at most 1000000"),
        (OnionSettings, {"volume_tol": 0.1, "method": "projected"}, "None with method='projected'"),
        (OnionSettings, {"n_trajectories": -1}, COUNT),
        (OnionSettings, {"volume_tol": 0.0}, NUMBER),
        (PerceptronSettings, {"learning_rate": 0.0}, NUMBER),
        (PerceptronSettings, {"max_epochs": -2}, COUNT),
        (CorrelationSettings, {"n_pairs": -1}, COUNT),
        (CorrelationSettings, {"angle": 1.0}, r"in \(0, 1\)"),
    ],
)
def test_a_range_is_told_with_the_name_and_what_came(kind, settings, wanted):
    name = next(iter(settings)) if "scattering" not in settings else "scatterer"
    with pytest.raises(ValueError, match=rf"^{name} must be {wanted}.*; got "):
        made(kind, **settings)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (Chord, {"tau_max": None}),
        (Flipper, {"tau_max": "long"}),
        (Scattered, {"scatterer": [0.1]}),
        (OnionSettings, {"max_length": None}),
        (PerceptronSettings, {"max_epochs": 2.0}),
    ],
)
def test_a_type_is_told_with_the_name(kind, settings):
    with pytest.raises(TypeError, match=f"^{next(iter(settings))} must be .*; got "):
        made(kind, **settings)
