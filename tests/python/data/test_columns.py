"""What columns become: kinds by type, features, distances of levels, missing values."""

import datetime
import math

import numpy as np
import pytest

from bayespoint.data import columns, frames
from bayespoint.data.columns import Columns, Records
from bayespoint.kernels import RBF, Polynomial, Weighted
from helpers import seed

pandas = pytest.importorskip("pandas")


def read(column, chosen=None):
    """Return the values of a column of a frame."""
    frame = pandas.DataFrame({"a": column})
    return frames.read(frame, ["a"], [chosen]).columns[0]


def made(frame, *, scaled=True, weight=None):
    """Return the columns of a frame, and its features."""
    names = frames.names(frame, frame)
    records = frames.read(frame, names, [None] * len(names))
    weight = np.ones(len(records)) if weight is None else weight
    known = Columns.of(records, weight, scaled=scaled)
    return known, known.features(records)


STAMP = pandas.Timestamp("2024-02-29 12:00")
KINDS = [
    ([1, 2, 3], "number"),
    ([1.5, math.nan], "number"),
    (pandas.array([1, None], dtype="Int64"), "number"),
    (pandas.array([1.5, None], dtype="Float64"), "number"),
    (pandas.to_timedelta([1, None], unit="D"), "number"),
    (np.array([1, None, 2.5], dtype=object), "number"),
    (["x", "y"], "category"),
    (["1", "2", "10"], "category"),
    (np.array(["x", None], dtype=object), "category"),
    (pandas.array(["x", None], dtype="string"), "category"),
    (pandas.Categorical(["x", None]), "category"),
    (pandas.Categorical([3, 1, 2]), "category"),
    (pandas.Categorical(["low", "high"], ["low", "high"], ordered=True), "ordered"),
    (pandas.cut([1.0, 2.0, 9.0], 2), "ordered"),
    ([True, False], "category"),
    (np.array([True, None], dtype=object), "category"),
    (pandas.array([True, None], dtype="boolean"), "category"),
    ([STAMP, pandas.NaT], "date"),
    (pandas.DatetimeIndex([STAMP], tz="Europe/Oslo"), "date"),
    (np.array([datetime.date(2024, 2, 29), None], dtype=object), "date"),
]


@pytest.mark.parametrize(("column", "kind"), KINDS, ids=str)
def test_the_type_says_the_kind(column, kind):
    found = read(column)
    assert found.kind == kind
    expected = pandas.isna(pandas.Series(column)).to_numpy()
    np.testing.assert_array_equal(found.missing, expected)


def test_polars_says_the_same():
    polars = pytest.importorskip("polars")
    kinds = polars.Enum(["x", "y"])
    frame = polars.DataFrame(
        {
            "number": [1, None],
            "category": ["x", None],
            "text": polars.Series(["x", None], dtype=polars.Categorical),
            "enum": polars.Series(["x", None], dtype=kinds),
            "bool": [True, None],
            "date": [datetime.date(2024, 2, 29), None],
            "time": [datetime.datetime(2024, 2, 29, 12), None],
        }
    )
    found = frames.read(frame, frame.columns, [None] * 7).columns
    kinds = [one.kind for one in found]
    assert kinds == ["number", *["category"] * 4, "date", "date"]
    assert [one.missing.tolist() for one in found] == [[False, True]] * 7
    assert found[6].entries[0] == read([STAMP]).entries[0]


def test_dates_are_days_of_the_wall_clock():
    days = read([STAMP]).entries[0]
    assert days == (STAMP - pandas.Timestamp(0)) / pandas.Timedelta(days=1)
    assert read(pandas.DatetimeIndex([STAMP], tz="Asia/Tokyo")).entries[0] == days


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (np.array(["x", 1], dtype=object), "values of one kind.*int, str"),
        ([1.0, math.inf], "must not hold infinity"),
        ([1 + 2j], "real numbers"),
        (
            [f"{k} is a sentence of more than forty characters" for k in range(80)],
            "TableVectorizer",
        ),
        (np.array([[1], [2]], dtype=object)[:, 0], None),
    ],
    ids=str,
)
def test_what_a_column_cannot_be(column, text):
    if text is None:
        assert read(column).kind == "number"
        return
    with pytest.raises((TypeError, ValueError), match=rf"column 'a' of X .*{text}"):
        read(column)


