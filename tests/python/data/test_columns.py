"""What becomes of the columns of a table."""

import datetime
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from bayespoint.data import columns, frames
from bayespoint.data.columns import Columns, Records
from bayespoint.data.inputs import standardizer
from bayespoint.kernels import RBF, Linear, Weighted
from helpers import seed

polars = pytest.importorskip("polars")
RNG = np.random.default_rng(seed(0))
INF = math.inf
DAYS = [datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 11)]
TIMES = [datetime.datetime(2020, 1, 1, 6), None, datetime.datetime(2020, 1, 11)]
YEAR, DAY = 50 - 1 / 365.2425 / 2, 1 / 365.2425  # 2020-01-01 is 18262 days after 1970
LOCAL = [datetime.datetime(2020, 1, 1, 6, tzinfo=datetime.UTC), None]


def read(X, categories="from_dtype"):
    return frame_of(X).read(categories)


def frame_of(X):
    return frames.typed(X) or frames.numbered(X)


def read_as(known, X):
    return frame_of(X).read_as(known)


def known(X, *, scaled=True, weight=None, categories="from_dtype"):
    rows = read(X, categories)
    weight = np.ones(rows.shape[0]) if weight is None else weight
    return Columns.of(rows, weight, scaled=scaled), rows


def standardized(X, weight=None):
    """Return the columns and the features as the default kernel gets them."""
    found, rows = known(X, weight=weight)
    features = found.features(rows)
    scaler = standardizer(features, np.ones(rows.shape[0]) if weight is None else weight, found)
    return found, scaler.transform(features)


def one(column):
    """Return what becomes of a single column, its numbers and its codes."""
    X = polars.DataFrame({"x": column}) if isinstance(column, polars.Series) else None
    found, rows = known(pd.DataFrame({"x": column}) if X is None else X)
    [column] = found.columns
    numbers, codes = column.features(*rows.columns)
    return column, [part.tolist() for part in numbers], [part.tolist() for part in codes]


def ordered(values, levels):
    return pd.Series(pd.Categorical(values, levels, ordered=True))


def objects(*values):
    return pd.Series(list(values), dtype=object)


NUMBERS = {
    "int": pd.Series([1, 3, 2]),
    "float": pd.Series([1.0, 3.0, np.nan]),
    "Int64": pd.Series([1, 3, None], dtype="Int64"),
    "objects with NA": objects(1, 3.0, pd.NA),
    "decimal objects": objects(Decimal(1), Decimal(3), None),
    "timedelta": pd.Series(pd.to_timedelta([1, 3, None], unit="D")),
    "NumPy durations": objects(np.timedelta64(24, "h"), np.timedelta64(3, "D"), None),
    "sparse": pd.Series(pd.arrays.SparseArray([1.0, 3.0, 2.0])),
    "polars float": polars.Series([1.0, 3.0, float("nan")]),
    "polars decimal": polars.Series([Decimal(1), Decimal(3), None]),
    "polars duration": polars.Series([datetime.timedelta(1), datetime.timedelta(3), None]),
}


@pytest.mark.parametrize("column", NUMBERS.values(), ids=NUMBERS)
def test_numbers_and_where_they_are_missing(column):
    found, numbers, codes = one(column)
    assert (found.kind, found.centers, found.levels) == ("number", (2.0,), ())
    assert numbers == [[1.0, 3.0, 2.0]]
    whole = not pd.isna(column.to_list()[2])
    assert codes == ([] if whole else [[0.0, 0.0, 1.0]])
    assert found.limit == (INF if whole else 1.0)


CATEGORIES = {
    "category": (pd.Series(["b", "a", None], dtype="category"), ("a", "b")),
    "strings": (pd.Series(["b", "a", None]), ("a", "b")),
    "string": (pd.Series(["b", "a", None], dtype="string"), ("a", "b")),
    "boolean": (pd.Series([True, False, None], dtype="boolean"), (False, True)),
    "integer levels": (pd.Series([30, 4, None]).astype("category"), (4.0, 30.0)),
    "levels of dates": (
        pd.Series([pd.Timestamp(2021, 1, 1), pd.Timestamp(2020, 1, 1), None]).astype("category"),
        ("2020-01-01 00:00:00", "2021-01-01 00:00:00"),
    ),
    "polars string": (polars.Series(["b", "a", None]), ("a", "b")),
    "polars boolean": (polars.Series([True, False, None]), (False, True)),
}


