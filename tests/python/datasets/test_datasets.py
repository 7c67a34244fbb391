"""The bundled data: the values that were published, in the form scikit-learn's users expect."""

from __future__ import annotations

import hashlib
import sys

import numpy as np
import pytest

import bayespoint.datasets
from bayespoint.datasets import load_sonar

BUNDLED = {
    "heart": ((270, 13), {-1: 150, 1: 120}),
    "diabetes": ((768, 8), {-1: 500, 1: 268}),
    "banana": ((5300, 2), {-1: 2924, 1: 2376}),
    "sonar": ((208, 60), {-1: 97, 1: 111}),
    "ionosphere": ((351, 33), {-1: 126, 1: 225}),
    "wisconsin": ((683, 9), {-1: 444, 1: 239}),
}
# Sums of all absolute values, computed from the published files.
SUMS = {
    "heart": 161586.5,
    "diabetes": 276392.701,
    "banana": 8962.030815211,
    "sonar": 3510.8897,
    "ionosphere": 5838.16895,
    "wisconsin": 19353.0,
}


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_data_have_the_published_shapes_and_classes(name):
    load = getattr(bayespoint.datasets, f"load_{name}")
    shape, counts = BUNDLED[name]
    found = load()
    X, y = load(return_X_y=True)

    assert found.data.shape == X.shape == shape
    assert found.data.flags.c_contiguous
    assert np.abs(found.data).sum() == pytest.approx(SUMS[name], rel=1e-12)
    labels, n = np.unique(y, return_counts=True)
    assert dict(zip(labels.tolist(), n.tolist(), strict=True)) == counts
    assert len(found.feature_names) == shape[1]
    assert len(found.target_names) == 2
    np.testing.assert_array_equal(found.data, X)
    assert f"{shape[0]} examples" in found.DESCR
    assert "Source: " in found.DESCR
    assert "License: " in found.DESCR


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_data_hold_no_conflicting_duplicates(name):
    X, y = getattr(bayespoint.datasets, f"load_{name}")(return_X_y=True)
    labels = {}
    for row, label in zip(map(tuple, X.tolist()), y.tolist(), strict=True):
        assert labels.setdefault(row, label) == label


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_data_as_frames(name):
    pytest.importorskip("pandas")
    load = getattr(bayespoint.datasets, f"load_{name}")
    frame = load(as_frame=True).frame
    assert frame.shape == (BUNDLED[name][0][0], BUNDLED[name][0][1] + 1)
    np.testing.assert_array_equal(frame.to_numpy()[:, :-1], load().data)


def test_banana_is_standardized():
    X, _ = bayespoint.datasets.load_banana(return_X_y=True)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(X.std(axis=0), 1, atol=1e-3)


def test_sonar_has_the_published_shape_and_classes():
    sonar = load_sonar()

    assert sonar.data.shape == (208, 60)
    assert sonar.data.dtype == np.float64
    assert sonar.data.flags.c_contiguous
    assert sonar.data.flags.writeable
    assert sonar.target.shape == (208,)
    assert np.issubdtype(sonar.target.dtype, np.integer)
    labels, counts = np.unique(sonar.target, return_counts=True)
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == {-1: 97, 1: 111}
    assert sonar.feature_names == [f"x{i}" for i in range(1, 61)]
    assert sonar.target_names == ["rock", "mine"]
    assert sonar.frame is None


def test_sonar_has_the_published_values_in_the_published_order():
    sonar = load_sonar()

    # Four decimals as published, so the values are exact integers in units of 1e-4.
    units = np.rint(sonar.data * 1e4).astype("<i4")
    assert np.array_equal(units / 1e4, sonar.data)
    assert units.min() >= 0
    assert units.max() == 10_000
    assert units.sum() == 35_108_897
    signed = np.column_stack([units, sonar.target.astype("<i4")])
    digest = hashlib.sha256(np.ascontiguousarray(signed).tobytes()).hexdigest()
    assert digest == "f38fe59fae668fb43f7a5fdda8f4b7e715e366ff033fafbc13c740012e3585de"


def test_sonar_says_where_it_comes_from():
    sonar = load_sonar()

    for fact in ("Gorman", "UCI", "CC BY 4.0", "-1 rock", "+1 mine"):
        assert fact in sonar.DESCR
    assert sonar.filename == "sonar.csv"
    assert sonar.data_module == "bayespoint.datasets"


def test_sonar_as_a_pair_equals_the_bunch():
    sonar = load_sonar()
    X, y = load_sonar(return_X_y=True)

    np.testing.assert_array_equal(X, sonar.data)
    np.testing.assert_array_equal(y, sonar.target)


def test_sonar_calls_do_not_share_memory():
    first = load_sonar()
    first.data[:] = 0.0
    first.feature_names.clear()

    second = load_sonar()
    assert second.data.any()
    assert len(second.feature_names) == 60


def test_sonar_as_a_frame():
    pd = pytest.importorskip("pandas")
    arrays = load_sonar()
    sonar = load_sonar(as_frame=True)

    assert isinstance(sonar.data, pd.DataFrame)
    assert isinstance(sonar.target, pd.Series)
    assert list(sonar.data.columns) == arrays.feature_names
    assert sonar.target.name == "label"
    assert sonar.frame.shape == (208, 61)
    np.testing.assert_array_equal(sonar.data.to_numpy(), arrays.data)
    np.testing.assert_array_equal(sonar.target.to_numpy(), arrays.target)


def test_sonar_as_a_frame_without_pandas_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(ImportError, match=r"as_frame=True needs pandas.*'bayespoint\[frame\]'"):
        load_sonar(as_frame=True)


def test_load_sonar_takes_keywords_only():
    with pytest.raises(TypeError):
        load_sonar(True)


@pytest.mark.parametrize("name", BUNDLED)
@pytest.mark.parametrize("argument", ["return_X_y", "as_frame"])
def test_switches_are_true_or_false(name, argument):
    load = getattr(bayespoint.datasets, f"load_{name}")
    with pytest.raises(TypeError, match=f"{argument} must be True or False; got 'yes'"):
        load(**{argument: "yes"})