def test_a_category_of_two_levels_is_a_standardized_number():
    rng = np.random.default_rng(seed(0))
    flag = rng.random(50) < 0.2
    known, features = made(pandas.DataFrame({"a": flag}))
    number = (flag - flag.mean()) / flag.std()
    kernel = Weighted(RBF(1.3), (0.7,), groups=known.groups, limits=known.limits)
    np.testing.assert_allclose(kernel(features), RBF(1.3 / 0.7)(number[:, None]), rtol=1e-12)


def test_levels_are_equally_far_apart_and_new_ones_are_different():
    frame = pandas.DataFrame({"a": ["x", "y", "z", "x"], "b": [1.0, 2.0, 4.0, 8.0]})
    known, features = made(frame)
    assert known.groups == (1, 0)
    assert math.isinf(known.limits[0])
    apart = 1 - (0.5**2 + 2 * 0.25**2)
    assert known.limits[1] == pytest.approx(math.sqrt(2 / apart))
    new = pandas.DataFrame({"a": ["new", "x", "other", None, "new"], "b": [0.0] * 5})
    codes = known.features(frames.read_as(known, new))[:, 1] / known.limits[1]
    assert codes[0] == codes[4]
    every = [*codes[:4].tolist(), *(features[:, 1] / known.limits[1]).tolist()]
    assert len({round(code) for code in every}) == 6  # three levels, a missing one, two new ones
    np.testing.assert_allclose(np.abs(np.diff(np.unique(np.round(every)))) >= 1, True)


def test_missing_numbers_have_the_median_and_a_feature():
    known, features = made(pandas.DataFrame({"a": [1.0, math.nan, 3.0, 9.0], "b": [1.0] * 4}))
    assert known.groups == (0, 1, 0)
    np.testing.assert_array_equal(features[:, 0], [1.0, 3.0, 3.0, 9.0])
    np.testing.assert_array_equal(features[:, 2], [0.0, known.limits[2], 0.0, 0.0])
    new = pandas.DataFrame({"a": [2.0], "b": [math.nan]})  # which was never missing
    np.testing.assert_array_equal(known.features(frames.read_as(known, new)), [[2.0, 1.0, 0.0]])
    assert not known.plain


def test_ordered_levels_are_numbers_first():
    sizes = pandas.Categorical(["s", "l", "m", None], ["s", "m", "l"], ordered=True)
    known, features = made(pandas.DataFrame({"a": sizes}))
    assert known.groups == (0, 0)
    np.testing.assert_array_equal(features[:, 0], [0.0, 2.0, 1.0, 1.0])  # the median
    same = made(pandas.DataFrame({"a": pandas.Categorical(["s", "l", "m", None])}))[0]
    assert known.limits[1] == pytest.approx(same.limits[0] / 4)
    plain = pandas.DataFrame({"a": ["m", "s"]})  # the type was lost
    np.testing.assert_array_equal(known.features(frames.read_as(known, plain))[:, 0], [1.0, 0.0])