@pytest.mark.parametrize(("column", "levels"), CATEGORIES.values(), ids=CATEGORIES)
def test_categories_of_which_missing_is_a_level(column, levels):
    found, numbers, codes = one(column)
    assert (found.kind, found.levels, found.centers, numbers) == ("category", levels, (), [])
    assert found.limit == pytest.approx(math.sqrt(2 / (1 - 3 / 9)))
    assert np.divide(codes, found.limit).round(12).tolist() == [[1.0, 0.0, -1.0]]


def test_ordered_categories_are_places_and_in_part_categories():
    found, numbers, codes = one(ordered(["low", "high", None, "low"], ["low", "mid", "high"]))
    assert (found.kind, found.levels) == ("ordered", ("low", "mid", "high"))
    assert numbers == [[0.0, 2.0, 0.0, 0.0]]  # the median in place of the missing one
    assert found.limit == pytest.approx(math.sqrt(2 / (1 - 6 / 16)) / 4)
    assert np.divide(codes, found.limit).round(12).tolist() == [[0.0, 2.0, -1.0, 0.0]]
    integers, numbers, _ = one(ordered([30, 4, 4], [30, 4]))
    assert (integers.levels, numbers) == ((30, 4), [[0.0, 1.0, 1.0]])
    cut = pd.cut(pd.Series([1.0, 9.0, 2.0, np.nan]), [0.0, 2.0, 5.0, 10.0])
    found, numbers, _ = one(cut)
    assert found.levels == ("(0.0, 2.0]", "(2.0, 5.0]", "(5.0, 10.0]")
    assert numbers == [[0.0, 2.0, 0.0, 0.0]]
    assert one(cut.cat.as_unordered())[0].kind == "category"


DATES = {
    "datetime64": (pd.Series(pd.to_datetime(DAYS)), 0),
    "with a zone": (pd.Series(pd.to_datetime(TIMES)).dt.tz_localize("Asia/Tokyo"), 6),
    "date objects": (objects(*DAYS), 0),
    "objects with a zone": (objects(*LOCAL), 6),
    "pandas objects": (objects(pd.Timestamp(TIMES[0], tz="Asia/Tokyo"), pd.NaT), 6),
    "NumPy objects": (objects(np.datetime64("2020-01-01"), np.datetime64("NaT")), 0),
    "polars date": (polars.Series(DAYS), 0),
    "polars with a zone": (polars.Series(TIMES).dt.replace_time_zone("Asia/Tokyo"), 6),
}


@pytest.mark.parametrize(("column", "hour"), DATES.values(), ids=DATES)
def test_dates_are_years_in_local_time(column, hour):
    found, numbers, codes = one(column)
    [values] = read(
        polars.DataFrame({"x": column})
        if isinstance(column, polars.Series)
        else pd.DataFrame({"x": column})
    ).columns
    assert found.kind == "date"
    np.testing.assert_allclose(values.entries[:2], [18262 + hour / 24, np.nan], rtol=1e-14)
    assert numbers[0][0] == pytest.approx((18262 + hour / 24) / 365.2425)
    assert codes == [pd.isna(objects(*column.to_list())).astype(float).tolist()]
    assert found.limit == 1.0


