"""Columns of strings that are numbers, dates or names of rows, and times with a zone."""

import datetime
import math
import zoneinfo

import numpy as np
import pytest

from bayespoint import BayesPointClassifier, BayesPointOrdinalClassifier, kernels
from bayespoint.blocks import Blocks
from bayespoint.data.columns import Values
from bayespoint.data.strings import recognized
from helpers import seed

pd = pytest.importorskip("pandas")

GIVEN = {"kernel": kernels.RBF(1.0), "softness": 0.3, "random_state": seed(0)}
RNG = np.random.default_rng(seed(1))
N = 60
X = RNG.standard_normal(N)
WHEN = pd.Series(
    pd.Timestamp("2023-03-01") + pd.to_timedelta(RNG.integers(0, 500_000, N), unit="m")
)
ZONED = WHEN.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
Y = ((WHEN.dt.hour < 12) ^ (X > 1)).astype(int)


def fit(**columns):
    return BayesPointClassifier(**GIVEN).fit(pd.DataFrame(columns), Y)


def kinds(strings):
    entries = np.array([*strings, None], dtype=object)
    found = recognized(Values("w", "category", entries, is_text=True))
    return found.kind, found.entries[:-1], found.unread


@pytest.mark.parametrize(
    ("strings", "kind", "first"),
    [
        ([f"{k}.5" for k in range(12)], "number", 0.5),
        ([f" -{k}e-2" for k in range(1, 12)], "number", -0.01),
        ([f"2024-01-{k:02d}" for k in range(1, 13)], "date", 19723),
        ([f"2024/1/{k}" for k in range(1, 13)], "date", 19723),
        ([f"2024-01-01 06:{k}:00.500000000" for k in range(10, 22)], "date", None),
        ([f"1970-01-01T06:{k}+0200" for k in range(10, 22)], "date", 250 / 1440),
        ([f"1970-01-01T06:{k}-02:30" for k in range(10, 22)], "date", 520 / 1440),
        ([f"{k:03d}" for k in range(12)], "category", None),  # codes
        ([f"{k}" for k in range(9)], "category", None),  # few
        ([f"2024-13-{k:02d}" for k in range(1, 13)], "category", None),
        ([f"{k}e999" for k in range(1, 13)], "category", None),
        ([f"{k}_0" for k in range(12)], "category", None),
        ([*map(str, range(12)), "?", "-", "none"], "category", None),  # many others
        ([True, *map(str, range(12))], "category", None),
    ],
)
def test_strings_are_recognized(strings, kind, first):
    found, entries, unread = kinds(strings)
    assert found == kind
    assert (unread is None) == (kind == "category")
    assert first is None or entries[0] == pytest.approx(first)


def test_what_is_neither_is_missing():
    found, entries, unread = kinds([*map(str, range(12)), "?", "?"])
    assert found == "number"
    assert unread == ("?",)
    assert math.isnan(entries[-1])


def test_numbers_and_dates_that_are_strings_are_as_good():
    plain = fit(x=X, w=WHEN)
    strings = {"x": X.astype(str).astype(object), "w": WHEN.astype(str)}
    text = r"read as such: column 'x' \(numbers\), column 'w' \(dates\)\. To keep them"
    with pytest.warns(UserWarning, match=text):
        model = fit(**strings)
    p = plain.predict_proba(pd.DataFrame({"x": X, "w": WHEN}))
    np.testing.assert_allclose(model.predict_proba(pd.DataFrame(strings)), p, rtol=1e-9)
    # New rows may be of either kind, and few of them.
    few = model.predict_proba(pd.DataFrame({"x": X[:2], "w": WHEN[:2].astype(str)}))
    np.testing.assert_allclose(few, p[:2], rtol=1e-9)
    lacking = pd.DataFrame({"x": [None, X[1]], "w": WHEN[:2]})
    unread = pd.DataFrame({"x": ["?", str(X[1])], "w": WHEN[:2]})
    with pytest.warns(UserWarning, match=r"'x' of X holds strings that are no numbers.*: '\?'"):
        p = model.predict_proba(unread)
    np.testing.assert_array_equal(p, model.predict_proba(lacking))
    asked = BayesPointClassifier(categorical_features=["x"], random_state=seed(0))
    asked.fit(pd.DataFrame({"x": strings["x"], "w": WHEN}), Y)
    assert [column.kind for column in asked.columns_.columns] == ["category", "date"]