@pytest.mark.parametrize(
    ("days", "hours", "circles"),
    [(5, False, 0), (1.5, True, 0), (5, True, 1), (30, False, 1), (30, True, 2), (900, True, 3)],
)
def test_circles_of_a_date(days, hours, circles):
    steps = np.linspace(0, days, 40) if hours else np.arange(0, days + 1)
    dates = pandas.Timestamp("2020-01-01") + pandas.to_timedelta(steps, unit="D")
    known, features = made(pandas.DataFrame({"a": dates}))
    assert features.shape == (len(steps), 1 + 2 * circles)
    assert set(known.groups) == {0}
    np.testing.assert_allclose(np.diff(features[:, 0]), np.diff(steps) / 365.2425, rtol=1e-6)
    for k in range(circles):
        np.testing.assert_allclose(np.hypot(*features[:, 1 + 2 * k : 3 + 2 * k].T), 1.0)
    if circles == 3:  # a week later the weekday is the same
        weekday = features[:, 3:5]
        angle = 2 * np.pi * steps / 7
        turned = weekday[:, 0] * np.cos(angle) + weekday[:, 1] * np.sin(angle)
        np.testing.assert_allclose(turned, turned[0], atol=1e-6)


def test_unscaled_levels_are_indicators():
    known, _ = made(
        pandas.DataFrame({"a": ["x", "y", "y"], "b": [1.0, math.nan, 2.0]}), scaled=False
    )
    np.testing.assert_allclose(known.limits[1:], math.sqrt(2.0))


def test_weights_count_as_repetition():
    frame = pandas.DataFrame({"a": ["x", "y", "z"]})
    weighted, _ = made(frame, weight=np.array([1.0, 2.0, 3.0]))
    repeated, _ = made(frame.iloc[[0, 1, 1, 2, 2, 2]])
    assert weighted.limits == pytest.approx(repeated.limits)


def test_parts_of_a_table_have_the_columns_of_the_whole():
    rng = np.random.default_rng(seed(1))
    frame = pandas.DataFrame(
        {
            "a": rng.choice(["x", "y"], 60),
            "b": rng.standard_normal(60),
            "c": pandas.Timestamp("2020-01-01") + pandas.to_timedelta(np.arange(60) * 20, unit="D"),
        }
    )
    frame.loc[57, "a"] = "late"
    frame.loc[58, "b"] = math.nan
    whole, expected = made(frame)
    names = frames.names(frame, frame)
    parts = [frames.read(frame[k : k + 20], names, [None] * 3) for k in (0, 20, 40)]
    seen = [columns.seen(each) for each in zip(*(part.columns for part in parts), strict=True)]
    known = Columns.of(Records.joined(parts), np.ones(60), scaled=True, seen=seen)
    np.testing.assert_array_equal(known.features(Records.joined(parts)), expected)
    assert [one.levels for one in known.columns] == [one.levels for one in whole.columns]
    assert len(seen[1].entries) < 10
    mixed = [parts[0], frames.read(frame.assign(b="x"), names, [None] * 3)]
    with pytest.raises(TypeError, match="column 'b' of X must hold values of one kind in every"):
        Records.joined(mixed)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("from_dtype", [None] * 3),
        (None, [False] * 3),
        (["b"], [False, True, False]),
        ([0, -1], [True, False, True]),
        ([True, False, False], [True, False, False]),
        ([], [False] * 3),
    ],
    ids=str,
)
def test_categories_by_the_parameter(given, expected):
    assert frames.chosen(given, ["a", "b", "c"]) == expected


@pytest.mark.parametrize("given", ["all", ["d"], [3], [True], [[0]], 1.5, {"a": 1}], ids=str)
def test_errors_name_the_parameter(given):
    with pytest.raises(ValueError, match="categorical_features must"):
        frames.chosen(given, ["a", "b", "c"])


def test_kernels_that_take_numbers_only():
    known, _ = made(pandas.DataFrame({"a": ["x", "y"]}))
    assert known.kernel(Polynomial(2, 1.0)).limits == known.limits
    with pytest.raises(TypeError, match="X must hold numbers only for"):
        known.kernel(lambda a, b: a @ b.T)
    lacking, _ = made(pandas.DataFrame({"a": [1.0, math.nan]}))
    with pytest.raises(ValueError, match="X must not hold NaN for"):
        lacking.kernel(lambda a, b: a @ b.T)
