"""What makes a billiard mix: cosine-law scattering, the reflecting sphere; correlation, cycles."""

import math
import os

import numpy as np
import pytest

from test_dynamics import angle, cone, polygon_centroid, space_of

SHIFT = int(os.environ.get("BAYESPOINT_SEED", "0"))


# --- scattering at the walls and off a sphere ---


@pytest.mark.parametrize("average", ["arc", "impulse"])
def test_scattered_centers_are_those_of_polygons(average):
    for index in range(3):
        x, y = cone(m=10, r=3, seed=70 + index)
        exact = polygon_centroid(x, y)
        for settings in (
            {"scattering": "cosine", "refresh": None},
            {"scattering": "cosine", "scatterer": "auto"},
            {"scatterer": "auto", "refresh": "pair", "refresh_rate": 3.0},
        ):
            result = space_of(x, y).sample(
                max_bounces=40_000, average=average, random_state=index, n_jobs=2, **settings
            )
            # The impulses are noisier than the arcs, whose error is estimated.
            allowed = (5.0 if average == "arc" else 20.0) * result.center_error
            assert angle(exact, result.center @ x) < allowed, settings


def test_scatterer_result():
    x, y = cone(m=10, r=3)
    space = space_of(x, y)
    result = space.sample(scatterer="auto", length=100.0, random_state=SHIFT)
    nearest = math.asin((space.margins(result.center) / np.linalg.norm(x, axis=1)).min())
    assert 0.2 * nearest < result.scatterer < 1.5 * nearest  # the first center was a rough one
    assert result.scatterings.sum() > 0
    assert result.stop_reason == "length"
    assert f"hit {result.scatterings.sum()} times" in result.summary()
    smaller = space.sample(scatterer=0.3 * result.scatterer, length=100.0, random_state=SHIFT)
    assert smaller.scatterer == 0.3 * result.scatterer
    assert smaller.scatterings.sum() < result.scatterings.sum()
    plain = space.sample(length=100.0, random_state=SHIFT)
    assert plain.scatterer is None
    assert plain.scatterings.sum() == 0
    assert "scatterer" not in plain.summary()


def test_cosine_law_behind_transparent_walls():
    x, y = cone(m=12, r=4)
    result = space_of(x, y).sample(
        scattering="cosine", transparency=0.2, length=300.0, random_state=SHIFT
    )
    assert result.crossings.sum() > 0
    assert result.mean_violations > 0


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"scattering": "diffuse"}, ValueError, "scattering must be"),
        ({"scattering": None}, ValueError, "scattering must be"),
        ({"scattering": "cosine", "dynamics": "chord"}, ValueError, "scattering must be 'specular"),
        ({"scatterer": "auto", "dynamics": "flipper"}, ValueError, "scatterer must be None with"),
        ({"scatterer": "large"}, ValueError, "scatterer must be None, 'auto' or a radius"),
        ({"scatterer": 0.0}, ValueError, "scatterer must be"),
        ({"scatterer": math.inf}, ValueError, "scatterer must be"),
        ({"scatterer": [0.1]}, TypeError, "scatterer must be"),
        ({"scatterer": 1.5}, ValueError, "scatterer must be positive and smaller than the dist"),
        ({"scatterer": "auto", "transparency": 0.1}, ValueError, "transparency must be 0 with a"),
    ],
)
def test_refused(settings, error, text):
    x, y = cone()
    with pytest.raises(error, match=text):
        space_of(x, y).sample(**settings)