def test_other_strings_are_told():
    strings = X.astype(str).astype(object)
    strings[:2] = "?", "n/a"
    with pytest.warns(UserWarning, match=r"\(numbers; missing where it is '\?', 'n/a'\)"):
        model = fit(x=strings)
    model.predict(pd.DataFrame({"x": strings}))  # silently
    with pytest.warns(UserWarning, match="'x' of X holds strings that .* missing: 'refused'$"):
        model.predict(pd.DataFrame({"x": ["?", "refused", "1"]}))
    with pytest.warns(
        UserWarning, match="column 'name' of X holds 60 different strings in 60 rows"
    ):
        fit(x=X, name=[f"row {k}" for k in range(N)])
    ways = ["%d/%m/%Y", "%m/%d/%y", "%d.%m.%Y %H:%M", "%d-%b-%Y", "%B %d, %Y", "%F %p", "%S,%M%%"]
    for way in ways:
        with pytest.warns(UserWarning, match="'w' of X holds strings such as .* if they are dates"):
            assert fit(w=WHEN.dt.strftime(way)).columns_.columns[0].kind == "category"
    strings[:4] = "refused", "not asked", "unclear", "?"
    with pytest.warns(UserWarning, match="'x' of X holds strings such as .* if they are dates"):
        assert fit(x=strings).columns_.columns[0].kind == "category"
    codes = [f"{100 * k % 31:02}" for k in range(N)]
    assert fit(x=codes).columns_.columns[0].kind == "category"  # silently


def test_blocks_tell_what_they_do_not_read():
    frame = pd.DataFrame({"x": X.astype(str)})
    given = GIVEN | {"n_components": 5}
    with pytest.warns(UserWarning, match="column 'x' of X holds strings that are numbers, which"):
        BayesPointClassifier(**given).fit(Blocks([frame]), Blocks([Y]))


def test_new_rows_of_another_kind_are_refused_with_the_way_out():
    model = fit(x=X, w=WHEN, b=X > 0)
    rows = pd.DataFrame({"x": X, "w": WHEN, "b": X > 0})
    for change, text in (
        ({"w": WHEN.astype(str)}, "must hold dates, as in fit; got strings: pandas.to_datetime"),
        ({"x": X.astype(str)}, "must hold numbers, as in fit; got strings: pandas.to_numeric"),
        ({"b": "True"}, "must hold booleans, as in fit; got 'True'"),
        ({"w": ZONED}, "must hold times with no zone, as in fit; got the zone 'Europe/Berlin'"),
    ):
        with pytest.raises(TypeError, match=text):
            model.predict(rows.assign(**change))


def test_times_are_converted_to_the_zone_of_the_fit():
    model = fit(w=ZONED)
    [column] = model.columns_.columns
    assert column.zone == "Europe/Berlin"
    p = model.predict_proba(pd.DataFrame({"w": ZONED}))
    fixed = datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))
    tokyo = zoneinfo.ZoneInfo("Asia/Tokyo")
    objects = [time.to_pydatetime().astimezone(fixed) for time in ZONED]
    mixed = [time.astimezone(tokyo) if k % 2 else time for k, time in enumerate(objects)]
    same = [ZONED.dt.tz_convert("UTC"), ZONED.dt.tz_convert("Etc/GMT+5")]
    same += [pd.Series(times, dtype=object) for times in (objects, mixed)]
    for times in same:
        np.testing.assert_allclose(model.predict_proba(pd.DataFrame({"w": times})), p, rtol=1e-12)
    with pytest.raises(TypeError, match="with the zone 'Europe/Berlin', as in fit; got no zone"):
        model.predict(pd.DataFrame({"w": WHEN}))
    half = pd.Series([WHEN[0].to_pydatetime(), objects[1]], dtype=object)
    with pytest.raises(TypeError, match="times that all have a zone, or none of them"):
        model.predict(pd.DataFrame({"w": half}))
    # As objects of one zone: its local time.
    again = fit(w=pd.Series(objects, dtype=object))
    assert again.columns_.columns[0].zone == "UTC-03:30"
    back = again.predict_proba(pd.DataFrame({"w": ZONED}))
    np.testing.assert_allclose(back, again.predict_proba(pd.DataFrame({"w": same[2]})), rtol=1e-12)


def test_polars_has_zones_and_ordered_levels():
    pl = pytest.importorskip("polars")
    model = fit(w=ZONED)
    frame = pl.DataFrame({"w": pl.Series(WHEN.to_numpy()).dt.replace_time_zone("UTC")})
    p = model.predict_proba(pd.DataFrame({"w": ZONED}))
    np.testing.assert_allclose(model.predict_proba(frame), p, rtol=1e-12)
    names = np.array(["low", "mid", "high"])[np.digitize(X, [-0.5, 0.5])]
    levels = pl.Series("g", names, dtype=pl.Enum(["low", "mid", "high"]))
    ordinal = BayesPointOrdinalClassifier(**GIVEN | {"kernel": None, "n_models": 1})
    ordinal.fit(pl.DataFrame({"x": X, "g": levels}), levels)
    assert ordinal.levels_.tolist() == ["low", "mid", "high"]
    assert ordinal.columns_.columns[1].kind == "ordered"


def test_blocks_of_two_zones_are_refused():
    parts = [pd.DataFrame({"w": times}) for times in (ZONED, WHEN.dt.tz_localize("UTC"))]
    with pytest.raises(TypeError, match="times of one zone in every block; got Europe/Berlin and"):
        BayesPointClassifier(**GIVEN).fit(Blocks(parts), Blocks([Y, Y]))
