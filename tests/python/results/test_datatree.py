"""A run as a DataTree: its contents, read by both generations of ArviZ."""

import sys
import warnings

import numpy as np
import pytest

from bayespoint import VersionSpace
from bayespoint.datasets import make_teacher
from bayespoint.results import diagnostics
from helpers import SHIFT as SEED


@pytest.fixture(scope="module")
def run():
    X, y = make_teacher(40, 4, random_state=SEED + 3)
    space = VersionSpace(X @ X.T, y, softness=np.linspace(0, 0.1, 40), offset=1.0)
    return space, space.sample(length=2000.0, n_draws=200, random_state=2**64 - 1 - SEED)


@pytest.fixture(scope="module")
def tree(run):
    pytest.importorskip("xarray")
    return run[1].to_datatree()


def for_arviz(arviz, tree):
    """Return the run as the installed ArviZ takes it."""
    return arviz.from_datatree(tree) if hasattr(arviz, "from_datatree") else tree


def of_posterior(values):
    """Return the arrays of a diagnostic of either generation."""
    return values["posterior"] if "posterior" in getattr(values, "children", {}) else values


def test_draws_and_what_is_watched_of_them(run, tree):
    _, result = run
    posterior = tree["posterior"]
    assert posterior["dual_coef"].dims == ("chain", "draw", "example")
    assert posterior["plane_coordinate"].dims == ("chain", "draw", "plane")
    np.testing.assert_array_equal(posterior["dual_coef"], result.draws)
    np.testing.assert_array_equal(posterior["plane_coordinate"], result.functionals)
    np.testing.assert_array_equal(posterior["plane"], result.watched)
    np.testing.assert_allclose(posterior["path"].diff("draw"), result.spacing)


def test_statistics_labels_and_settings(run, tree):
    space, result = run
    statistics = tree["sample_stats"]
    for name in ("bounces", "refreshes", "hits", "center", "impulse_center", "center_error"):
        np.testing.assert_array_equal(statistics[name], getattr(result, name))
    assert statistics["start"].to_numpy().tolist() == list(result.start)
    assert statistics.attrs["stop_reason"] == "length"
    np.testing.assert_array_equal(tree["observed_data"]["label"], space.problem.label)
    np.testing.assert_array_equal(tree["constant_data"]["softness"], space.softness)
    assert float(tree["constant_data"]["offset"]) == 1.0


def test_the_seed_gives_the_same_tree_again(run, tree):
    space, _ = run
    seed = int(tree.attrs["seed"])
    again = space.sample(length=2000.0, n_draws=200, random_state=seed).to_datatree()
    assert again.identical(tree)


def test_a_file_keeps_all_of_it(tree, tmp_path):
    pytest.importorskip("h5netcdf")
    pytest.importorskip("h5py")
    import xarray as xr

    tree.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "run.nc", engine="h5netcdf") as read:
        assert read.identical(tree)


def test_spacing_where_draws_are_the_last_of_more():
    space = VersionSpace(np.eye(3), [1, 1, -1])
    result = space.sample(tol=0.02, n_draws=64, random_state=SEED)
    assert 1 <= result.length / (64 * result.spacing) <= 2
    # The angle between two draws is at most the path between them.
    draws = result.draws[0]
    angles = np.arccos(np.clip((draws[1:] * draws[:-1]).sum(axis=1), -1, 1))
    assert (angles <= result.spacing + 1e-7).all()


def test_the_smallest_size_is_that_of_the_result(run, tree):
    """`ess` includes the squares of coordinates that change sign."""
    arviz = pytest.importorskip("arviz")
    _, result = run
    values = tree["posterior"]["plane_coordinate"]
    crossed = (values > 0).any(("chain", "draw")) & (values < 0).any(("chain", "draw"))
    posterior = tree["posterior"].to_dataset()[["plane_coordinate"]]
    squares = (values**2).where(crossed, drop=True).rename(plane="crossed")
    posterior["squares"] = squares if squares.size else values.rename(plane="crossed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sizes = of_posterior(arviz.ess(posterior, method="bulk"))
        r_hats = of_posterior(arviz.rhat(posterior, method="rank"))
    assert min(float(s.min()) for s in sizes.data_vars.values()) == pytest.approx(result.ess)
    assert max(float(r.max()) for r in r_hats.data_vars.values()) == pytest.approx(result.r_hat)


def test_summary_of_arviz(run, tree):
    arviz = pytest.importorskip("arviz")
    _, result = run
    data = for_arviz(arviz, tree)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        summary = arviz.summary(data, var_names="plane_coordinate", round_to="none")
    assert list(summary.index) == [f"plane_coordinate[{i}]" for i in result.watched]
    expected = result.functionals.mean(axis=(0, 1))
    np.testing.assert_allclose(summary["mean"].astype(float), expected, atol=1e-9)
    np.testing.assert_allclose(
        summary["ess_bulk"].astype(float), diagnostics.ess_bulk(result.functionals)
    )


def test_without_xarray_the_error_names_the_extra(run, monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == "xarray"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r"xarray 2024.10 or newer.*pip install xarray"):
        run[1].to_datatree()


def test_an_xarray_without_trees_is_refused_alike(run, monkeypatch):
    xarray = pytest.importorskip("xarray")
    monkeypatch.delattr(xarray, "DataTree")
    with pytest.raises(ImportError, match=r"pip install xarray"):
        run[1].to_datatree()