@pytest.mark.parametrize(
    ("begin", "end", "periods"),
    [
        ("2020-01-01", "2020-01-14", ()),
        ("2020-01-01", "2020-01-15", (7.0,)),
        ("2020-01-01", "2020-01-03 01:00", (1.0,)),
        ("2020-01-01", "2021-07-01", (7.0,)),
        ("2020-01-01", "2021-07-02", (365.2425, 7.0)),
        ("2020-01-01 00:30", "2021-07-03", (365.2425, 7.0, 1.0)),
    ],
)
def test_circles_of_dates_by_their_span(begin, end, periods):
    found, numbers, _ = one(pd.Series(pd.to_datetime([begin, end], format="mixed")))
    assert found.periods == periods
    assert len(numbers) == 1 + 2 * len(periods)
    for k, period in enumerate(periods):
        cosine, sine = np.array(numbers[1 + 2 * k : 3 + 2 * k])
        np.testing.assert_allclose(cosine**2 + sine**2, 1.0)
        days = pd.to_datetime(pd.Series([begin, end]), format="mixed") - pd.Timestamp("1970-01-01")
        turns = days.dt.total_seconds() / 86400 / period
        angle = np.angle(np.exp(2j * np.pi * turns))
        np.testing.assert_allclose(np.arctan2(sine, cosine), angle, atol=1e-9)


@pytest.mark.parametrize("start", ["2020-01-06", "2020-01-06 05:17", "1990-01-01 23:59:59"])
def test_a_circle_on_which_all_dates_are_at_one_place_is_constant(start):
    """Rounding errors of angles are not scaled to variance 1."""
    found, X = standardized(pd.DataFrame({"x": pd.date_range(start, periods=2000, freq="7D")}))
    assert 7.0 in found.columns[0].periods
    share = found.shares[0]
    np.testing.assert_allclose(X.std(axis=0), [share] * 3 + [0.0] * (X.shape[1] - 3), atol=1e-9)


def test_columns_of_missing_values_alone():
    frame = pd.DataFrame({"a": [np.nan] * 3, "b": [None] * 3, "c": [pd.NaT] * 3, "d": [pd.NA] * 3})
    found, rows = known(frame)
    assert [column.kind for column in found.columns] == ["number", "category", "date", "category"]
    X = found.features(rows)
    assert X.tolist() == [[0.0] * 4] * 3
    later = pd.DataFrame({"a": ["u"] * 3, "b": [1.0] * 3, "c": DAYS, "d": [None] * 3})
    np.testing.assert_array_equal(found.features(read_as(found, later)), X)


def test_features_groups_limits_and_names():
    frame = pd.DataFrame(
        {
            "number": [1.0, 2.0, 4.0, 4.0],
            "color": ["red", "blue", "red", "red"],
            "day": pd.to_datetime(["2020-01-01", "2020-01-08", "2020-01-25", "2020-01-25"]),
            "lacking": [1.0, np.nan, 3.0, 2.0],
            "size": ordered(["S", "L", "S", "L"], ["S", "L"]),
        }
    )
    found, rows = known(frame)
    assert repr(found) == "<Columns: 2 number, 1 category, 1 date, 1 ordered>"
    assert not found.plain
    assert found.groups == (0, 2, 2, 2, 3, 4, 1, 3, 4)
    assert found.n_numbers == 6
    limits = math.sqrt(2 / (1 - 10 / 16)), 1.0, math.sqrt(2 / (1 - 8 / 16)) / 4
    assert found.limits == pytest.approx((INF,) * 6 + limits)
    np.testing.assert_allclose(found.shares, [1.0, *[3**-0.5] * 3, 1.0, 1.0])
    X = found.features(rows)
    np.testing.assert_array_equal(X[:, 0], frame["number"])
    np.testing.assert_array_equal(X[:, 4], [1.0, 2.0, 3.0, 2.0])  # the median
    np.testing.assert_array_equal(X[:, 7], [0.0, 1.0, 0.0, 0.0])
    some = np.array([2, 0])
    np.testing.assert_array_equal(found.features(rows[some]), X[some])
    np.testing.assert_array_equal(found.features(Records.joined([rows[:1], rows[1:]])), X)


def test_numbers_alone_stay_as_they_are():
    X = RNG.standard_normal((5, 3))
    for table in (X, pd.DataFrame(X), polars.DataFrame(X)):
        found, rows = known(table)
        assert found.plain
        np.testing.assert_array_equal(found.features(rows), X)
        assert found.kernel(RBF()) == RBF()


