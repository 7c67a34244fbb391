"""The bundled data have the published values, in scikit-learn's form."""

import hashlib
import sys

import numpy as np
import pytest

from bayespoint import datasets
from bayespoint.datasets import load_sonar

# Shapes, classes and sums of all absolute values, computed from the published files.
BUNDLED = {
    "heart": ((270, 13), {-1: 150, 1: 120}, 161586.5),
    "diabetes": ((768, 8), {-1: 500, 1: 268}, 276392.701),
    "banana": ((5300, 2), {-1: 2924, 1: 2376}, 8962.030815211),
    "sonar": ((208, 60), {-1: 97, 1: 111}, 3510.8897),
    "ionosphere": ((351, 33), {-1: 126, 1: 225}, 5838.16895),
    "wisconsin": ((683, 9), {-1: 444, 1: 239}, 19353.0),
}


@pytest.fixture(params=BUNDLED)
def name(request):
    return request.param


@pytest.fixture
def load(name):
    return getattr(datasets, f"load_{name}")


def test_they_have_the_published_shapes_values_and_classes(name, load):
    shape, counts, total = BUNDLED[name]
    found = load()
    assert found.data.shape == shape
    assert found.data.flags.c_contiguous
    assert np.abs(found.data).sum() == pytest.approx(total, rel=1e-12)
    assert np.issubdtype(found.target.dtype, np.integer)
    labels, n = np.unique(found.target, return_counts=True)
    assert dict(zip(labels.tolist(), n.tolist(), strict=True)) == counts
    assert len(found.feature_names) == shape[1]
    for part in (f"{shape[0]} examples", "Source: ", "License: ", *found.target_names):
        assert part in found.DESCR
    assert f"{counts[-1]} of class -1 ({found.target_names[0]})" in load.__doc__
    X, y = load(return_X_y=True)
    np.testing.assert_array_equal(X, found.data)
    np.testing.assert_array_equal(y, found.target)


def test_as_frames(load):
    pytest.importorskip("pandas")
    arrays, found = load(), load(as_frame=True)
    assert list(found.data.columns) == arrays.feature_names
    assert list(found.frame.columns) == [*arrays.feature_names, "label"]
    np.testing.assert_array_equal(found.frame.to_numpy()[:, :-1], arrays.data)
    np.testing.assert_array_equal(found.target.to_numpy(), arrays.target)


def test_a_frame_without_pandas_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"as_frame=True needs pandas.*pip install pandas"):
        load_sonar(as_frame=True)


@pytest.mark.parametrize("argument", ["return_X_y", "as_frame"])
def test_options_are_keywords_and_boolean(load, argument):
    with pytest.raises(TypeError, match=f"{argument} must be True or False; got 'yes'"):
        load(**{argument: "yes"})
    with pytest.raises(TypeError, match="positional"):
        load(True)


def test_sonar_has_the_published_values_in_the_published_order():
    sonar = load_sonar()
    assert sonar.feature_names == [f"x{i}" for i in range(1, 61)]
    # Four decimals as published, so the values are exact integers in units of 1e-4.
    units = np.rint(sonar.data * 1e4).astype("<i4")
    assert np.array_equal(units / 1e4, sonar.data)
    signed = np.column_stack([units, sonar.target.astype("<i4")])
    digest = hashlib.sha256(np.ascontiguousarray(signed).tobytes()).hexdigest()
    assert digest == "f38fe59fae668fb43f7a5fdda8f4b7e715e366ff033fafbc13c740012e3585de"
