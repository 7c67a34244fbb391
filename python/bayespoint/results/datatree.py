"""A run of the billiard as an xarray DataTree, with the groups and dimensions of ArviZ."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import xarray as xr

# Name, unit and description of the statistics of trajectories, of examples and of the run.
_OF_CHAINS = (
    ("bounces", "bounces", "reflections at walls"),
    ("crossings", "crossings", "walls passed through"),
    ("refreshes", "refreshes", "changes of direction between walls"),
    ("missed", "1", "share of the others' bounces at planes never hit by this trajectory"),
)
_OF_EXAMPLES = (
    ("hits", "bounces", "bounces at the plane of the example"),
    ("center", "1", "dual coefficients of the center"),
    ("arc_center", "1", "dual coefficients of the center by the path"),
    ("impulse_center", "1", "dual coefficients of the center by the impulses on the walls"),
)
# Meaning of the indices of planes for dual coefficients of one and of two dimensions.
_PLANE = {1: "example of the plane", 2: "class and example of the plane, in one number"}
_OF_THE_RUN = (
    ("length", "rad", "path that was averaged, of each trajectory"),
    ("burn_in", "rad", "path before it, of each trajectory"),
    ("spacing", "rad", "path between draws"),
    ("center_error", "rad", "estimated angle between the center and the exact one"),
    ("center_norm", "1", "length of the mean of the unit weight vectors"),
    ("mean_violations", "examples", "mean number of violated examples"),
    ("refresh_rate", "1/rad", "refreshes of each trajectory"),
    ("drift", "1", "largest relative difference of plane coordinates carried and recomputed"),
)


def to_datatree(run: Mapping[str, Any]) -> xr.DataTree:
    """Return the groups of ArviZ for the fields of a `BilliardResult`, by name."""
    try:
        import xarray as xr

        data_tree = xr.DataTree
    except (ImportError, AttributeError) as error:
        raise ImportError(
            "to_datatree needs xarray 2024.10 or newer, which is not installed: run "
            "`pip install xarray`"
        ) from error
    n_trajectories, n_draws, *shape = run["draws"].shape
    dual = ("class", "example")[-len(shape) :]  # the dimensions of the dual coefficients
    sides = {name: np.arange(size) for name, size in zip(dual, shape, strict=True)}
    chain, example = {"chain": np.arange(n_trajectories)}, {"example": sides["example"]}
    path = np.arange(n_draws) * run["spacing"]

    def told(dims: Any, values: Any, meaning: str, units: str = "") -> tuple[Any, Any, Any]:
        attributes = {"units": units, "long_name": meaning}
        return dims, values, {name: text for name, text in attributes.items() if text}

    sine = "sine of the angle between weight vector and plane"
    dual_coef = "dual coefficients of the unit weight vector"
    posterior = {
        "plane_coordinate": told(("chain", "draw", "plane"), run["functionals"], sine, "1"),
        "dual_coef": told(("chain", "draw", *dual), run["draws"], dual_coef, "1"),
    }
    along = {
        "draw": np.arange(n_draws),
        "path": told("draw", path, "path since the first draw", "rad"),
        "plane": told("plane", run["watched"], _PLANE[len(shape)]),
    }
    statistics = {
        name: told(dims, _plain(run[name]), meaning, units)
        for table, dims in ((_OF_CHAINS, ("chain",)), (_OF_EXAMPLES, dual), (_OF_THE_RUN, ()))
        for name, units, meaning in table
    }
    statistics["start"] = told(("chain",), list(run["start"]), "source of the start")
    ends = {"stop_reason": run["stop_reason"], "refresh": run["refresh"]}
    labels = {"label": told("example", run["label"], "index of the class", "1")}
    given = {
        "softness": told("example", run["softness"], "added to the kernel's diagonal"),
        "offset": told((), run["offset"], "added to all kernel values"),
    }
    tree: xr.DataTree = data_tree.from_dict(
        {
            "posterior": xr.Dataset(posterior, chain | along | sides),
            "sample_stats": xr.Dataset(statistics, chain | sides, ends),
            "observed_data": xr.Dataset(labels, example),
            "constant_data": xr.Dataset(given, example),
        }
    )
    # The seed as text: not every file format has unsigned integers of 64 bits.
    about = {
        "inference_library": "bayespoint",
        "inference_library_version": version("bayespoint"),
        "seed": str(run["seed"]),
    }
    for group in tree.subtree:
        group.attrs.update(about)
    return tree


def _plain(values: ArrayLike) -> Any:
    """Return unsigned integers as signed ones, which every file format supports."""
    array = np.asarray(values)
    return array.astype(np.int64) if array.dtype.kind == "u" else array