# --- how much columns vary -----------------------------------------------------------------------


def mean_square(X, found, k):
    """Return the mean squared distance of two rows by a column."""
    mine = [j for j, group in enumerate(found.groups) if group == k]
    apart = np.abs(X[:, None, mine] - X[None, :, mine])
    return np.square(np.minimum(apart, np.array(found.limits)[mine])).sum(axis=2).mean()


def test_columns_vary_as_much_as_a_number_of_variance_1():
    n = 400
    frame = pd.DataFrame(
        {
            "number": RNG.normal(5.0, 3.0, n),
            "two": RNG.random(n) < 0.2,
            "many": RNG.choice([f"s{k}" for k in range(80)], n),
            "lacks": np.where(RNG.random(n) < 0.3, None, RNG.choice(["a", "b"], n)),
            "day": pd.Timestamp(2020, 1, 1) + pd.to_timedelta(RNG.integers(0, 9000, n), unit="h"),
            "ordered": ordered(RNG.choice(["a", "b", "c"], n), ["a", "b", "c"]),
            "constant": "same",
        }
    )
    found, X = standardized(frame)
    sizes = [mean_square(X, found, k) for k in range(7)]
    assert sizes == pytest.approx([2.0] * 5 + [2.0 + 2.0 / 16, 0.0])


def test_without_scales_levels_are_as_far_apart_as_indicators():
    frame = pd.DataFrame({"x": ["a", "b", "c"], "y": [1.0, np.nan, 2.0]})
    found, rows = known(frame, scaled=False)
    X = found.features(rows)
    assert found.limits == (INF, pytest.approx(math.sqrt(2.0)), pytest.approx(math.sqrt(2.0)))
    indicators = np.column_stack([X[:, 0], np.eye(3), X[:, 2] > 0, X[:, 2] == 0])
    for kernel in (RBF(1.3), Linear()):
        np.testing.assert_allclose(found.kernel(kernel)(X), kernel(indicators))
    size = known(pd.DataFrame({"x": ordered(["a", "b"], ["a", "b"])}), scaled=False)[0]
    assert size.limits == (INF, math.sqrt(2.0) / 4)


def test_weights_are_repetitions():
    n = 40
    frame = pd.DataFrame(
        {
            "a": np.where(RNG.random(n) < 0.3, np.nan, RNG.standard_normal(n)),
            "b": RNG.choice(["x", "y", "z"], n),
            "d": ordered(RNG.choice(["x", "y"], n), ["x", "y"]),
        }
    )
    weight = RNG.integers(1, 4, n).astype(float)
    twice = frame.loc[np.repeat(np.arange(n), weight.astype(int))]
    given, expected = known(frame, weight=weight)[0], known(twice)[0]
    assert given.limits == pytest.approx(expected.limits)
    ones, repeated = standardized(frame, weight)[1], standardized(twice)[1]
    codes = [3, 2, 4]
    np.testing.assert_allclose(np.repeat(ones, weight.astype(int), axis=0)[:, codes],
                               repeated[:, codes])  # fmt: skip


# --- new rows ------------------------------------------------------------------------------------


def test_new_levels_are_different_from_all_and_from_each_other():
    found, rows = known(pd.DataFrame({"x": ["a", "b", None, "a"]}))
    new = read_as(found, pd.DataFrame({"x": ["c", "a", "d", None, "c"]}))
    kernel = found.kernel(RBF(1.0))
    equal = kernel(found.features(new), found.features(rows)) == 1
    assert equal.astype(int).tolist() == [
        [0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]
    ]  # fmt: skip
    among = kernel(found.features(new))
    assert ((among == 1) == (np.eye(5) + np.eye(5)[[4, 1, 2, 3, 0]] > 0)).all()
    np.testing.assert_allclose(among[among < 1], among[0, 1])
    sizes, rows = known(pd.DataFrame({"x": ordered(["S", "L", "L"], ["S", "L"])}))
    numbers, codes = sizes.features(
        read_as(sizes, pd.DataFrame({"x": ["XL", "S"]}))
    ).T  # a new level is at the median
    assert numbers.tolist() == [1.0, 0.0]
    assert codes[0] < 0 == codes[1]


def test_missing_numbers_where_none_were_in_the_fit_are_the_median():
    found, _ = known(pd.DataFrame({"x": [1.0, 2.0, 7.0], "y": DAYS[:1] + DAYS[2:] * 2}))
    new = read_as(found, pd.DataFrame({"x": [np.nan], "y": [pd.NaT]}))
    X = found.features(new)
    assert X[0, 0] == 2.0
    assert X[0, 1] == pytest.approx((18262 + 10) / 365.2425)


def test_levels_of_other_types():
    """Numbers and booleans are equal as in Python, of whatever type the new column is."""
    found, rows = known(pd.DataFrame({"x": [3, 7, 3]}), categories=["x"])
    X = found.features(rows)
    for same in ([3.0, 7.0, 3.0], pd.Categorical([3, 7, 3]), objects(3, 7, 3)):
        new = read_as(found, pd.DataFrame({"x": same}))
        np.testing.assert_array_equal(found.features(new), X)
    found, rows = known(pd.DataFrame({"x": [1, 0]}))
    for same in ([True, False], pd.Series([True, False], dtype="boolean"), objects(True, False)):
        new = read_as(found, pd.DataFrame({"x": same}))
        np.testing.assert_array_equal(found.features(new), [[1.0], [0.0]])


@pytest.mark.parametrize(
    ("levels", "new", "text"),
    [
        (["1", "2"], [1, 2], "strings, as in fit; got 1"),
        ([1, 2], ["1"], "numbers, as in fit; got '1'"),
    ],
)
def test_levels_of_another_type_are_refused(levels, new, text):
    found, _ = known(pd.DataFrame({"x": levels}), categories=["x"])
    with pytest.raises(TypeError, match=f"column 'x' of X must hold {text}"):
        found.features(read_as(found, pd.DataFrame({"x": new})))


@pytest.mark.parametrize("kind", ["int64", "Int64", object])
def test_large_whole_numbers_stay_apart(kind):
    column = pd.Series([2**60, 2**60 + 1, 2**53 + 1], dtype=kind)
    found, _ = known(pd.DataFrame({"x": column}), categories=["x"])
    assert found.columns[0].levels == (2**53 + 1, 2**60, 2**60 + 1)


def test_columns_in_another_order():
    found, _ = known(pd.DataFrame({0: [1.0, 2.0], 1: [2.0, 3.0]}))
    with pytest.raises(ValueError, match="columns in the order of fit; got '1' for '0'"):
        read_as(found, pd.DataFrame({1: [2.0], 0: [1.0]}))


def test_integers_of_polars_that_numpy_lacks():
    polars = pytest.importorskip("polars")
    [column] = read(
        polars.DataFrame({"x": polars.Series([1, None, 2**70], dtype=polars.Int128)})
    ).columns
    np.testing.assert_array_equal(column.entries, [1.0, np.nan, 2.0**70])


# --- which columns are categories ----------------------------------------------------------------


@pytest.mark.parametrize(
    "categories",
    [
        *(["b"], ("b",), np.array(["b"]), pd.Index(["b"]), [1], [-1], [False, True]),
        *([np.True_, True], np.array([True, True], dtype=object), ["a", 1]),
    ],
    ids=repr,
)
def test_columns_are_chosen_by_name_number_or_boolean(categories):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1, 2]})
    kinds = [column.kind for column in read(frame, categories).columns]
    both = len(categories) == 2 and categories[0]
    assert kinds == ["category" if both else "number", "category"]


def test_booleans_that_are_not_chosen_are_numbers():
    frame = pd.DataFrame({"m": [True, False, True], "n": objects(True, None, False)})
    for categories in (None, []):
        found, rows = known(frame, categories=categories)
        assert [column.kind for column in found.columns] == ["number", "number"]
        X = [[1.0, 1.0, 0.0], [0.0, 0.5, 1.0], [1.0, 0.0, 0.0]]
        assert found.features(rows).tolist() == X
        assert found.features(read_as(found, frame)).tolist() == X


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        *((wrong, "be") for wrong in ("auto", 3, [0.5], [[0]], {"b"}, [[1], [2, 3]], ["a", 1.5])),
        *((wrong, "name columns of X; got") for wrong in (["c"], [2], [-3], [np.True_, 0])),
    ],
)
def test_other_values_are_refused(wrong, text):
    with pytest.raises(ValueError, match=f"categorical_features must {text}"):
        frames.chosen(wrong, ["a", "b"])


# --- parts ---------------------------------------------------------------------------------------


def test_parts_of_a_table():
    first = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": [None, None], "d": [None, None]})
    second = pd.DataFrame({"a": [5.0, 0.5], "b": [None, "z"], "c": DAYS[:2], "d": [True, None]})
    parts = [read(first), read(second)]
    pairs = list(zip(*(part.columns for part in parts), strict=True))
    a, b, c, d = map(columns.seen, pairs)
    assert a.entries[:2].tolist() == [0.5, 5.0]
    assert b.entries.tolist() == ["x", "y", None, "z"]
    np.testing.assert_array_equal(c.entries, [18262.0, 18262.0, np.nan])
    assert d.entries.tolist() == [None, True]
    joined = Records.joined(parts)
    whole = Columns.of(joined, np.ones(4), scaled=True)
    sampled = Columns.of(parts[0], np.ones(2), scaled=True, seen=(a, b, c, d))
    assert [one.levels for one in sampled.columns] == [one.levels for one in whole.columns]
    assert sampled.groups == whole.groups
    with pytest.raises(TypeError, match="column 'a' of X must hold values of one kind in every bl"):
        Records.joined([read(first[["a"]]), read(second[["b"]].rename(columns={"b": "a"}))])


@pytest.mark.parametrize("order", [1, -1])
def test_parts_of_kinds_that_fit_together(order):
    frame = pd.DataFrame({"x": [0.0, 1.0], "y": ordered(["b", "a"], ["b", "a"])})
    other = pd.DataFrame({"x": [True, None], "y": ["c", "a"]})
    joined = Records.joined([read(frame), read(other)][::order])
    x, y = joined.columns
    assert (x.kind, y.kind, y.order) == ("number", "category", ())
    halves = [[0.0, 1.0], [1.0, np.nan]][::order]
    np.testing.assert_array_equal(x.entries, np.concatenate(halves))
    longer = pd.DataFrame({"x": [2.0, 3.0], "y": ordered(["c", "b"], ["b", "a", "c"])})
    joined = Records.joined([read(frame), read(longer)][::order])
    assert joined.columns[1].order == ("b", "a", "c")


# --- kernels -------------------------------------------------------------------------------------


def test_kernels_get_the_groups_of_the_columns():
    frame = pd.DataFrame({"a": [1.0, np.nan, 2.0], "b": ["x", "y", "x"], "c": [1.0, 2.0, 3.0]})
    found, _ = known(frame)
    assert found.groups == (0, 2, 0, 1)
    assert found.kernel(RBF()).weights == (1.0, 1.0, 1.0)
    assert found.kernel(Weighted(RBF())).groups == found.groups
    grouped = found.kernel(Weighted(RBF(), groups=(0, 1, 0)))
    assert (grouped.groups, grouped.limits) == ((0, 0, 0, 1), found.limits)
    with pytest.raises(ValueError, match="groups must hold one for each of 3 columns; got 4"):
        found.kernel(Weighted(RBF(), groups=(0, 1, 0, 0)))
    with pytest.raises(TypeError, match="X must hold numbers only for"):
        found.kernel(lambda a, b: a @ b.T)
    lacking, _ = known(frame[["a", "c"]])
    with pytest.raises(ValueError, match="X must not hold NaN for"):
        lacking.kernel(lambda a, b: a @ b.T)
